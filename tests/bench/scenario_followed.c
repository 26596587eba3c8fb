// SPDX-License-Identifier: BSD-3-Clause
// Scenario (a), flows that are known and that a decoder follows for as long as they live: questions
// and answers of DNS and of the DHT. Each round every flow asks, and is answered.
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include "scenario_work.h"

#define IN_HEAD (RIG_HEAD - 42) // of a datagram; the rest is what all have in common

#define NAME "\1g\10whatsapp\3net\0\0\1\0\1" // of an application: others are not learned
static const char dns_query[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0" NAME;
static const char dns_answer[] =
	"\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1";
// BEP 5
static const char dht_query[] = "d1:ad2:id20:abcdefghij01234567896:target20:mnopqrstuvwxyz123456e"
				"1:q9:find_node1:t2:aa1:y1:qe";
static const char dht_answer[] = "d1:rd2:id20:mnopqrstuvwxyz1234565:nodes26:"
				 "abcdefghij0123456789\xc6\x12\0\1\x1a\xe1"
				 "e1:t2:aa1:y1:re";
static_assert(DNS_FRAME == 42 + sizeof(dns_query) - 1 && DHT_FRAME == 42 + sizeof(dht_query) - 1,
	"a scenario's length is that of its question");

struct exchange {
	uint16_t port;
	const char *says[2]; // the client, the server
	uint16_t length[2];
};
static const struct exchange dns = {
	53, {dns_query, dns_answer}, {sizeof(dns_query) - 1, sizeof(dns_answer) - 1}};
static const struct exchange dht = {
	6881, {dht_query, dht_answer}, {sizeof(dht_query) - 1, sizeof(dht_answer) - 1}};

static struct rig_packet packet_of(const struct exchange *exchange, uint32_t flow, unsigned who)
{
	return (struct rig_packet){
		.flow = flow,
		.l4_proto = IPPROTO_UDP,
		.from_responder = who,
		.dport = exchange->port,
		.payload = exchange->says[who],
		.payload_length = exchange->length[who],
	};
}

static void setup(struct rig *rig, uint32_t flows, uint16_t length, const struct exchange *exchange)
{
	scenario_begin(rig, flows, length, IPPROTO_UDP);
	for (uint32_t i = 0; i < flows; i++)
		for (unsigned who = 0; who < 2; who++) {
			const struct rig_packet packet = packet_of(exchange, i, who);

			scenario_send(rig, &packet);
		}
	scenario_wire(rig, ROUND_PKTS, length);
	at.before = rig->lcore->stats;
}

static void lay_out(struct rig *rig, unsigned who, const struct exchange *exchange)
{
	uint16_t length = exchange->length[who];

	scenario_direction(rig, who);
	rig->wire.length = (uint16_t)(42 + length);
	for (uint32_t i = 0; i < RIG_TAILS; i++)
		memcpy(rig->tails[i], exchange->says[who] + IN_HEAD, length - IN_HEAD);
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet =
			packet_of(exchange, scenario_scattered(i, at.flows), who);

		packet.length = rig->wire.length;
		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
	rig_drain_events(rig);
}

void setup_dns(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup(rig, flows, length, &dns);
}

void lay_out_dns(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	lay_out(rig, step, &dns);
}

// The repository's policy refuses it.
void setup_dht(struct rig *rig, uint32_t flows, uint16_t length)
{
	rig_policy(rig, "{\"schema_version\": 1, \"mode\": \"enforce\", \"rules\": [], "
			"\"default\": \"pass\"}");
	setup(rig, flows, length, &dht);
}

void lay_out_dht(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	lay_out(rig, step, &dht);
}

void check_followed(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->sent_pkts != at.before.sent_pkts + pkts ||
		stats->classify_pkts != at.before.classify_pkts ||
		stats->decisions != at.before.decisions)
		rig_die("of %llu packets %llu were sent, %llu classified, %llu decided on",
			(unsigned long long)pkts,
			(unsigned long long)(stats->sent_pkts - at.before.sent_pkts),
			(unsigned long long)(stats->classify_pkts - at.before.classify_pkts),
			(unsigned long long)(stats->decisions - at.before.decisions));
}

// Each answer tells a name.
void check_dns(struct rig *rig, uint64_t pkts)
{
	uint64_t learned = rig->lcore->stats.names_learned - at.before.names_learned;

	check_followed(rig, pkts);
	if (learned < pkts / 2 || learned % (pkts / 2))
		rig_die("%llu names of %llu answers were learned", (unsigned long long)learned,
			(unsigned long long)pkts / 2);
}
