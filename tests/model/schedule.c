// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "schedule.h"

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";
static const char dht[] = "d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe";

#define SCRIPT_MAX 48

static uint64_t state;

static uint32_t below(uint32_t limit)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull; // splitmix64

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((x ^ (x >> 31)) >> 32) % limit;
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

static void make_conn(struct schedule *s, unsigned i)
{
	struct conn *conn = &s->conns[i];

	memset(conn, 0, sizeof(*conn));
	if (i && s->conns[i - 1].bad && chance(30)) {
		*conn = s->conns[i - 1]; // the same peer, again
		conn->sport++;
	} else {
		static const uint8_t protos[] = {
			IPPROTO_TCP, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP};

		conn->proto = protos[below(sizeof(protos))];
		conn->bad = conn->proto != IPPROTO_ICMP && chance(50);
		conn->v6 = conn->proto != IPPROTO_ICMP && chance(35);
		conn->n_vlan = (uint8_t)(chance(30) ? 1 + below(2) : 0);
		conn->vlan[0] = (uint16_t)(100 + i);
		conn->vlan[1] = 7;
		conn->client = 1 + i;
		conn->server = 100 + i;
		conn->sport = (uint16_t)(20000 + 100 * i);
		conn->dport = (uint16_t)(6881 + i);
	}
	for (unsigned half = 0; half < 2; half++) {
		conn->isn[half] = chance(30) ? 0u - below(300) : below(UINT32_MAX);
		conn->lcore[half] = (uint8_t)below(s->n_lcores);
		for (unsigned k = 0; k < STREAM_MAX; k++)
			conn->bytes[half][k] = (uint8_t)('a' + (k * 7 + i) % 26);
	}
	if (conn->bad && conn->proto == IPPROTO_TCP)
		memcpy(conn->bytes[0], handshake, sizeof(handshake) - 1);
	else if (conn->bad)
		memcpy(conn->bytes[0], dht, sizeof(dht) - 1);
}

static uint16_t piece(void)
{
	return (uint16_t)(chance(25) ? 1 + below(12) : 20 + below(120));
}

static unsigned script_tcp(struct op *script)
{
	uint16_t sent[2] = {0, 0};
	unsigned n = 0;

	script[n++] = (struct op){.tcp_flags = TH_SYN};
	script[n++] = (struct op){.half = 1, .tcp_flags = TH_SYN | TH_ACK, .ack = 1};
	script[n++] = (struct op){.tcp_flags = TH_ACK, .ack = 1};
	for (unsigned rounds = 2 + below(14); rounds; rounds--) {
		uint8_t half = (uint8_t)(chance(60) ? 0 : 1);
		uint16_t length = piece();
		struct op op = {.half = half, .tcp_flags = TH_ACK, .ack = 1u + sent[!half]};

		if (sent[half] + length > STREAM_MAX)
			break;
		op.at = sent[half];
		if (chance(85)) {
			op.length = length;
			op.tcp_flags |= TH_PUSH;
			sent[half] = (uint16_t)(sent[half] + length);
		}
		script[n++] = op;
	}
	uint8_t ends = chance(25) ? TH_RST : TH_FIN | TH_ACK;

	for (uint8_t half = 0; half < 2 && chance(70); half++)
		script[n++] = (struct op){
			.half = half, .tcp_flags = ends, .at = sent[half], .ack = 1u + sent[!half]};
	return n;
}

static unsigned script_datagrams(const struct conn *conn, struct op *script)
{
	unsigned n = 0;

	for (unsigned rounds = 1 + below(8); rounds; rounds--) {
		struct op op = {.half = (uint8_t)(n && chance(40)), .length = piece()};

		if (!n && conn->bad)
			op.length = sizeof(dht) - 1;
		if (!conn->bad && !conn->v6 && chance(20)) // offset 0 with more, or a later one
			op.fragment = (uint16_t)(chance(50) ? 0x2000 : 0x2000 | (1 + below(100)));
		script[n++] = op;
	}
	return n;
}

// Duplicates, swaps, losses before us, wrong checksums.
static unsigned disturb(struct op *script, unsigned n, bool tcp)
{
	for (unsigned i = tcp ? 3 : 0; i + 1 < n; i++)
		if (chance(12)) {
			struct op swap = script[i];

			script[i] = script[i + 1];
			script[i + 1] = swap;
		}
	for (unsigned i = 0; i < n && n < SCRIPT_MAX; i++)
		if (chance(10)) { // again, at once or later
			unsigned to = i + 1 + below(n - i);

			memmove(script + to + 1, script + to, (n - to) * sizeof(*script));
			script[to] = script[i];
			n++;
		}
	for (unsigned i = 0; i < n; i++) {
		if (chance(4)) {
			memmove(script + i, script + i + 1, (n - i - 1) * sizeof(*script));
			n--;
			continue;
		}
		script[i].bad_checksum = !script[i].fragment && chance(4);
		script[i].starve = chance(4);
		script[i].segments = (uint8_t)(chance(20) ? 2 + below(4) : 1);
		script[i].turn = chance(70);
	}
	return n;
}

static struct op world_op(void)
{
	switch (below(8)) {
	case 0:
	case 1: return (struct op){.type = OP_TIME, .value = chance(70) ? below(20) : below(9000)};
	case 2: return (struct op){.type = OP_POLICY, .value = below(MODEL_POLICIES)};
	case 3:
		return (struct op){
			.type = OP_REFUSE, .value = 1 + below(40), .at = (uint16_t)below(4)};
	default: return (struct op){.type = OP_TURN};
	}
}

void schedule_make(struct schedule *s, uint64_t seed)
{
	struct op scripts[CONNS_MAX][SCRIPT_MAX + 1];
	unsigned n[CONNS_MAX], at[CONNS_MAX] = {0}, left = 0;
	uint32_t number = 0;

	memset(s, 0, sizeof(*s));
	state = s->seed = seed;
	s->n_lcores = 1 + below(4);
	s->small = chance(25);
	s->n_conns = 2 + below(CONNS_MAX - 2);
	for (unsigned i = 0; i < s->n_conns; i++) {
		make_conn(s, i);
		bool tcp = s->conns[i].proto == IPPROTO_TCP;

		n[i] = tcp ? script_tcp(scripts[i]) : script_datagrams(&s->conns[i], scripts[i]);
		n[i] = disturb(scripts[i], n[i], tcp);
		left += n[i];
	}
	// mostly a blocking policy from the start
	s->ops[s->n_ops++] = (struct op){.type = OP_POLICY, .value = chance(80) ? 1 + below(2) : 0};
	bool calm = chance(50); // nothing but packets and turns: all must be as foreseen

	while (left && s->n_ops < OPS_MAX) {
		if (chance(8)) {
			struct op op = world_op();

			if (calm && op.type != OP_TURN)
				continue;
			s->ops[s->n_ops++] = op;
			continue;
		}
		unsigned i = below(s->n_conns);

		if (at[i] == n[i])
			continue;
		struct op op = scripts[i][at[i]++];

		left--;
		op.conn = (uint8_t)i;
		op.number = ++number;
		s->ops[s->n_ops++] = op;
	}
}

unsigned schedule_frame(const struct conn *conn, const struct op *op, uint8_t *frame, size_t size)
{
	bool syn = op->tcp_flags & TH_SYN;
	const struct pipe_packet packet = {
		.v6 = conn->v6,
		.from_outside = op->half,
		.proto = conn->proto,
		.client = conn->client,
		.server = conn->server,
		.sport = conn->sport,
		.dport = conn->dport,
		.seq = conn->isn[op->half] + (syn ? 0 : 1u + op->at),
		.ack = op->tcp_flags & TH_ACK ? conn->isn[!op->half] + op->ack : 0,
		.tcp_flags = op->tcp_flags,
		.payload = conn->bytes[op->half] + op->at,
		.payload_length = op->length,
		.n_vlan = conn->n_vlan,
		.vlan = {conn->vlan[0], conn->vlan[1]},
		.bad_checksum = op->bad_checksum,
		.fragment = op->fragment,
		.ip_id = (uint16_t)op->number,
	};
	unsigned length = pipe_build(&packet, frame, size);

	if (conn->v6) { // the flow label is in no checksum
		uint8_t *ip = frame + 14 + 4 * conn->n_vlan;

		ip[2] = (uint8_t)(op->number >> 8);
		ip[3] = (uint8_t)op->number;
	}
	return length;
}

void schedule_print(const struct schedule *s)
{
	static const char *const policies[] = {"pass", "reset", "drop", "monitor"};

	fprintf(stderr, "schedule of seed %llu: %u lcores%s\n", (unsigned long long)s->seed,
		s->n_lcores, s->small ? ", small tables" : "");
	for (unsigned i = 0; i < s->n_ops; i++) {
		const struct op *op = &s->ops[i];
		const struct conn *conn = &s->conns[op->conn];

		fprintf(stderr, "%4u ", i);
		switch (op->type) {
		case OP_TURN: fprintf(stderr, "turn\n"); break;
		case OP_TIME: fprintf(stderr, "time +%u s\n", op->value); break;
		case OP_POLICY: fprintf(stderr, "policy %s\n", policies[op->value]); break;
		case OP_REFUSE: fprintf(stderr, "refuse %u\n", op->value); break;
		default:
			fprintf(stderr,
				"packet %u: conn %u%s%s proto %u %s flags %02x at %u+%u ack %u "
				"lcore %u%s%s%s\n",
				op->number, op->conn, conn->bad ? " bad" : "",
				conn->v6 ? " v6" : "", conn->proto, op->half ? "s2c" : "c2s",
				op->tcp_flags, op->at, op->length, op->ack, conn->lcore[op->half],
				op->bad_checksum ? " bad checksum" : "",
				op->starve ? " starved" : "", op->turn ? " turn" : "");
		}
	}
}

bool schedule_same_entry(const struct conn *a, const struct conn *b)
{
	return a->client == b->client;
}

uint32_t schedule_end(const struct op *op)
{
	if (!op->length && !(op->tcp_flags & (TH_SYN | TH_FIN)))
		return 0;
	return (uint32_t)op->at + op->length + 1u + !!(op->tcp_flags & TH_FIN);
}
