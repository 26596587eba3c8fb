// SPDX-License-Identifier: BSD-3-Clause
// What is done to a conversation. An operation is a kind, a place, and two numbers that say the
// rest, so that a case is told by a seed and cut down by leaving operations out.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include "conversation.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

enum op_kind {
	// of the network
	OP_DROP,
	OP_GAP, // several at once
	OP_DUPLICATE,
	OP_REORDER,
	OP_DELAY,
	OP_SPLIT,
	OP_TRUNCATE,
	OP_FLIP, // an octet; the checksum is right or not
	// forged
	OP_ASTRAY,    // from the zone where its sender is not
	OP_BLIND,     // by a host that sees nothing: other numbers
	OP_BEFORE,    // the same ends, another port of the client
	OP_HANDSHAKE, // SYN, SYN-ACK and payload by one side
	OP_ICMP,
	OP_NAMED,       // a DHT answer that nobody asked for names the server
	OP_DNS,         // the same of a name
	OP_OTHER_REALM, // a blocked conversation of the same ends behind other tags
	OP_LATE,        // after what was blocked, by the same ends
	// of the ends themselves
	OP_IDLE,
	OP_DECOY,   // datagrams ahead of the conversation
	OP_LOW_TTL, // a RST, FIN or SYN that does not reach the other end
	OP_KINDS,
};

static const char *const kind_names[OP_KINDS] = {"drop", "gap", "duplicate", "reorder", "delay",
	"split", "truncate", "flip", "astray", "blind", "before", "handshake", "icmp", "named",
	"dns", "other-realm", "late", "idle", "decoy", "low-ttl"};

static const uint8_t victim_ops[] = {OP_ASTRAY, OP_ASTRAY, OP_BLIND, OP_BLIND, OP_BEFORE, OP_BEFORE,
	OP_HANDSHAKE, OP_ICMP, OP_NAMED, OP_DNS, OP_OTHER_REALM};
static const uint8_t enforce_ops[] = {
	OP_IDLE, OP_DECOY, OP_LOW_TTL, OP_SPLIT, OP_DUPLICATE, OP_REORDER, OP_ASTRAY, OP_HANDSHAKE};

#define HANDSHAKE                                 \
	"\x13"                                    \
	"BitTorrent protocol\0\0\0\0\0\x10\0\x05" \
	"ABCDEFGHIJKLMNOPQRST-SL0100-abcdefghijkl"
#define DHT_PING "d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe"
#define DHT_PONG "d1:rd2:id20:mnopqrstuvwxyz123456e1:t2:aa1:y1:re"
#define HTTP     "GET / HTTP/1.1\r\nHost: www.blocked.example\r\n\r\n"
#define SSH      "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"
#define SYSLOG   "<34>Oct 11 22:14:15 host su: 'su root' failed for user on /dev/pts/8"

#define PAYLOAD(text)                  \
	{                              \
		text, sizeof(text) - 1 \
	}
static const struct {
	const char *octets;
	unsigned length;
} payloads[] = {PAYLOAD(HANDSHAKE), PAYLOAD(DHT_PING), PAYLOAD(DHT_PONG), PAYLOAD(HTTP),
	PAYLOAD(SSH), PAYLOAD(SYSLOG), PAYLOAD("x"), PAYLOAD("\1\0\0\0abcdefghijklmnopqrstuvwxyz"),
	PAYLOAD("OWN/2 x\r\n")};
#define N_PAYLOADS (sizeof(payloads) / sizeof(payloads[0]))

uint64_t conversation_chance(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void conversation_make(
	struct conversation_case *a_case, uint64_t seed, unsigned n_captures, unsigned n_policies)
{
	uint64_t state = seed * 0x2545f4914f6cdd1dull;

	*a_case = (struct conversation_case){
		.seed = seed,
		.capture = (unsigned)(conversation_chance(&state) % n_captures),
		.policy = (unsigned)(seed / 64 % n_policies),
		.mode = (enum conversation_mode)(conversation_chance(&state) % CONVERSATION_MODES),
		.n_ops = 1 + (unsigned)(conversation_chance(&state) % CONVERSATION_OPS),
	};
	for (unsigned i = 0; i < a_case->n_ops; i++) {
		struct conversation_op *op = &a_case->ops[i];
		uint64_t which = conversation_chance(&state);

		op->kind = a_case->mode == CONVERSATION_VICTIM
				   ? victim_ops[which % sizeof(victim_ops)]
			   : a_case->mode == CONVERSATION_ENFORCE
				   ? enforce_ops[which % sizeof(enforce_ops)]
				   : (uint8_t)(which % OP_KINDS);
		op->at = (uint16_t)conversation_chance(&state);
		op->a = (uint32_t)conversation_chance(&state);
		op->b = (uint32_t)conversation_chance(&state);
	}
}

static struct conversation_packet *insert(
	struct conversation *talk, unsigned at, const struct conversation_packet *packet)
{
	if (talk->n == CONVERSATION_PACKETS)
		return NULL;
	memmove(talk->packets + at + 1, talk->packets + at, (talk->n - at) * sizeof(*packet));
	talk->packets[at] = *packet;
	talk->n++;
	return &talk->packets[at];
}

static void delay_from(struct conversation *talk, unsigned at, uint64_t ns)
{
	for (unsigned i = at; i < talk->n; i++)
		talk->packets[i].ts_ns += ns;
}

static void op_drop(struct conversation *talk, unsigned at, unsigned n)
{
	n = n > talk->n - at ? talk->n - at : n;
	memmove(talk->packets + at, talk->packets + at + n,
		(talk->n - at - n) * sizeof(talk->packets[0]));
	talk->n -= n;
}

// `sooner`: within a second, and before what the other side says next, which may be that it has got
// it.
static void op_reorder(struct conversation *talk, unsigned at, unsigned by, bool sooner)
{
	struct conversation_packet moved = talk->packets[at];
	unsigned to = at + 1 + by;

	if (to >= talk->n)
		return;
	for (unsigned i = at + 1; sooner && i <= to; i++)
		if (talk->packets[i].outside != moved.outside ||
			talk->packets[i].ts_ns - moved.ts_ns > NS_PER_S)
			return;
	moved.ts_ns = talk->packets[to].ts_ns;
	memmove(talk->packets + at, talk->packets + at + 1, (to - at) * sizeof(moved));
	talk->packets[to] = moved;
}

// A segment in two. The second is of the capture no more; bytes are what the law looks at.
static void op_split(struct conversation *talk, unsigned at, uint32_t where)
{
	struct conversation_packet first = talk->packets[at], second = first;
	struct frame_view view;

	if (!frame_view(first.frame, first.length, &view) || view.proto != IPPROTO_TCP)
		return;
	unsigned length = view.end - view.payload;

	if (length < 2 || first.frame[view.l4 + 13] & (TH_SYN | TH_RST | TH_FIN))
		return;
	unsigned cut = 1 + where % (length - 1);
	uint8_t rest[CONVERSATION_FRAME];

	memcpy(rest, first.frame + view.payload + cut, length - cut);
	put32(second.frame + view.l4 + 4, get32(second.frame + view.l4 + 4) + cut);
	struct frame_view half = view;

	frame_payload(&second, &half, rest, length - cut);
	half = view;
	frame_payload(&first, &half, talk->packets[at].frame + view.payload, cut);
	first.honest = second.honest = -1;
	talk->packets[at] = first;
	insert(talk, at + 1, &second);
}

static void op_truncate(struct conversation *talk, unsigned at, uint32_t a)
{
	struct conversation_packet *packet = &talk->packets[at];

	packet->length = 14 + a % (packet->length > 14 ? packet->length - 13 : 1);
	packet->honest = -1;
}

static void op_flip(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	struct conversation_packet *packet = &talk->packets[at];
	struct frame_view view;

	packet->frame[12 + a % (packet->length - 12)] ^= (uint8_t)(1 + b % 255);
	if (b >> 16 & 1 && frame_view(packet->frame, packet->length, &view))
		frame_fix(packet, &view);
	packet->honest = -1;
}

static const uint8_t forged_flags[] = {TH_SYN, TH_SYN | TH_ACK, TH_RST, TH_RST | TH_ACK,
	TH_FIN | TH_ACK, TH_ACK, TH_ACK | TH_PUSH, TH_ACK | TH_PUSH, TH_FIN | TH_ACK | TH_PUSH};

// Numbers: as they are, a little off, or any.
static uint32_t number(uint32_t value, uint32_t by, unsigned how)
{
	return how == 0 ? value : how == 1 ? value + by % 3000 - 1500 : by;
}

// A packet like that at `at`, forged; `blind`: its numbers are any.
static bool forge(const struct conversation *talk, unsigned at, uint32_t a, uint32_t b, bool blind,
	struct conversation_packet *out)
{
	struct frame_view view;
	unsigned what = a % (N_PAYLOADS + 2);

	*out = talk->packets[at];
	out->honest = -1;
	if (!frame_view(out->frame, out->length, &view))
		return false;
	if (a >> 8 & 1) {
		frame_turn(out, &view);
		out->outside = !out->outside;
	}
	if (view.proto == IPPROTO_TCP) {
		uint8_t *tcp = out->frame + view.l4;

		put32(tcp + 4, number(get32(tcp + 4), b, blind ? 2 : a >> 9 & 3));
		put32(tcp + 8, number(get32(tcp + 8), b * 2654435761u, blind ? 2 : a >> 11 & 3));
		tcp[13] = forged_flags[(a >> 16) % sizeof(forged_flags)];
	}
	if (what < N_PAYLOADS)
		return frame_payload(out, &view, payloads[what].octets, payloads[what].length);
	if (what == N_PAYLOADS)
		view.end = view.payload;
	frame_fix(out, &view);
	return true;
}

static void op_astray(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	struct conversation_packet packet;

	// of what is honest, which makes it astray
	if (talk->packets[at].honest < 0 || !forge(talk, at, a, b, false, &packet))
		return;
	packet.outside = !packet.outside;
	insert(talk, at + (b & 1), &packet);
}

static void op_blind(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	struct conversation_packet packet;

	if (forge(talk, at, a, b, true, &packet))
		insert(talk, at + (b & 1), &packet);
}

// Ahead of it all, from another port of the client: what is learned of the server?
static void op_before(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	struct conversation_packet packet;
	struct frame_view view;

	if (!forge(talk, at, a & ~0x100u, b, true, &packet) ||
		!frame_view(packet.frame, packet.length, &view))
		return;
	uint8_t *l4 = packet.frame + view.l4;

	// the port that is lower is the server's, mostly
	put16(l4 + (get16(l4) < get16(l4 + 2) ? 2 : 0), (uint16_t)(1024 + b % 60000));
	frame_fix(&packet, &view);
	packet.ts_ns = talk->packets[0].ts_ns;
	delay_from(talk, 0, CONVERSATION_TICK_NS);
	packet.ts_ns -= packet.ts_ns > CONVERSATION_TICK_NS ? CONVERSATION_TICK_NS : packet.ts_ns;
	insert(talk, 0, &packet);
}

// A whole handshake by one zone, with payload behind it.
static void op_handshake(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	static const uint8_t flags[4] = {TH_SYN, TH_SYN | TH_ACK, TH_ACK, TH_ACK | TH_PUSH};
	struct conversation_packet packet;
	struct frame_view view;
	bool outside = a & 1;

	for (unsigned step = 0; step < 4 - (a >> 1 & 1); step++) {
		packet = talk->packets[at];
		if (!frame_view(packet.frame, packet.length, &view) || view.proto != IPPROTO_TCP)
			return;
		packet.honest = -1;
		if (step == 1)
			frame_turn(&packet, &view);
		put32(packet.frame + view.l4 + 4, step == 1 ? b * 31 : b + (step > 0));
		put32(packet.frame + view.l4 + 8, step == 1 ? b + 1 : b * 31 + 1);
		packet.frame[view.l4 + 13] = flags[step];
		packet.outside = outside;
		frame_payload(&packet, &view, HANDSHAKE, step == 3 ? sizeof(HANDSHAKE) - 1 : 0);
		if (!insert(talk, at + step, &packet))
			return;
		at += (a >> 2 & 1) && at + step + 1 < talk->n; // with others in between
	}
}

static void op_icmp(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	static const uint8_t kinds[8][2] = {
		{3, 1}, {3, 3}, {3, 4}, {11, 0}, {12, 0}, {5, 1}, {4, 0}, {3, 13}};
	static const uint8_t quarantined[16] = {10, 0, 0, 66};
	struct conversation_packet packet = talk->packets[at];
	struct frame_view view;

	if (!frame_view(packet.frame, packet.length, &view))
		return;
	if (view.proto == IPPROTO_TCP && a >> 4 & 1)
		put32(packet.frame + view.l4 + 4, b);
	packet.honest = -1;
	const uint8_t *kind = kinds[a & 7];

	if (!frame_icmp_error(&packet, &view, !view.v6 && a >> 5 & 1 ? quarantined : NULL,
		    view.v6 ? (uint8_t)(1 + (a & 3)) : kind[0], view.v6 ? 0 : kind[1]))
		return;
	packet.outside = a >> 6 & 1 ? !packet.outside : packet.outside;
	insert(talk, at, &packet);
}

// From a host outside that has nothing to do with it, to the client.
static bool stranger(const struct conversation *talk, unsigned at, uint16_t port,
	struct conversation_packet *packet, struct frame_view *view, uint8_t named[18])
{
	*packet = talk->packets[at];
	if (!frame_view(packet->frame, packet->length, view) || view->v6)
		return false;
	uint8_t *ip = packet->frame + view->l3;

	memcpy(named, ip + 16, 4);
	memcpy(named + 4, packet->frame + view->l4 + 2, 2);
	memcpy(ip + 16, ip + 12, 4);
	put32(ip + 12, 0xcb007109); // 203.0.113.9
	ip[9] = view->proto = IPPROTO_UDP;
	view->payload = view->l4 + 8;
	put16(packet->frame + view->l4, port);
	put16(packet->frame + view->l4 + 2, port == 53 ? 40053 : 51413);
	packet->outside = !packet->outside;
	packet->honest = -1;
	return true;
}

static void op_named(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	static const char head[] = "d1:rd2:id20:mnopqrstuvwxyz1234565:token4:zyxw6:valuesl6:";
	static const char tail[] = "ee1:t2:aa1:y1:re";
	struct conversation_packet packet;
	struct frame_view view;
	uint8_t named[18], message[128];
	unsigned n = sizeof(head) - 1;

	(void)b;
	if (!stranger(talk, at, (uint16_t)(6881 + a % 9), &packet, &view, named))
		return;
	memcpy(message, head, n);
	memcpy(message + n, named, 6);
	memcpy(message + n + 6, tail, sizeof(tail) - 1);
	frame_payload(&packet, &view, message, n + 6 + (unsigned)sizeof(tail) - 1);
	insert(talk, at, &packet);
}

static void op_dns(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	static const uint8_t head[] =
		"\0\0\x81\x80\0\1\0\1\0\0\0\0\3www\7blocked\7example\0\0\1\0\1"
		"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4";
	struct conversation_packet packet;
	struct frame_view view;
	uint8_t named[18], message[128];
	unsigned n = sizeof(head) - 1;

	(void)b;
	if (!stranger(talk, at, 53, &packet, &view, named))
		return;
	memcpy(message, head, n);
	put16(message, (uint16_t)a);
	memcpy(message + n, named, 4);
	frame_payload(&packet, &view, message, n + 4);
	insert(talk, at, &packet);
}

// The same ends in another network: a handshake and payload that is refused.
static void op_other_realm(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	static const uint8_t flags[4] = {TH_SYN, TH_SYN | TH_ACK, TH_ACK, TH_ACK | TH_PUSH};
	struct conversation_packet packet;
	struct frame_view view;
	bool outside;

	for (unsigned step = 0; step < 4; step++) {
		packet = talk->packets[at + step < talk->n ? at : talk->n - 1];
		if (!frame_view(packet.frame, packet.length, &view) || view.proto != IPPROTO_TCP)
			return;
		outside = packet.outside;
		packet.honest = -1;
		put32(packet.frame + view.l4 + 4, step == 1 ? b * 31 : b + (step > 0));
		put32(packet.frame + view.l4 + 8, step == 1 ? b + 1 : b * 31 + 1);
		packet.frame[view.l4 + 13] = flags[step];
		if (step == 1) {
			frame_turn(&packet, &view);
			packet.outside = !outside;
		}
		frame_payload(&packet, &view, HANDSHAKE, step == 3 ? sizeof(HANDSHAKE) - 1 : 0);
		if (!frame_tag(&packet, (uint16_t)(2001 + a % 3)) || !insert(talk, at, &packet))
			return;
		at++;
	}
}

static void op_late(struct conversation *talk, unsigned at, uint32_t a, uint32_t b)
{
	struct conversation_packet packet = talk->packets[at];

	packet.honest = -1;
	packet.ts_ns = talk->packets[talk->n - 1].ts_ns + (a % 200) * NS_PER_S;
	(void)b;
	insert(talk, talk->n, &packet);
}

static void op_decoy(struct conversation *talk, uint32_t a, uint32_t b)
{
	struct conversation_packet packet = talk->packets[0];
	struct frame_view view;
	unsigned what = a % N_PAYLOADS;

	if (!frame_view(packet.frame, packet.length, &view) || view.proto != IPPROTO_UDP)
		return;
	packet.honest = -1;
	if (what < 3)
		what += 3; // none that is refused itself
	frame_payload(&packet, &view, payloads[what].octets, payloads[what].length);
	for (unsigned i = 0; i < 1 + b % 12; i++)
		insert(talk, 0, &packet);
}

static void op_low_ttl(struct conversation *talk, unsigned at, uint32_t a)
{
	static const uint8_t flags[] = {
		TH_RST, TH_RST | TH_ACK, TH_FIN | TH_ACK, TH_SYN, TH_SYN | TH_ACK};
	struct conversation_packet packet = talk->packets[at];
	struct frame_view view;

	if (!frame_view(packet.frame, packet.length, &view) || view.proto != IPPROTO_TCP)
		return;
	packet.honest = -1;
	packet.frame[view.l4 + 13] = flags[a % sizeof(flags)];
	packet.frame[view.l3 + (view.v6 ? 7 : 8)] = 1;
	put32(packet.frame + view.l4 + 4, number(get32(packet.frame + view.l4 + 4), a, a >> 8 & 3));
	view.end = view.payload;
	frame_fix(&packet, &view);
	insert(talk, at, &packet);
}

static uint64_t pause_ns(uint32_t a, bool bounded)
{
	static const uint32_t seconds[] = {1, 5, 31, 35, 61, 121, 301, 3700, 7500, 30000};

	return seconds[a % (bounded ? 7 : 10)] * NS_PER_S;
}

static bool has_syn(const struct conversation_packet *packet)
{
	struct frame_view view;

	return frame_view(packet->frame, packet->length, &view) && view.proto == IPPROTO_TCP &&
	       packet->frame[view.l4 + 13] & TH_SYN;
}

// An end that is silent. In a handshake neither is for long: it would be forgotten, by the gateway
// as by the other end (`embryonic`, 30 s), and what comes then is met in midstream.
static void op_idle(struct conversation *talk, unsigned at, uint32_t a)
{
	bool opens = has_syn(&talk->packets[at]) || (at && has_syn(&talk->packets[at - 1]));

	delay_from(talk, at, opens ? a % 5 * NS_PER_S : pause_ns(a, true));
}

static void apply(
	const struct conversation_op *op, enum conversation_mode mode, struct conversation *talk)
{
	unsigned at = op->at % talk->n;

	switch ((enum op_kind)op->kind) {
	case OP_DROP: op_drop(talk, at, 1); break;
	case OP_GAP: op_drop(talk, at, 1 + op->a % 6); break;
	case OP_DUPLICATE:
		if (insert(talk, at + 1, &talk->packets[at]))
			talk->packets[at + 1].honest = -1;
		break;
	case OP_REORDER: op_reorder(talk, at, op->a % 4, mode == CONVERSATION_ENFORCE); break;
	case OP_DELAY:
		delay_from(talk, at, pause_ns(op->a, false) + op->b % 1000 * NS_PER_MS);
		break;
	case OP_SPLIT: op_split(talk, at, op->a); break;
	case OP_TRUNCATE: op_truncate(talk, at, op->a); break;
	case OP_FLIP: op_flip(talk, at, op->a, op->b); break;
	case OP_ASTRAY: op_astray(talk, at, op->a, op->b); break;
	case OP_BLIND: op_blind(talk, at, op->a, op->b); break;
	case OP_BEFORE: op_before(talk, at, op->a, op->b); break;
	case OP_HANDSHAKE: op_handshake(talk, at, op->a, op->b); break;
	case OP_ICMP: op_icmp(talk, at, op->a, op->b); break;
	case OP_NAMED: op_named(talk, at, op->a, op->b); break;
	case OP_DNS: op_dns(talk, at, op->a, op->b); break;
	case OP_OTHER_REALM: op_other_realm(talk, at, op->a, op->b); break;
	case OP_LATE: op_late(talk, at, op->a, op->b); break;
	case OP_IDLE: op_idle(talk, at, op->a); break;
	case OP_DECOY: op_decoy(talk, op->a, op->b); break;
	case OP_LOW_TTL: op_low_ttl(talk, at, op->a); break;
	case OP_KINDS: break;
	}
}

void conversation_apply(const struct conversation_case *a_case, struct conversation *talk)
{
	for (unsigned i = 0; i < a_case->n_ops && talk->n; i++)
		apply(&a_case->ops[i], a_case->mode, talk);
}

void conversation_print(const struct conversation_case *a_case)
{
	static const char *const modes[CONVERSATION_MODES] = {"chaos", "victim", "enforce"};

	fprintf(stderr, "seed %llu: %s, policy %s, %s\n", (unsigned long long)a_case->seed,
		modes[a_case->mode], conversation_policy_name(a_case->policy),
		conversation_path(a_case->capture));
	for (unsigned i = 0; i < a_case->n_ops; i++)
		fprintf(stderr, "  %s at %u (%u, %u)\n", kind_names[a_case->ops[i].kind],
			a_case->ops[i].at, a_case->ops[i].a, a_case->ops[i].b);
}
