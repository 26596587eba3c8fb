// SPDX-License-Identifier: BSD-3-Clause
// A port that goes on by sockets of the launcher: what it counts, and frames that its socket does
// not take. The other end is the test's.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <rte_mbuf.h>
#include "lib/packet/packet.h"
#include "machine/again_port.h"
#include "pipeline/egress/tx.h"

#define FRAMES 1000000

static uint8_t bytes[9000];

static struct again *take(enum again_kind kind, int fd, struct again *before)
{
	struct again_sockets sockets = {
		.answer = {.queues = 1, .kind = kind, .ifindex = 9}, .fds = {fd}, .n_fds = 1};
	struct again *again = NULL;

	assert_int_equal(again_take(&sockets, packet_pool(), before, &again), 0);
	return again;
}

static struct port_counters counted(const struct again *again)
{
	struct port_counters out = {0};

	again_counters(again, &out);
	return out;
}

struct sender {
	struct port *port;
	uint16_t queue;
};

static pthread_barrier_t both;

static void *send_all(void *ctx)
{
	const struct sender *sender = ctx;
	struct rte_mbuf *m = packet_mbuf(packet_pool(), bytes, 60, 0, 1);

	cpu_set_t cpu; // EAL has bound us all to one
	CPU_ZERO(&cpu);
	CPU_SET(sender->queue ? 1 : 0, &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
	pthread_barrier_wait(&both);
	for (unsigned i = 0; i < FRAMES; i++) {
		rte_mbuf_refcnt_set(m, 2);
		if (again_transmit(sender->port, sender->queue, &m, 1) != 1)
			abort();
	}
	rte_pktmbuf_free(m);
	return NULL;
}

// Several lcores send by one socket; what they count comes to what went.
static void lcores_count_by_themselves(void **state)
{
	struct port port = {.again = take(AGAIN_TAP, open("/dev/null", O_WRONLY), NULL)};
	struct sender senders[2] = {{&port, 0}, {&port, 5}};
	pthread_t threads[2];

	(void)state;
	assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, send_all, &senders[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counted(port.again).tx_pkts, 2 * FRAMES);
	assert_int_equal(counted(port.again).tx_bytes, 2 * FRAMES * 60);
	again_free(port.again);
}

static void send_one(struct again *again)
{
	struct port port = {.again = again};
	struct rte_mbuf *m = packet_mbuf(packet_pool(), bytes, 60, 0, 1);

	assert_int_equal(again_transmit(&port, 0, &m, 1), 1);
}

// An lcore may be in the old one after the new one is made.
static void nothing_is_lost_between_two(void **state)
{
	struct again *old = take(AGAIN_TAP, open("/dev/null", O_WRONLY), NULL);

	(void)state;
	send_one(old);
	struct again *new = take(AGAIN_TAP, open("/dev/null", O_WRONLY), old);
	send_one(old);
	send_one(new);
	assert_int_equal(counted(new).tx_pkts, 3);
	assert_true(again_has_before(new));
	again_free_before(new);
	assert_false(again_has_before(new));
	assert_int_equal(counted(new).tx_pkts, 3);
	again_free(new);
}

static void what_is_too_long_is_told_alone(void **state)
{
	int ends[2], room = 1;
	struct rte_mbuf *pkts[3];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)); // the least there is
	struct port port = {.again = take(AGAIN_PACKET, ends[0], NULL)};
	for (unsigned i = 0; i < 3; i++)
		pkts[i] = packet_mbuf(packet_pool(), bytes, i == 1 ? sizeof(bytes) : 60, 0, 1);
	assert_int_equal(again_transmit(&port, 0, pkts, 3), 1);
	assert_int_equal(again_transmit(&port, 0, pkts + 1, 2), TX_TOO_LONG);
	rte_pktmbuf_free(pkts[1]); // still ours
	assert_int_equal(again_transmit(&port, 0, pkts + 2, 1), 1);
	assert_int_equal(counted(port.again).tx_pkts, 2);
	assert_int_equal(counted(port.again).tx_errors, 1);
	close(ends[1]);
	pkts[0] = packet_mbuf(packet_pool(), bytes, 60, 0, 1);
	assert_int_equal(again_transmit(&port, 0, pkts, 1), TX_LINK_LOST);
	rte_pktmbuf_free(pkts[0]);
	again_free(port.again);
}

// Longer than a packet buffer: the interface has joined segments.
static void joined_segments_are_told_once(void **state)
{
	int ends[2];
	struct rte_mbuf *pkts[4];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
	struct port port = {.again = take(AGAIN_PACKET, ends[0], NULL)};
	assert_int_equal(send(ends[1], bytes, 1500, 0), 1500);
	assert_int_equal(again_receive(&port, 0, pkts, 4), 1);
	rte_pktmbuf_free(pkts[0]);
	assert_false(again_has_offloads(port.again));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(send(ends[1], bytes, sizeof(bytes), 0), sizeof(bytes));
		assert_int_equal(again_receive(&port, 0, pkts, 4), 0);
		assert_int_equal(again_has_offloads(port.again), i == 0);
	}
	assert_int_equal(counted(port.again).rx_errors, 2);
	assert_int_equal(counted(port.again).rx_pkts, 1);
	again_free(port.again);
	close(ends[1]);
}

// read() of a tap cuts what does not fit, and does not say so.
static void a_frame_that_a_tap_cuts_is_dropped(void **state)
{
	int ends[2];
	struct rte_mbuf *pkts[4];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
	struct port port = {.again = take(AGAIN_TAP, ends[0], NULL)};
	struct rte_mbuf *m = rte_pktmbuf_alloc(packet_pool());
	size_t room = rte_pktmbuf_tailroom(m);
	rte_pktmbuf_free(m);
	assert_true(room < sizeof(bytes));
	for (unsigned more = 0; more < 3; more++)
		assert_int_equal(send(ends[1], bytes, room + more, 0), room + more);
	assert_int_equal(again_receive(&port, 0, pkts, 4), 1);
	assert_int_equal(pkts[0]->pkt_len, room);
	rte_pktmbuf_free(pkts[0]);
	assert_int_equal(counted(port.again).rx_errors, 2);
	assert_int_equal(counted(port.again).rx_pkts, 1);
	again_free(port.again);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lcores_count_by_themselves),
		cmocka_unit_test(nothing_is_lost_between_two),
		cmocka_unit_test(what_is_too_long_is_told_alone),
		cmocka_unit_test(joined_segments_are_told_once),
		cmocka_unit_test(a_frame_that_a_tap_cuts_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
