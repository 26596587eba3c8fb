// SPDX-License-Identifier: BSD-3-Clause
// BitTorrent's metadata in several pieces: in any order, twice, of either end, of a wrong size or
// spoiled; and torrents that are ambiguous, broken or too long. Files beyond those that are open.
#include "content/decoders.h"
#include "lib/content/bittorrent_talk.h"
#include "lib/content/fake_torrents.h"

#include <openssl/sha.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PIECE_BYTES 16384u
#define INFO_MAX    (6 * PIECE_BYTES)
#define MESSAGE_MAX (PIECE_BYTES + 100)

struct talk {
	uint8_t info[INFO_MAX];
	uint32_t length, size; // of it, of the file
	char hex[2 * SHA_DIGEST_LENGTH + 1];
	uint8_t handshake[68];
	uint8_t block[64]; // the first 16 bytes of the payload
	char expected[2048];
};

// One file in pieces of 16 bytes, with so many digests.
static void begin(struct talk *talk, uint32_t pieces, const char *more)
{
	uint8_t digest[SHA_DIGEST_LENGTH];
	int n = snprintf((char *)talk->info, 200,
		"d%s6:lengthi%u"
		"e4:name9:large.exe12:piece lengthi16e6:pieces%u:",
		more, pieces * 16, pieces * 20);

	memset(talk->info + n, 'a', pieces * 20);
	talk->size = pieces * 16;
	talk->length = (uint32_t)n + pieces * 20;
	talk->info[talk->length++] = 'e';
	SHA1(talk->info, talk->length, digest);
	for (unsigned i = 0; i < SHA_DIGEST_LENGTH; i++)
		snprintf(talk->hex + 2 * i, 3, "%02x", digest[i]);
	memcpy(talk->handshake, LEAD, 28);
	memcpy(talk->handshake + 28, digest, sizeof(digest));
	memcpy(talk->handshake + 48, PEER, 20);
	memcpy(talk->block, PIECE("\x19", "\0", "\0", "abcdefghijklmnop"), 29);
}

// A message that carries a piece of it; `total` 0: says no size.
static struct said piece_of(
	const struct talk *talk, unsigned half, uint32_t piece, uint32_t total, bool spoiled)
{
	static uint8_t messages[16][MESSAGE_MAX];
	static unsigned next;
	uint8_t *at = messages[next++ % 16];
	uint32_t from = piece * PIECE_BYTES;
	uint32_t n = talk->length - from < PIECE_BYTES ? talk->length - from : PIECE_BYTES;
	char size[40] = "";

	if (total)
		snprintf(size, sizeof(size),
			"10:total_sizei%u"
			"e",
			total);
	int head = snprintf((char *)at + 6, MESSAGE_MAX - 6,
		"d8:msg_typei1e5:piecei%u"
		"e%se",
		piece, size);
	uint32_t length = 2 + (uint32_t)head + n;

	at[0] = 0;
	at[1] = (uint8_t)(length >> 16);
	at[2] = (uint8_t)(length >> 8);
	at[3] = (uint8_t)length;
	at[4] = 20;
	at[5] = 3;
	memcpy(at + 6 + head, talk->info + from, n);
	at[6 + head] = (uint8_t)(at[6 + head] ^ spoiled);
	return (struct said)SAID_BYTES(half, 0, 4 + length, at);
}

enum { LEARNED, AMBIGUOUS, UNKNOWN };

// What is said between the handshakes and the first block.
static void check(struct talk *talk, const char *name, const struct said *said, unsigned n,
	unsigned outcome, const char *notes)
{
	struct conversation conversation = {.name = name, .expected = talk->expected};
	uint32_t begins = 81;
	unsigned at = 0;

	conversation.said[at++] = (struct said)SAID_BYTES(HALF_C2S, 0, 68, talk->handshake);
	conversation.said[at++] = (struct said)SAID_BYTES(HALF_S2C, 0, 68, talk->handshake);
	for (unsigned i = 0; i < n; i++) {
		conversation.said[at++] = said[i];
		begins += said[i].half == HALF_S2C ? said[i].length : 0;
	}
	conversation.said[at++] = (struct said)SAID_BYTES(HALF_S2C, 0, 29, talk->block);
	int length = snprintf(talk->expected, sizeof(talk->expected),
		"id c2s btih:%s\nid s2c btih:%s\n%s", talk->hex, talk->hex, notes);

	static const char *const names[] = {[LEARNED] = "large.exe", [AMBIGUOUS] = "b"};
	char file[100], whole[100] = "";

	if (outcome == UNKNOWN) {
		snprintf(file, sizeof(file), "%s", talk->hex);
		snprintf(whole, sizeof(whole), " from=0");
	} else {
		snprintf(file, sizeof(file), "%s size=%u", names[outcome], talk->size);
		snprintf(whole, sizeof(whole), " pieces=%u", talk->size / 16);
	}
	snprintf(talk->expected + length, sizeof(talk->expected) - (size_t)length,
		"file 1 s2c offer name=%s whole=btih:%s%s\nend 1 %s %u+16 abcdefghijklmnop\n", file,
		talk->hex, whole, outcome == AMBIGUOUS ? "CLOSED" : "TRUNCATED", begins);
	conversations_check(&content_bittorrent, &conversation, 1);
}

#define CHECK(name, outcome, notes, ...)                                                \
	do {                                                                            \
		const struct said said[] = {__VA_ARGS__};                               \
		check(&talk, name, said, sizeof(said) / sizeof(*said), outcome, notes); \
	} while (0)
#define SAID_OF(at, n)       (struct said) SAID_BYTES(HALF_S2C, 0, n, at)
#define GOOD(half, piece)    piece_of(&talk, half, piece, talk.length, false)
#define TOTAL(piece, n)      piece_of(&talk, HALF_S2C, piece, n, false)
#define SPOILED(half, piece) piece_of(&talk, half, piece, talk.length, true)

static struct talk talk;

static void pieces_come_in_any_order(void **state)
{
	(void)state;
	begin(&talk, 1800, ""); // 36 kB, three pieces
	CHECK("in order", LEARNED, "", GOOD(HALF_S2C, 0), GOOD(HALF_S2C, 1), GOOD(HALF_S2C, 2));
	CHECK("from behind, and twice", LEARNED, "", GOOD(HALF_S2C, 2), GOOD(HALF_S2C, 1),
		GOOD(HALF_S2C, 1), GOOD(HALF_S2C, 0));
	CHECK("by the other end", LEARNED, "", GOOD(HALF_C2S, 1), GOOD(HALF_C2S, 0),
		GOOD(HALF_C2S, 2));
	CHECK("each end has some", UNKNOWN, "", GOOD(HALF_C2S, 1), GOOD(HALF_S2C, 0),
		GOOD(HALF_S2C, 2));
	CHECK("one is missing", UNKNOWN, "", GOOD(HALF_S2C, 1), GOOD(HALF_S2C, 2));
}

static void sizes_may_lie(void **state)
{
	(void)state;
	begin(&talk, 1800, "");
	CHECK("the last one says none", LEARNED, "", TOTAL(0, 1), TOTAL(1, 100000), TOTAL(2, 0));
	CHECK("only the last one is right", LEARNED, "", TOTAL(1, 7), TOTAL(0, 20000),
		GOOD(HALF_S2C, 2));
	CHECK("the first one is last, and lies", LEARNED, "", GOOD(HALF_S2C, 1), GOOD(HALF_S2C, 2),
		TOTAL(0, 5));
	CHECK("beyond what is read", UNKNOWN, "note s2c head_too_long @68\n",
		TOTAL(0, (8u << 20) + 1), TOTAL(1, (8u << 20) + 1));
}

static void pieces_may_be_spoiled(void **state)
{
	(void)state;
	begin(&talk, 1800, "");
	CHECK("one that is spoiled", UNKNOWN, "", GOOD(HALF_S2C, 0), SPOILED(HALF_S2C, 1),
		GOOD(HALF_S2C, 2));
	CHECK("and comes again before the last", LEARNED, "", GOOD(HALF_S2C, 0),
		SPOILED(HALF_S2C, 1), GOOD(HALF_S2C, 1), GOOD(HALF_S2C, 2));
	CHECK("all come again", LEARNED, "", GOOD(HALF_S2C, 0), SPOILED(HALF_S2C, 1),
		GOOD(HALF_S2C, 2), GOOD(HALF_S2C, 0), GOOD(HALF_S2C, 1), GOOD(HALF_S2C, 2));
	CHECK("by the other end beside", LEARNED, "", SPOILED(HALF_C2S, 0), GOOD(HALF_S2C, 0),
		SPOILED(HALF_C2S, 1), GOOD(HALF_S2C, 1), SPOILED(HALF_C2S, 2), GOOD(HALF_S2C, 2));
}

static void torrents_may_be_none(void **state)
{
	static uint8_t many[40000] = {0, 0, 0x9c, 0x3c, 20, 3, 'd'};
	(void)state;

	begin(&talk, 1, "4:name1:b");
	CHECK("ambiguous", AMBIGUOUS, "note s2c two_names @68\n", GOOD(HALF_S2C, 0));
	begin(&talk, 1, "6:lengthi-1e");
	CHECK("broken", UNKNOWN, "note s2c bad_line @72\n", SAID_OF(KEEP_ALIVE, 4),
		GOOD(HALF_S2C, 0));
	CHECK("a message that is too long for a piece", UNKNOWN, "", SAID_OF(many, sizeof(many)));
}

// What one flow sends of them does not take the memory that others need.
static void room_is_left_to_others(void **state)
{
	(void)state;
	begin(&talk, 4800, ""); // six pieces
	for (unsigned scarce = 0; scarce < 2; scarce++) {
		static struct transcript transcript;
		struct content_memory *memory = content_memory_new(2 * CONTENT_BLOCK_MAX, -1);
		void *peer = content_take(memory, content_bittorrent.state_bytes);
		const struct content_torrents torrents = fake_torrents();
		const struct content_sink sink = transcript_sink(&transcript);
		struct content_turn turn = {.sink = &sink,
			.memory = memory,
			.output = UINT32_MAX,
			.torrents = &torrents};
		uint64_t at64 = 0;
		struct content_memory_use use;

		transcript_begin(&transcript, CONTENT_WANT_NAME);
		if (scarce)
			assert_non_null(content_take(memory, CONTENT_BLOCK_MAX));
		memset(peer, 0, content_bittorrent.state_bytes);
		for (unsigned i = 0; i < 7; i++) {
			const struct said said = i ? GOOD(HALF_S2C, i - 1)
						   : (struct said)SAID_OF(talk.handshake, 68);
			const struct span span = {.half = HALF_S2C,
				.unchecked = said.bytes,
				.offset64 = at64,
				.extent = said.length};

			turn.taken = 0;
			assert_int_equal(content_bittorrent.feed(peer, &span, &turn), CONTENT_FED);
			at64 += said.length;
			content_memory_look(memory, &use);
			assert_true(!scarce || use.used < CONTENT_BLOCK_MAX + 8 * PIECE_BYTES);
		}
		assert_int_equal(strstr(transcript.text, "no_memory") != NULL, scarce);
		content_bittorrent.over(peer, &turn);
		fake_torrents_reset();
		content_memory_free(memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_come_in_any_order),
		cmocka_unit_test(sizes_may_lie),
		cmocka_unit_test(pieces_may_be_spoiled),
		cmocka_unit_test(torrents_may_be_none),
		cmocka_unit_test(room_is_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
