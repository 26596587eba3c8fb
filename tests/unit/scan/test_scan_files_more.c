// SPDX-License-Identifier: BSD-3-Clause
// Ways in which the end of a file could leave before its verdict, or a half could be held with
// nobody to let it go: decoders that go on later, jobs of others, files that are given up.
#include "lib/pipeline/scan_gate.h"
#include <brotli/encode.h>
#include <zlib.h>

static const char close_head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
static const char two_requests[] =
	"GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n";

// `text`, and behind it an answer that decodes to more than one turn may report; `next`: more of
// it.
struct bomb {
	uint8_t first[1400], next[100];
	size_t first_length, next_length;
};

static void bomb_make(struct bomb *bomb, const char *text)
{
	enum { ZEROS = 600000 };
	uint8_t *zeros = calloc(1, ZEROS);
	size_t head = (size_t)snprintf((char *)bomb->first, sizeof(bomb->first),
		"%s"
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9000\r\n\r\n",
		text);
	z_stream z = {.next_in = zeros, .avail_in = ZEROS, .next_out = bomb->first + head};

	assert_non_null(zeros);
	z.avail_out = (unsigned)(sizeof(bomb->first) - head);
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
	assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
	assert_int_equal(z.avail_in, 0);
	bomb->first_length = sizeof(bomb->first) - z.avail_out;
	z.next_in = zeros;
	z.avail_in = 100;
	z.next_out = bomb->next;
	z.avail_out = sizeof(bomb->next);
	assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
	bomb->next_length = sizeof(bomb->next) - z.avail_out;
	deflateEnd(&z);
	free(zeros);
}

static void sends(struct gate *gate, struct gate_tcp *tcp, const void *bytes, size_t length,
	struct left *left)
{
	unsigned n = gate_send(gate, tcp, true, bytes, length);

	take(gate, left, 0, n);
	passes(gate, 0, left);
}

// The file ends in a segment whose rest is decoded in later turns.
static void what_is_decoded_later_holds_what_ended_before(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = world(SCANS(""));
		struct gate_tcp tcp = gate_connect(gate, 1, 42000, 80);
		struct left left = {0};
		struct bomb bomb;

		assert_int_equal(
			gate_send(gate, &tcp, false, two_requests, strlen(two_requests)), 1);
		bomb_make(&bomb, evil ? HEAD(8) EVIL : HEAD(8) "harmless");
		sends(gate, &tcp, bomb.first, bomb.first_length, &left);
		for (unsigned i = 0; i < 40; i++) // all of it is decoded
			passes(gate, 0, &left);
		sends(gate, &tcp, bomb.next, bomb.next_length, &left);
		passes(gate, 0.01, &left);
		assert_false(has(&left, EVIL));
		assert_false(has(&left, "harmless"));
		passes(gate, 2, &left);
		assert_int_equal(has(&left, "harmless"), !evil);
		assert_false(has(&left, EVIL));
		assert_int_equal(left.resets >= 2, evil);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// A job that began for one flow holds no other one.
static void a_job_holds_its_own_half_alone(void **state)
{
	struct gate *gate = world(SCANS(""));
	struct gate_tcp tcp = gate_connect(gate, 1, 42000, 80), other;
	struct left left = {0}, there = {0};
	struct bomb bomb;

	(void)state;
	assert_true(asks(gate, &other, 42001, "c.txt"));
	says(gate, &other, CHUNKED, &there);
	assert_int_equal(gate_send(gate, &tcp, false, two_requests, strlen(two_requests)), 1);
	bomb_make(&bomb, HEAD(8) "harmless");
	// both in one turn of the loop: the first one's rest is decoded later
	const struct pipe_packet packets[] = {
		{.client = 1,
			.sport = 42000,
			.dport = 80,
			.from_outside = true,
			.seq = tcp.seq[1],
			.ack = tcp.seq[0],
			.payload = bomb.first,
			.payload_length = (uint16_t)bomb.first_length},
		{.client = 1,
			.sport = 42001,
			.dport = 80,
			.from_outside = true,
			.seq = other.seq[1],
			.ack = other.seq[0],
			.payload = "1;",
			.payload_length = 2},
	};

	unsigned from = gate->pipe->n_sent;

	for (unsigned i = 0; i < 2; i++)
		pipe_run(gate->pipe, 0, &packets[i]);
	tcp.seq[1] += (uint32_t)bomb.first_length;
	other.seq[1] += 2;
	take(gate, &there, from, gate->pipe->n_sent);
	assert_true(has(&there, "1;"));
	passes(gate, 2, &left);
	gives_up(gate, &tcp);
	gives_up(gate, &other);
	world_free(gate);
}

// What was looked at is a beginning that the engine cannot open: what follows is looked at.
static void goes_on_behind(const char *head, const char *beginning)
{
	struct gate *gate = world(SCANS(""));
	struct gate_tcp tcp;
	struct left left = {0};

	assert_true(asks(gate, &tcp, 42000, "a.zip"));
	says(gate, &tcp, head, &left);
	passes(gate, 0.6, &left); // it stands still: looked at, and passed by the policy
	assert_true(has(&left, beginning));
	assert_int_equal(stats(gate).scan_unscanned, 1);
	says(gate, &tcp, EVIL, &left);
	passes(gate, 0.6, &left);
	assert_false(has(&left, EVIL));
	assert_true(left.resets >= 2);
	assert_int_equal(stats(gate).scan_infected, 1);
	gives_up(gate, &tcp);
	world_free(gate);
}

static void a_beginning_that_cannot_be_scanned_ends_nothing(void **state)
{
	(void)state;
	goes_on_behind(HEAD(14) "LOCKED", "LOCKED");
	goes_on_behind(HEAD(15) "SWOLLEN", "SWOLLEN"); // a member is too big
}

// A file is given up, for a hole in it, while a window of it is looked at: the job is still
// counted, and what waits for it goes on when it is over.
static void a_file_that_is_given_up_lets_its_half_go_on(void **state)
{
	struct gate *gate = world(SCANS(""));
	const struct rule_scan windows = {
		.windows = true, .window_bytes = 4096, .overlap_bytes = 64};
	static const uint8_t bytes[4096];
	struct gate_tcp tcp;
	struct left left = {0};
	struct scan_result result;

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "a.bin"));
	says(gate, &tcp, "HTTP/1.1 200 OK\r\n", &left);
	struct lcore *lcore = lcore_of(gate);
	const struct scan_begin begin = {.rule = &windows,
		.ref = lcore->content->flows[1].ref,
		.half = HALF_S2C,
		.enforces = true};
	uint32_t number = scan_file_begin(lcore, &begin, &result);

	assert_int_not_equal(number, 0);
	assert_true(scan_file_add(lcore, number, 0, bytes, sizeof(bytes), &result));
	assert_false(scan_file_add(lcore, number, 9000, bytes, 1, &result));
	assert_int_equal(result.reason, SCAN_REASON_PROTOCOL);
	assert_int_equal(stats(gate).scan_pending, 1);
	left.length = 0;
	says(gate, &tcp, "Server: a\r\n", &left); // holds, as it is the first after the job began
	assert_int_equal(left.length, 0);
	passes(gate, 0.6, &left);
	assert_true(has(&left, "Server"));
	assert_int_equal(stats(gate).scan_pending, 0);
	gives_up(gate, &tcp);
	world_free(gate);
}

// While places are scarce, one source has a quarter of them.
static void one_source_leaves_places_to_others(void **state)
{
	struct gate *gate = world_with(SCANS(""), 8);
	struct gate_tcp tcp[8];
	struct left left = {0};

	(void)state;
	for (uint16_t i = 0; i < 6; i++) {
		assert_true(asks(gate, &tcp[i], (uint16_t)(42000 + i), "a.bin"));
		says(gate, &tcp[i], HEAD(100) "some", &left);
	}
	assert_int_equal(stats(gate).scan_files, 6);
	assert_int_equal(left.resets, 0);
	assert_true(asks(gate, &tcp[6], 42006, "a.bin"));
	says(gate, &tcp[6], HEAD(100) "some", &left);
	assert_true(left.resets >= 2);
	assert_int_equal(stats(gate).scan_files, 6);
	assert_int_equal(stats(gate).scan_files_full, 1);
	tcp[7] = gate_connect(gate, 2, 42007, 80);
	assert_int_equal(gate_send(gate, &tcp[7], false, two_requests, strlen(two_requests)), 1);
	left.resets = 0;
	says(gate, &tcp[7], HEAD(100) "some", &left);
	assert_int_equal(stats(gate).scan_files, 7);
	assert_int_equal(left.resets, 0);
	for (unsigned i = 0; i < 8; i++)
		if (i != 6)
			gives_up(gate, &tcp[i]);
	world_free(gate);
}

// A file that grows beyond its source's part of the arena: busy, counted, and the policy's matter.
static void a_file_for_which_the_arena_has_no_room(void **state)
{
	static const char body[] = "a hundred octets and more of a file that never ends, again and "
				   "again, until there is no room for any of them";

	(void)state;
	for (unsigned audits = 0; audits < 2; audits++) {
		struct gate *gate = world_of(
			audits ? SCANS("'unscanned':{'busy':'audit'}") : SCANS(""), 16, 8, 1);
		struct gate_tcp tcp;
		struct left left = {0};
		char piece[1401];

		for (unsigned at = 0; at < 1400; at++)
			piece[at] = body[at % (sizeof(body) - 1)];
		piece[1400] = 0;
		assert_true(asks(gate, &tcp, 42000, "a.bin"));
		says(gate, &tcp, close_head, &left);
		for (unsigned i = 0; i < 6000 && !stats(gate).scan_files_full; i++) {
			left.length = 0;
			says(gate, &tcp, piece, &left);
			tcp.seq[1] -= 1400; // acknowledges what has left: all but the newest
			gate_send(gate, &tcp, false, NULL, 0);
			tcp.seq[1] += 1400;
		}
		assert_int_equal(stats(gate).scan_files_full, 1);
		assert_int_equal(stats(gate).scan_unscanned, 1);
		assert_int_equal(stats(gate).scan_files, 0);
		says(gate, &tcp, "and the rest", &left);
		assert_int_equal(has(&left, "and the rest"), audits);
		assert_int_equal(left.resets >= 2, !audits);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// 68 segments of one octet, the last of them first, and one of them again.
static void octets_in_any_order(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		struct gate *gate = world(SCANS(""));
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		says(gate, &tcp, HEAD(8), &left);
		left.length = 0;
		uint32_t seq = tcp.seq[1];

		for (unsigned i = 0; i < 8; i++) {
			unsigned at = how == 1 ? (i + 7) % 8 : i; // 1: the last octet comes first
			char octet[2] = {EVIL[at]};

			tcp.seq[1] = seq + at;
			says(gate, &tcp, octet, &left);
			tcp.seq[1] = seq + at;
			if (how == 2)
				says(gate, &tcp, octet, &left);
		}
		passes(gate, 0.1, &left);
		for (unsigned at = 0; at < 8; at++) { // all of them again
			char octet[2] = {EVIL[at]};

			tcp.seq[1] = seq + at;
			says(gate, &tcp, octet, &left);
		}
		// how often each octet has left: one of them never
		unsigned missing = 0;

		for (const char *c = EVIL; *c; c++)
			missing += !memchr(left.bytes, *c, left.length);
		assert_true(missing >= 1);
		passes(gate, 0.6, &left);
		assert_int_equal(stats(gate).scan_infected, 1);
		assert_true(left.resets >= 2);
		assert_int_equal(left.length && memchr(left.bytes, 'L', left.length) &&
					 memchr(left.bytes, 'I', left.length) &&
					 memchr(left.bytes, 'V', left.length) &&
					 memchr(left.bytes, 'E', left.length),
			0);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// Coded by Brotli, in two segments of which the second one ends it.
static void brotli_is_scanned_as_it_decodes(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		const char *text = evil ? "words, and then " EVIL : "words, and then harmless";
		uint8_t coded[200], answer_head[200];
		size_t length = sizeof(coded);
		struct gate *gate = world(SCANS(""));
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(BrotliEncoderCompress(9, 22, BROTLI_MODE_GENERIC, strlen(text),
			(const uint8_t *)text, &length, coded));
		int head = snprintf((char *)answer_head, sizeof(answer_head),
			"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %zu\r\n\r\n",
			length);

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		sends(gate, &tcp, answer_head, (size_t)head, &left);
		left.length = 0;
		sends(gate, &tcp, coded, length / 2, &left);
		sends(gate, &tcp, coded + length / 2, length - length / 2, &left);
		assert_true(left.length < length);
		passes(gate, 0.6, &left);
		assert_int_equal(stats(gate).scan_infected, evil);
		assert_int_equal(left.length == length, !evil);
		assert_int_equal(left.resets >= 2, evil);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_decoded_later_holds_what_ended_before),
		cmocka_unit_test(a_job_holds_its_own_half_alone),
		cmocka_unit_test(a_beginning_that_cannot_be_scanned_ends_nothing),
		cmocka_unit_test(a_file_that_is_given_up_lets_its_half_go_on),
		cmocka_unit_test(one_source_leaves_places_to_others),
		cmocka_unit_test(a_file_for_which_the_arena_has_no_room),
		cmocka_unit_test(octets_in_any_order),
		cmocka_unit_test(brotli_is_scanned_as_it_decodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
