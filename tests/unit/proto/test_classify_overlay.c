// SPDX-License-Identifier: BSD-3-Clause
// Tunnels and networks of peers: OpenVPN's resets by UDP and TCP, in clear, behind an HMAC, sealed;
// ZeroTier, Nebula, libp2p, Tor's directory, Bitcoin. Each with what refuses it, every truncation,
// and chance.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/peers/classify_talk.h"

static struct rig *rig;

#define UDP IPPROTO_UDP
#define TCP IPPROTO_TCP

#define CLIENT  "ClientNo"
#define SERVER  "ServerNo"
#define HMAC_20 "12345678901234567890"
#define HMAC_32 HMAC_20 "123456789012"
#define FIRST   "\0\0\0\1\x65\0\0\0"
#define EARLY   "\x0f\0\0\1\x65\0\0\0"
#define END     "\0\0\0\0\0"
#define ACK     "\1\0\0\0\0" CLIENT "\0\0\0\0"
#define KEY     "WrappedKey of any length, of which the last two octets are the length\0\x47"

struct pair { // of resets
	const char *client;
	size_t client_length;
	const char *server;
	size_t server_length;
	enum confidence confidence;
};

static const struct pair pairs[] = {
	{LITERAL("\x38" CLIENT END), LITERAL("\x40" SERVER ACK), CONFIDENCE_VERIFIED},
	{LITERAL("\x38" CLIENT HMAC_20 FIRST END), LITERAL("\x40" SERVER HMAC_20 FIRST ACK),
		CONFIDENCE_VERIFIED},
	{LITERAL("\x38" CLIENT HMAC_32 FIRST END), LITERAL("\x40" SERVER HMAC_32 FIRST ACK),
		CONFIDENCE_VERIFIED},
	{LITERAL("\x38" CLIENT FIRST HMAC_32 "seals"),
		LITERAL("\x40" SERVER FIRST HMAC_32 "seventeen octets."), CONFIDENCE_DPI},
	{LITERAL("\x50" CLIENT EARLY HMAC_32 "seals" KEY),
		LITERAL("\x40" SERVER EARLY HMAC_32 "seventeen octets.and a flag"), CONFIDENCE_DPI},
};
#define N_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void say(struct rig_flow *flow, unsigned half, const char *bytes, size_t length)
{
	uint8_t framed[256] = {(uint8_t)(length >> 8), (uint8_t)length};

	assert_true(length <= sizeof(framed) - 2);
	memcpy(framed + 2, bytes, length);
	if (flow->l4 == TCP)
		rig_feed(flow, half, framed, length + 2);
	else
		rig_feed(flow, half, bytes, length);
}

static struct rig_flow begin(uint8_t l4)
{
	return rig_flow(rig, l4, 40000, 443);
}

// The client, with octet `odd` changed (-1: none); then the server, the same.
static const char *after(
	uint8_t l4, const struct pair *pair, int odd_client, int odd_server, enum confidence *sure)
{
	struct rig_flow flow = begin(l4);
	char client[256], server[256];

	memcpy(client, pair->client, pair->client_length);
	memcpy(server, pair->server, pair->server_length);
	if (odd_client >= 0)
		client[odd_client] ^= 0x20;
	if (odd_server >= 0)
		server[odd_server] ^= 0x20;
	say(&flow, HALF_C2S, client, pair->client_length);
	assert_string_equal(rig_app(&flow), ""); // what one end says is not enough
	say(&flow, HALF_S2C, server, pair->server_length);
	const char *app = rig_app(&flow);

	*sure = flow.verdict.confidence;
	if (*app)
		assert_int_equal(flow.verdict.n_data_pkts, 2);
	rig_end(&flow);
	return app;
}

static void openvpn_resets(void **state)
{
	enum confidence sure;

	(void)state;
	for (unsigned i = 0; i < N_PAIRS; i++) {
		assert_string_equal(after(UDP, &pairs[i], -1, -1, &sure), "openvpn");
		assert_int_equal(sure, pairs[i].confidence);
		assert_string_equal(after(TCP, &pairs[i], -1, -1, &sure), "openvpn");
		assert_int_equal(sure, pairs[i].confidence);
	}
}

// Octets that count: the kinds, what is zero, the number of the first packet, the name of the
// client's session.
static void openvpn_refuses(void **state)
{
	static const struct {
		unsigned pair;
		int client, server;
	} odd[] = {{0, 0, -1}, {0, 9, -1}, {0, 10, -1}, {0, 13, -1}, {0, 1, -1}, {0, -1, 0},
		{0, -1, 9}, {0, -1, 14}, {0, -1, 21}, {1, 29, -1}, {1, 32, -1}, {1, 37, -1},
		{1, 41, -1}, {1, -1, 37}, {1, -1, 42}, {1, -1, 49}, {2, 44, -1}, {2, -1, 61},
		{3, 0, -1}, {3, 9, -1}, {3, 12, -1}, {3, -1, 0}, {3, -1, 9}, {3, -1, 12},
		{4, 9, -1}, {4, 124, -1}, {4, -1, 10}};
	enum confidence sure;

	(void)state;
	for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		const struct pair *pair = &pairs[odd[i].pair];

		assert_string_equal(after(UDP, pair, odd[i].client, odd[i].server, &sure), "");
		assert_string_equal(after(TCP, pair, odd[i].client, odd[i].server, &sure), "");
	}
}

static void openvpn_cut(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_PAIRS; i++)
		for (size_t cut = 1; cut < pairs[i].client_length; cut++) {
			struct rig_flow flow = begin(UDP);

			rig_feed(&flow, HALF_C2S, pairs[i].client, cut);
			rig_feed(&flow, HALF_S2C, pairs[i].server, pairs[i].server_length);
			assert_string_equal(rig_app(&flow), "");
			rig_end(&flow);
		}
	for (unsigned i = 0; i < N_PAIRS; i++)
		for (size_t cut = 1; cut < pairs[i].server_length; cut++) {
			struct rig_flow flow = begin(UDP);

			rig_feed(&flow, HALF_C2S, pairs[i].client, pairs[i].client_length);
			rig_feed(&flow, HALF_S2C, pairs[i].server, cut);
			// what is sealed has no end of its own; flags may follow it
			assert_true(!*rig_app(&flow) ||
				    (pairs[i].confidence == CONFIDENCE_DPI && cut >= 66));
			rig_end(&flow);
		}
}

// A stream in pieces is what it is as a whole.
static void openvpn_pieces(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_PAIRS; i++)
		for (size_t cut = 1; cut < pairs[i].client_length; cut++) {
			uint8_t framed[256] = {0, (uint8_t)pairs[i].client_length};
			struct rig_flow flow = begin(TCP);

			memcpy(framed + 2, pairs[i].client, pairs[i].client_length);
			rig_feed(&flow, HALF_C2S, framed, cut);
			rig_feed(&flow, HALF_C2S, framed + cut, pairs[i].client_length + 2 - cut);
			say(&flow, HALF_S2C, pairs[i].server, pairs[i].server_length);
			assert_string_equal(rig_app(&flow), "openvpn");
			rig_end(&flow);
		}
}

// The client says it again until it is answered; and where no answer is heard, that is a hint.
static void openvpn_alone(void **state)
{
	struct rig_flow flow = begin(UDP);

	(void)state;
	say(&flow, HALF_C2S, pairs[1].client, pairs[1].client_length);
	say(&flow, HALF_C2S, pairs[1].client, pairs[1].client_length);
	say(&flow, HALF_S2C, pairs[1].server, pairs[1].server_length);
	assert_string_equal(rig_app(&flow), "openvpn");
	rig_end(&flow);
	flow = begin(UDP);
	flow.one_sided = true;
	say(&flow, HALF_C2S, pairs[0].client, pairs[0].client_length);
	assert_string_equal(rig_app(&flow), "openvpn");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_end(&flow);
	flow = begin(UDP); // an answer to another session
	say(&flow, HALF_C2S, LITERAL("\x38" SERVER END));
	say(&flow, HALF_S2C, pairs[0].server, pairs[0].server_length);
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

#define HELLO            \
	"PacketNo\1Rece" \
	"\2Send\0checksum\1\x0b\1\x0e\0\2\0\0\1\x9a\1\2\3\4\2Send\0"

static const struct packet zerotier[] = {SAYS(C2S, HELLO, 137)};
static const struct packet nebula[] = {SAYS(C2S, "\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 300)};
static const struct packet libp2p[] = {SAYS(C2S, "\x13/multistream/1.0.0\n", 20)};
static const struct packet answer[] = {SAYS(S2C, "\x13/multistream/1.0.0\n", 20)};
static const struct packet directory[] = {
	SAYS(C2S, "GET /tor/status-vote/current/consensus.z HTTP/1.0\r\n", 51)};
static const struct packet upload[] = {SAYS(C2S, "POST /tor/ HTTP/1.0\r\n", 21)};
static const struct packet bitcoin[] = {
	SAYS(C2S, "\xf9\xbe\xb4\xd9version\0\0\0\0\0\x66\0\0\0", 126)};
static const struct packet disco[] = {SAYS(C2S, "TS\xf0\x9f\x92\xac", 122)};
static const struct packet tribler[] = {SAYS(C2S,
	"\0\2\x7e\x31\x36\x85\xc1\x91\x2a\x14\x12\x79\xf8\x24\x8f\xc8\xdb\x58\x99\xc5\xdf\x5a",
	200)};
static const struct packet testnet[] = {
	SAYS(S2C, "\x0b\x11\x09\x07version\0\0\0\0\0\x66\0\0\0", 126)};

static void one(const struct packet *packet, uint8_t l4, uint16_t port, const char *app,
	const int odd[], unsigned n)
{
	const struct talk talk = {rig, packet, 1, l4, port, app};

	assert_string_equal(talk_after(&talk, 1, -1, -1), app);
	for (unsigned i = 0; i < n; i++)
		assert_string_not_equal(talk_after(&talk, 0, odd[i], -1), app);
	for (int cut = 0; cut < packet->known; cut++)
		assert_string_not_equal(talk_after(&talk, 0, -1, cut), app);
	rig_random(rig, l4, packet->text, 1, app);
}

static void the_others(void **state)
{
	(void)state;
	one(zerotier, UDP, 1, "zerotier", OFFSETS(13, 17, 18, 27, 33, 34, 41, 45, 46));
	one(nebula, UDP, 1, "nebula", OFFSETS(0, 1, 3, 4, 7, 8, 14, 15));
	one(libp2p, TCP, 1, "libp2p", OFFSETS(0, 1, 2, 12, 13, 18, 19));
	one(answer, TCP, 1, "libp2p", OFFSETS(0, 19));
	one(directory, TCP, 80, "tor", OFFSETS(0, 4, 5, 8, 10, 41, 48));
	one(upload, TCP, 80, "tor", OFFSETS(0, 5, 9, 11, 18));
	one(bitcoin, TCP, 1, "bitcoin", OFFSETS(0, 1, 2, 3, 4, 10, 11, 15));
	one(disco, UDP, 41641, "tailscale", OFFSETS(0, 1, 2, 3, 4, 5));
	one(tribler, UDP, 1, "tribler", OFFSETS(0, 1, 2, 12, 21));
	one(testnet, TCP, 1, "bitcoin", OFFSETS(0, 3, 4, 15));
}

// A page whose path begins alike is nobody's directory.
static void other_paths(void **state)
{
	(void)state;
	assert_string_equal(rig_first(rig, TCP, HALF_C2S,
				    LITERAL("GET /tor/ HTTP/1.1\r\nHost: a.example\r\n\r\n")),
		"http");
	assert_string_equal(
		rig_first(rig, TCP, HALF_C2S, LITERAL("GET /tor/news HTTP/1.0\r\n\r\n")), "http");
	assert_string_equal(
		rig_first(rig, TCP, HALF_C2S, LITERAL("GET /torrents/server/x HTTP/1.0\r\n\r\n")),
		"http");
}

// Nobody's address is none.
static void zerotier_addresses(void **state)
{
	static const struct {
		int at;
		char octet;
	} wrong[] = {{8, 0}, {8, '\xff'}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char hello[137];

		memcpy(hello, talk_bytes(zerotier, 0), sizeof(hello));
		assert_string_equal(
			rig_first(rig, UDP, HALF_C2S, hello, sizeof(hello)), "zerotier");
		hello[wrong[i].at] = wrong[i].octet;
		assert_string_equal(rig_first(rig, UDP, HALF_C2S, hello, sizeof(hello)), "");
		memcpy(hello, talk_bytes(zerotier, 0), sizeof(hello));
		hello[13] = hello[41] = wrong[i].octet;
		assert_string_equal(rig_first(rig, UDP, HALF_C2S, hello, sizeof(hello)), "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openvpn_resets),
		cmocka_unit_test(openvpn_refuses),
		cmocka_unit_test(openvpn_cut),
		cmocka_unit_test(openvpn_pieces),
		cmocka_unit_test(openvpn_alone),
		cmocka_unit_test(the_others),
		cmocka_unit_test(other_paths),
		cmocka_unit_test(zerotier_addresses),
	};
	int failed;

	rig = rig_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
