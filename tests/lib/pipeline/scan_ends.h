// SPDX-License-Identifier: BSD-3-Clause
// Two ends of TCP around a gate behind which files are scanned, in virtual time: a server that
// sends an answer, and a client that takes it. Each does what hosts do while a segment of theirs
// waits in between: windows of congestion and of the receiver, Nagle (RFC 9293 section 3.7.4), tail
// loss probes (RFC 8985), retransmissions (RFC 6298), window probes (RFC 9293 section 3.8.6.1) and
// keep-alive octets (section 3.8.4). A millisecond of delay each way.
#ifndef SLUICE_SCAN_ENDS_H
#define SLUICE_SCAN_ENDS_H

#include "lib/pipeline/scan_gate.h"
#include "pipeline/vocab/octets.h"

#define ENDS_STREAM_MAX 8000
#define ENDS_QUEUE      64
#define ENDS_TICK_NS    NS_PER_MS
#define ENDS_IDLE_NS    (5 * NS_PER_MS) // the loop does not sleep for longer

enum ends_probe {
	ENDS_PROBE_NONE,
	ENDS_PROBE_OLD,   // of nothing: a segment without bytes at the number before (Linux)
	ENDS_PROBE_OCTET, // the next octet, beyond the window (BSD)
};

// How the two behave.
struct ends_ways {
	const char *name;
	unsigned mss;
	unsigned flight; // segments that may be under way
	bool nagle;
	bool tail_probe;
	bool fin;         // behind the last byte
	bool fin_apart;   // in a segment of its own
	bool keeps_alive; // an octet of before, each second that nothing is under way
	enum ends_probe probe;
	unsigned room;      // bytes that the client takes before it reads; 0: it reads at once
	unsigned reads_ms;  // then it reads, and goes on reading
	unsigned pause_at;  // bytes of the stream: those from here on ...
	unsigned pause_ms;  // ... are written that late
	unsigned abort_ms;  // the client resets the connection then; 0: never
	unsigned shuts_ms;  // it sends its FIN then, and goes on taking; 0: never
	unsigned leaves_ms; // the server does
};

struct ends_frame {
	uint32_t seq, ack;
	uint16_t window, length;
	uint8_t flags;
	uint8_t bytes[1500];
};

struct ends_queue {
	struct ends_frame frame[ENDS_QUEUE];
	unsigned n;
};

struct ends {
	struct gate *gate;
	const struct ends_ways *ways;
	struct gate_tcp tcp;
	const uint8_t *stream;
	uint32_t n; // bytes of it
	uint64_t began_ns;
	struct ends_queue to_client, to_server;
	struct {                   // offsets in the stream
		uint32_t una, nxt; // a FIN is the byte behind the last
		uint32_t last;     // where the newest segment begins
		uint32_t window;
		uint64_t heard_ns, sent_ns, rto_ns, persist_ns, alive_ns;
		bool probed, reset, gone;
		unsigned again, tail_probes, window_probes, keep_alives;
	} server;
	struct {
		uint8_t bytes[ENDS_STREAM_MAX];
		uint32_t next, unread;
		bool fin, reset, gone, reads, shut;
	} client;
};

static inline uint64_t ends_ms(const struct ends *ends)
{
	return (ends->gate->pipe->now_ns - ends->began_ns) / NS_PER_MS;
}

// ---- the wire ----

static inline void ends_collect(struct ends *ends)
{
	struct pipe *pipe = ends->gate->pipe;

	for (unsigned i = 0; i < pipe->n_sent; i++) {
		const uint8_t *ip = pipe->sent[i].frame + 14, *tcp = ip + (ip[0] & 15) * 4;
		bool to_client = pipe->sent[i].port == PIPE_INSIDE;
		struct ends_queue *queue = to_client ? &ends->to_client : &ends->to_server;
		struct ends_frame *frame = &queue->frame[queue->n++];
		unsigned header = (unsigned)(tcp - ip) + (tcp[12] >> 4) * 4u;

		assert_true(queue->n <= ENDS_QUEUE);
		frame->seq = octets_be32(tcp + 4);
		frame->ack = octets_be32(tcp + 8);
		frame->window = octets_be16(tcp + 14);
		frame->flags = tcp[13];
		frame->length = (uint16_t)(octets_be16(ip + 2) - header);
		memcpy(frame->bytes, ip + header, frame->length);
	}
	pipe->n_sent = 0;
}

static inline void ends_send(struct ends *ends, bool server, uint32_t seq, uint32_t ack,
	uint8_t flags, uint16_t window, const void *bytes, uint16_t length)
{
	const struct pipe_packet packet = {.client = ends->tcp.client,
		.from_outside = server,
		.sport = ends->tcp.sport,
		.dport = ends->tcp.dport,
		.seq = seq,
		.ack = ack,
		.tcp_flags = flags,
		.window = window,
		.payload = bytes,
		.payload_length = length};

	pipe_run(ends->gate->pipe, 0, &packet);
	ends_collect(ends);
}

// ---- the client ----

static inline uint16_t ends_window(const struct ends *ends)
{
	if (!ends->ways->room || ends->client.reads)
		return 65000;
	return (uint16_t)(ends->ways->room - ends->client.unread);
}

// A window of 1 becomes one of 0, which pipe.h has no word for.
static inline void ends_shut(uint8_t *frame)
{
	uint8_t *tcp = frame + 34;
	uint32_t sum = (uint32_t)(tcp[16] << 8 | tcp[17]) + 1;

	sum = (sum & 0xffff) + (sum >> 16);
	tcp[15] = 0;
	tcp[16] = (uint8_t)(sum >> 8);
	tcp[17] = (uint8_t)sum;
}

static inline void ends_acknowledge(struct ends *ends)
{
	uint16_t window = ends_window(ends);
	const struct pipe_packet packet = {.client = ends->tcp.client,
		.sport = ends->tcp.sport,
		.dport = ends->tcp.dport,
		.seq = ends->tcp.seq[0],
		.ack = ends->tcp.seq[1] + ends->client.next + ends->client.fin,
		.tcp_flags = TH_ACK,
		.window = window ? window : 1};
	uint8_t frame[200];
	unsigned length = pipe_build(&packet, frame, sizeof(frame));

	if (!window)
		ends_shut(frame);
	pipe_run_frame(ends->gate->pipe, 0, frame, length, false, 1);
	ends_collect(ends);
}

static inline void ends_client_takes(struct ends *ends, const struct ends_frame *frame)
{
	uint32_t at = frame->seq - ends->tcp.seq[1], skip = ends->client.next - at;
	uint32_t room = ends_window(ends);

	if (frame->flags & TH_RST)
		ends->client.reset = true;
	if (ends->client.reset || ends->client.gone)
		return;
	// in order: of what repeats, the rest; nothing beyond its window
	if (frame->length && (int32_t)skip >= 0 && skip < frame->length) {
		uint32_t n = RTE_MIN(frame->length - skip, room);

		assert_true(ends->client.next + n <= ends->n);
		memcpy(ends->client.bytes + ends->client.next, frame->bytes + skip, n);
		ends->client.next += n;
		ends->client.unread += ends->client.reads ? 0 : n;
	}
	if (frame->flags & TH_FIN && at + frame->length == ends->client.next)
		ends->client.fin = true;
	if (frame->length || frame->flags & TH_FIN || at != ends->client.next)
		ends_acknowledge(ends);
}

static inline void ends_client_turn(struct ends *ends)
{
	const struct ends_ways *ways = ends->ways;

	if (ways->room && !ends->client.reads && ends_ms(ends) >= ways->reads_ms) {
		ends->client.reads = true;
		ends->client.unread = 0;
		ends_acknowledge(ends);
	}
	if (ways->shuts_ms && !ends->client.shut && ends_ms(ends) >= ways->shuts_ms) {
		ends->client.shut = true;
		ends_send(ends, false, ends->tcp.seq[0], ends->tcp.seq[1] + ends->client.next,
			TH_FIN | TH_ACK, ends_window(ends), NULL, 0);
		ends->tcp.seq[0]++;
	}
	if (ways->abort_ms && !ends->client.gone && ends_ms(ends) >= ways->abort_ms) {
		ends->client.gone = true;
		ends_send(ends, false, ends->tcp.seq[0], ends->tcp.seq[1] + ends->client.next,
			TH_RST | TH_ACK, 0, NULL, 0);
	}
}

// ---- the server ----

static inline uint32_t ends_written(const struct ends *ends)
{
	const struct ends_ways *ways = ends->ways;
	bool late = ways->pause_at && ends_ms(ends) < ways->pause_ms;

	return late ? RTE_MIN(ways->pause_at, ends->n) : ends->n;
}

static inline void ends_server_sends(struct ends *ends, uint32_t from, uint32_t to)
{
	bool fin = ends->ways->fin && to == ends->n + 1;
	uint32_t end = RTE_MIN(to, ends->n);

	ends_send(ends, true, ends->tcp.seq[1] + from, ends->tcp.seq[0],
		(uint8_t)(TH_ACK | (fin ? TH_FIN : 0)), 65000, ends->stream + from,
		(uint16_t)(end - from));
}

// What may be sent now, if anything: where it ends.
static inline uint32_t ends_next(const struct ends *ends)
{
	const struct ends_ways *ways = ends->ways;
	uint32_t from = ends->server.nxt, flight = from - ends->server.una;
	uint32_t written = ends_written(ends);
	uint32_t most = RTE_MIN(ways->flight * ways->mss, ends->server.window);

	if (from == ends->n) // a FIN takes no window
		return ways->fin && flight < ways->flight * ways->mss ? from + 1 : from;
	if (from > ends->n || flight >= most || written <= from)
		return from;
	uint32_t n = RTE_MIN(RTE_MIN(written - from, ways->mss), most - flight);
	bool small = n < ways->mss, fins = ways->fin && !ways->fin_apart && from + n == ends->n;

	if (small && flight && ways->nagle && !fins)
		return from;
	if (small && n < written - from && flight)
		return from; // silly window
	return from + n + fins;
}

static inline void ends_server_retransmits(struct ends *ends, uint64_t now_ns)
{
	const struct ends_ways *ways = ends->ways;
	uint32_t una = ends->server.una, nxt = ends->server.nxt;

	if (una == nxt)
		return;
	if (ways->tail_probe && !ends->server.probed &&
		now_ns >= ends->server.sent_ns + 10 * NS_PER_MS) {
		ends->server.probed = true;
		ends->server.tail_probes++;
		ends_server_sends(ends, ends->server.last, nxt);
	}
	if (now_ns < ends->server.heard_ns + ends->server.rto_ns)
		return;
	ends->server.heard_ns = now_ns;
	ends->server.rto_ns *= 2;
	ends->server.again++;
	ends_server_sends(ends, una, RTE_MIN(nxt, una + ways->mss));
}

static inline void ends_server_probes(struct ends *ends, uint64_t now_ns)
{
	const struct ends_ways *ways = ends->ways;
	uint32_t una = ends->server.una;
	static const uint8_t octet = '?'; // what it is says nothing to anybody

	if (una != ends->server.nxt)
		return;
	if (ways->keeps_alive && una && now_ns >= ends->server.alive_ns + NS_PER_S) {
		ends->server.alive_ns = now_ns;
		ends->server.keep_alives++;
		ends_send(ends, true, ends->tcp.seq[1] + una - 1, ends->tcp.seq[0], TH_ACK, 65000,
			&octet, 1);
	}
	if (ends->server.window || una >= ends_written(ends) || !ways->probe ||
		now_ns < ends->server.heard_ns + ends->server.persist_ns)
		return;
	ends->server.heard_ns = now_ns;
	ends->server.persist_ns *= 2;
	ends->server.window_probes++;
	if (ways->probe == ENDS_PROBE_OLD)
		ends_send(ends, true, ends->tcp.seq[1] + una - 1, ends->tcp.seq[0], TH_ACK, 65000,
			NULL, 0);
	else
		ends_server_sends(ends, una, una + 1);
}

static inline void ends_server_turn(struct ends *ends)
{
	uint64_t now_ns = ends->gate->pipe->now_ns;

	if (ends->server.reset || ends->server.gone)
		return;
	if (ends->ways->leaves_ms && ends_ms(ends) >= ends->ways->leaves_ms) {
		ends->server.gone = true;
		ends_send(ends, true, ends->tcp.seq[1] + ends->server.nxt, ends->tcp.seq[0],
			TH_RST | TH_ACK, 0, NULL, 0);
		return;
	}
	for (uint32_t to; (to = ends_next(ends)) != ends->server.nxt;) {
		if (ends->server.una == ends->server.nxt)
			ends->server.heard_ns = now_ns;
		ends->server.last = ends->server.nxt;
		ends->server.nxt = to;
		ends->server.sent_ns = ends->server.alive_ns = now_ns;
		ends->server.probed = false;
		ends_server_sends(ends, ends->server.last, to);
	}
	ends_server_retransmits(ends, now_ns);
	ends_server_probes(ends, now_ns);
}

static inline void ends_server_takes(struct ends *ends, const struct ends_frame *frame)
{
	uint32_t ack = frame->ack - ends->tcp.seq[1];

	if (frame->flags & TH_RST)
		ends->server.reset = true;
	if (ends->server.reset)
		return;
	assert_true(ack <= ends->n + 1); // nothing that was not sent
	if (frame->flags & TH_FIN)
		ends_send(ends, true, ends->tcp.seq[1] + ends->server.nxt, ends->tcp.seq[0], TH_ACK,
			65000, NULL, 0);
	ends->server.window = frame->window;
	if (ack <= ends->server.una)
		return;
	ends->server.una = ack;
	ends->server.nxt = RTE_MAX(ends->server.nxt, ack);
	ends->server.heard_ns = ends->server.alive_ns = ends->gate->pipe->now_ns;
	ends->server.rto_ns = ends->server.persist_ns = 200 * NS_PER_MS;
}

// ---- both ----

// A connection whose client has asked.
static inline void ends_begin(struct ends *ends, struct gate *gate, const struct ends_ways *ways,
	const void *stream, size_t n)
{
	*ends = (struct ends){.gate = gate, .ways = ways, .stream = stream, .n = (uint32_t)n};
	assert_true(n <= ENDS_STREAM_MAX);
	assert_true(asks(gate, &ends->tcp, 42000, "a.txt"));
	gate->pipe->n_sent = 0;
	ends->began_ns = gate->pipe->now_ns;
	ends->server.window = ways->room ? ways->room : 65000;
	ends->client.reads = !ways->room;
	ends->server.rto_ns = ends->server.persist_ns = 200 * NS_PER_MS;
}

static inline void ends_tick(struct ends *ends)
{
	struct ends_queue to_client = ends->to_client, to_server = ends->to_server;

	ends->to_client.n = ends->to_server.n = 0;
	for (unsigned i = 0; i < to_client.n; i++)
		ends_client_takes(ends, &to_client.frame[i]);
	for (unsigned i = 0; i < to_server.n; i++)
		ends_server_takes(ends, &to_server.frame[i]);
	ends_client_turn(ends);
	ends_server_turn(ends);
	pipe_turns(ends->gate->pipe);
	ends_collect(ends);
	bool idle = !ends->to_client.n && !ends->to_server.n;

	ends->gate->pipe->now_ns += idle ? ENDS_IDLE_NS : ENDS_TICK_NS;
}

// The server knows that all of it arrived, a FIN too.
static inline bool ends_complete(const struct ends *ends)
{
	return ends->server.una == ends->n + ends->ways->fin;
}

// Until it is complete or over for both; at most for so long. The milliseconds.
static inline uint64_t ends_run(struct ends *ends, unsigned seconds)
{
	while (ends_ms(ends) < seconds * 1000u && !ends_complete(ends) &&
		!((ends->client.reset || ends->client.gone) &&
			(ends->server.reset || ends->server.gone)))
		ends_tick(ends);
	return ends_ms(ends);
}

#endif
