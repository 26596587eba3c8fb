// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "pipeline/flow/table.h"
#include "honest.h"

const char *const honest_words[HONEST_KINDS_MAX] = {"tls", "dns", "wireguard", "sip", "ssh"};

struct message {
	bool from_outside;
	uint16_t length;
	const char *bytes;
};

#define CLIENT_SAYS(text)                      \
	{                                      \
		false, sizeof(text) - 1, text, \
	}
#define SERVER_SAYS(text)                     \
	{                                     \
		true, sizeof(text) - 1, text, \
	}

#define RANDOM32 "0123456789abcdefghijklmnopqrstuv"
// A ClientHello for honest.example, and what a server answers (RFC 8446 section 4.1).
#define CLIENT_HELLO                                                       \
	"\x16\x03\x01\x00\x48\x01\x00\x00\x44\x03\x03" RANDOM32            \
	"\x00\x00\x02\x13\x01\x01\x00\x00\x19\x00\x00\x00\x13\x00\x11\x00" \
	"\x00\x0ehonest.example\x00\x17\x00\x00"
#define SERVER_HELLO                                                           \
	"\x16\x03\x03\x00\x2c\x02\x00\x00\x28\x03\x03" RANDOM32 "\x00\x13\x01" \
	"\x00\x00\x00"
#define TLS_DATA               \
	"\x17\x03\x03\x00\x10" \
	"0123456789abcdef"

#define QUESTION         \
	"\x06honest\x07" \
	"example\x00\x00\x01\x00\x01"
#define DNS_QUERY "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" QUESTION
#define DNS_ANSWER                                                  \
	"\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" QUESTION \
	"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x0a\x00\x00\x02"

#define REGISTER                                                                              \
	"REGISTER sip:honest.example SIP/2.0\r\n"                                             \
	"Via: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1\r\nFrom: <sip:a@honest.example>;tag=1\r\n" \
	"To: <sip:a@honest.example>\r\nCall-ID: 1\r\nCSeq: 1 REGISTER\r\n\r\n"
#define SIP_OK                                                                       \
	"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1\r\n"            \
	"From: <sip:a@honest.example>;tag=1\r\nTo: <sip:a@honest.example>;tag=2\r\n" \
	"Call-ID: 1\r\nCSeq: 1 REGISTER\r\n\r\n"

static uint8_t initiation[148] = {1}, response[92] = {2}, transport[96] = {4};

static const struct message tls[] = {CLIENT_SAYS(CLIENT_HELLO), SERVER_SAYS(SERVER_HELLO),
	CLIENT_SAYS(TLS_DATA), SERVER_SAYS(TLS_DATA)};
static const struct message dns[] = {CLIENT_SAYS(DNS_QUERY), SERVER_SAYS(DNS_ANSWER)};
static const struct message wireguard[] = {{false, sizeof(initiation), (const char *)initiation},
	{true, sizeof(response), (const char *)response},
	{false, sizeof(transport), (const char *)transport},
	{true, sizeof(transport), (const char *)transport}};
static const struct message sip[] = {CLIENT_SAYS(REGISTER), SERVER_SAYS(SIP_OK),
	CLIENT_SAYS("\r\n\r\n"), SERVER_SAYS("\r\n\r\n")};
static const struct message ssh[] = {SERVER_SAYS("SSH-2.0-OpenSSH_9.2\r\n"),
	CLIENT_SAYS("SSH-2.0-OpenSSH_9.2\r\n"), SERVER_SAYS("0123456789abcdef"),
	CLIENT_SAYS("0123456789abcdef")};

static const struct conversation {
	const struct message *messages; // the last two are what honest_say repeats
	uint8_t n;
	uint16_t port;
	uint8_t proto;
} conversations[HONEST_KINDS_MAX] = {
	[HONEST_TLS] = {tls, 4, 443, IPPROTO_TCP},
	[HONEST_DNS] = {dns, 2, 53, IPPROTO_UDP},
	[HONEST_WIREGUARD] = {wireguard, 4, 51820, IPPROTO_UDP},
	[HONEST_SIP] = {sip, 4, 5060, IPPROTO_UDP},
	[HONEST_SSH] = {ssh, 4, 22, IPPROTO_TCP},
};

#define SERVER 0x00c80001 // 10.200.0.1

struct honest honest_new(enum honest_kind kind, uint32_t client, uint16_t sport)
{
	return (struct honest){.kind = kind,
		.client = client,
		.sport = sport,
		.seq = {1000u * sport, 77u * sport}};
}

static struct pipe_packet packet_of(const struct honest *honest, bool from_outside)
{
	return (struct pipe_packet){
		.proto = conversations[honest->kind].proto,
		.client = honest->client,
		.server = SERVER,
		.sport = honest->sport,
		.dport = conversations[honest->kind].port,
		.from_outside = from_outside,
		.seq = honest->seq[from_outside],
		.ack = honest->seq[!from_outside],
	};
}

static bool run(struct pipe *pipe, const struct pipe_packet *packet)
{
	pipe->n_sent = 0;
	bool left = pipe_run(pipe, 0, packet) > 0;

	pipe->n_sent = 0;
	return left;
}

static bool say(struct pipe *pipe, struct honest *honest, const struct message *message)
{
	struct pipe_packet packet = packet_of(honest, message->from_outside);

	packet.payload = message->bytes;
	packet.payload_length = message->length;
	honest->seq[message->from_outside] += message->length;
	return run(pipe, &packet);
}

static bool shake_hands(struct pipe *pipe, struct honest *honest)
{
	struct pipe_packet packet = packet_of(honest, honest->step == 1);

	packet.tcp_flags = honest->step == 0   ? TH_SYN
			   : honest->step == 1 ? TH_SYN | TH_ACK
					       : TH_ACK;
	if (honest->step == 0)
		packet.ack = 0;
	if (honest->step < 2)
		honest->seq[honest->step]++;
	return run(pipe, &packet);
}

bool honest_step(struct pipe *pipe, struct honest *honest)
{
	const struct conversation *of = &conversations[honest->kind];
	unsigned handshake = of->proto == IPPROTO_TCP ? 3 : 0;

	if (honest->step >= handshake + of->n)
		return false;
	bool left = honest->step < handshake
			    ? shake_hands(pipe, honest)
			    : say(pipe, honest, &of->messages[honest->step - handshake]);

	honest->lost += !left;
	honest->step++;
	return true;
}

bool honest_say(struct pipe *pipe, struct honest *honest, bool from_outside)
{
	const struct conversation *of = &conversations[honest->kind];
	const struct message *last = &of->messages[of->n - 1];

	return say(pipe, honest, last->from_outside == from_outside ? last : last - 1);
}

bool honest_known(struct pipe *pipe, const struct honest *honest)
{
	struct pipe_packet packet = packet_of(honest, false);
	struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);
	const struct flow_table *table = pipe->dp.lcores[0]->flows;
	union flow_key key;

	assert_non_null(m);
	unsigned length = pipe_build(&packet, rte_pktmbuf_mtod(m, uint8_t *), 1500);

	m->data_len = (uint16_t)length;
	m->pkt_len = length;
	pipeline_receive(pipe->dp.lcores[0], m, PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns, 0);
	assert_true(parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key));
	parse_key_zones(pkt_of(m), &key);
	uint32_t ref = flow_find(table, &key, false);

	rte_pktmbuf_free(m);
	return !(ref & FLOW_REF_STUB) &&
	       flow_at(table, ref)->app == app_find(honest_words[honest->kind]);
}
