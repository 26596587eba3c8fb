// SPDX-License-Identifier: BSD-3-Clause
// The tuple of a connection that lives is used again by its own ends (reuse.h), while somebody in
// the zone of one of them sends SYNs and SYN-ACKs in its name: the new handshake completes all the
// same, the old connection lives until then, and it keeps its fast path.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/table.h"
#include "reassembly/tcp_state.h"

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";
#define HANDSHAKE_LENGTH 68
#define LETTERS          64 // each counts as a data packet
#define PIECES           12 // of letters: beyond the budget of classification
#define C                0x60000000u
#define S                0x70000000u
#define OLD_C            1000u // numbers of the old connection's SYNs
#define OLD_S            5000u
#define SYN_S            30  // limits.embryonic_s: a SYN that nobody answers
#define ANSWERED_S       128 // one that was answered, behind the last SYN-ACK

static const char letters[LETTERS] = "abcdefghijklmnopqrstuvwxyz";
static bool from_outside; // who begins connections
static uint32_t client_next, server_next;

static unsigned segment(struct pipe *pipe, bool server, uint32_t seq, uint32_t ack, uint8_t flags,
	const void *payload, uint16_t length)
{
	pipe->n_sent = 0;
	return pipe_run(pipe, 0,
		&(struct pipe_packet){
			.from_outside = server != from_outside,
			.seq = seq,
			.ack = ack,
			.tcp_flags = flags,
			.payload = payload,
			.payload_length = length,
		});
}

static void say(struct pipe *pipe)
{
	assert_int_equal(segment(pipe, false, client_next, server_next, 0, letters, LETTERS), 1);
	client_next += LETTERS;
	assert_int_equal(segment(pipe, true, server_next, client_next, 0, letters, LETTERS), 1);
	server_next += LETTERS;
}

// A connection that is decided: it takes the fast path.
static struct pipe *with_old(void)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	client_next = OLD_C + 1;
	server_next = OLD_S + 1;
	assert_int_equal(segment(pipe, false, OLD_C, 0, TH_SYN, NULL, 0), 1);
	assert_int_equal(segment(pipe, true, OLD_S, OLD_C + 1, TH_SYN | TH_ACK, NULL, 0), 1);
	assert_int_equal(segment(pipe, false, OLD_C + 1, OLD_S + 1, TH_ACK, NULL, 0), 1);
	for (unsigned i = 0; i < PIECES; i++)
		say(pipe);
	assert_int_equal(pipe_stats(pipe).classify_giveup, 1);
	atomic_store(&pipe->dp.meter_every, 1);
	return pipe;
}

static uint64_t fast_pkts(struct pipe *pipe)
{
	return pipe->dp.lcores[0]->meter.costs[METER_FINAL].pkts;
}

enum forged { // in one zone each
	NOTHING,
	CLIENTS_SYN,
	SERVERS_SYN,
	SERVERS_SYN_ACK,
	SERVERS_BOTH,
	FORGED_MAX,
};
static const char *const forged_words[] = {
	"nothing", "the client's SYNs", "the server's SYNs", "the server's SYN-ACKs", "both"};

static void forge(struct pipe *pipe, enum forged what, unsigned n)
{
	static uint32_t number = 1; // another each time, of neither end's

	for (unsigned i = 0; i < n; i++) {
		uint32_t seq = number++ * 2654435761u, ack = number++ * 2654435761u;

		if (what == CLIENTS_SYN)
			segment(pipe, false, seq, 0, TH_SYN, NULL, 0);
		if (what == SERVERS_SYN || what == SERVERS_BOTH)
			segment(pipe, true, seq, 0, TH_SYN, NULL, 0);
		if (what == SERVERS_SYN_ACK || what == SERVERS_BOTH)
			segment(pipe, true, seq, ack, TH_SYN | TH_ACK, NULL, 0);
	}
}

static void assert_anew_from(struct pipe *pipe, uint32_t client, uint32_t server, const char *what)
{
	if (pipe_stats(pipe).flows_ended != 1)
		fail_msg("%s: the old connection goes on", what);
	// so its first bytes are inspected
	segment(pipe, false, client + 1, server + 1, 0, handshake, HANDSHAKE_LENGTH);
	if (pipe_stats(pipe).flows_condemned != 1)
		fail_msg("%s: the new connection is not inspected", what);
}

static void assert_anew(struct pipe *pipe, const char *what)
{
	assert_anew_from(pipe, C, S, what);
}

// Ahead of each packet of the handshake come `n` forged ones.
static void use_again(enum forged what, unsigned n)
{
	struct pipe *pipe = with_old();

	forge(pipe, what, n);
	assert_int_equal(segment(pipe, false, C, 0, TH_SYN, NULL, 0), 1);
	forge(pipe, what, n);
	assert_int_equal(segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0), 1);
	forge(pipe, what, n);
	assert_int_equal(pipe_stats(pipe).flows_ended, 0);
	assert_int_equal(segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0), 1);
	assert_anew(pipe, forged_words[what]);
	pipe_free(pipe);
}

static void a_forged_handshake_cancels_no_honest_one(void **state)
{
	(void)state;
	for (unsigned outside = 0; outside < 2; outside++) {
		from_outside = outside;
		for (enum forged what = NOTHING; what < FORGED_MAX; what++) {
			use_again(what, 1);
			use_again(what, 100);
		}
	}
	from_outside = false;
}

// From both zones: a SYN makes the client's numbers differ, then a SYN-ACK has one that no SYN had.
static void an_answer_to_no_syn_displaces_none(void **state)
{
	(void)state;
	for (unsigned outside = 0; outside < 2; outside++) {
		from_outside = outside;
		struct pipe *pipe = with_old();

		segment(pipe, false, C, 0, TH_SYN, NULL, 0);
		segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0);
		forge(pipe, CLIENTS_SYN, 1);
		forge(pipe, SERVERS_SYN_ACK, 1);
		segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0);
		assert_anew(pipe, "an answer to no SYN");
		pipe_free(pipe);
	}
	from_outside = false;
}

// As that of any connection that stays silent.
static void the_record_of_the_new_connection_tells_its_handshake(void **state)
{
	(void)state;
	for (unsigned outside = 0; outside < 2; outside++) {
		from_outside = outside;
		struct pipe *pipe = with_old();
		struct event event;

		segment(pipe, false, C, 0, TH_SYN, NULL, 0);
		segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0);
		segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0);
		assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event)); // of the old one
		pipe_advance(pipe, 8000);
		assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
		assert_int_equal(event.flow.tcp_flags[HALF_C2S], TH_SYN | TH_ACK);
		assert_int_equal(event.flow.tcp_flags[HALF_S2C], TH_SYN | TH_ACK);
		assert_int_equal(event.flow.tcp_state, TCP_STATE_ESTABLISHED);
		pipe_free(pipe);
	}
	from_outside = false;
}

// The old connection is over at the server, and the forged SYN comes first: the client refuses what
// the server answers, and sends its own SYN again.
static void nor_does_one_that_the_server_takes(void **state)
{
	struct pipe *pipe = with_old();
	const uint32_t forged = 0x20000000;
	(void)state;

	segment(pipe, false, forged, 0, TH_SYN, NULL, 0);
	segment(pipe, false, C, 0, TH_SYN, NULL, 0);
	segment(pipe, true, 0x30000000, forged + 1, TH_SYN | TH_ACK, NULL, 0);
	segment(pipe, false, forged + 1, 0, TH_RST, NULL, 0);
	assert_int_equal(segment(pipe, false, C, 0, TH_SYN, NULL, 0), 1);
	forge(pipe, CLIENTS_SYN, 100);
	assert_int_equal(segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0), 1);
	forge(pipe, CLIENTS_SYN, 100);
	assert_int_equal(segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0), 1);
	assert_anew(pipe, "a forged SYN first");
	pipe_free(pipe);
}

// A client that gave up one handshake and begins another: two SYNs are honest.
static void nor_do_answers_to_a_client_that_tries_twice(void **state)
{
	struct pipe *pipe = with_old();
	(void)state;

	segment(pipe, false, 0x20000000, 0, TH_SYN, NULL, 0);
	pipe_advance(pipe, 3);
	segment(pipe, false, C, 0, TH_SYN, NULL, 0);
	forge(pipe, SERVERS_BOTH, 100);
	assert_int_equal(segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0), 1);
	forge(pipe, SERVERS_BOTH, 100);
	assert_int_equal(segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0), 1);
	assert_anew(pipe, "the client's second SYN");
	pipe_free(pipe);
}

static void one_zone_alone_keeps_no_connection_off_the_fast_path(void **state)
{
	(void)state;
	for (enum forged what = NOTHING; what < FORGED_MAX; what++) {
		struct pipe *pipe = with_old();

		for (unsigned i = 0; i < 100; i++) {
			uint64_t before = fast_pkts(pipe);

			forge(pipe, what, 1);
			say(pipe);
			if (fast_pkts(pipe) != before + 2)
				fail_msg("%s: packets of the connection take the long way",
					forged_words[what]);
		}
		assert_int_equal(pipe_stats(pipe).flows_ended, 0);
		pipe_free(pipe);
	}
}

// The client's last part is waited for as long as a server may take it, and no longer.
static void a_handshake_that_stays_open_is_forgotten(void **state)
{
	struct pipe *pipe = with_old();
	uint64_t before;
	(void)state;

	segment(pipe, false, C, 0, TH_SYN, NULL, 0);
	segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0);
	before = fast_pkts(pipe);
	say(pipe);
	assert_int_equal(fast_pkts(pipe), before + 1); // the server's
	pipe_advance(pipe, ANSWERED_S + 9);            // of 2^30 ns
	say(pipe);
	before = fast_pkts(pipe);
	say(pipe);
	assert_int_equal(fast_pkts(pipe), before + 2);
	// it is too late for what would have completed it
	segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0);
	assert_int_equal(pipe_stats(pipe).flows_ended, 0);
	pipe_free(pipe);
}

static void one_that_nobody_answers_is_forgotten_sooner(void **state)
{
	struct pipe *pipe = with_old();
	(void)state;

	segment(pipe, false, C, 0, TH_SYN, NULL, 0);
	pipe_advance(pipe, SYN_S + 3);
	segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0);
	segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0);
	assert_int_equal(pipe_stats(pipe).flows_ended, 0);
	pipe_free(pipe);
}

// Linux sends its last SYN-ACK 31 s behind the first, and forgets the request 32 s later; with more
// retries it waits for up to 120 s. The client keeps the old connection alive meanwhile.
static void a_handshake_that_is_completed_late_is_a_new_connection(void **state)
{
	static const struct {
		const char *what;
		unsigned last_s; // SYN-ACK, behind the first
		unsigned ack_s;  // behind the last SYN-ACK
	} cases[] = {
		{"62 s, without a second SYN-ACK", 0, 62},
		{"62 s", 31, 31},
		{"63 s", 31, 32},
		{"two retries more", 127, 119},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pipe *pipe = with_old();

		segment(pipe, false, C, 0, TH_SYN, NULL, 0);
		segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0);
		for (unsigned s = 0; s < cases[i].last_s + cases[i].ack_s; s++) {
			pipe_advance(pipe, 1);
			segment(pipe, false, client_next, server_next, TH_ACK, NULL, 0);
			if (s + 1 == cases[i].last_s)
				segment(pipe, true, S, C + 1, TH_SYN | TH_ACK, NULL, 0);
		}
		segment(pipe, false, C + 1, S + 1, TH_ACK, NULL, 0);
		assert_anew(pipe, cases[i].what);
		pipe_free(pipe);
	}
}

// The client begins with the number that it had before; the server's own may be the same, too,
// where it is a cookie.
static void a_number_that_comes_again_is_a_new_connection_all_the_same(void **state)
{
	static const struct {
		const char *what;
		uint32_t server;
		bool closed, forged;
	} cases[] = {
		{"the same SYN", S, false, false},
		{"the same SYN, behind an end", S, true, false},
		{"the same SYN, and forged ones", S, false, true},
		{"the same two numbers", OLD_S, true, false},
		{"the same two numbers, and forged SYNs", OLD_S, true, true},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pipe *pipe = with_old();

		if (cases[i].closed) {
			segment(pipe, false, client_next, server_next, TH_FIN | TH_ACK, NULL, 0);
			segment(pipe, true, server_next, client_next + 1, TH_FIN | TH_ACK, NULL, 0);
		}
		segment(pipe, false, OLD_C, 0, TH_SYN, NULL, 0);
		if (cases[i].forged)
			forge(pipe, CLIENTS_SYN, 3);
		segment(pipe, true, cases[i].server, OLD_C + 1, TH_SYN | TH_ACK, NULL, 0);
		assert_int_equal(pipe_stats(pipe).flows_ended, 0);
		segment(pipe, false, OLD_C + 1, cases[i].server + 1, TH_ACK, NULL, 0);
		assert_anew_from(pipe, OLD_C, cases[i].server, cases[i].what);
		pipe_free(pipe);
	}
}

// What comes twice of a handshake is no new one: a late copy of its SYN, which its server answers
// with a challenge (RFC 5961), a late copy of its SYN-ACK, which its client answers so; both.
static void a_copy_of_the_own_handshake_ends_nothing(void **state)
{
	(void)state;
	for (unsigned copies = 1; copies < 4; copies++) {
		struct pipe *pipe = with_old();
		uint64_t before;

		for (unsigned i = 0; i < 3; i++) {
			if (copies & 1) {
				segment(pipe, false, OLD_C, 0, TH_SYN, NULL, 0);
				segment(pipe, true, server_next, client_next, TH_ACK, NULL, 0);
			}
			if (copies & 2) {
				segment(pipe, true, OLD_S, OLD_C + 1, TH_SYN | TH_ACK, NULL, 0);
				segment(pipe, false, client_next, server_next, TH_ACK, NULL, 0);
			}
			say(pipe);
		}
		assert_int_equal(pipe_stats(pipe).flows_ended, 0);
		before = fast_pkts(pipe);
		say(pipe);
		if (copies < 3)
			assert_int_equal(fast_pkts(pipe), before + 2);
		pipe_free(pipe);
	}
}

// TCP Fast Open: payload on the SYN, which is sent again without it. Neither is a new connection.
static void a_syn_with_payload_that_is_sent_again_begins_one_connection(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	(void)state;

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	segment(pipe, false, OLD_C, 0, TH_SYN, letters, LETTERS);
	segment(pipe, false, OLD_C, 0, TH_SYN, NULL, 0);
	for (unsigned i = 0; i < 2; i++)
		segment(pipe, true, OLD_S, OLD_C + 1, TH_SYN | TH_ACK, NULL, 0);
	assert_int_equal(segment(pipe, false, OLD_C + 1, OLD_S + 1, TH_ACK, NULL, 0), 1);
	segment(pipe, false, OLD_C, 0, TH_SYN, NULL, 0);
	segment(pipe, true, OLD_S, OLD_C + 1, TH_SYN | TH_ACK, NULL, 0);
	assert_int_equal(segment(pipe, false, OLD_C + 1, OLD_S + 1, 0, letters, LETTERS), 1);
	assert_int_equal(pipe_stats(pipe).flows_ended, 0);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forged_handshake_cancels_no_honest_one),
		cmocka_unit_test(an_answer_to_no_syn_displaces_none),
		cmocka_unit_test(the_record_of_the_new_connection_tells_its_handshake),
		cmocka_unit_test(nor_does_one_that_the_server_takes),
		cmocka_unit_test(nor_do_answers_to_a_client_that_tries_twice),
		cmocka_unit_test(one_zone_alone_keeps_no_connection_off_the_fast_path),
		cmocka_unit_test(a_handshake_that_stays_open_is_forgotten),
		cmocka_unit_test(one_that_nobody_answers_is_forgotten_sooner),
		cmocka_unit_test(a_handshake_that_is_completed_late_is_a_new_connection),
		cmocka_unit_test(a_number_that_comes_again_is_a_new_connection_all_the_same),
		cmocka_unit_test(a_copy_of_the_own_handshake_ends_nothing),
		cmocka_unit_test(a_syn_with_payload_that_is_sent_again_begins_one_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
