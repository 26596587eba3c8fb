// SPDX-License-Identifier: BSD-3-Clause
// What decoders learn of endpoints and names: the DHT, trackers, peer exchange, DNS answers; and
// what liars, cut messages and chance make of it.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/canned_requests.h"
#include "lib/classify/classify_rig.h"

static struct rig *rig;

// All that was reported, as a line each: "v4 HOST:PORT PROTO FROM HALF", "NAME (ALIAS) ADDRESS
// TTL".
static char told[16384];

static void put_address(const uint8_t address[16])
{
	size_t at = strlen(told);

	if (address[10] == 0xff && address[11] == 0xff)
		snprintf(told + at, sizeof(told) - at, "%u.%u.%u.%u", address[12], address[13],
			address[14], address[15]);
	else
		snprintf(told + at, sizeof(told) - at, "[%02x%02x..%02x]", address[0], address[1],
			address[15]);
}

static void hear_endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	(void)ctx;
	put_address(endpoint->address);
	size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, ":%u/%u by %u of %u\n", endpoint->port,
		endpoint->l4_proto, endpoint->from, endpoint->half);
}

static void hear_name(void *ctx, const struct learned_name *name)
{
	(void)ctx;
	size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, "%.*s%s%.*s ", (int)name->length, name->name,
		name->alias ? "=" : "", (int)name->alias_length,
		name->alias ? (const char *)name->alias : "");
	put_address(name->address);
	at = strlen(told);
	snprintf(told + at, sizeof(told) - at, " %u\n", name->ttl_s);
}

static struct asked asked; // requests that the answers of this file are to
static const struct decoder_sink sink = {
	.endpoint = hear_endpoint, .name = hear_name, .asked = &asked};

static const struct flow_ends ends = {
	.address = {{[10] = 0xff, 0xff, 192, 0, 2, 1}, {[10] = 0xff, 0xff, 198, 51, 100, 2}},
	.port = {40000, 6881},
};

// The payload in a block of exact size.
static int feed_at(const char *app, uint32_t *state, uint8_t l4, unsigned half, uint64_t offset64,
	const void *bytes, size_t length, uint8_t flags)
{
	uint8_t *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	if (bytes)
		memcpy(exact, bytes, length);
	const struct span span = {
		.offset64 = offset64,
		.unchecked = flags & SPAN_GAP ? NULL : exact,
		.extent = (uint32_t)length,
		.half = (uint8_t)half,
		.flags = (uint8_t)(flags | (l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0)),
	};
	int rc = decoder_feed(rig->classifier, app_find(app), &ends, &span, state, &sink);

	free(exact);
	return rc;
}

static int datagram(const char *app, unsigned half, const void *bytes, size_t length)
{
	uint32_t state = CLASSIFY_NO_STATE;
	int rc;

	told[0] = 0;
	canned_requests(rig->classifier, app, &ends, &asked);
	rc = feed_at(app, &state, IPPROTO_UDP, half, 0, bytes, length, 0);
	assert_int_equal(state, CLASSIFY_NO_STATE); // datagrams take none
	return rc;
}

// In pieces of `piece` bytes, as one connection of two halves: what the client says, the server.
static int stream(const char *app, const void *c2s, size_t c2s_length, const void *s2c,
	size_t s2c_length, size_t piece)
{
	const uint8_t *sides[2] = {c2s, s2c};
	const size_t lengths[2] = {c2s_length, s2c_length};
	uint32_t state = CLASSIFY_NO_STATE;
	int rc = 0;

	told[0] = 0;
	canned_requests(rig->classifier, app, &ends, &asked);
	for (unsigned half = 0; half < 2; half++) {
		for (size_t at = 0; at < lengths[half] && rc == 0; at += piece) {
			size_t left = lengths[half] - at;

			rc = feed_at(app, &state, IPPROTO_TCP, half, at, sides[half] + at,
				left < piece ? left : piece, 0);
		}
	}
	classify_end(rig->classifier, &state);
	return rc;
}

#define ID "abcdefghij0123456789"

static void dht_replies_list_nodes_and_peers(void **state)
{
	static const char nodes[] = "d1:rd2:id20:" ID "5:nodes52:" ID "\x0b\x00\x00\x01\x1a\xe1" ID
				    "\x0b\x00\x00\x02\xc8\xd5"
				    "e1:t2:aa1:y1:re";
	static const char values[] = "d1:rd2:id20:" ID "5:token4:abcd6:valuesl6:"
				     "\x0b\x00\x00\x03\x1a\xe1"
				     "18:"
				     "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09\x1a\xe2"
				     "5:short6:"
				     "\x0b\x00\x00\x04\x00\x00"
				     "ee1:t2:aa1:y1:re";
	static const char nodes6[] = "d1:rd2:id20:" ID "6:nodes638:" ID
				     "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07\x1a\xe1"
				     "e1:t2:aa1:y1:re";

	(void)state;
	assert_int_equal(datagram("bittorrent", HALF_S2C, LITERAL(nodes)), 0);
	assert_string_equal(told, "198.51.100.2:6881/17 by 0 of 1\n11.0.0.1:6881/17 by 0 of 1\n"
				  "11.0.0.2:51413/17 by 0 of 1\n");
	datagram("bittorrent", HALF_S2C, LITERAL(values)); // port 0 is nobody's
	assert_string_equal(told, "198.51.100.2:6881/17 by 0 of 1\n11.0.0.3:6881/0 by 0 of 1\n"
				  "[2001..09]:6882/0 by 0 of 1\n");
	datagram("bittorrent", HALF_S2C, LITERAL(nodes6));
	assert_string_equal(told, "198.51.100.2:6881/17 by 0 of 1\n[2001..07]:6881/17 by 0 of 1\n");
}

static void dht_announcers_name_their_own_port(void **state)
{
	static const char announce[] = "d1:ad2:id20:" ID "9:info_hash20:" ID
				       "4:porti51413e5:token1:xe1:q13:announce_peer1:t1:a1:y1:qe";
	static const char implied[] = "d1:ad2:id20:" ID "12:implied_porti1e9:info_hash20:" ID
				      "4:porti1e5:token1:xe1:q13:announce_peer1:t1:a1:y1:qe";
	static const char ping[] = "d1:ad2:id20:" ID "e1:q4:ping1:t1:a1:y1:qe";
	static const char wild[] =
		"d1:ad2:id20:" ID
		"4:porti99999999999999999999e5:token1:xe1:q13:announce_peer1:t1:a1:y1:qe";

	(void)state;
	datagram("bittorrent", HALF_C2S, LITERAL(announce));
	assert_string_equal(told, "192.0.2.1:51413/0 by 0 of 0\n");
	datagram("bittorrent", HALF_C2S, LITERAL(implied));
	assert_string_equal(told, "192.0.2.1:40000/0 by 0 of 0\n");
	datagram("bittorrent", HALF_C2S, LITERAL(ping)); // who asks need not listen
	assert_string_equal(told, "");
	datagram("bittorrent", HALF_C2S, LITERAL(wild));
	assert_string_equal(told, "");
}

// A flood in one message is cut; what is no whole number of nodes is not believed.
static void dht_messages_are_bounded(void **state)
{
	char big[8192] = "d1:rd2:id20:" ID "6:valuesl";
	size_t at = strlen(big);
	unsigned lines = 0;

	(void)state;
	for (unsigned i = 0; i < 500; i++, at += 8)
		memcpy(big + at, "6:\x0b\x01\x01\x01\x1a\xe1", 8);
	memcpy(big + at, "ee1:t2:aa1:y1:re", 16);
	datagram("bittorrent", HALF_S2C, big, at + 16);
	for (const char *line = told; *line; line++)
		lines += *line == '\n';
	assert_int_equal(lines, 128);
	static const char odd[] = "d1:rd2:id20:" ID "5:nodes25:" ID "\x0b\x00\x00\x01\x1a"
				  "e1:t2:aa1:y1:re";

	datagram("bittorrent", HALF_S2C, LITERAL(odd));
	assert_string_equal(told, "198.51.100.2:6881/17 by 0 of 1\n");
}

static void udp_trackers(void **state)
{
	static const uint8_t reply[] = "\0\0\0\1abcd\0\0\7\x08\0\0\0\1\0\0\0\2"
				       "\x0b\0\0\1\x1a\xe1\x0b\0\0\2\xc8\xd5";
	static const uint8_t scrape[] = "\0\0\0\2abcd\0\0\0\1\0\0\0\2\0\0\0\3";
	uint8_t announce[98] = {9, 8, 7, 1, 2, 3, 4, 5, 0, 0, 0, 1};

	(void)state;
	announce[96] = 0xc8;
	announce[97] = 0xd5;
	assert_int_equal(datagram("bittorrent", HALF_C2S, announce, sizeof(announce)), 0);
	assert_string_equal(told, "192.0.2.1:51413/0 by 1 of 0\n");
	assert_int_equal(datagram("bittorrent", HALF_S2C, reply, sizeof(reply) - 1), 0);
	assert_string_equal(told, "11.0.0.1:6881/0 by 1 of 1\n11.0.0.2:51413/0 by 1 of 1\n");
	assert_int_equal(datagram("bittorrent", HALF_S2C, reply, sizeof(reply) - 2), 0);
	assert_string_equal(told, "");
	assert_int_equal(datagram("bittorrent", HALF_S2C, scrape, sizeof(scrape) - 1), 0);
	assert_string_equal(told, "");
}

static void local_discovery(void **state)
{
	static const char search[] = "BT-SEARCH * HTTP/1.1\r\nHost: 239.192.152.143:6771\r\n"
				     "Port: 51413\r\nInfohash: 00\r\n\r\n\r\n";
	static const char none[] = "BT-SEARCH * HTTP/1.1\r\nPort: 99999\r\nInfohash: 00\r\n\r\n";

	(void)state;
	datagram("bittorrent", HALF_C2S, LITERAL(search));
	assert_string_equal(told, ""); // nobody answers it
	datagram("bittorrent", HALF_C2S, LITERAL(none));
	assert_string_equal(told, "");
}

static void utp_ends_the_decoder(void **state)
{
	static const uint8_t content[40] = {0x01, 0, 0x12, 0x34, 1, 2, 3, 4, 5, 6, 7, 8};

	(void)state;
	assert_int_equal(datagram("bittorrent", HALF_C2S, content, sizeof(content)), DECODER_DONE);
}

static const char request[] =
	"GET /announce?info_hash=" ID "&peer_id=-TR3000-abcdefghijkl&port=51413"
	"&left=0 HTTP/1.1\r\nHost: t.example\r\n\r\n";

static void http_trackers(void **state)
{
	static const char compact[] =
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
		"d8:intervali1800e5:peers12:\x0b\0\0\1\x1a\xe1\x0b\0\0\2\xc8\xd5"
		"6:peers618:\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09\x1a\xe2"
		"e";
	static const char dictionaries[] =
		"HTTP/1.0 200 OK\r\n\r\nd8:intervali1800e5:peersl"
		"d2:ip8:11.0.0.47:peer id20:" ID "4:porti6889ee"
		"d2:ip13:not.a.address4:porti6890eed2:ip9:11.0.0.994:porti0eeee";
	static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				      "d0\r\nd5:peers6:\x0b\0\0\1\x1a\xe1"
				      "e\r\n0\r\n\r\n";
	static const char failure[] = "HTTP/1.1 200 OK\r\n\r\nd14:failure reason4:nonee";
	const char *const v4 = "192.0.2.1:51413/0 by 1 of 0\n11.0.0.1:6881/0 by 1 of 1\n"
			       "11.0.0.2:51413/0 by 1 of 1\n[2001..09]:6882/0 by 1 of 1\n";

	(void)state;
	assert_int_equal(
		stream("bittorrent", LITERAL(request), LITERAL(compact), 4096), DECODER_DONE);
	assert_string_equal(told, v4);
	for (size_t piece = 1; piece < 80; piece += 13) {
		// a request in pieces: its port is not read, its answer is
		assert_int_equal(stream("bittorrent", LITERAL(request), LITERAL(compact), piece),
			DECODER_DONE);
		assert_non_null(strstr(told, strchr(v4, '\n') + 1));
	}
	stream("bittorrent", LITERAL(request), LITERAL(dictionaries), 4096);
	assert_string_equal(told, "192.0.2.1:51413/0 by 1 of 0\n11.0.0.4:6889/0 by 1 of 1\n");
	stream("bittorrent", LITERAL(request), LITERAL(chunked), 4096);
	assert_string_equal(told, "192.0.2.1:51413/0 by 1 of 0\n11.0.0.1:6881/0 by 1 of 1\n");
	stream("bittorrent", LITERAL(request), LITERAL(failure), 4096);
	assert_string_equal(told, "192.0.2.1:51413/0 by 1 of 0\n");
}

// More peers than are kept of an answer: those that came are reported.
static void a_long_answer_is_read_as_far_as_it_goes(void **state)
{
	char answer[4096] = "HTTP/1.1 200 OK\r\n\r\nd5:peers3000:";
	size_t at = strlen(answer);
	unsigned lines = 0;

	(void)state;
	for (unsigned i = 0; i < 500; i++, at += 6)
		memcpy(answer + at, "\x0b\x01\x01\x01\x1a\xe1", 6);
	answer[at++] = 'e';
	assert_int_equal(stream("bittorrent", LITERAL(request), answer, at, 1448), DECODER_DONE);
	for (const char *line = told; *line; line++)
		lines += *line == '\n';
	assert_int_equal(lines, 1 + 128);
}

#define HANDSHAKE             \
	"\x13"                \
	"BitTorrent protocol" \
	"\0\0\0\0\0\x10\0\x05" ID "-LT2080-abcdefghijkl"

static void peer_exchange(void **state)
{
	static const char client[] = HANDSHAKE "\0\0\0\x1d\x14\0d1:md6:ut_pexi1ee1:pi6999ee";
	static const char server[] =
		HANDSHAKE "\0\0\0\0"                   // keep-alive
			  "\0\0\0\x09\x07\0\0\0\1abcd" // a message to skip
			  "\0\0\0\x1a\x14\1d5:added12:\x0b\0\0\1\x1a\xe1"
			  "\x0b\0\0\2\xc8\xd5"
			  "e"
			  "\0\0\0\x21\x14\1d6:added618:\x20\x01\x0d\xb8\0\0\0\0\0"
			  "\0\0\0\0\0\0\x09\x1a\xe2"
			  "e";

	(void)state;
	for (size_t piece = 1; piece < 200; piece += 7) {
		assert_int_equal(stream("bittorrent", LITERAL(client), LITERAL(server), piece), 0);
		assert_string_equal(told, "192.0.2.1:6999/0 by 3 of 0\n"
					  "198.51.100.2:6881/0 by 3 of 1\n"
					  "11.0.0.1:6881/0 by 2 of 1\n11.0.0.2:51413/0 by 2 of 1\n"
					  "[2001..09]:6882/0 by 2 of 1\n");
	}
}

// A gap inside of what is skipped does no harm; elsewhere, or a length that cannot be, ends it.
static void the_wire_is_followed_until_it_cannot_be(void **state)
{
	static const char begin[] = HANDSHAKE "\0\0\x40\x09\x07";
	static const char pex[] = "\0\0\0\x13\x14\1d5:added6:\x0b\0\0\1\x1a\xe1"
				  "e";
	static const char wild[] = HANDSHAKE "\xff\0\0\0\x07";
	uint32_t ref = CLASSIFY_NO_STATE;
	uint64_t at = sizeof(begin) - 1;

	(void)state;
	told[0] = 0;
	feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_S2C, 0, LITERAL(begin), 0);
	feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_S2C, at, NULL, 0x4008, SPAN_GAP);
	feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_S2C, at + 0x4008, LITERAL(pex), 0);
	assert_string_equal(told, "198.51.100.2:6881/0 by 3 of 1\n11.0.0.1:6881/0 by 2 of 1\n");
	assert_int_equal(
		feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_S2C, at + 0x5000, NULL, 9, SPAN_GAP),
		0);
	told[0] = 0;
	feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_S2C, at + 0x5009, LITERAL(pex), 0);
	assert_string_equal(told, "");
	// and when neither half can be followed, the flow is let go
	assert_int_equal(feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_C2S, 0, LITERAL(wild), 0),
		DECODER_DONE);
	classify_end(rig->classifier, &ref);
	// nor for ever
	assert_int_equal(feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_C2S, 2 << 20, "a", 1, 0), 0);
	assert_int_equal(feed_at("bittorrent", &ref, IPPROTO_TCP, HALF_S2C, 2 << 20, "a", 1, 0),
		DECODER_DONE);
	classify_end(rig->classifier, &ref);
}

// ---- DNS ----

#define HEADER(flags, answers) "\x12\x34" flags "\0\1\0" answers "\0\0\0\0"
#define CHAT                   "\4chat\7example\0"
#define QUESTION               CHAT "\0\1\0\1"

static void dns_addresses(void **state)
{
	static const char a[] =
		HEADER("\x81\x80", "\1") QUESTION "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07";
	static const char aaaa[] =
		HEADER("\x81\x80", "\1") "\4ChAt\7example\0"
					 "\0\x1c\0\1\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10"
					 "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09";
	static const char chain[] = HEADER("\x81\x80", "\3") QUESTION
		"\xc0\x0c\0\5\0\1\0\0\0\x3c\0\6\3cdn\xc0\x11"
		"\3cdn\xc0\x11\0\5\0\1\0\0\0\x3c\0\7\4edge\xc0\x11"
		"\4edge\xc0\x11\0\1\0\1\0\0\0\x3c\0\4\xc6\x33\x64\x08";

	(void)state;
	assert_int_equal(datagram("dns", HALF_S2C, LITERAL(a)), 0);
	assert_string_equal(told, "chat.example 198.51.100.7 300\n");
	datagram("dns", HALF_C2S, LITERAL(a)); // only whom it was asked of answers
	assert_string_equal(told, "");
	datagram("dns", HALF_S2C, LITERAL(aaaa));
	assert_string_equal(told, "chat.example [2001..09] 60\n");
	datagram("dns", HALF_S2C, LITERAL(chain));
	assert_string_equal(told, "chat.example=edge.example 198.51.100.8 60\n");
	char tcp[2 + sizeof(a) - 1 + 2 + sizeof(chain) - 1] = {0, sizeof(a) - 1};

	memcpy(tcp + 2, a, sizeof(a) - 1);
	tcp[2 + sizeof(a)] = sizeof(chain) - 1;
	memcpy(tcp + 2 + sizeof(a) + 1, chain, sizeof(chain) - 1);
	for (size_t piece = 1; piece < sizeof(tcp) + 1; piece += 5) {
		stream("dns", "", 0, tcp, sizeof(tcp), piece);
		assert_string_equal(told, "chat.example 198.51.100.7 300\n"
					  "chat.example=edge.example 198.51.100.8 60\n");
	}
}

static void dns_answers_that_prove_nothing(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} bad[] = {
		// a query, an error, two questions' worth, an answer to nobody's question
		{LITERAL(HEADER("\x01\0", "\1") QUESTION
			"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		{LITERAL(HEADER("\x81\x83", "\1") QUESTION
			"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		{LITERAL("\x12\x34\x81\x80\0\2\0\1\0\0\0\0" QUESTION
			 "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		{LITERAL(HEADER("\x81\x80", "\1") QUESTION
			"\4bank\xc0\x11\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		// an address of five octets; another class
		{LITERAL(HEADER("\x81\x80", "\1") QUESTION
			"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\5\xc6\x33\x64\x07\1")},
		{LITERAL(HEADER("\x81\x80", "\1") QUESTION
			"\xc0\x0c\0\1\0\3\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		// names that lead to themselves, forwards, to each other, into the header
		{LITERAL(HEADER("\x81\x80", "\1") QUESTION
			"\xc0\x1e\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		{LITERAL(HEADER("\x81\x80", "\1") QUESTION
			"\xc0\x2e\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		{LITERAL(HEADER("\x81\x80", "\1") "\xc0\x0c\0\1\0\1")},
		{LITERAL(
			HEADER("\x81\x80", "\1") "\1a\xc0\x0c\0\1\0\1"
						 "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		{LITERAL(
			HEADER("\x81\x80", "\1") "\1a\xc0\0\0\1\0\1"
						 "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
		// a dot inside of a label would make it another name
		{LITERAL(
			HEADER("\x81\x80", "\1") "\x0c"
						 "chat.example\0\0\1\0\1"
						 "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07")},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		datagram("dns", HALF_S2C, bad[i].bytes, bad[i].length);
		assert_string_equal(told, "");
	}
}

// Cut anywhere nothing is read beyond the end, and nothing reported that is not there.
static void truncations_and_chance(void **state)
{
	static const char nodes[] = "d1:rd2:id20:" ID "5:nodes26:" ID "\x0b\x00\x00\x01\x1a\xe1"
				    "e1:t2:aa1:y1:re";
	static const char a[] =
		HEADER("\x81\x80", "\1") QUESTION "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\x07";
	uint8_t chance[600];

	(void)state;
	for (size_t n = 0; n < sizeof(nodes) - 1; n++) {
		datagram("bittorrent", HALF_S2C, nodes, n);
		assert_true(n > sizeof(nodes) - 4 || !strstr(told, "11.0.0.1"));
	}
	for (size_t n = 0; n < sizeof(a) - 1; n++) {
		datagram("dns", HALF_S2C, a, n);
		assert_string_equal(told, "");
	}
	srandom(5);
	for (unsigned i = 0; i < 20000; i++) {
		for (unsigned k = 0; k < sizeof(chance); k++)
			chance[k] = (uint8_t)random();
		size_t n = (size_t)random() % sizeof(chance);

		if (i & 1) // mutations of what is well formed go deeper
			memcpy(chance, i & 2 ? nodes : a, 30);
		datagram(i & 2 ? "bittorrent" : "dns", HALF_S2C, chance, n);
		stream(i & 2 ? "bittorrent" : "dns", chance, n, chance, n, 100);
	}
}

static int end(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dht_replies_list_nodes_and_peers),
		cmocka_unit_test(dht_announcers_name_their_own_port),
		cmocka_unit_test(dht_messages_are_bounded),
		cmocka_unit_test(udp_trackers),
		cmocka_unit_test(local_discovery),
		cmocka_unit_test(utp_ends_the_decoder),
		cmocka_unit_test(http_trackers),
		cmocka_unit_test(a_long_answer_is_read_as_far_as_it_goes),
		cmocka_unit_test(peer_exchange),
		cmocka_unit_test(the_wire_is_followed_until_it_cannot_be),
		cmocka_unit_test(dns_addresses),
		cmocka_unit_test(dns_answers_that_prove_nothing),
		cmocka_unit_test(truncations_and_chance),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, end);
}
