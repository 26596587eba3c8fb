// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "stream_schedule.h"

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

struct maker {
	struct stream_schedule *s;
	int32_t sent[2];  // the highest byte of each half so far
	unsigned largest; // segment
	bool hostile;     // other content, forged packets, flags where they do not belong
	bool calm;        // every packet arrives, in order, and no cap is near
	bool fin[2];
	bool answered; // the handshake is whole
};

static struct stream_op *add(struct maker *make, struct stream_op op)
{
	struct stream_schedule *s = make->s;

	if (s->n_ops == STREAM_OPS_MAX)
		return &s->ops[STREAM_OPS_MAX - 1];
	s->ops[s->n_ops] = op;
	return &s->ops[s->n_ops++];
}

static uint32_t random_isn(void)
{
	switch (below(5)) {
	case 0: return 0u - below(300);          // wraps soon
	case 1: return 0x80000000u - below(300); // the sign of a difference changes
	case 2: return below(300);
	default: return below(UINT32_MAX);
	}
}

static uint16_t piece(const struct maker *make)
{
	return (uint16_t)(1 + below(chance(30) ? 8 : make->largest));
}

static uint8_t random_ack(const struct maker *make, uint16_t *value)
{
	*value = (uint16_t)(1 + below(chance(70) ? 20 : 200));
	if (make->calm)
		return ACK_RIGHT;
	if (make->hostile && chance(4))
		return ACK_LIE;
	if (make->hostile && !make->s->observe && chance(3))
		return ACK_UNSENT;
	return chance(25) ? ACK_LATE : ACK_RIGHT;
}

// What may go wrong with any packet.
static void disturb(const struct maker *make, struct stream_op *op)
{
	bool attacked = make->hostile && !make->s->observe;

	op->flags = 0;
	if (chance(4))
		op->flags |= STREAM_SPLIT;
	if (make->calm)
		return;
	if (chance(6))
		op->flags |= STREAM_LOST;
	else if (chance(4))
		op->flags |= STREAM_LATE;
	if (make->hostile && chance(3))
		op->flags |= STREAM_BAD_CHECKSUM;
	if (attacked && !make->s->midstream && chance(2))
		op->flags |= STREAM_BLIND;
	if (attacked && chance(2))
		op->stamp = STAMP_OLD;
	else if (attacked && chance(1))
		op->stamp = STAMP_NONE;
}

static void add_new(struct maker *make, uint8_t half)
{
	struct stream_op op = {.half = half, .tcp_flags = TH_ACK, .at = make->sent[half]};

	if (!make->calm && chance(18)) // a hole
		op.at += piece(make);
	op.length = piece(make);
	if (op.at + op.length > STREAM_OFFSETS_MAX - 3000)
		return;
	op.tcp_flags |= chance(50) ? TH_PUSH : 0;
	op.ack = random_ack(make, &op.value);
	disturb(make, &op);
	if (make->hostile && chance(3))
		op.tcp_flags = 0; // no ACK: no receiver takes it
	if (make->hostile && chance(2))
		op.tcp_flags |= TH_URG;
	make->sent[half] = op.at + op.length;
	add(make, op);
}

// Something of what was sent: a retransmission, what fills a hole, or what contradicts.
static void add_again(struct maker *make, uint8_t half)
{
	int32_t sent = make->sent[half], first = make->s->begin[half];
	uint32_t back = chance(70) ? 3 * make->largest : 6000;
	struct stream_op op = {.half = half, .tcp_flags = TH_ACK};

	if (sent <= first)
		return;
	uint32_t reach = (uint32_t)(sent - first) < back ? (uint32_t)(sent - first) : back;

	op.at = sent - 1 - (int32_t)below(reach);
	op.length = piece(make);
	if ((!make->hostile || (make->s->observe && make->fin[half])) && op.at + op.length > sent)
		op.length = (uint16_t)(sent - op.at);
	else if (op.at + op.length > sent)
		make->sent[half] = op.at + op.length;
	if (op.at + op.length > STREAM_OFFSETS_MAX - 2000)
		return;
	if (make->hostile && chance(35))
		op.variant = (uint8_t)(1 + below(255));
	op.ack = random_ack(make, &op.value);
	disturb(make, &op);
	add(make, op);
}

static void add_ack(struct maker *make, uint8_t half)
{
	struct stream_op op = {.half = half, .tcp_flags = TH_ACK, .at = make->sent[half]};

	op.ack = random_ack(make, &op.value);
	disturb(make, &op);
	if (!make->calm && chance(10))
		op.at--; // a keep-alive
	if (!make->calm && chance(3) && op.at >= 0)
		op.length = 1; // with its octet of garbage
	if (op.length)
		op.variant = make->hostile ? 77 : 0;
	add(make, op);
}

static void add_end(struct maker *make, uint8_t half)
{
	struct stream_op op = {.half = half, .at = make->sent[half], .ack = ACK_RIGHT};

	op.tcp_flags = TH_ACK | TH_FIN;
	if (chance(30))
		op.length = piece(make);
	make->fin[half] = true;
	disturb(make, &op);
	make->sent[half] += op.length;
	add(make, op);
}

static void add_odd(struct maker *make, uint8_t half)
{
	struct stream_op op = {.half = half, .at = make->sent[half], .ack = ACK_RIGHT};

	disturb(make, &op);
	op.at += (int32_t)below(60) - 30;
	switch (below(5)) {
	case 0:
	case 1: op.tcp_flags = chance(50) ? TH_RST : TH_RST | TH_ACK; break;
	case 2:
		// elsewhere it begins another one, or nobody can know which was taken
		if (make->s->midstream || make->s->one_sided || !make->answered)
			return;
		// one that answers the other would be a new connection of the same ports
		op.tcp_flags = TH_SYN | (make->s->isn[0] & 1 ? TH_ACK : 0);
		break;
	case 3:
		op.tcp_flags = TH_FIN | TH_ACK;
		op.length = piece(make);
		break;
	default: // beyond any window that was offered; where one begins unseen, nobody knows that
		if (make->s->midstream || make->s->one_sided)
			return;
		op.tcp_flags = TH_ACK;
		op.at += 70000 + (int32_t)below(200000);
		op.length = piece(make);
	}
	if (op.at < make->s->begin[half])
		op.at = make->s->begin[half];
	if (!(op.tcp_flags & TH_ACK))
		op.ack = ACK_NONE;
	add(make, op);
}

static void add_handshake(struct maker *make)
{
	struct stream_op syn = {.tcp_flags = TH_SYN, .at = -1};
	struct stream_op *op;

	if (make->hostile && !make->s->one_sided &&
		chance(5)) { // another one before it, that the server may get
		op = add(make, syn);
		op->at += (int32_t)below(400) - 200;
		op->flags = STREAM_LOST;
	}
	op = add(make, syn);
	if (make->hostile && chance(8)) {
		op->length = piece(make);
		if (make->s->fast_open)
			make->sent[0] = op->length;
	}
	if (!make->calm && chance(5))
		add(make, syn);
	if (make->s->one_sided)
		return;
	syn.half = 1;
	syn.tcp_flags |= TH_ACK;
	syn.ack = ACK_RIGHT;
	struct stream_op answer = syn;

	// the answer was under way when bytes came; one that takes what is on a SYN says so
	if (make->hostile && !make->s->fast_open && chance(8)) {
		op = add(make, (struct stream_op){.tcp_flags = TH_ACK,
				       .length = piece(make),
				       .ack = ACK_RIGHT,
				       .flags = STREAM_EARLY});
		make->sent[0] = op->length;
		answer.ack = ACK_LATE;
		answer.value = op->length;
	}
	add(make, answer);
	if (!make->calm && chance(5))
		add(make, syn);
	if (chance(90)) {
		add(make, (struct stream_op){.tcp_flags = TH_ACK, .ack = ACK_RIGHT});
		make->answered = true;
	}
}

static void add_step(struct maker *make)
{
	uint32_t dice = below(100);
	uint8_t half = make->s->one_sided ? 0 : chance(65) ? 0 : 1;
	bool ended = make->fin[half] && (make->s->observe || !make->hostile || !chance(10));

	if (dice < 45) {
		if (!ended)
			add_new(make, half);
	} else if (dice < 65) {
		if (!make->calm)
			add_again(make, half);
	} else if (dice < 88) {
		add_ack(make, make->s->one_sided ? 0 : (uint8_t)!half);
	} else if (dice < 93) {
		add(make, (struct stream_op){.type = STREAM_OP_TIME,
				  .value = (uint16_t)(1 + below(chance(80) ? 400 : 12000))});
	} else if (dice < 94) {
		add(make, (struct stream_op){.type = STREAM_OP_RELOAD});
	} else if (dice < 96) {
		if (!make->fin[half])
			add_end(make, half);
	} else if (make->hostile && !make->s->observe) {
		add_odd(make, half);
	}
}

static void make_jobs(struct stream_schedule *s)
{
	if (s->observe || chance(50))
		return;
	s->n_jobs = 1 + below(STREAM_JOBS_MAX);
	for (unsigned i = 0; i < s->n_jobs; i++)
		s->jobs[i] = (struct stream_job){
			.half = (uint8_t)(chance(75) ? 0 : 1),
			.every = chance(40),
			.never = chance(4),
			.after_bytes = (uint16_t)(1 + below(120)),
			.delay_ms = (uint16_t)(1 + below(chance(60) ? 500 : 9000)),
		};
}

void stream_schedule_make(struct stream_schedule *s, uint64_t seed, bool observe)
{
	struct maker make = {.s = s, .largest = 24};

	// ops[] beyond n_ops are never read
	memset(s, 0, offsetof(struct stream_schedule, ops));
	state = seed * 0x9e3779b97f4a7c15ull + observe;
	s->seed = seed;
	s->observe = observe;
	s->world = (uint8_t)(chance(70) ? WORLD_PLAIN : chance(50) ? WORLD_SLOW : WORLD_SMALL);
	make.calm = chance(8);
	make.hostile = !make.calm && chance(70);
	s->drop = chance(25);
	s->v6 = chance(25);
	s->midstream = !make.calm && chance(12);
	s->one_sided = !make.calm && chance(4);
	s->stamps = chance(50);
	s->fast_open = chance(30);
	s->obeys_rst = chance(50);
	s->scale = (uint8_t)below(8);
	s->window = (uint16_t)(chance(80) ? 65535 : 2000 + below(3000));
	s->isn[0] = random_isn();
	s->isn[1] = random_isn();
	if (s->midstream) {
		s->begin[0] = (uint16_t)below(50);
		s->begin[1] = (uint16_t)below(50);
	}
	make.sent[0] = s->begin[0];
	make.sent[1] = s->begin[1];
	if (chance(4))
		make.largest = 1400;
	make_jobs(s);
	if (!s->midstream)
		add_handshake(&make);
	for (unsigned n = 6 + below(chance(85) ? 24 : 130); n; n--)
		add_step(&make);
}

static void print_op(const struct stream_op *op)
{
	static const char *const acks[] = {"no ack", "ack", "ack -", "LYING ack +", "UNSENT ack +"};
	static const char letters[] = "FSRPAU";

	fprintf(stderr, "%s ", op->half ? "s2c" : "c2s");
	for (unsigned i = 0; letters[i]; i++)
		fputc(op->tcp_flags & 1 << i ? letters[i] : '.', stderr);
	fprintf(stderr, " %d+%u", op->at, op->length);
	if (op->variant)
		fprintf(stderr, " OTHER BYTES %u", op->variant);
	fprintf(stderr, " %s", acks[op->ack]);
	if (op->ack > ACK_RIGHT)
		fprintf(stderr, "%u", op->value);
	fprintf(stderr, "%s%s%s%s%s%s\n", op->flags & STREAM_BAD_CHECKSUM ? " bad checksum" : "",
		op->flags & STREAM_LOST ? " lost behind us" : "",
		op->flags & STREAM_LATE ? " late behind us" : "",
		op->flags & STREAM_BLIND ? " blind" : "", op->flags & STREAM_SPLIT ? " split" : "",
		op->stamp == STAMP_OLD    ? " OLD STAMP"
		: op->stamp == STAMP_NONE ? " no stamp"
					  : "");
}

void stream_schedule_print(const struct stream_schedule *s)
{
	static const char *const worlds[] = {"plain", "no fast pass", "small caps"};

	fprintf(stderr,
		"schedule of seed %llu: %s, %s, IPv%d%s%s%s%s%s, isn %u %u, window %u << %u",
		(unsigned long long)s->seed, worlds[s->world],
		s->observe ? "observe"
		: s->drop  ? "conflicts dropped"
			   : "conflicts rewritten",
		s->v6 ? 6 : 4, s->midstream ? ", midstream" : "", s->one_sided ? ", one-sided" : "",
		s->stamps ? ", stamps" : "", s->fast_open ? ", fast open" : "",
		s->obeys_rst ? "" : ", RSTs challenged", s->isn[0], s->isn[1], s->window, s->scale);
	if (s->midstream)
		fprintf(stderr, ", from %u %u", s->begin[0], s->begin[1]);
	fprintf(stderr, "\n");
	for (unsigned i = 0; i < s->n_jobs; i++)
		fprintf(stderr, "job: %s after %u bytes%s, %s after %u ms\n",
			s->jobs[i].half ? "s2c" : "c2s", s->jobs[i].after_bytes,
			s->jobs[i].every ? ", every" : "",
			s->jobs[i].never ? "no verdict" : "clean", s->jobs[i].delay_ms);
	for (unsigned i = 0; i < s->n_ops; i++) {
		const struct stream_op *op = &s->ops[i];

		fprintf(stderr, "%4u ", i + 1);
		if (op->type == STREAM_OP_TIME)
			fprintf(stderr, "time +%u ms\n", op->value);
		else if (op->type == STREAM_OP_RELOAD)
			fprintf(stderr, "reload\n");
		else
			print_op(op);
	}
}
