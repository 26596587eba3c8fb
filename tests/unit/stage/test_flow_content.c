// SPDX-License-Identifier: BSD-3-Clause
// The limits of content in the packet path: all places taken, decoders' memory gone, no room for
// records. What a rule may refuse does not pass undecoded, other flows pass and are counted, and
// all of it works again when room returns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>
#include "lib/pipeline/content_gate.h"

#define HOGS 65536

// ---- places ----

static void without_a_place_nothing_passes_that_may_be_refused(void **state)
{
	static const char request[] = "GET /late.txt HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct gate *gate = gate_with(REFUSES);
	struct gate_tcp busy[FLOWS], late;

	(void)state;
	take_all_places(gate, busy);
	assert_false(asks(gate, &late, 42000, "late.txt"));
	assert_true(stats(gate).content_nomem >= 1);
	assert_int_equal(sends_again(gate, &late, false, request, strlen(request)), 0);
	// the flows that have one go on
	assert_int_equal(answers(gate, &busy[0], " and."), 1);
	ends(gate, &busy[0]);
	// nothing of it had left: it is decoded from its first byte
	assert_int_equal(sends_again(gate, &late, false, request, strlen(request)), 1);
	assert_int_equal(answers(gate, &late, answer), 1);
	ends(gate, &busy[1]);
	ends(gate, &late);
	works(gate, 43000);
	assert_int_equal(pipe_unaccounted(gate->pipe), 0);
	gate_free(gate);
}

// Also where the file is one that is refused: not one byte of it while there is no place, and none
// afterwards.
static void a_flow_that_waited_for_a_place_is_still_refused(void **state)
{
	static const char request[] = "GET /setup.exe HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct gate *gate = gate_with(REFUSES);
	struct gate_tcp busy[FLOWS], late;

	(void)state;
	take_all_places(gate, busy);
	assert_false(asks(gate, &late, 42000, "setup.exe"));
	ends(gate, &busy[0]);
	sends_again(gate, &late, false, request, strlen(request));
	answers_in_vain(gate, &late, answer);
	assert_int_equal(stats(gate).content_refused, 1);
	answers_in_vain(gate, &late, "more");
	gate_free(gate);
}

// Nobody asks any more for what it was to be decoded for, though the policy refuses messages.
static void a_flow_that_waits_passes_when_it_is_asked_for_no_longer(void **state)
{
	static const char request[] = "GET /late.txt HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct gate *gate = gate_with(REFUSES);
	struct gate_tcp busy[FLOWS], late;

	(void)state;
	take_all_places(gate, busy);
	assert_false(asks(gate, &late, 42000, "late.txt"));
	gate_policy(gate, "'rules':[{'id':'words','match':{},'chat':[{'keyword':['secret'],"
			  "'action':'reset'}]}]");
	assert_int_equal(sends_again(gate, &late, false, request, strlen(request)), 1);
	assert_int_equal(answers(gate, &late, answer), 1);
	gate_free(gate);
}

// Its event at its end says how its content stands, also of one that still waits.
static void a_flow_without_a_place_is_reported(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct gate *gate = gate_with(i ? LOGS : REFUSES);
		struct gate_tcp busy[FLOWS], late;

		(void)state;
		take_all_places(gate, busy);
		asks(gate, &late, 42000, "late.txt");
		ends(gate, &late);
		assert_int_equal(pipe_unaccounted(gate->pipe), 0);
		gate_free(gate);
	}
}

static void without_a_place_others_pass_and_are_counted(void **state)
{
	struct gate *gate = gate_with(LOGS);
	struct gate_tcp busy[FLOWS], late;

	(void)state;
	take_all_places(gate, busy);
	assert_int_equal(records(gate, CONTENT_RECORD_FILE), FLOWS);
	assert_true(asks(gate, &late, 42000, "late.txt"));
	assert_int_equal(answers(gate, &late, answer), 1);
	assert_int_equal(stats(gate).content_nomem, 1);
	assert_int_equal(records(gate, CONTENT_RECORD_FILE), 0);
	ends(gate, &busy[0]);
	assert_int_equal(records(gate, CONTENT_RECORD_END), 1);
	assert_true(asks(gate, &late, 42001, "late.txt"));
	assert_int_equal(answers(gate, &late, answer), 1);
	assert_int_equal(records(gate, CONTENT_RECORD_FILE), 1);
	gate_free(gate);
}

// Beyond three quarters of the places a source has at most its share (limits.source_pct).
static void one_source_leaves_places_to_others(void **state)
{
	static const char request[] = "GET /long.txt HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct gate *gate = gate_with_places(16, REFUSES);
	struct gate_tcp tcp[16], other;
	unsigned served = 0;

	(void)state;
	for (uint16_t i = 0; i < 16; i++)
		served += asks(gate, &tcp[i], (uint16_t)(41000 + i), "long.txt");
	assert_int_equal(served, 13); // its connections beyond wait
	uint64_t over = stats(gate).content_over_share;

	assert_true(over >= 3);
	for (uint16_t i = 0; i < 3; i++) {
		other = gate_connect(gate, 2u + i, 41000, 80);
		assert_int_equal(gate_send(gate, &other, false, request, strlen(request)), 1);
	}
	assert_int_equal(stats(gate).content_over_share, over);
	// as does the last one of another: all are taken now
	other = gate_connect(gate, 6, 41000, 80);
	assert_int_equal(gate_send(gate, &other, false, request, strlen(request)), 0);
	assert_int_equal(stats(gate).content_over_share, over);
	// places that come back are everybody's
	for (unsigned i = 0; i < 8; i++)
		ends(gate, &tcp[i]);
	assert_true(asks(gate, &tcp[0], 43000, "long.txt"));
	assert_int_equal(sends_again(gate, &other, false, request, strlen(request)), 1);
	gate_free(gate);
}

// ---- memory of decoders ----

static void *hogs[HOGS];

static unsigned hog(struct gate *gate)
{
	unsigned n = 0;

	for (size_t bytes = CONTENT_BLOCK_MAX; bytes >= CONTENT_BLOCK_MIN; bytes /= 2)
		while (n < HOGS && (hogs[n] = content_take(lcore_of(gate)->content->memory, bytes)))
			n++;
	assert_true(n < HOGS);
	return n;
}

// All but what a head needs: the window of a coding is larger.
static unsigned hog_but_little(struct gate *gate)
{
	struct content_memory *memory = lcore_of(gate)->content->memory;
	void *left = content_take(memory, 8192);
	unsigned n = hog(gate);

	assert_non_null(left);
	content_give(memory, left);
	return n;
}

static void release(struct gate *gate, unsigned n)
{
	while (n)
		content_give(lcore_of(gate)->content->memory, hogs[--n]);
}

static void without_memory_nothing_passes_that_may_be_refused(void **state)
{
	static const char request[] = "GET /late.txt HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct gate *gate = gate_with(REFUSES);
	struct gate_tcp late;

	(void)state;
	unsigned n = hog(gate);

	assert_false(asks(gate, &late, 42000, "late.txt"));
	assert_int_equal(stats(gate).content_nomem, 2); // no decoder; and not taken without one
	release(gate, n);
	assert_int_equal(sends_again(gate, &late, false, request, strlen(request)), 1);
	assert_int_equal(answers(gate, &late, answer), 1);
	ends(gate, &late);
	works(gate, 43000);
	gate_free(gate);
}

#define AS_PAGE    "Content-Disposition: attachment; filename=\"manual.txt\"\r\n"
#define AS_PROGRAM "Content-Disposition: attachment; filename=\"worm32.exe\"\r\n"
static_assert(sizeof(AS_PAGE) == sizeof(AS_PROGRAM), "one can be sent in the other's place");

static unsigned gzipped_as(uint8_t *to, unsigned room, const char *field, const char *text)
{
	z_stream z = {.next_in = (uint8_t *)(uintptr_t)text, .avail_in = (unsigned)strlen(text)};
	int head = snprintf((char *)to, room,
		"HTTP/1.1 200 OK\r\n%sContent-Encoding: gzip\r\n"
		"Content-Length: ",
		field);

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
	z.next_out = to + head + 6;
	z.avail_out = room - (unsigned)head - 6;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	assert_true(z.total_out >= 10 && z.total_out < 100);
	to[head] = (uint8_t)('0' + z.total_out / 10);
	to[head + 1] = (uint8_t)('0' + z.total_out % 10);
	memcpy(to + head + 2, "\r\n\r\n", 4);
	deflateEnd(&z);
	return (unsigned)head + 6 + (unsigned)z.total_out;
}

static unsigned gzipped(uint8_t *to, unsigned room, const char *text)
{
	return gzipped_as(to, room, "", text);
}

// What a coding needs is asked for in the middle of a connection.
static void without_memory_for_a_coding_the_span_waits(void **state)
{
	struct gate *gate = gate_with(REFUSES_AND_LOGS);
	struct gate_tcp tcp;
	uint8_t coded[512];
	unsigned length = gzipped(coded, sizeof(coded), "words, words, words");

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "page.html"));
	unsigned n = hog(gate);

	assert_int_equal(gate_send(gate, &tcp, true, coded, length), 0);
	assert_true(stats(gate).content_nomem >= 1);
	release(gate, n);
	assert_int_equal(sends_again(gate, &tcp, true, coded, length), 1);
	assert_int_equal(records(gate, CONTENT_RECORD_END), 1);
	ends(gate, &tcp);
	works(gate, 43000);
	gate_free(gate);
}

// The head of the answer was read, its body found no memory, and who repeats it writes another name
// into the part that was read.
static void what_was_read_cannot_be_replaced(void **state)
{
	for (unsigned same = 0; same < 2; same++) {
		struct gate *gate = gate_with(REFUSES_AND_LOGS);
		struct gate_tcp tcp;
		uint8_t page[512], program[512];
		unsigned length = gzipped_as(page, sizeof(page), AS_PAGE, "words, words, words");
		unsigned as_long =
			gzipped_as(program, sizeof(program), AS_PROGRAM, "words, words, words");

		(void)state;
		assert_int_equal(length, as_long);
		assert_true(asks(gate, &tcp, 42000, "get"));
		unsigned n = hog_but_little(gate);

		assert_int_equal(gate_send(gate, &tcp, true, page, length), 0);
		release(gate, n);
		if (same) {
			assert_int_equal(sends_again(gate, &tcp, true, page, length), 1);
			assert_int_equal(stats(gate).content_refused, 0);
			assert_int_equal(stats(gate).content_ambiguous, 0);
			ends(gate, &tcp);
		} else {
			tcp.seq[1] -= length;
			gate_send(gate, &tcp, true, program, length);
			for (unsigned i = 0; i < gate->pipe->n_sent; i++)
				assert_null(memmem(gate->pipe->sent[i].frame,
					gate->pipe->sent[i].length, "worm32", 6));
			assert_int_equal(stats(gate).content_ambiguous, 1);
			assert_int_equal(stats(gate).content_refused, 1);
			pipe_advance(gate->pipe, 200);
		}
		works(gate, 43000);
		gate_free(gate);
	}
}

// As the one before, of a repetition that has less than was read: what it lacks cannot be compared.
static void less_than_was_read_is_refused(void **state)
{
	struct gate *gate = gate_with(REFUSES_AND_LOGS);
	struct gate_tcp tcp;
	uint8_t page[512];
	unsigned length = gzipped_as(page, sizeof(page), AS_PAGE, "words, words, words");

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "get"));
	unsigned n = hog_but_little(gate);

	assert_int_equal(gate_send(gate, &tcp, true, page, length), 0);
	release(gate, n);
	tcp.seq[1] -= length;
	gate_send(gate, &tcp, true, page, 20);
	assert_int_equal(stats(gate).content_ambiguous, 1);
	assert_int_equal(stats(gate).content_refused, 1);
	gate_free(gate);
}

// What classification has kept is fed to a decoder that begins, and what follows finds no memory:
// it is decoded behind the first bytes when it comes again, and may not name another file then.
// Where there is none for the first bytes either, which have left, nothing more of the flow does.
static void behind_first_bytes_the_rest_waits(void **state)
{
	enum { SAME, REPLACED, NONE, CASES };
	static const char first[] = "GET /setup.e",
			  rest[] = "xe HTTP/1.1\r\nHost: a.example\r\n\r\n";

	for (unsigned what = 0; what < CASES; what++) {
		struct gate *gate = gate_with(REFUSES_AND_LOGS);
		struct gate_tcp tcp = gate_connect(gate, 1, 42000, 80);
		struct content_memory *memory = lcore_of(gate)->content->memory;
		char said[sizeof(rest)];

		(void)state;
		memcpy(said, rest, sizeof(rest));
		said[0] = what == REPLACED ? 'y' : 'x';
		assert_int_equal(gate_send(gate, &tcp, false, first, sizeof(first) - 1), 1);
		void *left = content_take(memory, what == NONE ? 1024 : 2048);
		unsigned n = hog(gate);

		content_give(memory, left);
		assert_int_equal(gate_send(gate, &tcp, false, said, sizeof(rest) - 1), 0);
		assert_int_equal(stats(gate).content_nomem, 1);
		release(gate, n);
		n = sends_again(gate, &tcp, false, rest, sizeof(rest) - 1);
		if (what != REPLACED)
			assert_int_equal(n, what == SAME);
		answers_in_vain(gate, &tcp, answer);
		assert_int_equal(stats(gate).content_refused, what != NONE);
		assert_int_equal(stats(gate).content_ambiguous, what == REPLACED);
		gate_free(gate);
	}
}

// A packet of two buffers, of which the first finds no memory for its head: the second waits with
// it, and is no end of a gap. All of it is decoded when it comes again.
static void what_lies_in_two_buffers_waits_as_one(void **state)
{
	static const char program[] =
		"HTTP/1.1 200 OK\r\n" AS_PROGRAM "Content-Length: 100\r\n\r\n"
		"0123456789012345678901234567890123456789012345678901234567890123456789";
	struct gate *gate = gate_with(REFUSES_AND_LOGS);
	struct gate_tcp tcp;

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "get"));
	const struct pipe_packet packet = {.client = tcp.client,
		.sport = tcp.sport,
		.dport = tcp.dport,
		.from_outside = true,
		.seq = tcp.seq[1],
		.ack = tcp.seq[0],
		.payload = program,
		.payload_length = sizeof(program) - 1,
		.segments = 2};
	unsigned n = hog(gate);

	assert_int_equal(gate_run(gate, &packet), 0);
	release(gate, n);
	gate_run(gate, &packet);
	for (unsigned i = 0; i < gate->pipe->n_sent; i++)
		assert_null(
			memmem(gate->pipe->sent[i].frame, gate->pipe->sent[i].length, "worm32", 6));
	assert_int_equal(stats(gate).content_refused, 1);
	assert_int_equal(stats(gate).content_ambiguous, 0);
	gate_free(gate);
}

// The decoder has its memory, the file's first bytes find none: its type would not be known.
static void without_memory_for_a_type_the_file_is_refused(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n";
	static const char program[] = "\r\nMZ\x90 and so";
	struct gate *gate =
		gate_with("'rules':[{'id':'no-programs','match':{},'transfers':[{'type':["
			  "'executable'],'action':'reset'}]}]");
	struct gate_tcp tcp;

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "tool"));
	assert_int_equal(answers(gate, &tcp, head), 1);
	unsigned n = hog(gate);

	answers_in_vain(gate, &tcp, program);
	assert_int_equal(stats(gate).content_refused, 1);
	assert_int_equal(stats(gate).content_nomem, 1);
	release(gate, n);
	answers_in_vain(gate, &tcp, "more");
	gate_free(gate);
}

static void without_memory_others_pass_and_are_counted(void **state)
{
	struct gate *gate = gate_with(LOGS);
	struct gate_tcp tcp, late;
	uint8_t coded[512];
	unsigned length = gzipped(coded, sizeof(coded), "words, words, words");

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "page.html"));
	unsigned n = hog(gate);

	assert_int_equal(gate_send(gate, &tcp, true, coded, length), 1);
	assert_true(asks(gate, &late, 42001, "late.txt"));
	assert_int_equal(answers(gate, &late, answer), 1);
	assert_true(stats(gate).content_nomem >= 2);
	release(gate, n);
	records(gate, CONTENT_RECORD_FILE);
	assert_true(asks(gate, &late, 42002, "late.txt"));
	assert_int_equal(answers(gate, &late, answer), 1);
	assert_int_equal(records(gate, CONTENT_RECORD_FILE), 1);
	gate_free(gate);
}

// ---- room for records ----

static void without_room_for_records(unsigned (*fill)(struct gate *gate))
{
	struct gate *gate = gate_with(REFUSES_AND_LOGS);
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	struct gate_tcp before, during, no;

	assert_true(asks(gate, &before, 42000, "before.txt"));
	assert_int_equal(answers(gate, &before, half_an_answer), 1);
	assert_int_equal(records(gate, CONTENT_RECORD_FILE), 1);
	unsigned n = fill(gate);
	uint64_t lost = stats(gate).content_lost;

	// packets are as they would be
	assert_true(asks(gate, &no, 42001, "setup.exe"));
	answers_in_vain(gate, &no, answer);
	assert_int_equal(stats(gate).content_refused, 1);
	answers_in_vain(gate, &no, "more");
	assert_true(asks(gate, &during, 42002, "during.txt"));
	assert_int_equal(answers(gate, &during, answer), 1);
	assert_true(stats(gate).content_lost >= lost + 2); // two transfers were not recorded
	assert_int_equal(answers(gate, &before, " and."), 1);
	assert_int_equal(records(gate, CONTENT_RECORD_END), 0);
	while (n)
		content_record_drop(channel, record_hogs[--n]);
	// a file that was recorded has an end, even if there was no room at its time
	pipe_turns(gate->pipe);
	assert_int_equal(records(gate, CONTENT_RECORD_END), 1);
	ends(gate, &before);
	ends(gate, &during);
	works(gate, 43000);
	assert_int_equal(records(gate, CONTENT_RECORD_FILE), 2);
	gate_free(gate);
}

static void without_room_in_the_arena_packets_go_on(void **state)
{
	(void)state;
	without_room_for_records(hog_arena);
}

static void without_room_in_the_ring_packets_go_on(void **state)
{
	(void)state;
	without_room_for_records(hog_records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_place_nothing_passes_that_may_be_refused),
		cmocka_unit_test(a_flow_that_waited_for_a_place_is_still_refused),
		cmocka_unit_test(a_flow_that_waits_passes_when_it_is_asked_for_no_longer),
		cmocka_unit_test(a_flow_without_a_place_is_reported),
		cmocka_unit_test(without_a_place_others_pass_and_are_counted),
		cmocka_unit_test(one_source_leaves_places_to_others),
		cmocka_unit_test(without_memory_nothing_passes_that_may_be_refused),
		cmocka_unit_test(without_memory_for_a_coding_the_span_waits),
		cmocka_unit_test(what_was_read_cannot_be_replaced),
		cmocka_unit_test(less_than_was_read_is_refused),
		cmocka_unit_test(behind_first_bytes_the_rest_waits),
		cmocka_unit_test(what_lies_in_two_buffers_waits_as_one),
		cmocka_unit_test(without_memory_for_a_type_the_file_is_refused),
		cmocka_unit_test(without_memory_others_pass_and_are_counted),
		cmocka_unit_test(without_room_in_the_arena_packets_go_on),
		cmocka_unit_test(without_room_in_the_ring_packets_go_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
