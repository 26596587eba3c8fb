// SPDX-License-Identifier: BSD-3-Clause
// Rules on addresses hold for the ends of a tunnel as well as for what is inside of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/packet/packet.h"
#include "lib/pipeline/pipe.h"

#define RULE 7

enum tunnel { GRE, GRE_KEY, IPIP, SIX_IN_FOUR, FOUR_IN_SIX, SIX_IN_SIX, TUNNELS };

// 1 and 2 are the ends of the tunnel; .3 and .4, or what is within, those inside.
static void outer(struct packet *p, bool v6, bool back)
{
	if (v6)
		packet_ipv6(p, back ? "fd00::2" : "fd00::1", back ? "fd00::1" : "fd00::2");
	else
		packet_ipv4(p, back ? "10.0.0.2" : "10.0.0.1", back ? "10.0.0.1" : "10.0.0.2");
}

static void build(struct packet *p, enum tunnel tunnel, bool back)
{
	bool six = tunnel == SIX_IN_FOUR || tunnel == SIX_IN_SIX;

	packet_begin(p);
	packet_ethernet(p);
	outer(p, tunnel == FOUR_IN_SIX || tunnel == SIX_IN_SIX, back);
	if (tunnel == SIX_IN_SIX) // as RFC 2473 has it
		packet_extension(p, IPPROTO_DSTOPTS, 8);
	if (tunnel == GRE || tunnel == GRE_KEY)
		packet_gre(p, tunnel == GRE_KEY ? 0x2000 : 0, 0);
	if (six)
		packet_ipv6(p, back ? "fd01::4" : "fd01::3", back ? "fd01::3" : "fd01::4");
	else
		packet_ipv4(p, back ? "10.1.0.4" : "10.1.0.3", back ? "10.1.0.3" : "10.1.0.4");
}

static unsigned datagram(struct pipe *pipe, enum tunnel tunnel, bool back)
{
	struct packet p;

	build(&p, tunnel, back);
	packet_udp(&p, back ? 53 : 5353, back ? 5353 : 53);
	packet_text(&p, "of no protocol that is known");
	packet_finish(&p);
	return pipe_run_frame(pipe, 0, p.bytes, p.length, back, 1);
}

// A later fragment: it is held, or not.
static unsigned fragments_held_of(struct pipe *pipe)
{
	struct packet p;

	build(&p, GRE, false);
	packet_ipv4_fragment(&p, 5, 64, false);
	packet_protocol(&p, IPPROTO_UDP);
	packet_fill(&p, 24);
	packet_finish(&p);
	pipe_run_frame(pipe, 0, p.bytes, p.length, false, 1);
	return pipeline_held(pipe->dp.lcores[0]);
}

static unsigned error_in_tunnel(struct pipe *pipe)
{
	struct packet p;

	build(&p, GRE, false);
	packet_icmp(&p, 3, 3);
	packet_ipv4(&p, "10.1.0.4", "10.1.0.3");
	packet_udp(&p, 53, 5353);
	packet_finish(&p);
	return pipe_run_frame(pipe, 0, p.bytes, p.length, false, 1);
}

static void end(struct address_set *set, bool far)
{
	assert_int_equal(address_set_add(set, far ? "10.0.0.2" : "10.0.0.1"), 0);
	assert_int_equal(address_set_add(set, far ? "fd00::2" : "fd00::1"), 0);
	address_set_seal(set);
}

enum setting {
	NO_SOURCE,
	NO_DESTINATION,
	DEFAULT_DROP,
	INSIDE_ALLOWED,
	OUTBOUND,
	OTHER_SOURCE,
	SETTINGS
};

static struct policy *policy_of(struct pipe *pipe, enum setting setting)
{
	struct policy *policy = pipe_policy(pipe);
	bool allows = setting == INSIDE_ALLOWED || setting == OUTBOUND;

	policy->enforces = true;
	policy->icmp_errors_per_s = 100;
	if (setting == DEFAULT_DROP || allows)
		policy->default_action = ACTION_DROP;
	if (setting == DEFAULT_DROP)
		return policy;
	struct rule *rule = pipe_rule(policy, RULE, allows ? ACTION_PASS : ACTION_DROP);

	switch (setting) {
	case NO_SOURCE:
		rule->has_source = true;
		end(&rule->source, false);
		break;
	case OTHER_SOURCE:
		rule->has_source = true;
		end(&rule->source, true);
		break;
	case NO_DESTINATION:
		rule->has_destination = true;
		end(&rule->destination, true);
		break;
	case INSIDE_ALLOWED: // but not the tunnel
		rule->has_source = true;
		assert_int_equal(address_set_add(&rule->source, "10.1.0.3"), 0);
		assert_int_equal(address_set_add(&rule->source, "fd01::3"), 0);
		address_set_seal(&rule->source);
		break;
	default: rule->direction = DIRECTION_OUTBOUND; break;
	}
	return policy;
}

static void rules_hold_for_the_ends_of_a_tunnel(void **state)
{
	static const bool passes[SETTINGS] = {[OUTBOUND] = true, [OTHER_SOURCE] = true};
	(void)state;

	for (unsigned setting = 0; setting < SETTINGS; setting++) {
		for (unsigned tunnel = 0; tunnel < TUNNELS; tunnel++) {
			struct pipe *pipe = pipe_new(1, NULL);

			pipe_publish(pipe, policy_of(pipe, setting));
			if (datagram(pipe, tunnel, false) != passes[setting])
				fail_msg("setting %u, tunnel %u", setting, tunnel);
			assert_int_equal(
				pipe_stats(pipe).dropped_pkts[DROP_RULE], !passes[setting]);
			assert_int_equal(pipe_stats(pipe).flows_created, passes[setting]);
			if (passes[setting]) // and its answer
				assert_int_equal(datagram(pipe, tunnel, true), 1);
			pipe_free(pipe);
		}
	}
}

static void rules_hold_for_fragments_and_errors_in_a_tunnel(void **state)
{
	(void)state;
	for (unsigned setting = 0; setting < SETTINGS; setting++) {
		struct pipe *pipe = pipe_new(1, NULL);
		bool passes = setting >= OUTBOUND;

		if (setting == NO_DESTINATION || setting == INSIDE_ALLOWED) {
			pipe_free(pipe); // whether it is an answer is not known
			continue;
		}
		pipe_publish(pipe, policy_of(pipe, setting));
		assert_int_equal(fragments_held_of(pipe), passes);
		if (setting != OUTBOUND) // what quotes no flow is inbound or outbound by itself
			assert_int_equal(error_in_tunnel(pipe), passes);
		pipe_free(pipe);
	}
}

static void a_reload_asks_again(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	pipe_publish(pipe, policy_of(pipe, OUTBOUND));
	assert_int_equal(datagram(pipe, GRE, false), 1);
	struct policy *policy = policy_of(pipe, NO_SOURCE);

	policy->reevaluate = REEVALUATE_ALL;
	pipe_publish(pipe, policy);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(datagram(pipe, GRE, false), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], 3);
	pipe_publish(pipe, policy_of(pipe, OTHER_SOURCE));
	assert_int_equal(datagram(pipe, GRE, false), 1);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_hold_for_the_ends_of_a_tunnel),
		cmocka_unit_test(rules_hold_for_fragments_and_errors_in_a_tunnel),
		cmocka_unit_test(a_reload_asks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
