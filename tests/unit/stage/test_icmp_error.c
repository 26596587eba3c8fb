// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors that quote a packet of a live flow: which of them can its flow have caused, what the
// rules say of their own addresses, how many pass; and redirects.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/packet/packet.h"
#include "lib/pipeline/pipe.h"

#define RULE 7

// Last octets of the addresses: the pipe's client (inside) and server (outside), a router on either
// side, a host that is in quarantine.
enum { CLIENT = 1, SERVER, ROUTER_OUT, ROUTER_IN, QUARANTINED };

static void address(char text[64], bool v6, unsigned host)
{
	snprintf(text, 64, v6 ? "fd00::a00:%u" : "10.0.0.%u", host);
}

struct error {
	uint8_t from, to; // of the error
	bool from_outside;
	uint8_t sender, receiver; // of the quoted packet
	uint8_t proto;            // default TCP
	uint32_t seq;
	uint32_t filler; // bytes behind the quoted header
	bool bad_checksum;
	uint8_t type, type6; // default: destination unreachable
};

#define ENDS(a, b, outside, c, d) \
	.from = a, .to = b, .from_outside = outside, .sender = c, .receiver = d
#define TCP(a, b, outside, c, d, n) ENDS(a, b, outside, c, d), .seq = n
#define UDP(a, b, outside, c, d)    ENDS(a, b, outside, c, d), .proto = IPPROTO_UDP

static void ip(struct packet *p, bool v6, unsigned from, unsigned to)
{
	char a[64], b[64];

	address(a, v6, from);
	address(b, v6, to);
	if (v6)
		packet_ipv6(p, a, b);
	else
		packet_ipv4(p, a, b);
}

static void build(struct packet *p, const struct error *error, bool v6)
{
	bool of_client = error->sender == CLIENT;
	uint16_t sport = of_client ? 40000 : 80, dport = of_client ? 80 : 40000;

	packet_begin(p);
	packet_ethernet(p);
	ip(p, v6, error->from, error->to);
	if (v6)
		packet_icmp(p, error->type6 ? error->type6 : 1, 4);
	else
		packet_icmp(p, error->type ? error->type : 3, 4);
	ip(p, v6, error->sender, error->receiver);
	if (error->proto == IPPROTO_UDP)
		packet_udp(p, sport, dport);
	else
		packet_tcp(p, sport, dport, error->seq, 0, TH_ACK);
	packet_fill(p, error->filler);
	packet_finish(p);
	if (error->bad_checksum)
		p->bytes[14 + (v6 ? 40 : 20) + 2] ^= 0x55;
}

static unsigned run_error(struct pipe *pipe, const struct error *error, bool v6)
{
	struct packet p;

	build(&p, error, v6);
	return pipe_run_frame(pipe, 0, p.bytes, p.length, error->from_outside, 1);
}

static void names(struct address_set *set, unsigned host)
{
	char text[64];

	for (unsigned v6 = 0; v6 < 2; v6++) {
		address(text, v6, host);
		assert_int_equal(address_set_add(set, text), 0);
	}
	address_set_seal(set);
}

static struct policy *policy_of(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	policy->icmp_errors_per_s = 1000;
	return policy;
}

// The client's numbers begin at 1000, the server's at 5000. Of the client 16 bytes are not
// acknowledged; of the server, none is there.
static void open_tcp(struct pipe *pipe, bool v6)
{
	struct pipe_packet syn = {.v6 = v6, .seq = 1000, .tcp_flags = TH_SYN};
	struct pipe_packet syn_ack = {.v6 = v6, .seq = 5000, .from_outside = true};

	syn_ack.ack = 1001;
	syn_ack.tcp_flags = TH_SYN | TH_ACK;
	struct pipe_packet get = {.v6 = v6,
		.seq = 1001,
		.ack = 5001,
		.payload = "GET / HTTP/1.1\r\n",
		.payload_length = 16};

	assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	assert_int_equal(pipe_run(pipe, 0, &syn_ack), 1);
	assert_int_equal(pipe_run(pipe, 0, &get), 1);
}

static void datagram(struct pipe *pipe, bool v6, bool from_outside)
{
	struct pipe_packet packet = {.v6 = v6,
		.proto = IPPROTO_UDP,
		.from_outside = from_outside,
		.payload = "hello, hello",
		.payload_length = 12};

	assert_int_equal(pipe_run(pipe, 0, &packet), 1);
}

#define COUNTER(name) offsetof(struct stats, icmp_errors_##name)

static const struct row {
	const char *what;
	size_t fault; // 0: none
	struct error error;
} rows[] = {
	{"the first unacknowledged byte", 0, {TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1001)}},
	{"inside what is in flight", 0, {TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1009)}},
	{"the next number, of a bare ACK", 0, {TCP(SERVER, CLIENT, true, CLIENT, SERVER, 1017)}},
	{"of the server, by an inside router", 0,
		{TCP(ROUTER_IN, SERVER, false, SERVER, CLIENT, 5001)}},
	{"acknowledged", COUNTER(window), {TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1000)}},
	{"beyond what was sent", COUNTER(window),
		{TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1018)}},
	{"any number", COUNTER(window),
		{TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 0x80000000)}},
	{"from the sender's zone", COUNTER(zone),
		{TCP(ROUTER_IN, CLIENT, false, CLIENT, SERVER, 1001)}},
	{"of the server, from outside", COUNTER(zone),
		{TCP(ROUTER_OUT, SERVER, true, SERVER, CLIENT, 5001)}},
	{"to another than the sender", COUNTER(receiver),
		{TCP(ROUTER_OUT, ROUTER_IN, true, CLIENT, SERVER, 1001)}},
	{"to the quoted receiver", COUNTER(receiver),
		{TCP(ROUTER_IN, SERVER, false, CLIENT, SERVER, 1001)}},
	{"longer than hosts make them", COUNTER(oversize),
		{TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1001), .filler = 1240}},
	{"as long as may be", 0,
		{TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1001), .filler = 508}},
	{"of a datagram", 0, {UDP(SERVER, CLIENT, true, CLIENT, SERVER)}},
	{"of an answer that never was", COUNTER(unsent),
		{UDP(ROUTER_IN, SERVER, false, SERVER, CLIENT)}},
};

static void only_what_the_flow_can_have_caused_passes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned round = 0; round < 4; round++) {
			bool v6 = round & 1, enforces = round & 2;
			struct pipe *pipe = pipe_new(1, NULL);
			struct policy *policy = policy_of(pipe);

			if (enforces)
				pipe_rule_app(policy, RULE, ACTION_RESET, "bittorrent");
			pipe_publish(pipe, policy);
			open_tcp(pipe, v6);
			datagram(pipe, v6, false);
			unsigned sent = run_error(pipe, &rows[i].error, v6);
			struct stats stats = pipe_stats(pipe);
			bool fault = rows[i].fault;

			if (sent != !(fault && enforces))
				fail_msg("%s: %u left, v6 %d", rows[i].what, sent, v6);
			assert_int_equal(stats.icmp_error_pkts, 1);
			if (fault && *(uint64_t *)((char *)&stats + rows[i].fault) != 1)
				fail_msg("%s: not counted", rows[i].what);
			assert_int_equal(stats.dropped_pkts[DROP_ICMP_ERROR], fault && enforces);
			pipe_free(pipe);
		}
	}
}

static void a_syn_without_an_answer_is_in_flight(void **state)
{
	static const struct error good = {TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1000)},
				  bad = {TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 999)};
	(void)state;

	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = policy_of(pipe);
		struct pipe_packet syn = {.v6 = v6, .seq = 1000, .tcp_flags = TH_SYN};

		pipe_rule_app(policy, RULE, ACTION_RESET, "bittorrent");
		pipe_publish(pipe, policy);
		assert_int_equal(pipe_run(pipe, 0, &syn), 1);
		assert_int_equal(run_error(pipe, &good, v6), 1);
		assert_int_equal(run_error(pipe, &bad, v6), 0);
		pipe_free(pipe);
	}
}

static void a_bad_checksum_is_malformed(void **state)
{
	static const struct error error = {
		TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1001), .bad_checksum = true};
	(void)state;

	for (unsigned round = 0; round < 4; round++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = policy_of(pipe);
		bool v6 = round & 1, drops = round & 2;

		pipe_rule_app(policy, RULE, ACTION_RESET, "bittorrent");
		policy->malformed = drops ? INVALID_DROP : INVALID_OBSERVE;
		pipe_publish(pipe, policy);
		open_tcp(pipe, v6);
		assert_int_equal(run_error(pipe, &error, v6), !drops);
		assert_int_equal(pipe_stats(pipe).bad_checksum_pkts, 1);
		pipe_free(pipe);
	}
}

// 4 of 4: TCP and UDP, begun by either side, quoted by a host that may send nothing.
static void errors_do_not_leave_a_quarantined_host(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 16; round++) {
		bool v6 = round & 1, udp = round & 2, begun_outside = round & 4, host = round & 8;
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = policy_of(pipe);
		struct rule *rule = pipe_rule(policy, RULE, ACTION_DROP);
		struct error error = {TCP(
			QUARANTINED, SERVER, false, SERVER, CLIENT, begun_outside ? 1001 : 5001)};

		if (udp)
			error.proto = IPPROTO_UDP;

		rule->has_source = !host;
		rule->has_host = host;
		names(host ? &rule->host : &rule->source, QUARANTINED);
		pipe_publish(pipe, policy);
		if (udp) {
			datagram(pipe, v6, begun_outside);
			datagram(pipe, v6, !begun_outside);
		} else if (begun_outside) { // the pipe's server, with the server's port
			struct pipe_packet syn = {
				.v6 = v6, .from_outside = true, .seq = 1001, .tcp_flags = TH_SYN};

			assert_int_equal(pipe_run(pipe, 0, &syn), 1);
		} else {
			open_tcp(pipe, v6);
		}
		assert_int_equal(run_error(pipe, &error, v6), 0);
		assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], 1);
		error.from = ROUTER_IN; // the control: it differs by who sends it alone
		assert_int_equal(run_error(pipe, &error, v6), 1);
		pipe_free(pipe);
	}
}

// Rules that say who may begin a flow do not cut what is part of one: path MTU discovery goes on.
static void errors_within_allowed_flows_pass(void **state)
{
	static const struct error error = {TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1001)};
	enum { NO_INBOUND, OUTBOUND_ONLY, TO_SERVER_ONLY, NOT_TO_CLIENT, CASES };
	(void)state;

	for (unsigned kind = 0; kind < CASES; kind++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = policy_of(pipe);
		bool passes = kind == OUTBOUND_ONLY || kind == TO_SERVER_ONLY;
		struct rule *rule = pipe_rule(policy, RULE, passes ? ACTION_PASS : ACTION_DROP);

		policy->enforces = true;
		if (passes)
			policy->default_action = ACTION_DROP;
		if (kind == NO_INBOUND)
			rule->direction = DIRECTION_INBOUND;
		if (kind == OUTBOUND_ONLY)
			rule->direction = DIRECTION_OUTBOUND;
		if (kind == TO_SERVER_ONLY || kind == NOT_TO_CLIENT) {
			rule->has_destination = true;
			names(&rule->destination, kind == TO_SERVER_ONLY ? SERVER : CLIENT);
		}
		pipe_publish(pipe, policy);
		open_tcp(pipe, false);
		// whom the rules do not let the client talk to does not talk to it
		assert_int_equal(run_error(pipe, &error, false), kind != TO_SERVER_ONLY);
		if (kind == TO_SERVER_ONLY) { // unless it may send ICMP by itself
			struct policy *icmp = policy_of(pipe);
			struct rule *to_server = pipe_rule(icmp, RULE, ACTION_PASS);

			icmp->enforces = true;
			icmp->default_action = ACTION_DROP;
			to_server->has_destination = true;
			names(&to_server->destination, SERVER);
			pipe_rule(icmp, RULE + 1, ACTION_PASS)->l4_proto = IPPROTO_ICMP;
			pipe_publish(pipe, icmp);
			assert_int_equal(run_error(pipe, &error, false), 1);
		}
		struct error by_server = error;

		by_server.from = SERVER;
		assert_int_equal(run_error(pipe, &by_server, false), 1);
		pipe_free(pipe);
	}
}

static void errors_are_limited_and_those_without_a_flow_to_half(void **state)
{
	struct error error = {TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1001)};
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = policy_of(pipe);
	unsigned sent = 0;
	(void)state;

	policy->icmp_errors_per_s = 6;
	pipe_rule_app(policy, RULE, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	open_tcp(pipe, false);
	error.receiver = QUARANTINED; // no flow
	for (unsigned i = 0; i < 10; i++)
		sent += run_error(pipe, &error, false);
	assert_int_equal(sent, 3);
	error.receiver = SERVER;
	for (unsigned i = 0; i < 10; i++)
		sent += run_error(pipe, &error, false);
	assert_int_equal(sent, 6);
	assert_int_equal(pipe_stats(pipe).icmp_errors_limited, 14);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_ICMP_LIMIT], 14);
	pipe_advance(pipe, 1);
	assert_int_equal(run_error(pipe, &error, false), 1);
	pipe_free(pipe);
}

// A redirect is no error in ICMPv6, and quotes nothing there.
static unsigned run_redirect(struct pipe *pipe, bool v6)
{
	struct error error = {
		TCP(ROUTER_OUT, CLIENT, true, CLIENT, SERVER, 1001), .type = 5, .type6 = 137};

	return run_error(pipe, &error, v6);
}

static void redirects_have_a_rule_of_their_own(void **state)
{
	static const struct {
		uint8_t redirect;
		bool enforces, passes;
	} cases[] = {
		{ICMP_REDIRECT_AUTO, true, false},
		{ICMP_REDIRECT_AUTO, false, true},
		{ICMP_REDIRECT_PASS, true, true},
		{ICMP_REDIRECT_DROP, false, false},
	};
	(void)state;

	for (unsigned i = 0; i < 8; i++) {
		struct pipe *pipe = pipe_new(1, NULL);
		struct policy *policy = policy_of(pipe);
		bool v6 = i & 1;

		policy->icmp_redirect = cases[i / 2].redirect;
		if (cases[i / 2].enforces)
			pipe_rule_app(policy, RULE, ACTION_RESET, "bittorrent");
		pipe_publish(pipe, policy);
		open_tcp(pipe, v6);
		assert_int_equal(run_redirect(pipe, v6), cases[i / 2].passes);
		assert_int_equal(pipe_stats(pipe).icmp_redirects, 1);
		assert_int_equal(
			pipe_stats(pipe).dropped_pkts[DROP_ICMP_REDIRECT], !cases[i / 2].passes);
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_flow_can_have_caused_passes),
		cmocka_unit_test(a_syn_without_an_answer_is_in_flight),
		cmocka_unit_test(a_bad_checksum_is_malformed),
		cmocka_unit_test(errors_do_not_leave_a_quarantined_host),
		cmocka_unit_test(errors_within_allowed_flows_pass),
		cmocka_unit_test(errors_are_limited_and_those_without_a_flow_to_half),
		cmocka_unit_test(redirects_have_a_rule_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
