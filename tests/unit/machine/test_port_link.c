// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a port's link when news of the kernel are lost, lists are interrupted, interfaces
// are renamed, and the launcher is slow. The netlink socket is the test's, as is the launcher.
#include <errno.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>
#include <rte_ethdev.h>
#include "machine/again_port.h"
#include "config/eal_args.h"
#include "machine/link_watch.h"
#include "base/netlink.h"
#include "machine/port.h"
#include "machine/port_link.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/egress/tx.h"

#define SELF     77                 // our netlink address
#define IFF_RUNS (IFF_UP | 0x10000) // IFF_LOWER_UP

static struct gateway gateway;
static struct dataplane dp;
static struct launcher launcher;
static struct control_context context;
static struct port_links *links;
static uint64_t clock_ns;
static int watched, kernel, answers_fd; // ours, and the other ends
static bool lose_news, launcher_dead, answer_there;
static unsigned n_reports, n_changes, n_asked, n_let_go, n_made;
static struct link_report reported;
static struct again_request asked;
static struct again_sockets answer;
static struct again {
	struct again *before;
	unsigned ifindex;
} made[8];
static uint32_t sequence;

// The kernel.

ssize_t recv(int fd, void *buffer, size_t n, int flags)
{
	if (lose_news) {
		lose_news = false;
		errno = ENOBUFS;
		return -1;
	}
	return recvfrom(fd, buffer, n, flags, NULL, NULL);
}

static bool list_asked(void)
{
	struct nlmsghdr request;
	ssize_t n = recvfrom(kernel, &request, sizeof(request), MSG_DONTWAIT, NULL, NULL);

	if (n < (ssize_t)sizeof(request))
		return false;
	sequence = request.nlmsg_seq;
	return true;
}

static void say(
	uint16_t type, uint16_t flags, uint32_t seq, const char *name, int ifindex, unsigned state)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
		struct rtattr attribute;
		char name[IF_NAMESIZE];
	} m = {.header = {.nlmsg_len = sizeof(m),
		       .nlmsg_type = type,
		       .nlmsg_flags = flags,
		       .nlmsg_seq = seq,
		       .nlmsg_pid = seq ? SELF : 0},
		.info = {.ifi_index = ifindex, .ifi_flags = state},
		.attribute = {
			.rta_type = IFLA_IFNAME, .rta_len = sizeof(m.attribute) + IF_NAMESIZE}};

	snprintf(m.name, sizeof(m.name), "%s", name);
	assert_int_equal(send(kernel, &m, sizeof(m), 0), sizeof(m));
}

static void news(const char *name, int ifindex, unsigned state)
{
	say(RTM_NEWLINK, 0, 0, name, ifindex, state);
}

static void news_gone(const char *name, int ifindex)
{
	say(RTM_DELLINK, 0, 0, name, ifindex, 0);
}

static void listed(const char *name, int ifindex, unsigned state)
{
	say(RTM_NEWLINK, NLM_F_MULTI, sequence, name, ifindex, state);
}

static void list_ends(uint16_t flags)
{
	say(NLMSG_DONE, (uint16_t)(NLM_F_MULTI | flags), sequence, "", 0, 0);
}

static void list_fails(int error)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} m = {.header = {.nlmsg_len = sizeof(m),
		       .nlmsg_type = NLMSG_ERROR,
		       .nlmsg_seq = sequence,
		       .nlmsg_pid = SELF},
		.error = {.error = error}};

	assert_int_equal(send(kernel, &m, sizeof(m), 0), sizeof(m));
}

int socket(int domain, int type, int protocol)
{
	(void)domain, (void)type, (void)protocol;
	return watched;
}
int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	(void)fd, (void)address, (void)length;
	return 0;
}
int getsockname(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
	(void)fd, (void)length;
	((struct sockaddr_nl *)(void *)address)->nl_pid = SELF;
	return 0;
}

// The rest of the gateway.

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	*info = (struct rte_eth_dev_info){.if_index = port_id == 0 ? 5 : 6};
	return 0;
}
char *if_indextoname(unsigned ifindex, char name[IF_NAMESIZE])
{
	snprintf(name, IF_NAMESIZE, "%s", ifindex == 5 ? "gA" : "gB");
	return name;
}
int rte_eth_dev_callback_register(
	uint16_t port_id, enum rte_eth_event_type type, rte_eth_dev_cb_fn call, void *arg)
{
	(void)port_id, (void)type, (void)call, (void)arg;
	return 0;
}
int rte_eth_dev_callback_unregister(
	uint16_t port_id, enum rte_eth_event_type type, rte_eth_dev_cb_fn call, void *arg)
{
	return rte_eth_dev_callback_register(port_id, type, call, arg);
}
uint16_t port_ethdev_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx, (void)queue, (void)pkts;
	return n;
}
uint16_t tx_no_link(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx, (void)queue, (void)pkts;
	return (uint16_t)(n - n);
}
uint16_t again_receive(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx, (void)queue, (void)pkts;
	return (uint16_t)(n - 1);
}
uint16_t again_transmit(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx, (void)queue, (void)pkts;
	return (uint16_t)(n - 2);
}
enum device_type device_type_of(const char *device)
{
	(void)device;
	return DEVICE_VIRTUAL;
}
enum again_kind again_kind_of(const char *device)
{
	return strcmp(device, "net_pcap") ? AGAIN_XDP : AGAIN_NONE;
}
void sink_link_event(struct sink *sink, uint64_t now_ns, const struct link_report *report)
{
	(void)sink, (void)now_ns;
	n_reports++;
	reported = *report;
}
int launcher_fd(const struct launcher *l)
{
	return l->fd_plus_1 - 1;
}
int launcher_ask(struct launcher *l, struct again_request *request)
{
	(void)l;
	if (launcher_dead)
		return -EPIPE;
	n_asked++;
	asked = *request;
	return 0;
}
int launcher_answer(
	struct launcher *l, const struct again_request *request, struct again_sockets *out)
{
	char byte;

	(void)recvfrom(l->fd_plus_1 - 1, &byte, 1, MSG_DONTWAIT, NULL, NULL);
	if (launcher_dead)
		return -EPIPE;
	if (!answer_there)
		return -EAGAIN;
	assert_int_equal(request->sequence, asked.sequence);
	answer_there = false;
	*out = answer;
	return 0;
}
void again_close(struct again_sockets *sockets)
{
	sockets->n_fds = 0;
}
int again_take(struct again_sockets *sockets, struct rte_mempool *pool, struct again *before,
	struct again **out)
{
	(void)pool;
	*out = &made[n_made++];
	**out = (struct again){.before = before, .ifindex = sockets->answer.ifindex};
	return 0;
}
bool again_has_before(const struct again *again)
{
	return again && again->before;
}
void again_free_before(struct again *again)
{
	again->before = NULL;
}
void again_let_go(struct again *again)
{
	(void)again;
	n_let_go++;
}
uint32_t again_ifindex(const struct again *again)
{
	return again->ifindex;
}
bool again_has_offloads(struct again *again)
{
	(void)again;
	return false;
}

static uint64_t now_ns(void)
{
	return clock_ns;
}

// Turns of the control core, a tenth of a second each.
static void pass(unsigned tenths)
{
	do {
		event_base_loop(context.base, EVLOOP_NONBLOCK);
		n_changes += port_links_tick(links, clock_ns);
		if (tenths)
			clock_ns += NS_PER_S / 10;
	} while (tenths && --tenths);
	event_base_loop(context.base, EVLOOP_NONBLOCK);
}

static void answers(int error, unsigned ifindex, uint32_t mtu)
{
	answer = (struct again_sockets){.answer = {.error = error,
						.step = AGAIN_PROGRAM,
						.ifindex = ifindex,
						.mtu = mtu,
						.queues = 1}};
	answer_there = true;
	assert_int_equal(send(answers_fd, "", 1, 0), 1);
	pass(0);
}

static enum port_link link_of(unsigned port)
{
	return dp.ports[port].link;
}

static void begin_as(const char *device)
{
	int ends[2], words[2];
	char err[128];
	static uint8_t qsbr[8192] __attribute__((aligned(64)));

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, words), 0);
	watched = ends[0];
	kernel = ends[1];
	launcher = (struct launcher){.fd_plus_1 = words[0] + 1};
	answers_fd = words[1];
	launcher_dead = answer_there = lose_news = false;
	n_reports = n_changes = n_asked = n_let_go = n_made = 0;
	memset(&dp, 0, sizeof(dp));
	dp.qsbr = (struct rte_rcu_qsbr *)(void *)qsbr;
	assert_true(rte_rcu_qsbr_get_memsize(1) <= sizeof(qsbr));
	rte_rcu_qsbr_init(dp.qsbr, 1);
	dp.n_ports = gateway.n_ports = 2;
	for (uint8_t i = 0; i < 2; i++) {
		dp.ports[i] = (struct port){.index = i, .port_id = i, .max_frame = 1522};
		snprintf(dp.ports[i].name, sizeof(dp.ports[i].name), "%s", i ? "wan" : "lan");
		snprintf(gateway.ports[i].device, sizeof(gateway.ports[i].device), "%s", device);
	}
	context = (struct control_context){.base = event_base_new(),
		.dp = &dp,
		.gateway = &gateway,
		.now_ns = now_ns,
		.sink = (struct sink *)(void *)&context};
	clock_ns = 100 * NS_PER_S;
	sequence = 1; // the list that it begins with
	listed("gA", 5, IFF_RUNS);
	listed("gB", 6, IFF_RUNS);
	list_ends(0);
	assert_int_equal(port_links_new(&context, &launcher, &links, err, sizeof(err)), 0);
	assert_true(list_asked());
	assert_int_equal(link_of(0), PORT_LINK_UP);
	assert_int_equal(link_of(1), PORT_LINK_UP);
	assert_false(port_links_tick(links, clock_ns));
}

static int begin(void **state)
{
	(void)state;
	begin_as("net_af_xdp");
	return 0;
}

static int end(void **state)
{
	(void)state;
	port_links_free(links);
	close(kernel);
	close(answers_fd);
	close(launcher.fd_plus_1 - 1);
	event_base_free(context.base);
	return 0;
}

// gA goes and comes back as number 9; the launcher is asked.
static void make_again(void)
{
	news_gone("gA", 5);
	news("gA", 9, IFF_RUNS);
	pass(0);
	assert_int_equal(link_of(0), PORT_LINK_GONE);
	assert_int_equal(n_asked, 1);
	assert_int_equal(asked.port, 0);
}

static void news_are_lost(void)
{
	lose_news = true;
	news("gC", 8, IFF_RUNS);
	pass(1);
	assert_true(list_asked());
}

static void what_a_list_leaves_out_is_gone(void **state)
{
	(void)state;
	news("gA", 5, IFF_RUNS); // an ordinary word of it, before
	pass(1);
	news_are_lost();         // its end is among them
	news("gA", 5, IFF_RUNS); // an old one that comes late
	listed("gB", 6, IFF_RUNS);
	list_ends(0);
	assert_int_equal(n_changes, 0);
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_GONE);
	assert_int_equal(link_of(1), PORT_LINK_UP);
	assert_int_equal(reported.link, PORT_LINK_GONE);
	pass(5);
	assert_int_equal(n_changes, 1); // reported once to who asks
	news_are_lost();
	listed("gB", 6, IFF_RUNS);
	news("gA", 9, IFF_RUNS); // the kernel had passed its place in the list
	list_ends(0);
	pass(1);
	assert_int_equal(n_asked, 1);
}

static void a_list_that_was_not_whole_is_no_reason(void **state)
{
	(void)state;
	news_are_lost();
	listed("gB", 6, IFF_RUNS);
	list_ends(NLM_F_DUMP_INTR);
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_UP);
	assert_true(list_asked()); // once more
	listed("gB", 6, IFF_RUNS);
	lose_news = true; // while it comes in
	list_ends(0);
	pass(2);
	assert_int_equal(link_of(0), PORT_LINK_UP);
	assert_true(list_asked());
	list_fails(-EBUSY);
	pass(2);
	assert_int_equal(link_of(0), PORT_LINK_UP);
	assert_true(list_asked());
	listed("gB", 6, IFF_RUNS);
	list_ends(0);
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_GONE);
	assert_false(list_asked());
}

static void a_renamed_interface_stays(void **state)
{
	(void)state;
	news("gOld", 5, IFF_RUNS);
	news("gA", 9, IFF_RUNS); // another one has its name
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_UP);
	assert_true(list_asked());
	listed("gOld", 5, IFF_RUNS);
	listed("gB", 6, IFF_RUNS);
	listed("gA", 9, IFF_RUNS);
	list_ends(0);
	pass(20);
	assert_int_equal(link_of(0), PORT_LINK_UP);
	assert_int_equal(n_asked, 0);
	news("gOld", 5, 0);
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_DISABLED);
	assert_string_equal(reported.interface, "gOld");
	news_gone("gOld", 5); // now the other one is what there is
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_GONE);
	assert_int_equal(n_asked, 1);
}

static void an_interface_that_was_made_again_is_taken_up(void **state)
{
	(void)state;
	make_again();
	answers(0, 9, 1500);
	assert_ptr_equal(dp.ports[0].receive, again_receive);
	assert_int_equal(link_of(0), PORT_LINK_GONE); // the kernel says when it is up
	assert_true(list_asked());
	listed("gA", 9, IFF_RUNS);
	listed("gB", 6, IFF_RUNS);
	list_ends(0);
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_UP);
	assert_true(reported.again);
	assert_int_equal(dp.ports[0].max_frame, 1522);
	news_gone("gA", 9);
	news("gA", 10, IFF_RUNS);
	pass(1);
	assert_int_equal(n_let_go, 1); // nothing of ours stays on it
	assert_int_equal(n_asked, 2);
	assert_true(asked.sequence > 1);
	answers(0, 10, 1400); // a smaller one
	assert_int_equal(dp.ports[0].max_frame, 1422);
	assert_int_equal(n_made, 2);
}

// A list that began before it was taken up does not know it.
static void a_list_under_way_is_no_judge_of_a_new_one(void **state)
{
	(void)state;
	lose_news = true;
	make_again();
	assert_true(list_asked());
	listed("gB", 6, IFF_RUNS);
	answers(0, 9, 1500);
	list_ends(0);
	pass(1);
	assert_int_equal(n_let_go, 0);
	assert_true(list_asked());
	listed("gB", 6, IFF_RUNS);
	listed("gA", 9, IFF_RUNS);
	list_ends(0);
	pass(1);
	assert_int_equal(link_of(0), PORT_LINK_UP);
}

static void nobody_waits_for_a_slow_launcher(void **state)
{
	(void)state;
	news_gone("gB", 6);
	make_again();
	news("gB", 11, IFF_RUNS);
	pass(50);
	assert_int_equal(n_asked, 1); // and no second request beside it
	answers(-EBUSY, 0, 0);
	assert_int_equal(n_asked, 2); // the other port's turn
	assert_int_equal(asked.port, 1);
	answers(0, 11, 1500);
	assert_int_equal(n_asked, 2); // not yet
	pass(11);
	assert_int_equal(n_asked, 3);
	assert_int_equal(asked.port, 0);
}

static void it_is_tried_again_later_and_later(void **state)
{
	static const unsigned waits_s[] = {1, 2, 4, 8, 16, 30, 30};

	(void)state;
	make_again();
	for (unsigned i = 0; i < 7; i++) {
		answers(-EBUSY, 0, 0);
		assert_int_equal(n_asked, i + 1);
		pass(waits_s[i] * 10 - 1);
		assert_int_equal(n_asked, i + 1);
		pass(2);
		assert_int_equal(n_asked, i + 2);
	}
	answers(-EBUSY, 0, 0);
	news_gone("gA", 9);
	news("gA", 10, IFF_RUNS); // another one: at once
	pass(0);
	assert_int_equal(n_asked, 9);
}

static void a_dead_launcher_takes_nothing_up(void **state)
{
	(void)state;
	make_again();
	assert_false(dp.ports[0].restart);
	launcher_dead = true;
	assert_int_equal(send(answers_fd, "", 1, 0), 1);
	pass(1);
	assert_true(dp.ports[0].restart); // what the page advises
	pass(100);
	assert_int_equal(n_asked, 1);
}

static void some_drivers_need_a_restart(void **state)
{
	end(state);
	begin_as("net_pcap");
	news_gone("gA", 5);
	news("gA", 9, IFF_RUNS);
	pass(10);
	assert_int_equal(link_of(0), PORT_LINK_GONE);
	assert_true(dp.ports[0].restart);
	assert_int_equal(n_asked, 0);
}

static void a_flapping_link_is_not_told_each_time(void **state)
{
	(void)state;
	pass(20);
	for (unsigned i = 0; i < 100; i++) {
		news("gA", 5, i % 2 ? IFF_RUNS : 0);
		pass(0);
	}
	assert_int_equal(dp.ports[0].link_changes, 100); // all are counted
	assert_in_range(n_reports, 4, 20);
	unsigned before = n_reports;
	pass(12);
	assert_int_equal(n_reports, before + 1);
	assert_int_equal(reported.link, PORT_LINK_UP); // how it is
	assert_int_equal(reported.left_out, 100 - before - 1);
	pass(30);
	assert_int_equal(n_reports, before + 1);
	news("gA", 5, 0);
	pass(0);
	assert_int_equal(reported.link, PORT_LINK_DISABLED); // at once again
	assert_int_equal(reported.left_out, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_a_list_leaves_out_is_gone),
		CASE(a_list_that_was_not_whole_is_no_reason),
		CASE(a_renamed_interface_stays),
		CASE(an_interface_that_was_made_again_is_taken_up),
		CASE(a_list_under_way_is_no_judge_of_a_new_one),
		CASE(nobody_waits_for_a_slow_launcher),
		CASE(it_is_tried_again_later_and_later),
		CASE(a_dead_launcher_takes_nothing_up),
		CASE(some_drivers_need_a_restart),
		CASE(a_flapping_link_is_not_told_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
