// SPDX-License-Identifier: BSD-3-Clause
// One core and ten thousand peers with keys of their own, on one loop in virtual time. All are
// reached, get messages and answer. When nobody has anything to say, every session ends by its
// time-outs, and opens again without a PING; when all fall silent, every one is found out, and its
// session ends; who is forgotten leaves nothing. Over real sockets: `tools/bench peers`.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "lib/tapi/tapi_puppet.h"
#include "lib/tapi/tapi_stage.h"

#define S UINT64_C(1000000)

// The first half is called, the second half calls.
enum { PEERS = 10000, CALLED = PEERS / 2, BUFFER = 256 };

static struct stage stage;
static struct puppet *all;
static bool silent, small; // small: a socket holds BUFFER packets, more are lost
static uint64_t told, reachable, lost;
static double begun;

static double cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static size_t heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void say(const char *what)
{
	print_message("%-26s %4.1f s of CPU, %4llu s of the clock, %5u sessions\n", what,
		cpu() - begun, (unsigned long long)(stage.now_us / S), stage.links.count);
}

// Peer i is at address i + 16.
static void on_sent(
	struct stage *of, struct stage_session *session, const uint8_t *payload, uint32_t size)
{
	const struct tapi_source source = {.family = 4};
	uint8_t answer[STAGE_MTU];
	struct puppet *puppet = &all[session->address - 16];
	uint32_t n;

	if (silent || (small && of->n_packets >= BUFFER))
		return;
	n = puppet_answer(puppet, &of->identity.id, &source, payload, size, stage_wall(of), answer,
		sizeof(answer));
	if (n)
		stage_arrive(of, session->address, &puppet->identity.id, answer, n, false, NULL);
}

static void on_tell(void *context, const struct tapi_incoming *incoming)
{
	(void)context;
	told += incoming->length != 0;
}

static void on_event(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info)
{
	(void)context;
	(void)info;
	reachable += what == TAPI_PEER_REACHABLE;
	lost += what == TAPI_PEER_LOST;
}

static void ask(unsigned first, unsigned end)
{
	const struct tapi_outgoing outgoing = {.type = PUPPET_ASK, .body = "hello", .length = 5};

	for (unsigned i = first; i < end; i++)
		assert_int_equal(
			tapi_core_send(stage.core, &all[i].identity.id, &outgoing), TAPI_OK);
}

static void everybody_meets(void)
{
	uint8_t here[4];

	// Thousands of PINGs are due at one moment, and the socket can take all PONGs.
	small = true;
	for (unsigned i = 0; i < CALLED; i++)
		assert_int_equal(
			tapi_core_add_helo(stage.core, all[i].helo, all[i].helo_size), TAPI_OK);
	ask(0, CALLED);
	stage_run(&stage, S / 2);
	assert_int_equal(told, CALLED);
	small = false;
	puppet_message(here, PUPPET_TELL, NULL, 0);
	for (unsigned i = CALLED; i < PEERS; i++)
		stage_arrive(&stage, i + 16, &all[i].identity.id, here, sizeof(here), false, NULL);
	stage_run(&stage, 1000);
	assert_int_equal(stage.links.count, PEERS);
	ask(CALLED, PEERS);
	stage_run(&stage, S / 2);
	say("all are met");
	assert_int_equal(reachable, PEERS);
	assert_int_equal(stage.links.count, PEERS);
	assert_int_equal(told, PEERS);
	for (unsigned i = 0; i < PEERS; i++)
		assert_true(all[i].pings == 1 && all[i].asks == 1);
}

static void everybody_talks(void)
{
	for (unsigned round = 2; round <= 5; round++) {
		ask(0, PEERS);
		stage_run(&stage, S);
		assert_int_equal(told, round * PEERS);
	}
	say("and have talked");
	assert_int_equal(stage.links.count, PEERS); // the same ones
	assert_int_equal(stage.stats.sessions_closed, 0);
}

static void nobody_talks(void)
{
	const uint64_t pings = stage_counter(&stage, "ping_sent");
	uint64_t asked;

	// Each is asked after idle_ping_s, not all at one moment, and all answers can be taken.
	small = true;
	stage_run(&stage, 103 * S);
	assert_int_equal(stage_counter(&stage, "ping_sent"), pings);
	stage_run(&stage, 17 * S / 2);
	asked = stage_counter(&stage, "ping_sent") - pings;
	assert_in_range(asked, PEERS * 3 / 10, PEERS * 7 / 10);
	stage_run(&stage, 17 * S / 2);
	assert_int_equal(stage_counter(&stage, "ping_sent") - pings, PEERS);
	stage_run(&stage, 170 * S);
	assert_int_equal(stage_counter(&stage, "ping_unanswered"), 0);
	small = false;
	assert_int_equal(stage.links.count, PEERS);
	stage_run(&stage, 80 * S); // past idle_close_s, and stale_s for those who had called
	say("nobody talks");
	assert_int_equal(stage.links.count, 0);
	assert_int_equal(stage.stats.sessions_stale, PEERS - CALLED);
	assert_int_equal(stage.stats.sessions_closed, PEERS);
}

static void all_fall_silent(void)
{
	uint64_t pings = stage_counter(&stage, "ping_sent_address"), before = lost;

	// Who was called is called again, without a PING.
	ask(0, CALLED);
	stage_run(&stage, S);
	say("they talk again");
	assert_int_equal(stage.links.count, CALLED);
	assert_int_equal(told, 5 * PEERS + CALLED);
	assert_int_equal(stage_counter(&stage, "ping_sent_address"), pings);
	silent = true;
	ask(0, CALLED);
	stage_run(&stage, 3 * S - 1); // quiet_ms
	assert_int_equal(stage.links.count, CALLED);
	stage_run(&stage, 4 * S); // three PINGs
	say("all fall silent");
	assert_int_equal(lost - before, CALLED);
	assert_int_equal(stage_counter(&stage, "paths_lost"), CALLED);
	// They are looked for, more and more seldom, as long as somebody wanted them within an
	// hour.
	stage_run(&stage, 2 * 3600 * S);
	pings = stage_counter(&stage, "ping_sent");
	stage_run(&stage, 3600 * S);
	say("and are given up");
	assert_int_equal(stage.links.count, 0);
	assert_int_equal(stage_counter(&stage, "ping_sent"), pings);
	assert_int_equal(stage_counter(&stage, "pings_out"), 0);
}

static void everybody_is_forgotten(void)
{
	for (unsigned i = 0; i < PEERS; i++)
		tapi_core_forget(stage.core, &all[i].identity.id);
	stage_run(&stage, S);
	say("all are forgotten");
	assert_int_equal(stage_counter(&stage, "peers"), 0);
	assert_int_equal(stage_counter(&stage, "pings_out"), 0);
}

static void one_core_and_ten_thousand_peers(void **state)
{
	size_t before, most;

	(void)state;
	begun = cpu();
	stage_init(&stage,
		"\"max_peers\": 20000, \"ping_address_s\": 0, \"ping_per_s\": 1000000, "
		"\"ping_prefix_per_min\": 20000, \"pongs_per_s\": 1000000, \"helo_repeat_s\": "
		"86400",
		"\"max_sessions\": 20000, \"max_half_open\": 20000");
	stage.sent = on_sent;
	tapi_core_receive(stage.core, PUPPET_TELL, on_tell, NULL);
	tapi_core_watch(stage.core, on_event, NULL);
	all = calloc(PEERS, sizeof(*all));
	assert_non_null(all);
	for (unsigned i = 0; i < PEERS; i++) {
		const uint8_t address[4] = {0, 0, (uint8_t)((i + 16) >> 8), (uint8_t)(i + 16)};

		puppet_make(&all[i], i, STAGE_PROTOCOL, STAGE_MTU, i < CALLED ? address : NULL, 4,
			stage_wall(&stage));
	}
	say("made");
	before = heap();
	everybody_meets();
	everybody_talks();
	most = heap() - before;
	nobody_talks();
	all_fall_silent();
	everybody_is_forgotten();
	print_message("heap per peer and its session %zu octets, after all %+lld in all\n",
		most / PEERS, (long long)(heap() - before));
	assert_true(most / PEERS < 4096); // 0 under ASan
	assert_true((long long)(heap() - before) < 1 << 20);
	free(all);
	stage_end(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_core_and_ten_thousand_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
