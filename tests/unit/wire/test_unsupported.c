// SPDX-License-Identifier: BSD-3-Clause
// What hosts accept is inspected, however many headers it hides behind; what is not followed is
// counted by its cause, kept to the rules on its outermost addresses, and dropped by a policy that
// may refuse anything.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "pipeline/wire/checksum.h"
#include "lib/packet/packet.h"
#include "lib/pipeline/pipe.h"

#define RULE 7
#define A4   "192.0.2.1"
#define B4   "192.0.2.2"
#define A6   "2001:db8::1"
#define B6   "2001:db8::2"

static void v4(struct packet *p)
{
	packet_ipv4(p, A4, B4);
}

static void v6(struct packet *p)
{
	packet_ipv6(p, A6, B6);
}

static void options(struct packet *p, unsigned n, unsigned length)
{
	v6(p);
	for (unsigned i = 0; i < n; i++)
		packet_extension(p, IPPROTO_DSTOPTS, length);
}

static void options9(struct packet *p)
{
	options(p, 9, 8);
}

static void options28(struct packet *p)
{
	options(p, 28, 8); // the builder counts 32 layers
}

static void options600(struct packet *p)
{
	options(p, 1, 600);
}

static void options1200(struct packet *p)
{
	options(p, 2, 600);
}

static void nested4(struct packet *p)
{
	for (unsigned i = 0; i < 4; i++)
		v4(p);
}

static void nested6(struct packet *p)
{
	for (unsigned i = 0; i < 4; i++)
		v6(p);
}

static void nested9(struct packet *p)
{
	for (unsigned i = 0; i < 9; i++)
		v4(p);
}

static void hop_by_hop(struct packet *p)
{
	v6(p);
	packet_extension(p, IPPROTO_HOPOPTS, 8);
}

static void no_ip_length(struct packet *p)
{
	memset(p->bytes + packet_at(p, IPPROTO_IPV6, 0) + 4, 0, 2);
}

static void no_udp_length(struct packet *p)
{
	uint32_t at = packet_at(p, IPPROTO_UDP, 0);

	memset(p->bytes + at + 4, 0, 2);
	checksum_fill(p->bytes + packet_at(p, IPPROTO_IPV6, 0), p->bytes + at,
		(uint16_t)(p->length - at), IPPROTO_UDP, true);
}

static const struct form {
	const char *name;
	void (*headers)(struct packet *p);
	void (*damage)(struct packet *p); // after all else
} accepted[] = {
	{"IPv4", v4, NULL},
	{"IPv6", v6, NULL},
	{"9 headers of destination options", options9, NULL},
	{"28 of them", options28, NULL},
	{"600 bytes of options", options600, NULL},
	{"1200 bytes of options", options1200, NULL},
	{"4 nested IPv4 headers", nested4, NULL},
	{"4 nested IPv6 headers", nested6, NULL},
	{"9 nested IPv4 headers", nested9, NULL},
	{"UDP length 0", v6, no_udp_length},
	{"UDP length 0 behind options", options600, no_udp_length},
	{"IPv6 length 0, a jumbogram", hop_by_hop, no_ip_length},
};

static void build(struct packet *p, const struct form *form, const char *payload)
{
	packet_begin(p);
	packet_ethernet(p);
	form->headers(p);
	packet_udp(p, 6881, 6882);
	packet_text(p, payload);
	packet_finish(p);
	if (form->damage)
		form->damage(p);
}

static void what_hosts_accept_is_inspected(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		for (unsigned segments = 1; segments < 20; segments += 6) {
			struct pipe *pipe = pipe_new(1, NULL);
			struct policy *policy = pipe_policy(pipe);
			struct packet p;

			pipe_rule_app(policy, RULE, ACTION_DROP, "bittorrent");
			policy->unsupported = INVALID_AUTO;
			pipe_publish(pipe, policy);
			build(&p, &accepted[i], "d1:ad2:id20:aaaaaaaaaaaaaaaaaaaae1:q4:ping");
			if (pipe_run_frame(pipe, 0, p.bytes, p.length, false, segments))
				fail_msg("%s, in %u segments", accepted[i].name, segments);
			assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], 1);
			pipe_free(pipe);

			pipe = pipe_new(1, NULL); // the control: another payload passes
			policy = pipe_policy(pipe);
			pipe_rule_app(policy, RULE, ACTION_DROP, "bittorrent");
			policy->unsupported = INVALID_AUTO;
			pipe_publish(pipe, policy);
			build(&p, &accepted[i], "something else, of no protocol that is known");
			if (!pipe_run_frame(pipe, 0, p.bytes, p.length, false, segments))
				fail_msg("%s, in %u segments: dropped", accepted[i].name, segments);
			pipe_free(pipe);
		}
	}
}

static void segment_route(struct packet *p)
{
	v6(p);
	packet_extension(p, IPPROTO_ROUTING, 24);
	p->bytes[p->length - 24 + 2] = 4; // a segment routing header (RFC 8754)
	p->bytes[p->length - 24 + 3] = 1; // segments left
}

static void nested10(struct packet *p)
{
	nested9(p);
	v4(p);
}

static void nested_fragments(struct packet *p)
{
	v6(p);
	packet_ipv6_fragment(p, 1, 0, true);
	packet_ipv6_fragment(p, 2, 0, true);
}

static void two_atomic_fragments(struct packet *p)
{
	v6(p);
	packet_ipv6_fragment(p, 1, 0, false);
	packet_ipv6_fragment(p, 2, 0, false);
}

static void routed_in_tunnel(struct packet *p)
{
	v4(p);
	packet_ipv6(p, "2001:db8:1::1", "2001:db8:1::2");
	packet_extension(p, IPPROTO_ROUTING, 24);
	p->bytes[p->length - 24 + 3] = 1;
}

static const struct refused {
	struct form form;
	enum unsupported_cause cause;
	size_t counter;
	bool v6;
} refused[] = {
#define COUNTER(name) offsetof(struct stats, unsupported_##name)
	{{"SRv6, on its way", segment_route, NULL}, UNSUPPORTED_ROUTING, COUNTER(routing), true},
	{{"10 nested headers", nested10, NULL}, UNSUPPORTED_TUNNELS, COUNTER(tunnels), false},
	{{"a fragment of a fragment", nested_fragments, NULL}, UNSUPPORTED_FRAGMENTS,
		COUNTER(fragments), true},
	{{"two fragment headers", two_atomic_fragments, NULL}, UNSUPPORTED_FRAGMENTS,
		COUNTER(fragments), true},
	{{"routed in a tunnel", routed_in_tunnel, NULL}, UNSUPPORTED_ROUTING, COUNTER(routing),
		false},
};

enum setting {
	ENFORCING,
	NOTHING_REFUSED,
	OBSERVED,
	OBSERVED_BY_RULE,
	OBSERVED_BY_DEFAULT,
	SETTINGS
};

static struct policy *policy_for(struct pipe *pipe, enum setting setting)
{
	struct policy *policy = pipe_policy(pipe);
	bool observed = setting >= OBSERVED;

	policy->unsupported = observed ? INVALID_OBSERVE : INVALID_AUTO;
	if (setting == ENFORCING || setting == OBSERVED)
		pipe_rule_app(policy, RULE, ACTION_DROP, "bittorrent");
	if (setting == OBSERVED_BY_RULE) {
		struct rule *rule = pipe_rule(policy, RULE, ACTION_DROP);

		rule->has_source = true;
		assert_int_equal(address_set_add(&rule->source, A4), 0);
		assert_int_equal(address_set_add(&rule->source, A6), 0);
		address_set_seal(&rule->source);
	}
	if (setting == OBSERVED_BY_DEFAULT) {
		policy->default_action = ACTION_DROP;
		policy->enforces = true;
	}
	return policy;
}

static void what_is_not_followed_is_kept_to_the_rules(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		for (unsigned setting = 0; setting < SETTINGS; setting++) {
			struct pipe *pipe = pipe_new(1, NULL);
			bool ruled = setting >= OBSERVED_BY_RULE;
			bool passes = setting == NOTHING_REFUSED || setting == OBSERVED;
			struct event event;
			struct packet p;

			pipe_publish(pipe, policy_for(pipe, setting));
			build(&p, &refused[i].form, "anything at all!");
			if (pipe_run_frame(pipe, 0, p.bytes, p.length, false, 1) != passes)
				fail_msg("%s, setting %u", refused[i].form.name, setting);
			struct stats stats = pipe_stats(pipe);

			assert_int_equal(stats.dropped_pkts[DROP_RULE], ruled);
			assert_int_equal(
				stats.dropped_pkts[DROP_UNSUPPORTED], setting == ENFORCING);
			assert_int_equal(stats.unsupported_pkts, !ruled);
			assert_int_equal(
				*(uint64_t *)((char *)&stats + refused[i].counter), !ruled);
			if (setting == ENFORCING) { // the first drop has a record
				assert_true(pipe_event(pipe, 0, EVENT_INVALID, &event));
				assert_int_equal(event.reason, DROP_UNSUPPORTED);
				assert_int_equal(event.drop.cause, refused[i].cause);
				assert_int_equal(event.ends.address[0][15], 1);
				assert_int_equal(
					event.ends.address[0][0], refused[i].v6 ? 0x20 : 0);
			}
			pipe_free(pipe);
		}
	}
}

static void hop_by_hop_twice(struct packet *p)
{
	hop_by_hop(p);
	packet_extension(p, IPPROTO_HOPOPTS, 8);
}

static void short_udp(struct packet *p)
{
	memset(p->bytes + packet_at(p, IPPROTO_UDP, 0) + 4, 0, 2);
}

// No host is known to take these. Where the addresses are known, rules hold all the same.
static void what_is_malformed_is_kept_to_the_rules(void **state)
{
	static const struct form malformed[] = {
		{"hop-by-hop options twice", hop_by_hop_twice, NULL},
		{"UDP length 0 in IPv4", v4, short_udp},
		{"the same in a tunnel", nested4, short_udp},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		for (unsigned setting = 0; setting < SETTINGS; setting++) {
			struct pipe *pipe = pipe_new(1, NULL);
			bool ruled = setting >= OBSERVED_BY_RULE;
			struct packet p;

			pipe_publish(pipe, policy_for(pipe, setting));
			build(&p, &malformed[i], "anything at all!");
			if (pipe_run_frame(pipe, 0, p.bytes, p.length, false, 1) != !ruled)
				fail_msg("%s, setting %u", malformed[i].name, setting);
			assert_int_equal(pipe_stats(pipe).malformed_pkts, 1);
			assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], ruled);
			pipe_free(pipe);
		}
	}
}

// More than is read of any frame.
static void headers_beyond_the_window_are_not_followed(void **state)
{
	enum { HEADER = 2048, N = 5 };
	static uint8_t frame[14 + 40 + N * HEADER + 8];
	struct pipe *pipe = pipe_new(1, NULL);
	struct packet p;
	(void)state;

	pipe_publish(pipe, policy_for(pipe, ENFORCING));
	packet_begin(&p);
	packet_ethernet(&p);
	v6(&p);
	packet_protocol(&p, IPPROTO_DSTOPTS);
	packet_finish(&p);
	memcpy(frame, p.bytes, p.length);
	frame[18] = (N * HEADER + 8) >> 8;
	frame[19] = (N * HEADER + 8) & 0xff;
	for (unsigned i = 0; i < N; i++) {
		frame[54 + i * HEADER] = i + 1 < N ? IPPROTO_DSTOPTS : IPPROTO_UDP;
		frame[54 + i * HEADER + 1] = 255;
	}
	for (unsigned segments = 1; segments < 9; segments += 7)
		assert_int_equal(pipe_run_frame(pipe, 0, frame, sizeof(frame), false, segments), 0);
	assert_int_equal(pipe_stats(pipe).unsupported_headers, 2);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_UNSUPPORTED], 2);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_hosts_accept_is_inspected),
		cmocka_unit_test(what_is_not_followed_is_kept_to_the_rules),
		cmocka_unit_test(what_is_malformed_is_kept_to_the_rules),
		cmocka_unit_test(headers_beyond_the_window_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
