// SPDX-License-Identifier: BSD-3-Clause
// The short way of datagrams that only a decoder wants: who takes it, what is learned on it, and
// that whatever else wants the packet gets it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "classify/user_apps.h"
#include "lib/classify/classify_rig.h"
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/table.h"

#define NAME(last)  "\4chat\5host" last "\0\0\1\0\1"
#define QUERY(last) "\x12\x34\1\0\0\1\0\0\0\0\0\0" NAME(last)
#define ANSWER(last)                                                                         \
	"\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME(last) "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0" \
						      "\0" last

static const char query[] = QUERY("1"), answer[] = ANSWER("1");
static const char next_query[] = QUERY("2"), next_answer[] = ANSWER("2");
// BEP 5
static const char dht_query[] = "d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe";
static const char dht_reply[] = "d1:rd2:id20:mnopqrstuvwxyz123456e1:t2:aa1:y1:re";
// µTP (BEP 29): ST_DATA; nobody follows it
static const char utp[] = "\x01\0\1\2\x5a\x01\2\3\x12\x34\x56\x78\0\1\0\0\0\1\0\1payload";

static uint64_t followed(const struct pipe *pipe)
{
	return pipe->dp.lcores[0]->meter.costs[METER_FOLLOWED].pkts;
}

static uint64_t final(const struct pipe *pipe)
{
	return pipe->dp.lcores[0]->meter.costs[METER_FINAL].pkts;
}

static unsigned say(struct pipe *pipe, uint16_t port, bool back, const char *bytes, size_t length)
{
	const struct pipe_packet packet = {.from_outside = back,
		.proto = IPPROTO_UDP,
		.dport = port,
		.payload = bytes,
		.payload_length = (uint16_t)(length - 1)};

	return pipe_run(pipe, 0, &packet);
}

static unsigned ask(struct pipe *pipe)
{
	return say(pipe, 53, false, query, sizeof(query));
}

static struct rig *rig; // the repository's signatures

// Names of these hosts are worth learning.
static struct policy *with_hosts(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	assert_int_equal(user_apps_add_host(policy->user_apps, app_find("irc"), "host1"), 0);
	assert_int_equal(user_apps_add_host(policy->user_apps, app_find("irc"), "host2"), 0);
	return policy;
}

static struct pipe *metered(void)
{
	struct pipe *pipe = pipe_new(1, NULL);

	pipe_signatures(pipe, rig->db);
	pipe_publish(pipe, with_hosts(pipe));
	atomic_store(&pipe->dp.meter_every, 1);
	return pipe;
}

// Both ends are heard.
static struct pipe *with_dns(void)
{
	struct pipe *pipe = metered();

	assert_int_equal(ask(pipe), 1);
	assert_int_equal(say(pipe, 53, true, answer, sizeof(answer)), 1);
	assert_int_equal(followed(pipe), 0);
	return pipe;
}

static void names_are_learned_on_it(void **state)
{
	struct pipe *pipe = with_dns();
	uint64_t learned = pipe_stats(pipe).names_learned;
	(void)state;

	assert_true(learned > 0);
	assert_int_equal(say(pipe, 53, false, next_query, sizeof(next_query)), 1);
	assert_int_equal(say(pipe, 53, true, next_answer, sizeof(next_answer)), 1);
	assert_int_equal(followed(pipe), 2);
	assert_true(pipe_stats(pipe).names_learned > learned);
	assert_int_equal(final(pipe), 0);
	pipe_free(pipe);
}

static void one_end_alone_takes_all_stages(void **state)
{
	struct pipe *pipe = metered();
	(void)state;

	for (unsigned i = 0; i < 20; i++)
		ask(pipe);
	assert_int_equal(followed(pipe), 0);
	pipe_free(pipe);
}

static void all_stages_are_asked_for(void **state)
{
	struct pipe *pipe = with_dns();
	(void)state;

	pipe->dp.all_stages = true;
	ask(pipe);
	assert_int_equal(followed(pipe), 0);
	pipe_free(pipe);
}

static void nodes_of_the_dht_take_it_until_they_speak_utp(void **state)
{
	struct pipe *pipe = metered();
	(void)state;

	say(pipe, 6881, false, dht_query, sizeof(dht_query));
	say(pipe, 6881, true, dht_reply, sizeof(dht_reply));
	for (unsigned i = 0; i < 4; i++)
		say(pipe, 6881, i & 1, dht_query, sizeof(dht_query));
	assert_int_equal(followed(pipe), 4);
	say(pipe, 6881, false, utp, sizeof(utp)); // the decoder has seen enough
	assert_int_equal(followed(pipe), 5);
	assert_int_equal(final(pipe), 0);
	say(pipe, 6881, false, dht_query, sizeof(dht_query));
	assert_int_equal(followed(pipe), 5);
	assert_int_equal(final(pipe), 1);
	pipe_free(pipe);
}

static void a_wrong_checksum_is_not_learned_from(void **state)
{
	struct pipe *pipe = with_dns();
	const struct pipe_packet wrong = {.from_outside = true,
		.proto = IPPROTO_UDP,
		.dport = 53,
		.payload = next_answer,
		.payload_length = sizeof(next_answer) - 1,
		.bad_checksum = true};
	uint64_t learned = pipe_stats(pipe).names_learned;
	(void)state;

	say(pipe, 53, false, next_query, sizeof(next_query));
	pipe_run(pipe, 0, &wrong);
	assert_int_equal(followed(pipe), 1);
	assert_int_equal(pipe_stats(pipe).names_learned, learned);
	pipe_free(pipe);
}

// Its first packet then is decided on in stage_reload.
static void another_policy_decides_on_it(void **state)
{
	struct pipe *pipe = with_dns();
	struct policy *policy = with_hosts(pipe);
	(void)state;

	pipe_rule_app(policy, 7, ACTION_DROP, "dns");
	policy->reevaluate = REEVALUATE_ALL;
	pipe_publish(pipe, policy);
	assert_int_equal(ask(pipe), 0);
	assert_int_equal(followed(pipe), 0);
	pipe_free(pipe);
}

static void pieces_and_empty_ones_take_all_stages(void **state)
{
	struct pipe *pipe = with_dns();
	struct pipe_packet packet = {.proto = IPPROTO_UDP,
		.dport = 53,
		.payload = next_query,
		.payload_length = sizeof(next_query) - 1,
		.segments = 3};
	(void)state;

	assert_int_equal(pipe_run(pipe, 0, &packet), 1);
	packet.segments = 1;
	packet.payload_length = 0;
	assert_int_equal(pipe_run(pipe, 0, &packet), 1);
	assert_int_equal(followed(pipe), 0);
	pipe_free(pipe);
}

// Of a traced flow each stage is told.
static void what_is_traced_takes_all_stages(void **state)
{
	struct pipe *pipe = with_dns();
	struct lcore *lcore = pipe->dp.lcores[0];
	(void)state;

	ask(pipe);
	assert_int_equal(followed(pipe), 1);
	for (uint32_t ref = 0; ref < 4; ref++)
		flow_at(lcore->flows, ref)->flags |= FLOW_TRACE;
	ask(pipe);
	assert_int_equal(followed(pipe), 1);
	pipe_free(pipe);
}

// Counters and time-outs move as on any other way.
static void it_counts(void **state)
{
	struct pipe *pipe = with_dns();
	struct event event;
	(void)state;

	for (unsigned i = 0; i < 6; i++)
		ask(pipe);
	assert_int_equal(followed(pipe), 6);
	pipe_advance(pipe, 3600);
	pipe_turns(pipe);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.flow.pkts[HALF_C2S], 7);
	assert_int_equal(event.flow.pkts[HALF_S2C], 1);
	pipe_free(pipe);
}

static int setup(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_learned_on_it),
		cmocka_unit_test(one_end_alone_takes_all_stages),
		cmocka_unit_test(all_stages_are_asked_for),
		cmocka_unit_test(nodes_of_the_dht_take_it_until_they_speak_utp),
		cmocka_unit_test(a_wrong_checksum_is_not_learned_from),
		cmocka_unit_test(another_policy_decides_on_it),
		cmocka_unit_test(pieces_and_empty_ones_take_all_stages),
		cmocka_unit_test(what_is_traced_takes_all_stages),
		cmocka_unit_test(it_counts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
