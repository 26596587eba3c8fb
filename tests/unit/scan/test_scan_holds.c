// SPDX-License-Identifier: BSD-3-Clause
// What the ends of a connection do while a segment of a file waits for its verdict, in virtual
// time: whatever it is, the file arrives whole, or nothing of its end does, or the policy decides
// when the time is over. The two ends are lib/pipeline/scan_ends.h.
#include "lib/pipeline/scan_ends.h"
#include "lib/rig/sanitized.h"

#define BODY 1000

static const char close_head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

enum framing { BY_LENGTH, BY_CHUNKS, TO_THE_END, FRAMINGS };

struct stream {
	uint8_t bytes[ENDS_STREAM_MAX];
	size_t n;
	size_t head;
};

static void put(struct stream *stream, const void *bytes, size_t n)
{
	assert_true(stream->n + n <= sizeof(stream->bytes));
	memcpy(stream->bytes + stream->n, bytes, n);
	stream->n += n;
}

// An answer with BODY octets, of which the last are the word if it is evil.
static void make(struct stream *stream, enum framing framing, bool evil)
{
	static const char *const heads[FRAMINGS] = {HEAD(1000), CHUNKED, close_head};
	char body[BODY];

	*stream = (struct stream){0};
	for (unsigned i = 0; i < BODY; i++)
		body[i] = (char)('a' + i * 7 % 26);
	if (evil)
		memcpy(body + BODY - strlen(EVIL), EVIL, strlen(EVIL));
	put(stream, heads[framing], strlen(heads[framing]));
	stream->head = stream->n;
	if (framing != BY_CHUNKS) {
		put(stream, body, BODY);
		return;
	}
	for (unsigned at = 0; at < BODY; at += 250) {
		put(stream, "fa\r\n", 4);
		put(stream, body + at, 250);
		put(stream, "\r\n", 2);
	}
	put(stream, "0\r\n\r\n", 5);
}

// By turns: it is clean; it is not; nobody answers and the policy lets it pass, or resets.
enum ending { CLEAN, INFECTED, LATE_PASSES, LATE_RESETS, ENDINGS };

static const char *const policies[ENDINGS] = {
	[CLEAN] = SCANS(""),
	[INFECTED] = SCANS(""),
	[LATE_PASSES] = SCANS("'timeout':'audit'"),
	[LATE_RESETS] = SCANS(""),
};

static bool arrives(enum ending ending)
{
	return ending == CLEAN || ending == LATE_PASSES;
}

static void holds_or_says(bool holds, const char *what, const struct ends_ways *ways,
	enum framing framing, enum ending ending)
{
	if (!holds)
		fail_msg("%s, framing %u, ending %u: %s", ways->name, (unsigned)framing,
			(unsigned)ending, what);
}

// The file is told in one of the three ways; what is the same for each of them.
static void judge(const struct ends *ends, const struct stream *stream, enum framing framing,
	enum ending ending)
{
	const struct ends_ways *ways = ends->ways;
	struct stats all = stats(ends->gate);
	unsigned segments = (unsigned)(stream->n + ways->mss - 1) / ways->mss;

	holds_or_says(!memcmp(ends->client.bytes, stream->bytes, ends->client.next), "other octets",
		ways, framing, ending);
	// what comes again is no new job: a look for each segment, and one for the whole
	holds_or_says(jobs_seen >= 1 && jobs_seen <= segments + 1, "jobs", ways, framing, ending);
	holds_or_says(
		all.scan_timeouts == (ending >= LATE_PASSES), "time-outs", ways, framing, ending);
	if (arrives(ending)) {
		holds_or_says(ends_complete(ends), "not complete", ways, framing, ending);
		holds_or_says(ends->client.next == stream->n, "not whole", ways, framing, ending);
		holds_or_says(ends->client.fin == ways->fin, "its FIN", ways, framing, ending);
		holds_or_says(
			!ends->client.reset && !ends->server.reset, "reset", ways, framing, ending);
		return;
	}
	holds_or_says(!ends_complete(ends), "complete", ways, framing, ending);
	holds_or_says(ends->client.next < stream->n &&
			      !memmem(ends->client.bytes, ends->client.next, EVIL, strlen(EVIL)),
		"all of the file", ways, framing, ending);
	holds_or_says(!ends->client.fin, "a FIN", ways, framing, ending);
	holds_or_says(ends->client.reset && ends->server.reset, "not reset", ways, framing, ending);
	holds_or_says(all.scan_infected == (ending == INFECTED), "infected", ways, framing, ending);
}

static uint64_t tell(
	const struct ends_ways *ways, enum framing framing, enum ending ending, struct ends *ends)
{
	struct gate *gate = world(policies[ending]);
	struct stream stream;

	is_deaf = ending >= LATE_PASSES;
	make(&stream, framing, ending == INFECTED);
	ends_begin(ends, gate, ways, stream.bytes, stream.n);
	uint64_t ms = ends_run(ends, 60);

	judge(ends, &stream, framing, ending);
	if (ending >= LATE_PASSES)
		holds_or_says(ms >= 10000, "before its time was over", ways, framing, ending);
	gives_up(gate, &ends->tcp);
	world_free(gate);
	return ms;
}

static void each_ending(const struct ends_ways *ways, enum framing framing)
{
	for (enum ending ending = CLEAN; ending < ENDINGS; ending++) {
		struct ends ends;

		tell(ways, framing, ending, &ends);
	}
}

// The sanitized build takes minutes for all of them: there each has one framing, in turn.
static void each_way(const struct ends_ways *ways)
{
	static unsigned turn;

	if (SANITIZED) {
		each_ending(ways, (enum framing)(turn++ % (ways->fin ? 3 : 2)));
		return;
	}
	each_ending(ways, BY_LENGTH);
	each_ending(ways, BY_CHUNKS);
	if (ways->fin)
		each_ending(ways, TO_THE_END);
}

// The segment that waits is the only one that may be under way: what would let it go, one behind
// it, never comes. After 20 ms what is there is looked at.
static void a_window_of_one_segment(void **state)
{
	static const struct ends_ways ways[] = {
		{.name = "one segment", .mss = 300, .flight = 1},
		{.name = "one segment, FIN in the last", .mss = 300, .flight = 1, .fin = true},
		{.name = "one segment, FIN apart",
			.mss = 300,
			.flight = 1,
			.fin = true,
			.fin_apart = true},
		{.name = "one small segment", .mss = 100, .flight = 1, .fin = true},
		{.name = "two segments", .mss = 300, .flight = 2, .fin = true},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(ways); i++)
		each_way(&ways[i]);
}

// How long it takes: each segment waits for 20 ms and its scan, and for no time-out of the
// sender's.
static void one_segment_at_a_time_costs_a_look_each(void **state)
{
	static const struct ends_ways ways = {.name = "one segment", .mss = 300, .flight = 1};
	struct ends ends;
	uint64_t ms = tell(&ways, BY_LENGTH, CLEAN, &ends);

	(void)state;
	assert_int_equal(jobs_seen, 4);
	assert_true(ms >= 4 * DELAY_MS && ms <= 4 * (DELAY_MS + 20 + 25));
	assert_true(ends.server.again >= 4); // and was retransmitted meanwhile, at 200 ms
}

// A small last segment that is not sent before all others are acknowledged.
static void nagle(void **state)
{
	static const struct ends_ways ways[] = {
		{.name = "Nagle", .mss = 300, .flight = 10, .nagle = true},
		{.name = "Nagle, FIN apart",
			.mss = 300,
			.flight = 10,
			.nagle = true,
			.fin = true,
			.fin_apart = true},
		{.name = "Nagle, written in two pieces",
			.mss = 1460,
			.flight = 10,
			.nagle = true,
			.pause_at = 200,
			.pause_ms = 5},
		{.name = "a small segment, and a pause",
			.mss = 1460,
			.flight = 10,
			.nagle = true,
			.fin = true,
			.pause_at = 200,
			.pause_ms = 3000},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(ways); i++)
		each_way(&ways[i]);
}

// A probe repeats the segment that waits: it is no other one, whose bytes would let that go.
static void tail_loss_probes(void **state)
{
	static const struct ends_ways ways[] = {
		{.name = "TLP", .mss = 300, .flight = 10, .tail_probe = true},
		{.name = "TLP, FIN", .mss = 300, .flight = 10, .tail_probe = true, .fin = true},
		{.name = "TLP, FIN apart",
			.mss = 300,
			.flight = 10,
			.tail_probe = true,
			.fin = true,
			.fin_apart = true},
		{.name = "TLP, one segment",
			.mss = 1460,
			.flight = 1,
			.tail_probe = true,
			.fin = true},
	};
	struct ends ends;

	(void)state;
	for (size_t i = 0; i < RTE_DIM(ways); i++)
		each_way(&ways[i]);
	tell(&ways[0], BY_LENGTH, CLEAN, &ends);
	assert_true(ends.server.tail_probes >= 1);
	assert_int_equal(jobs_seen, 1);
	tell(&ways[0], BY_LENGTH, LATE_PASSES, &ends); // and retransmissions for ten seconds
	assert_true(ends.server.again >= 5);
	assert_int_equal(jobs_seen, 1);
}

static void a_receiver_that_does_not_read(void **state)
{
	// `room`: less than the head; some of the file; all but its last octet, and so on
	static const unsigned rooms[] = {20, 41, 42, 341, 500, 1040};
	static const enum ends_probe probes[] = {ENDS_PROBE_NONE, ENDS_PROBE_OLD, ENDS_PROBE_OCTET};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rooms); i++)
		for (size_t k = 0; k < RTE_DIM(probes); k++) {
			const struct ends_ways ways = {
				.name = "window 0",
				.mss = 300,
				.flight = 10,
				.room = rooms[i],
				.reads_ms = (i + k) % 2 ? 3000 : 300, // a job is out then
				.probe = probes[k],
				.fin = true,
			};

			each_ending(&ways, (enum framing)((i + k) % FRAMINGS));
		}
	// the last octet of all comes as a probe, before the client has room for it
	const struct ends_ways last = {
		.name = "the last octet as a probe",
		.mss = 300,
		.flight = 10,
		.room = 1040,
		.reads_ms = 3000,
		.probe = ENDS_PROBE_OCTET,
	};
	struct ends ends;

	each_ending(&last, BY_LENGTH);
	tell(&last, BY_LENGTH, CLEAN, &ends);
	assert_true(ends.server.window_probes >= 2);
	assert_true(ends.client.next == 1041);
}

// Nothing is under way, and nobody knows that the file goes on.
static void keep_alives(void **state)
{
	static const struct ends_ways ways[] = {
		{.name = "keep-alive octets before the file",
			.mss = 300,
			.flight = 10,
			.keeps_alive = true,
			.fin = true,
			.pause_at = 20,
			.pause_ms = 5000},
		{.name = "keep-alive octets within the file",
			.mss = 300,
			.flight = 10,
			.keeps_alive = true,
			.fin = true,
			.pause_at = 600,
			.pause_ms = 5000},
	};
	struct ends ends;

	(void)state;
	for (size_t i = 0; i < RTE_DIM(ways); i++)
		each_way(&ways[i]);
	tell(&ways[1], TO_THE_END, CLEAN, &ends);
	assert_true(ends.server.keep_alives >= 3);
	assert_int_equal(jobs_seen, 2);
}

// It has asked for all that it wants, and says so while its file waits, or before any of it came.
static void a_client_that_shuts_its_side(void **state)
{
	static const struct ends_ways ways[] = {
		{.name = "a FIN of the client before", .mss = 300, .flight = 10, .shuts_ms = 1},
		{.name = "a FIN of the client meanwhile",
			.mss = 300,
			.flight = 10,
			.fin = true,
			.shuts_ms = 200},
		{.name = "... and one segment at a time",
			.mss = 300,
			.flight = 1,
			.fin = true,
			.fin_apart = true,
			.shuts_ms = 200},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(ways); i++)
		each_way(&ways[i]);
}

// Whoever gives up while a segment waits, or while its newest bytes stand, leaves nothing behind
// (world_free): more of them than there are places.
static void who_gives_up_leaves_its_place(void **state)
{
	static const struct ends_ways ways[] = {
		{.name = "a client, while a job is out", .mss = 300, .flight = 10, .abort_ms = 100},
		{.name = "a client, while its bytes stand",
			.mss = 300,
			.flight = 10,
			.abort_ms = 10,
			.pause_at = 500,
			.pause_ms = 5000},
		{.name = "a server, while a job is out",
			.mss = 300,
			.flight = 10,
			.leaves_ms = 100,
			.abort_ms = 200},
		{.name = "a client that reads nothing",
			.mss = 300,
			.flight = 10,
			.room = 500,
			.reads_ms = 10000,
			.probe = ENDS_PROBE_OLD,
			.abort_ms = 700,
			.leaves_ms = 800},
	};
	struct stream stream;

	(void)state;
	make(&stream, BY_LENGTH, false);
	for (size_t i = 0; i < RTE_DIM(ways); i++) {
		struct gate *gate = world_with(policies[CLEAN], 4);

		for (unsigned again = 0; again < 12; again++) {
			struct ends ends;
			struct left left = {0};

			ends_begin(&ends, gate, &ways[i], stream.bytes, stream.n);
			ends_run(&ends, 2);
			assert_true(ends.client.next < stream.n);
			gives_up(gate, &ends.tcp);
			passes(gate, 1, &left); // its verdict, for which nobody waits
			struct stats all = stats(gate);

			if (all.scan_files || all.scan_pending)
				fail_msg("%s, %u: %llu files, %llu jobs", ways[i].name, again,
					(unsigned long long)all.scan_files,
					(unsigned long long)all.scan_pending);
		}
		assert_int_equal(stats(gate).scan_files_full, 0);
		world_free(gate);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_of_one_segment),
		cmocka_unit_test(one_segment_at_a_time_costs_a_look_each),
		cmocka_unit_test(nagle),
		cmocka_unit_test(tail_loss_probes),
		cmocka_unit_test(a_receiver_that_does_not_read),
		cmocka_unit_test(keep_alives),
		cmocka_unit_test(a_client_that_shuts_its_side),
		cmocka_unit_test(who_gives_up_leaves_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
