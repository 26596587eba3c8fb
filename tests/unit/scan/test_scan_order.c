// SPDX-License-Identifier: BSD-3-Clause
// A file under scan whose segments come in any order, overlap and come again, at every place where
// what the engine looks for may be cut: what its receiver has is never all of it before its
// verdict, what is infected is found, and the clean twin arrives whole.
#include "lib/pipeline/scan_gate.h"

#define STREAM_MAX 14000
#define MSS        1400
#define ROUNDS_MAX 60
#define WORD       ((unsigned)sizeof(EVIL) - 1)
#define TWIN       "X5O-GOOD"

enum carrier { BY_LENGTH, IN_CHUNKS, TO_THE_END, CARRIERS };

// Both ends of what the server sends.
struct stream {
	struct gate *gate;
	struct gate_tcp tcp;
	uint32_t base; // sequence number of its first octet
	size_t length;
	bool ends;         // by FIN
	uint64_t infected; // in this world before
	char octets[STREAM_MAX];
	// the receiver
	bool has[STREAM_MAX];
	size_t in_order; // what it can read
	bool finished;
	unsigned resets;
	uint64_t random;
};

static uint32_t draw(struct stream *stream, uint32_t below)
{
	stream->random = stream->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(stream->random >> 33) % below;
}

// What a frame brings to the receiver: those octets that the server has sent, and no others.
static void receive(struct stream *stream, const struct pipe_sent *sent)
{
	const uint8_t *ip = sent->frame + 14, *tcp = ip + (ip[0] & 15) * 4;
	size_t header = (size_t)(tcp - sent->frame) + (tcp[12] >> 4) * 4u;
	size_t length = (size_t)(ip[2] << 8 | ip[3]) + 14 - header;
	uint32_t seq =
		(uint32_t)tcp[4] << 24 | (uint32_t)tcp[5] << 16 | (uint32_t)tcp[6] << 8 | tcp[7];
	size_t at = seq - stream->base;

	stream->resets += !!(tcp[13] & TH_RST);
	if (sent->port != PIPE_INSIDE || tcp[13] & TH_RST)
		return;
	assert_true(!length || at + length <= stream->length);
	assert_memory_equal(sent->frame + header, stream->octets + at, length);
	memset(stream->has + at, true, length);
	while (stream->in_order < stream->length && stream->has[stream->in_order])
		stream->in_order++;
	stream->finished |= tcp[13] & TH_FIN && stream->in_order == stream->length;
}

static void take_all(struct stream *stream, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		receive(stream, &stream->gate->pipe->sent[i]);
}

static void wait_for(struct stream *stream, double seconds)
{
	struct pipe *pipe = stream->gate->pipe;
	unsigned from = pipe->n_sent;

	for (; seconds > 0.005; seconds -= 0.005)
		pipe_advance(pipe, 0.005);
	pipe_turns(pipe);
	take_all(stream, from, pipe->n_sent);
	pipe->n_sent = 0;
}

static void send_part(struct stream *stream, size_t from, size_t to)
{
	bool last = stream->ends && to == stream->length;
	const struct pipe_packet packet = {.client = stream->tcp.client,
		.sport = stream->tcp.sport,
		.dport = stream->tcp.dport,
		.from_outside = true,
		.seq = stream->base + (uint32_t)from,
		.ack = stream->tcp.seq[0],
		.tcp_flags = (uint8_t)(TH_ACK | TH_PUSH | (last ? TH_FIN : 0)),
		.payload = stream->octets + from,
		.payload_length = (uint16_t)(to - from)};
	unsigned n = gate_run(stream->gate, &packet);

	take_all(stream, 0, n);
}

// The receiver says what it has, as it would.
static void acknowledge(struct stream *stream)
{
	const struct pipe_packet packet = {.client = stream->tcp.client,
		.sport = stream->tcp.sport,
		.dport = stream->tcp.dport,
		.seq = stream->tcp.seq[0],
		.ack = stream->base + (uint32_t)stream->in_order};

	gate_run(stream->gate, &packet);
}

static bool is_whole(const struct stream *stream)
{
	return stream->in_order == stream->length && (!stream->ends || stream->finished);
}

// Until the connection ends or the receiver has all: from the first octet that it lacks on, as a
// sender does whose time is out.
static void send_rest(struct stream *stream)
{
	for (unsigned i = 0; i < ROUNDS_MAX && !is_whole(stream) && !stream->resets; i++) {
		acknowledge(stream);
		for (size_t at = stream->in_order; at < stream->length; at += MSS)
			send_part(stream, at, RTE_MIN(at + MSS, stream->length));
		if (stream->in_order == stream->length && stream->ends)
			send_part(stream, stream->length, stream->length);
		wait_for(stream, (DELAY_MS + 100) / 1000.0);
	}
}

static void put(struct stream *stream, const char *octets, size_t length)
{
	assert_true(stream->length + length <= STREAM_MAX);
	memcpy(stream->octets + stream->length, octets, length);
	stream->length += length;
}

// An answer whose file is `body`, on a connection of its own. The head has left before it.
static void begin(struct stream *stream, struct gate *gate, enum carrier carrier, const char *body,
	size_t length)
{
	static uint16_t port = 10000;
	static const char *const heads[CARRIERS] = {
		"HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
	};
	char text[128];

	stream->gate = gate;
	stream->infected = stats(gate).scan_infected;
	assert_true(asks(gate, &stream->tcp, port++, "a.bin"));
	stream->base = stream->tcp.seq[1];
	stream->ends = carrier == TO_THE_END;
	put(stream, text, (size_t)snprintf(text, sizeof(text), heads[carrier], length));
	size_t head = stream->length;

	if (carrier == IN_CHUNKS)
		put(stream, text, (size_t)snprintf(text, sizeof(text), "%zx\r\n", length));
	put(stream, body, length);
	if (carrier == IN_CHUNKS)
		put(stream, "\r\n0\r\n\r\n", 7);
	bool ends = stream->ends;

	stream->ends = false;
	send_part(stream, 0, head);
	stream->ends = ends;
	assert_int_equal(stream->in_order, head);
}

static void judge_end(struct stream *stream, bool evil, const char *what)
{
	uint64_t found = stats(stream->gate).scan_infected - stream->infected;

	if (found != evil)
		fail_msg("%s: found %u times", what, (unsigned)found);
	if (evil && (is_whole(stream) || stream->resets < 2))
		fail_msg("%s: it has %zu of %zu octets, %u resets", what, stream->in_order,
			stream->length, stream->resets);
	if (!evil && (!is_whole(stream) || stream->resets))
		fail_msg("%s: the twin: %zu of %zu octets, %u resets", what, stream->in_order,
			stream->length, stream->resets);
	gives_up(stream->gate, &stream->tcp);
}

// All was sent, and no time has passed.
static void judge(struct stream *stream, bool evil, const char *what)
{
	if (is_whole(stream))
		fail_msg("%s: all of it is there before its verdict", what);
	send_rest(stream);
	judge_end(stream, evil, what);
}

// Nothing is learned of a connection that was reset: all are of the same hosts.
#define RULES(more) "'rules':[{'id':'av','match':{},'cache':'none','scan':{" more "}}]"
#define WORLDS      4

// A world has one mode; and segments ahead of a hole leave at once in it, or not.
static struct gate *world_number(unsigned number)
{
	struct gate *gate = world(number / 2 ? RULES("'mode':'windows','window_bytes':4096,"
						     "'overlap_bytes':64")
					     : RULES(""));

	lcore_of(gate)->tracker->limits.fast_pass = number % 2;
	return gate;
}

// The nth permutation of `n` things.
static void permute(unsigned *order, unsigned n, unsigned which)
{
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = i + which % (n - i), chosen = order[k];

		which /= n - i;
		memmove(order + i + 1, order + i, (k - i) * sizeof(order[0]));
		order[i] = chosen;
	}
}

#define PIECES       4
#define PERMUTATIONS 24

// The word is cut after `split` of its octets, and between its neighbours; `how` 0: each piece
// once; 1: each twice; 2: each with some of its neighbours' octets.
static void send_pieces(
	struct stream *stream, size_t body, unsigned split, unsigned permutation, unsigned how)
{
	size_t middle = body + 8 + split, ends[PIECES + 1] = {body, middle - split / 2, middle,
						  middle + (WORD - split + 1) / 2, stream->length};
	unsigned order[PIECES];

	permute(order, PIECES, permutation);
	for (unsigned i = 0; i < PIECES; i++) {
		size_t from = ends[order[i]], to = ends[order[i] + 1];

		if (how == 2) {
			from -= RTE_MIN((size_t)3, from - body);
			to = RTE_MIN(to + 3, stream->length);
		}
		if (from == to)
			continue;
		send_part(stream, from, to);
		if (how == 1)
			send_part(stream, from, to);
	}
}

static void few_segments(struct gate *gate, unsigned number, unsigned split, unsigned n)
{
	unsigned how = (n + split) % 3, carrier = (n / 3 + split) % CARRIERS;
	char body[32], what[64];

	for (unsigned evil = 0; evil < 2; evil++) {
		struct stream stream = {0};

		snprintf(body, sizeof(body), "12345678%s87654321", evil ? EVIL : TWIN);
		snprintf(what, sizeof(what), "world %u split %u order %u evil %u", number, split, n,
			evil);
		begin(&stream, gate, (enum carrier)carrier, body, strlen(body));
		send_pieces(&stream, stream.in_order, split, n, how);
		judge(&stream, evil, what);
	}
}

// Each split in each order, with duplicates or overlaps in some.
static void few_segments_in_every_order(void **state)
{
	(void)state;
	for (unsigned number = 0; number < WORLDS; number++) {
		struct gate *gate = world_number(number);

		for (unsigned split = 0; split <= WORD; split++)
			for (unsigned n = 0; n < PERMUTATIONS; n++)
				few_segments(gate, number, split, n);
		world_free(gate);
	}
}

#define FLIGHT 8
#define SEEDS  3

// Segments of random lengths, a flight of them in random order; some come twice, and some begin
// with octets that were sent before.
static void send_at_random(struct stream *stream, size_t from)
{
	size_t begins[FLIGHT], ends[FLIGHT];

	while (from < stream->length && !stream->resets) {
		unsigned n = 0;

		for (; n < FLIGHT && from < stream->length; n++) {
			size_t again = draw(stream, 4) ? 0 : draw(stream, 100);

			begins[n] = from - RTE_MIN(again, from);
			from = RTE_MIN(from + 1 + draw(stream, 1200), stream->length);
			ends[n] = from;
		}
		for (unsigned i = n; i; i--) {
			unsigned k = draw(stream, i);

			send_part(stream, begins[k], ends[k]);
			if (!draw(stream, 5))
				send_part(stream, begins[k], ends[k]);
			RTE_SWAP(begins[k], begins[i - 1]);
			RTE_SWAP(ends[k], ends[i - 1]);
		}
		if (!draw(stream, 3))
			acknowledge(stream);
		if (!draw(stream, 3)) // a window, or the tail, is looked at meanwhile
			wait_for(stream, draw(stream, 2) ? 0.03 : 0.6);
	}
}

static void many_segments(
	struct gate *gate, unsigned number, unsigned seed, unsigned edge, unsigned split)
{
	static char body[3 * 4096 + 200];
	char what[64];

	for (unsigned evil = 0; evil < 2; evil++) {
		struct stream stream = {.random = ((seed * WORLDS + number) * 4 + edge) * 20 +
						  split * 2 + evil + 1};
		size_t at = edge < 3 ? (edge + 1) * 4096 - split : sizeof(body) - WORD;

		memset(body, 'b', sizeof(body));
		memcpy(body + at, evil ? EVIL : TWIN, WORD);
		snprintf(what, sizeof(what), "seed %u world %u edge %u split %u evil %u", seed,
			number, edge, split, evil);
		begin(&stream, gate, (enum carrier)((seed + edge + split) % CARRIERS), body,
			sizeof(body));
		send_at_random(&stream, stream.in_order);
		send_rest(&stream);
		judge_end(&stream, evil, what);
	}
}

// The word lies across each end of a window, at each of its octets; or it is the last of the file.
static void many_segments_in_random_order(void **state)
{
	(void)state;
	for (unsigned number = 0; number < WORLDS; number++) {
		struct gate *gate = world_number(number);

		for (unsigned i = 0; i < SEEDS * 4 * (WORD + 1); i++)
			many_segments(gate, number, i % SEEDS, i / SEEDS % 4, i / SEEDS / 4);
		world_free(gate);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_segments_in_every_order),
		cmocka_unit_test(many_segments_in_random_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
