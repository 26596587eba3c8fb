// SPDX-License-Identifier: BSD-3-Clause
// 100,000 forged packets a second that aim at what is learned: tombstones, connection cache,
// endpoints, names, expectations, heads in parts, evidence. Random sources, one /64,
// and the tuples of honest connections; from inside and from outside; in the name of either end.
// What was honestly learned before is there afterwards, nothing else is, the honest lose nothing,
// and 60 s later each gauge is where it is without the flood. A rule on addresses alone is the one
// thing that lets forged packets fill a cache: of that, what docs/state.md says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/forged.h"
#include "lib/peers/storm.h"
#include "pipeline/event/evidence.h"
#include "classify/user_apps.h"

#define ID          "abcdefghij0123456789"
#define SERVER      0x00c80001 // of honest traffic
#define ESTABLISHED 20         // storm.c
#define BLOCKED_NET "10.99.0.0/16"
#define CACHE_TTL_S 300 // of pipe_policy

#define GNUTELLA  "GNUTELLA CONNECT/0.6\r\nUser-Agent: LimeWire/4.12\r\n\r\n"
#define DHT_QUERY "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe"
#define DHT_REPLY                                           \
	"d1:rd2:id20:" ID "6:valuesl6:\x0a\0\0\x4d\xc8\xd5" \
	"ee1:t2:aa1:y1:re"
#define DHT_LIES                                            \
	"d1:rd2:id20:" ID "6:valuesl6:\x0a\0\0\x4e\xc8\xd5" \
	"ee1:t2:aa1:y1:re"
#define DNS_QUERY "\x12\x34\1\0\0\1\0\0\0\0\0\0\4chat\5host1\0\0\1\0\1"
#define DNS_REPLY                                                         \
	"\x12\x34\x81\x80\0\1\0\1\0\0\0\0\4chat\5host1\0\0\1\0\1\xc0\x0c" \
	"\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0\x42"
#define DNS_LIES                                                          \
	"\x12\x34\x81\x80\0\1\0\1\0\0\0\0\4chat\5host1\0\0\1\0\1\xc0\x0c" \
	"\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0\x43"
#define FTP_PASSIVE "227 Entering Passive Mode (10,0,0,2,156,65)\r\n"
#define FTP_LIES    "227 Entering Passive Mode (10,0,0,3,156,66)\r\n"
#define TRACKER                                                                             \
	"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nd8:intervali1800e5:peers6:\x0a" \
	"\0\0\x4e\xc8\xd5"                                                                  \
	"e"

// X(symbol, words, protocol, TCP flags, port of the responder, payload)
#define KINDS(X)                                                                                 \
	X(BLOCKED, "segments of a blocked application", TCP, 0, 6346, GNUTELLA)                  \
	X(BLOCKED_SYN, "the same on a SYN", TCP, TH_SYN, 6346, GNUTELLA)                         \
	X(BLOCKED_ACK, "the same on a SYN-ACK", TCP, TH_SYN | TH_ACK, 6346, GNUTELLA)            \
	X(DHT, "answers of a DHT", UDP, 0, 6881, DHT_LIES)                                       \
	X(TRACKER, "answers of a tracker", TCP, 0, 80, TRACKER)                                  \
	X(DNS, "answers of DNS", UDP, 0, 53, DNS_LIES)                                           \
	X(FTP, "announcements of FTP", TCP, 0, 21, FTP_LIES)                                     \
	X(HEAD, "requests that are cut", TCP, 0, 80, "GET / HTTP/1.1\r\nX: 1\r\nHost: exampl")   \
	X(HELLO, "hellos that are cut", TCP, 0, 443, "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03") \
	X(RESET, "RSTs", TCP, TH_RST, 443, "")                                                   \
	X(UNLEARN, "another application at what was learned", TCP, 0, 51413, "SSH-2.0-x\r\n")    \
	X(TAKE, "segments to what was announced", TCP, 0, 40001, "anything")                     \
	X(REFUSED, "SYNs to addresses that are blocked", TCP, TH_SYN, 80, "")                    \
	X(SYN, "SYNs", TCP, TH_SYN, 80, "")
#define KINDS_MIXED KIND_REFUSED // before it: these of a storm

enum kind {
#define X(symbol, ...) KIND_##symbol,
	KINDS(X)
#undef X
		KINDS_MAX
};

static const struct {
	const char *words, *payload;
	uint16_t length, dport;
	uint8_t proto, flags;
} kinds[KINDS_MAX] = {
#define X(symbol, words, proto, flags, dport, payload) \
	{words, payload, sizeof(payload) - 1, dport, IPPROTO_##proto, flags},
	KINDS(X)
#undef X
};

struct forger {
	enum kind kind;
	enum forged_source source;
	bool from_outside;
};

// A tuple that honest hosts use, or an endpoint that one of them has learned of.
static void aim(struct pipe_packet *packet, enum kind kind)
{
	static const uint16_t ports[2][3] = {{443, 22, 443}, {53, 51820, 5060}};
	static const uint16_t of[2][3] = {{0, 4, 0}, {1, 2, 3}}; // enum honest_kind
	unsigned udp = packet->proto == IPPROTO_UDP, which = forged_random() % 3;

	packet->client = FORGED_VICTIM_CLIENT;
	if (kind == KIND_UNLEARN) {
		packet->server = 77;
	} else if (kind == KIND_TAKE) {
		packet->server = 2;
	} else {
		packet->server = SERVER;
		if (forged_random() & 1) // else a new one of its own
			return;
		packet->client = ESTABLISHED;
		packet->sport = 50000 + of[udp][which];
		packet->dport = ports[udp][which];
	}
}

static void arrive(struct pipe *pipe, const struct pipe_packet *packet, bool from_outside)
{
	uint8_t frame[512];
	unsigned length = pipe_build(packet, frame, sizeof(frame));

	pipe->n_sent = 0;
	pipe_run_frame(pipe, 0, frame, length, from_outside, 1);
	pipe->n_sent = 0;
}

// In the name of either end, whatever the side that it comes in on.
static void forge(struct pipe *pipe, const void *how)
{
	const struct forger *forger = how;
	enum kind kind = forger->kind;
	struct pipe_packet packet = {
		.v6 = forger->source == FORGED_ONE_64,
		.proto = kinds[kind].proto,
		.from_outside = forged_random() & 1,
		.client = 0x01000000 + (forged_random() >> 1), // not of 10.0.0.0/8
		.server = 0x01000000 + (forged_random() >> 1),
		.sport = (uint16_t)(1024 + forged_random() % 60000),
		.dport = kinds[kind].dport,
		.seq = forged_random(),
		.ack = forged_random(),
		.tcp_flags = kinds[kind].flags,
		.payload = kinds[kind].payload,
		.payload_length = kinds[kind].length,
	};

	if (kind == KIND_REFUSED) {
		packet.server = 0x00630000 | (forged_random() & 0xffff); // of BLOCKED_NET
		packet.from_outside = false;
	}
	if (forger->source == FORGED_VICTIM)
		aim(&packet, kind);
	if (kind != KIND_HEAD && kind != KIND_HELLO) {
		arrive(pipe, &packet, forger->from_outside);
		return;
	}
	// from the first octet on: behind a SYN of its own
	const struct pipe_packet payload = packet;

	packet.tcp_flags = TH_SYN;
	packet.seq--;
	packet.payload_length = 0;
	arrive(pipe, &packet, forger->from_outside);
	arrive(pipe, &payload, forger->from_outside);
}

// It left.
static bool say(struct pipe *pipe, const struct pipe_packet *packet)
{
	pipe->n_sent = 0;
	unsigned left = pipe_run(pipe, 0, packet);

	pipe->n_sent = 0;
	return left;
}

static void datagram(struct pipe *pipe, bool of_server, uint32_t client, uint32_t server,
	uint16_t port, const char *bytes, size_t length)
{
	say(pipe, &(struct pipe_packet){.proto = IPPROTO_UDP,
			  .from_outside = of_server,
			  .client = client,
			  .server = server,
			  .sport = port == 53 ? 40053 : port,
			  .dport = port,
			  .payload = bytes,
			  .payload_length = (uint16_t)length});
}

struct talk { // a connection's next numbers
	struct pipe *pipe;
	uint32_t client, server;
	uint16_t dport, sport;
	uint32_t seq[2];
};

static bool segment(struct talk *talk, bool of_server, uint8_t flags, const char *text)
{
	const struct pipe_packet packet = {.from_outside = of_server,
		.client = talk->client,
		.server = talk->server,
		.sport = talk->sport,
		.dport = talk->dport,
		.seq = talk->seq[of_server],
		.ack = flags == TH_SYN ? 0 : talk->seq[!of_server],
		.tcp_flags = flags,
		.payload = text,
		.payload_length = (uint16_t)strlen(text)};

	talk->seq[of_server] += (uint32_t)strlen(text) + !!(flags & TH_SYN);
	return say(talk->pipe, &packet);
}

static struct talk connect_to(struct pipe *pipe, uint32_t client, uint32_t server, uint16_t dport)
{
	static uint16_t sport = 42000;
	struct talk talk = {pipe, client, server, dport, ++sport, {100, 500}};

	segment(&talk, false, TH_SYN, "");
	segment(&talk, true, TH_SYN | TH_ACK, "");
	segment(&talk, false, TH_ACK, "");
	return talk;
}

// One of each kind, by both ends: what is learned before the flood.
static void learn(struct pipe *pipe)
{
	struct talk ftp = connect_to(pipe, 1, 2, 21), blocked = connect_to(pipe, 40, 41, 6346);

	segment(&blocked, false, 0, GNUTELLA);
	segment(&blocked, true, 0, "GNUTELLA/0.6 200 OK\r\n\r\n");
	segment(&ftp, true, 0, "220 FTP ready\r\n");
	segment(&ftp, false, 0, "USER alice\r\n");
	segment(&ftp, true, 0, "331 and?\r\n");
	segment(&ftp, false, 0, "PASS s\r\n");
	segment(&ftp, true, 0, "230 in\r\n");
	segment(&ftp, false, 0, "PASV\r\n");
	segment(&ftp, true, 0, FTP_PASSIVE);
	datagram(pipe, false, 42, 43, 6881, DHT_QUERY, sizeof(DHT_QUERY) - 1);
	datagram(pipe, true, 42, 43, 6881, DHT_REPLY, sizeof(DHT_REPLY) - 1);
	datagram(pipe, false, 44, SERVER, 53, DNS_QUERY, sizeof(DNS_QUERY) - 1);
	datagram(pipe, true, 44, SERVER, 53, DNS_REPLY, sizeof(DNS_REPLY) - 1);
	pipe_turns(pipe);
}

static struct pipe *gateway(void)
{
	struct pipe *pipe = pipe_new(1, &storm_limits);
	struct policy *policy = pipe_policy(pipe);

	pipe_signatures(pipe, storm_rig->db);
	policy_free(policy);
	policy = pipe_policy(pipe);
	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	assert_int_equal(user_apps_add_host(policy->user_apps, app_find("irc"), "host1"), 0);
	struct rule *addresses = pipe_rule(policy, 1, ACTION_DROP);

	addresses->has_destination = true;
	addresses->cache = CACHE_TUPLE;
	assert_int_equal(address_set_add(&addresses->destination, BLOCKED_NET), 0);
	address_set_seal(&addresses->destination);
	pipe_rule_app(policy, 2, ACTION_DROP, "gnutella")->cache = CACHE_PEER;
	pipe_publish(pipe, policy);
	return pipe;
}

// What was learned, by kind, as it stands at once after the flood.
struct learned {
	uint64_t blocks, expected, endpoints, names, tombstones;
};

static struct learned learned_of(const struct pipe *pipe)
{
	struct stats stats = pipe_stats(pipe);

	return (struct learned){stats.cache_entries, stats.expectations_active,
		stats.endpoints_active, stats.names_active, storm_look(pipe).tombstones};
}

// `forger` NULL: the honest alone.
static struct storm_level storm(
	struct storm *storm, const struct forger *forger, struct learned *learned)
{
	struct forger one = forger ? *forger : (struct forger){0};
	double seconds = getenv("SLUICE_LONG") ? 2 : 0.1;

	storm_begin(storm, gateway());
	learn(storm->pipe);
	for (one.kind = 0; one.kind < KINDS_MIXED; one.kind++)
		storm_flood(storm, forger ? forge : NULL, &one, seconds);
	*learned = learned_of(storm->pipe);
	storm_say_all(storm);
	storm_end_openings(storm);
	storm_calm(storm);
	return storm_look(storm->pipe);
}

static void storm_with(enum forged_source source, bool from_outside)
{
	static struct storm_level quiet;
	static struct learned known;
	static bool is_known;
	const struct forger forger = {.source = source, .from_outside = from_outside};
	struct storm flooded, honest;
	struct learned learned;
	char what[64];

	if (!is_known) {
		quiet = storm(&honest, NULL, &known);
		assert_int_equal(honest.succeeded, honest.begun);
		pipe_free(honest.pipe);
		// nothing is shown by a flood that finds nothing learned
		assert_true(known.blocks && known.expected && known.endpoints && known.names);
		is_known = true;
	}
	struct storm_level after = storm(&flooded, &forger, &learned);

	snprintf(what, sizeof(what), "%s, from %s", forged_sources[source],
		from_outside ? "outside" : "inside");
	storm_report(&flooded, what);
	struct stats stats = pipe_stats(flooded.pipe);

	pipe_free(flooded.pipe);
	storm_assert_honest(&flooded);
	assert_memory_equal(&learned, &known, sizeof(known));
	assert_int_equal(storm_above(&after, &quiet), 0);
	assert_true(stats.refused_unheard > 0); // blocked payload came, and was kept out
}

#define STORM(name, source, from_outside)         \
	static void name(void **state)            \
	{                                         \
		(void)state;                      \
		storm_with(source, from_outside); \
	}
STORM(random_sources_from_inside, FORGED_ANY, false)
STORM(random_sources_from_outside, FORGED_ANY, true)
STORM(one_prefix_from_inside, FORGED_ONE_64, false)
STORM(one_prefix_from_outside, FORGED_ONE_64, true)
STORM(honest_tuples_from_inside, FORGED_VICTIM, false)
STORM(honest_tuples_from_outside, FORGED_VICTIM, true)

// A rule on addresses alone needs no evidence: whoever forges a SYN to where it refuses makes an
// entry, and the oldest goes. That one is inspected and blocked again; the rest goes by itself.
static void a_rule_on_addresses_alone_fills_the_connection_cache(void **state)
{
	const struct forger forger = {.kind = KIND_REFUSED};
	struct storm storm;
	(void)state;

	storm_begin(&storm, gateway());
	learn(storm.pipe);
	assert_int_equal(pipe_stats(storm.pipe).cache_entries, 1);
	storm_flood(&storm, forge, &forger, storm_limits.conn_cache / 100000.0 + 0.1);
	storm_end_openings(&storm);
	storm_report(&storm, "SYNs to addresses that are blocked");
	struct stats stats = pipe_stats(storm.pipe);

	assert_int_equal(stats.cache_entries, storm_limits.conn_cache);
	assert_true(stats.cache_evicted > 0);
	assert_true(stats.chain_conn_cache <= 16);
	assert_int_equal(storm_look(storm.pipe).tombstones, 1); // of what learn() says
	uint64_t refused = stats.flows_condemned, hits = stats.cache_hits;
	struct talk blocked = connect_to(storm.pipe, 40, 41, 6347);

	segment(&blocked, false, 0, GNUTELLA);
	segment(&blocked, true, 0, "GNUTELLA/0.6 200 OK\r\n\r\n");
	stats = pipe_stats(storm.pipe);
	assert_int_equal(stats.cache_hits, hits); // it was forgotten
	assert_int_equal(stats.flows_condemned, refused + 1);
	storm_calm(&storm);
	assert_int_equal(pipe_stats(storm.pipe).cache_entries, storm_limits.conn_cache);
	storm_pass_time(&storm, CACHE_TTL_S - STORM_CALM_S, 0.05);
	storm_pass_time(&storm, 5, 0.005);
	stats = pipe_stats(storm.pipe);
	assert_int_equal(stats.cache_entries, 0);
	assert_int_equal(stats.chain_conn_cache, 0);
	storm_say_all(&storm);
	pipe_free(storm.pipe);
	storm_assert_honest(&storm);
}

// TCP is silent until it carries payload; other forged packets overwrite the oldest.
static void evidence_is_overwritten_by_payload_alone(void **state)
{
	const struct forger syn = {.kind = KIND_SYN}, hello = {.kind = KIND_HEAD};
	struct storm storm;
	(void)state;

	storm_begin(&storm, gateway());
	const struct evidence_log *log = storm.pipe->dp.lcores[0]->evidence;
	uint64_t written = log->written;

	for (unsigned i = 0; i < 20000; i++)
		forge(storm.pipe, &syn);
	assert_int_equal(log->written, written);
	storm_flood(&storm, forge, &hello, 2.0 * storm_limits.evidence / 100000);
	storm_end_openings(&storm);
	assert_true(evidence_overwritten(log) > 0);
	assert_int_equal(log->size, storm_limits.evidence);
	pipe_free(storm.pipe);
	storm_assert_honest(&storm);
}

// Cut requests behind a forged SYN fill the places for heads; who has shaken hands gets one still.
static void a_request_in_parts(enum forged_source source, bool from_outside)
{
	const struct forger forger = {KIND_HEAD, source, from_outside};
	struct storm storm;

	storm_begin(&storm, gateway());
	for (unsigned i = 0; i < 40; i++) {
		storm_flood(&storm, forge, &forger, 0.01);
		struct talk talk = connect_to(storm.pipe, 30, SERVER, 80);

		assert_true(segment(&talk, false, 0, "GET / HTTP/1.1\r\nHost: hon"));
		assert_true(segment(&talk, false, 0, "est.example\r\n\r\n"));
	}
	assert_true(storm_look(storm.pipe).heads >= storm_limits.heads / 2); // they are used up
	assert_true(pipe_stats(storm.pipe).names_nomem > 0);
	storm_end_openings(&storm);
	storm_calm(&storm);
	assert_int_equal(storm_look(storm.pipe).heads, 0);
	pipe_free(storm.pipe);
	storm_assert_honest(&storm);
}

static void requests_in_parts_pass_beside_forged_ones(void **state)
{
	(void)state;
	a_request_in_parts(FORGED_ANY, false);
	a_request_in_parts(FORGED_ONE_64, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sources_from_inside),
		cmocka_unit_test(random_sources_from_outside),
		cmocka_unit_test(one_prefix_from_inside),
		cmocka_unit_test(one_prefix_from_outside),
		cmocka_unit_test(honest_tuples_from_inside),
		cmocka_unit_test(honest_tuples_from_outside),
		cmocka_unit_test(a_rule_on_addresses_alone_fills_the_connection_cache),
		cmocka_unit_test(evidence_is_overwritten_by_payload_alone),
		cmocka_unit_test(requests_in_parts_pass_beside_forged_ones),
	};

	return cmocka_run_group_tests(tests, storm_prepare, storm_done);
}
