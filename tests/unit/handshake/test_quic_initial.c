// SPDX-License-Identifier: BSD-3-Clause
// Initial packets: the vectors of RFC 9001 A and RFC 9369 A, then what clients do with their hello.
#include <openssl/crypto.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "classify/handshake/datagram_hello.h"
#include "lib/packet/quic_craft.h"

#define VERSION_1 1u
#define NAME      "media.example.net"

static const uint8_t cid[] = {0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08};

// RFC 9001 A.2: the CRYPTO frame of the client's first packet.
static const char vector_frame[] =
	"060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868"
	"04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578"
	"616d706c652e636f6dff01000100000a00080006001d00170018001000070005"
	"04616c706e000500050100000000003300260024001d00209370b2c9caa47fba"
	"baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400"
	"0d0010000e0403050306030203080408050806002d00020101001c0002400100"
	"3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000"
	"75300901100f088394c8f03e51570806048000ffff";

static unsigned long n_allocated;

static void *counted_malloc(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	n_allocated++;
	return malloc(n);
}

static void *counted_realloc(void *at, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	n_allocated++;
	return realloc(at, n);
}

static void counted_free(void *at, const char *file, int line)
{
	(void)file;
	(void)line;
	free(at);
}

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(octets_hex((uint8_t)hex[2 * i]) << 4 |
				   octets_hex((uint8_t)hex[2 * i + 1]));
	return n;
}

static void assert_hex(const uint8_t *bytes, const char *hex)
{
	uint8_t expected[256];
	size_t n = unhex(hex, expected);

	assert_memory_equal(bytes, expected, n);
}

struct world {
	struct quic_crypto *crypto;
	struct datagram_hello hello;
	struct datagram_asks asks;
	enum tls_hello_seen seen;
};

static void begin(struct world *world)
{
	datagram_hello_clear(&world->hello);
	world->seen = TLS_HELLO_NONE;
}

// In a heap block of exact size.
static void feed(struct world *world, const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	world->seen = TLS_HELLO_NONE;
	memset(&world->asks, 0, sizeof(world->asks));
	if (datagram_hello_may_be((struct text){exact, (uint32_t)length}))
		world->seen = datagram_hello_feed(world->crypto, &world->hello, NULL, false,
			(struct text){exact, (uint32_t)length}, &world->asks);
	free(exact);
}

static void assert_asks(const struct world *world, const char *name)
{
	assert_int_equal(world->seen, TLS_HELLO_WHOLE);
	assert_int_equal(world->asks.name.length, strlen(name));
	assert_memory_equal(world->asks.name.at, name, strlen(name));
	assert_int_equal(world->asks.tls.carrier, TLS_OVER_QUIC);
}

static const struct quic_packet plain = {
	.version = VERSION_1,
	.cid = cid,
	.cid_length = sizeof(cid),
	.number = 2,
	.number_length = 4,
	.padded_to = 1200,
};

// The client's packet of the appendix, sealed here, is the one that is printed there; and opened.
static void check_vector(struct world *world, uint32_t version, const char *key, const char *iv,
	const char *header, const char *head, const char *tag)
{
	struct quic_packet packet = plain;
	struct quic_keys keys;
	uint8_t frame[256], sealed[2048];
	size_t n = unhex(vector_frame, frame), length;

	packet.version = version;
	assert_true(quic_keys_derive(version, QUIC_CLIENT, cid, sizeof(cid), &keys));
	assert_hex(keys.key, key);
	assert_hex(keys.iv, iv);
	assert_hex(keys.header, header);
	length = quic_seal(&packet, frame, n, sealed);
	assert_int_equal(length, 1200);
	assert_hex(sealed, head);
	if (tag)
		assert_hex(sealed + length - 16, tag);
	begin(world);
	feed(world, sealed, length);
	assert_asks(world, "example.com");
	assert_int_equal(world->hello.quic.n_tries, 1);
	assert_int_equal(world->hello.quic.n_opened, 1);
	assert_int_equal(world->asks.tls.alpn.length, 5);
}

static void test_vectors(void **state)
{
	check_vector(*state, VERSION_1, "1f369613dd76d5467730efcbe3b1a22d",
		"fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2",
		"c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11"
		"d242b123dc9bd8bab936b47d92ec356c0bab7df5976d27cd449f63300099f399",
		"e221af44860018ab0856972e194cd934");
	check_vector(*state, QUIC_VERSION_2, "8b1a0bc121284290a29e0971b5cd045d",
		"91f73e2351d8fa91660e909f", "45b95e15235d6f45a6b19cbcb0294ba9",
		"d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485"
		"dd04de806071bf03dceebfa162e75d6c96058bdbfb127cdfcbf903388e99ad04",
		NULL);
}

// draft-ietf-quic-tls-29 A.1 and -23 A.1 print the client's key for the same id.
static void test_salts_of_drafts(void **state)
{
	(void)state;
	struct quic_keys keys;

	assert_true(quic_keys_derive(0xff00001d, QUIC_CLIENT, cid, sizeof(cid), &keys));
	assert_hex(keys.key, "175257a31eb09dea9366d8bb79ad80ba");
	assert_true(quic_keys_derive(0xff000017, QUIC_CLIENT, cid, sizeof(cid), &keys));
	assert_hex(keys.key, "af7fd7efebd21878ff66811248983694");
	assert_false(quic_version_known(0x0a0a0a0a));
	assert_false(quic_version_known(0));
	assert_false(quic_keys_derive(0x2a2a2a2a, QUIC_CLIENT, cid, sizeof(cid), &keys));
}

// Every version that has a salt, from one byte of packet number to four, with and without a token.
static void test_every_version(void **state)
{
	static const uint32_t versions[] = {1, QUIC_VERSION_2, QUIC_VERSION_2_DRAFT, 0xff000016,
		0xff000017, 0xff00001c, 0xff00001d, 0xff000020, 0xff000021, 0xff000022, 0xfaceb001,
		0xfaceb002, 0xfaceb00e};
	struct world *world = *state;
	uint8_t hello[512], frames[600], sealed[2048], token[200] = {7};
	size_t n = quic_crypto_frame(6, 0, hello, quic_hello(NAME, 0, hello), frames);

	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct quic_packet packet = plain;

		packet.version = versions[i];
		packet.number_length = 1 + i % 4;
		packet.number = 0x41424344 >> (8 * (4 - packet.number_length));
		packet.token = token;
		packet.token_length = i % 3 * 100;
		begin(world);
		feed(world, sealed, quic_seal(&packet, frames, n, sealed));
		assert_asks(world, NAME);
	}
}

// As Chrome sends it: a hello of more than a datagram, cut at random, frames of it in any order,
// PING and PADDING between them; datagrams swapped and doubled.
static void test_chaos(void **state)
{
	struct world *world = *state;
	uint8_t hello[4096], sealed[2][2048];

	for (unsigned seed = 1; seed <= 200; seed++) {
		size_t length = quic_hello(NAME, 1000 + seed * 4, hello), lengths[2];
		size_t cuts[2][2] = {{0, length / 2}, {length / 2, length}};

		srand(seed);
		for (unsigned d = 0; d < 2; d++) {
			struct quic_packet packet = plain;
			uint8_t frames[2048];
			size_t n = 0, at = cuts[d][0], begins[64], ends[64];
			unsigned pieces = 0;

			while (at < cuts[d][1]) {
				size_t piece = 20 + (size_t)rand() % 200;

				begins[pieces] = at;
				at = at + piece < cuts[d][1] ? at + piece : cuts[d][1];
				ends[pieces++] = at;
			}
			for (unsigned i = pieces; i > 1; i--) { // shuffled
				unsigned j = (unsigned)rand() % i;
				size_t b = begins[j], e = ends[j];

				begins[j] = begins[i - 1];
				ends[j] = ends[i - 1];
				begins[i - 1] = b;
				ends[i - 1] = e;
			}
			for (unsigned i = 0; i < pieces; i++) {
				n += quic_crypto_frame(6, (uint32_t)begins[i], hello + begins[i],
					ends[i] - begins[i], frames + n);
				frames[n++] = 1; // PING
				frames[n++] = 0;
				frames[n++] = 0;
			}
			packet.number = d;
			packet.number_length = 1;
			lengths[d] = quic_seal(&packet, frames, n, sealed[d]);
		}
		unsigned first = seed & 1;

		begin(world);
		feed(world, sealed[first], lengths[first]);
		assert_int_equal(world->seen, TLS_HELLO_MORE);
		feed(world, sealed[first], lengths[first]);
		assert_int_equal(world->seen, TLS_HELLO_MORE);
		feed(world, sealed[!first], lengths[!first]);
		assert_asks(world, NAME);
	}
}

// Initials, 0-RTT and a Handshake packet in one datagram; the hello's end stands in the last
// Initial.
static void test_coalesced(void **state)
{
	static const uint8_t zero_rtt[] = {0xd0, 0, 0, 0, 1, 1, 9, 0, 0x14, 1, 2, 3, 4, 5, 6, 7, 8,
		9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	struct world *world = *state;
	struct quic_packet packet = plain;
	uint8_t hello[512], frames[600], datagram[4096];
	size_t length = quic_hello(NAME, 0, hello), n, at = 0;

	packet.padded_to = 0;
	n = quic_crypto_frame(6, 0, hello, 60, frames);
	at += quic_seal(&packet, frames, n, datagram);
	memcpy(datagram + at, zero_rtt, sizeof(zero_rtt));
	at += sizeof(zero_rtt);
	packet.number++;
	packet.padded_to = 1200; // RFC 9000 14.1: the datagram is at least so long
	n = quic_crypto_frame(6, 60, hello + 60, length - 60, frames);
	at += quic_seal(&packet, frames, n, datagram + at);
	begin(world);
	feed(world, datagram, at);
	assert_asks(world, NAME);
	assert_int_equal(world->hello.quic.n_opened, 2);
}

// An ACK of the server's packets before the rest of the hello; the keys stay those of the first id,
// although the server has chosen another one since.
static void test_id_of_the_server(void **state)
{
	static const uint8_t chosen[] = {1, 2, 3, 4, 5};
	static const uint8_t ack[] = {2, 5, 0x40, 0x64, 1, 0, 1, 1},
			     ack_ecn[] = {3, 0, 0, 0, 0, 1, 2, 3};
	struct world *world = *state;
	struct quic_packet packet = plain;
	uint8_t hello[512], frames[600], sealed[2048];
	size_t length = quic_hello(NAME, 0, hello), n;

	begin(world);
	n = quic_crypto_frame(6, 0, hello, 60, frames);
	feed(world, sealed, quic_seal(&packet, frames, n, sealed));
	assert_int_equal(world->seen, TLS_HELLO_MORE);
	packet.cid = chosen;
	packet.cid_length = sizeof(chosen);
	packet.keyed = cid;
	packet.keyed_length = sizeof(cid);
	memcpy(frames, ack, sizeof(ack));
	memcpy(frames + sizeof(ack), ack_ecn, sizeof(ack_ecn));
	n = sizeof(ack) + sizeof(ack_ecn);
	n += quic_crypto_frame(6, 60, hello + 60, length - 60, frames + n);
	feed(world, sealed, quic_seal(&packet, frames, n, sealed));
	assert_asks(world, NAME);
	assert_int_equal(world->hello.quic.n_tries, 1);
}

// A Retry makes the client begin with other keys: of the parts under the first nothing counts.
static void test_retry(void **state)
{
	static const uint8_t given[] = {9, 9, 9, 9}, token[] = {1, 2, 3};
	struct world *world = *state;
	struct quic_packet packet = plain;
	uint8_t hello[512], head[600], tail[600], sealed[2048];
	size_t length = quic_hello(NAME, 0, hello);
	size_t n_head = quic_crypto_frame(6, 0, hello, 60, head);
	size_t n_tail = quic_crypto_frame(6, 60, hello + 60, length - 60, tail);

	begin(world);
	feed(world, sealed, quic_seal(&packet, head, n_head, sealed));
	packet.cid = given;
	packet.cid_length = sizeof(given);
	feed(world, sealed, quic_seal(&packet, tail, n_tail, sealed));
	assert_true(world->asks.taken); // an id of any length: not all servers ask for 8
	packet.token = token;
	packet.token_length = sizeof(token);
	feed(world, sealed, quic_seal(&packet, tail, n_tail, sealed));
	feed(world, sealed, quic_seal(&packet, head, n_head, sealed));
	assert_asks(world, NAME);
	feed(world, sealed, quic_seal(&plain, tail, n_tail, sealed));
	assert_true(world->asks.refused);
}

// The server wants another version: the hello of the first one is worth nothing.
static void test_other_version(void **state)
{
	struct world *world = *state;
	struct quic_packet packet = plain;
	uint8_t hello[512], frames[600], sealed[2048];
	size_t length = quic_hello("old.example", 0, hello), n;

	begin(world);
	n = quic_crypto_frame(6, 0, hello, length - 1, frames);
	feed(world, sealed, quic_seal(&packet, frames, n, sealed));
	assert_int_equal(world->seen, TLS_HELLO_MORE);
	packet.version = QUIC_VERSION_2;
	n = quic_crypto_frame(6, 0, hello, quic_hello(NAME, 0, hello), frames);
	feed(world, sealed, quic_seal(&packet, frames, n, sealed));
	assert_asks(world, NAME);
}

// Nine packets in a datagram are more than are opened, and more than any client sends.
static void test_packets_of_a_datagram_are_bounded(void **state)
{
	struct world *world = *state;
	uint8_t ping[1] = {1}, datagram[8192];

	for (unsigned n = 1; n < 12; n++) {
		size_t at = 0;

		for (unsigned i = 0; i < n; i++) {
			struct quic_packet packet = plain;

			packet.padded_to = i + 1 == n ? 1200 : 60;
			at += quic_seal(&packet, ping, 1, datagram + at);
		}
		begin(world);
		feed(world, datagram, at);
		assert_int_equal(world->asks.refused, n > QUIC_PACKETS_MAX);
	}
}

// One bit of it wrong, anywhere: it is not opened.
static void test_damage(void **state)
{
	struct world *world = *state;
	uint8_t hello[512], frames[600], sealed[2048];
	size_t n = quic_crypto_frame(6, 0, hello, quic_hello(NAME, 0, hello), frames);
	size_t length = quic_seal(&plain, frames, n, sealed);

	for (size_t at = 0; at < length; at++) {
		sealed[at] ^= 1;
		begin(world);
		feed(world, sealed, length);
		assert_int_equal(world->seen, TLS_HELLO_NONE);
		assert_int_equal(world->hello.quic.n_opened, 0);
		sealed[at] ^= 1;
	}
	for (size_t cut = 0; cut < length; cut++) {
		begin(world);
		feed(world, sealed, cut);
		assert_int_equal(world->seen, TLS_HELLO_NONE);
	}
}

// Frames that lie about their lengths, or are none that an Initial may hold, end the reading.
static void test_bad_frames(void **state)
{
	static const uint8_t bad[][12] = {
		{6, 0, 0x7f, 0xff}, // longer than the packet
		{6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1},
		{2, 0, 0, 0x7f, 0xff, 0}, // more ranges than there are
		{0x1c, 0, 0, 0},          // the end of the connection
		{8, 0, 4, 'C', 'H', 'L', 'O'},
	};
	struct world *world = *state;
	uint8_t hello[512], frames[600], sealed[2048];
	size_t length = quic_hello(NAME, 0, hello);

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t n = sizeof(bad[i]);

		memcpy(frames, bad[i], n);
		n += quic_crypto_frame(6, 0, hello, length, frames + n);
		begin(world);
		feed(world, sealed, quic_seal(&plain, frames, n, sealed));
		assert_int_equal(world->hello.quic.n_opened, 1);
		if (i != 1) // that one is whole: it is only out of reach
			assert_int_equal(world->seen, TLS_HELLO_MORE);
	}
}

static size_t put_chlo(uint8_t *out)
{
	static const char tags[] = "PAD\0\4\0\0\0SNI\0\x15\0\0\0VER\0\x19\0\0\0";

	memcpy(out, "CHLO\3\0\0\0", 8);
	memcpy(out + 8, tags, 24);
	memcpy(out + 32, "----" NAME "Q050", 4 + strlen(NAME) + 4);
	return 32 + 4 + strlen(NAME) + 4;
}

// Google's own: in Initial packets with frames of its own numbers; before that in clear.
static void test_chlo(void **state)
{
	struct world *world = *state;
	struct quic_packet packet = plain;
	uint8_t chlo[256], frames[600], sealed[2048], clear[1350] = {0x0d, 1, 2, 3, 4, 5, 6, 7, 8};
	size_t n = put_chlo(chlo), length;

	assert_int_equal(strlen(NAME), 17);
	frames[0] = 7; // PING
	length = 1 + quic_crypto_frame(8, 0, chlo, n, frames + 1);
	packet.version = QUIC_VERSION_Q050;
	begin(world);
	feed(world, sealed, quic_seal(&packet, frames, length, sealed));
	assert_int_equal(world->seen, TLS_HELLO_WHOLE);
	assert_int_equal(world->asks.name.length, strlen(NAME));
	assert_memory_equal(world->asks.name.at, NAME, strlen(NAME));
	assert_int_equal(world->asks.tls.carrier, 0);
	// Q043: number, hash, a stream frame
	memcpy(clear + 9, "Q043\1", 5);
	memcpy(clear + 30, chlo, n);
	assert_true(datagram_hello_may_be((struct text){clear, sizeof(clear)}));
	assert_int_equal(datagram_hello_feed(world->crypto, &world->hello, NULL, false,
				 (struct text){clear, sizeof(clear)}, &world->asks),
		TLS_HELLO_WHOLE);
	assert_int_equal(world->asks.name.length, strlen(NAME));
	assert_memory_equal(world->asks.name.at, NAME, strlen(NAME));
	// a tag that ends before the one in front of it; every truncation
	for (size_t cut = 0; cut < 30 + n; cut++)
		feed(world, clear, cut);
	clear[30 + 8 + 4] = 0xff;
	feed(world, clear, sizeof(clear));
	assert_int_equal(world->seen, TLS_HELLO_NONE);
	// T050 has TLS inside, in the same frames
	packet.version = 0x54303530;
	n = quic_hello(NAME, 0, chlo);
	length = quic_crypto_frame(8, 0, chlo, n, frames);
	begin(world);
	feed(world, sealed, quic_seal(&packet, frames, length, sealed));
	assert_asks(world, NAME);
}

static size_t put_fragment(uint8_t *out, const uint8_t *body, size_t length, uint8_t message,
	size_t offset, size_t part)
{
	const uint8_t head[25] = {22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1,
		(uint8_t)((part + 12) >> 8), (uint8_t)(part + 12), 1, 0, (uint8_t)(length >> 8),
		(uint8_t)length, 0, message, 0, (uint8_t)(offset >> 8), (uint8_t)offset, 0,
		(uint8_t)(part >> 8), (uint8_t)part};

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), body + offset, part);
	return sizeof(head) + part;
}

// DTLS: the hello in fragments, two of them in a datagram, the last one first; then the whole again
// with a cookie.
static void test_dtls(void **state)
{
	struct world *world = *state;
	uint8_t hello[512], body[512], datagram[1500];
	size_t length = quic_hello(NAME, 0, hello) - 4, at;

	// the same hello with an empty cookie behind the session id
	memcpy(body, hello + 4, 35);
	body[0] = 0xfe;
	body[1] = 0xfd;
	body[35] = 0;
	memcpy(body + 36, hello + 4 + 35, length - 35);
	length++;
	begin(world);
	feed(world, datagram, put_fragment(datagram, body, length, 0, 80, length - 80));
	assert_int_equal(world->seen, TLS_HELLO_MORE);
	at = put_fragment(datagram, body, length, 0, 40, 40);
	at += put_fragment(datagram + at, body, length, 0, 0, 40);
	feed(world, datagram, at);
	assert_int_equal(world->seen, TLS_HELLO_WHOLE);
	assert_int_equal(world->asks.tls.carrier, TLS_OVER_DATAGRAMS);
	assert_int_equal(world->asks.name.length, strlen(NAME));
	feed(world, datagram, put_fragment(datagram, body, length, 1, 0, 40));
	assert_int_equal(world->seen, TLS_HELLO_MORE);
	feed(world, datagram, put_fragment(datagram, body, length, 1, 40, length - 40));
	assert_int_equal(world->seen, TLS_HELLO_WHOLE);
	at = put_fragment(datagram, body, length, 1, 0, length);
	for (size_t cut = 0; cut < at; cut++) {
		begin(world);
		feed(world, datagram, cut);
		assert_int_equal(world->asks.name.length, 0);
	}
	// a fragment that leads beyond the message
	at = put_fragment(datagram, body, length, 1, 0, length);
	datagram[21] = 1;
	begin(world);
	feed(world, datagram, at);
	assert_int_equal(world->asks.name.length, 0);
}

// Random bytes behind a header that is right; a data lcore never allocates.
static void test_random_and_heap(void **state)
{
	struct world *world = *state;
	uint8_t hello[512], frames[600], sealed[2048];
	size_t n = quic_crypto_frame(6, 0, hello, quic_hello(NAME, 0, hello), frames);
	size_t length = quic_seal(&plain, frames, n, sealed);
	unsigned long before;

	for (unsigned i = 0; i < 2; i++) {
		begin(world);
		before = n_allocated;
		world->seen = datagram_hello_feed(world->crypto, &world->hello, NULL, false,
			(struct text){sealed, (uint32_t)length}, &world->asks);
		assert_int_equal(n_allocated, before);
		assert_asks(world, NAME);
	}
	srand(1);
	for (unsigned i = 0; i < 20000; i++) {
		for (size_t at = 5; at < 64; at++)
			sealed[at] = (uint8_t)rand();
		begin(world);
		before = n_allocated;
		datagram_hello_feed(world->crypto, &world->hello, NULL, false,
			(struct text){sealed, (uint32_t)length}, &world->asks);
		assert_int_equal(n_allocated, before);
		assert_int_equal(world->hello.quic.n_opened, 0);
	}
}

static int make(void **state)
{
	static struct world world;

	world.crypto = quic_crypto_new();
	*state = &world;
	return world.crypto ? 0 : -1;
}

static int unmake(void **state)
{
	quic_crypto_free(((struct world *)*state)->crypto);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_salts_of_drafts),
		cmocka_unit_test(test_every_version),
		cmocka_unit_test(test_chaos),
		cmocka_unit_test(test_coalesced),
		cmocka_unit_test(test_id_of_the_server),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_packets_of_a_datagram_are_bounded),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_bad_frames),
		cmocka_unit_test(test_chlo),
		cmocka_unit_test(test_dtls),
		cmocka_unit_test(test_random_and_heap),
	};

	if (!CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free))
		return 1;
	return cmocka_run_group_tests(tests, make, unmake);
}
