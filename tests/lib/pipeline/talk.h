// SPDX-License-Identifier: BSD-3-Clause
// Two ends of a connection of any form of packets over a gate, and what comes out to them, segment
// by segment. For tests of pages that stand for refused answers.
#ifndef SLUICE_TALK_H
#define SLUICE_TALK_H

#include "lib/pipeline/scan_gate.h"
#include "pipeline/content/notice.h"
#include "pipeline/stage/notice.h"
#include "pipeline/wire/checksum.h"

#define RULE(more) "'rules':[{'id':'no-exe','match':{},'notice':true," more "}]"
#define BY_NAME    RULE("'transfers':[{'name':['*.exe'],'action':'reset'}]")
#define BY_TYPE    RULE("'transfers':[{'type':['pdf'],'action':'reset'}]")
#define GET(path)  "GET /" path " HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define PUT(path)  "PUT /" path " HTTP/1.1\r\nHost: a.example\r\n"
#define OK5        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfine!"
#define PDF        "%PDF-1.4"

static inline struct gate *opened(const char *policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.flows = limits.embryos = 1024;
	limits.content = (struct content_limits){.flows = 300,
		.source_pct = 100,
		.turn_bytes = 64u << 10,
		.memory_bytes = 1,
		.arena_bytes = 1,
		.refused = 64,
		.refused_s = 60};
	return gate_new_with(1, &limits, policy);
}

// ---- a connection, as two ends of any kind ----

struct talk {
	struct gate *gate;
	struct pipe_packet like; // the client's; ends, form
	uint32_t seq[2];         // next byte of the client, the server
	uint32_t clock;          // of timestamps; 0: there are none
};

struct heard { // a frame that came out
	uint8_t port, flags;
	uint32_t seq, ack, ts_value, ts_echo;
	uint16_t window, n_vlan, length;
	const char *payload;
};

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// Asserts its sums, and that nothing behind it is left over but padding.
static inline struct heard hear(const struct pipe_sent *sent)
{
	const uint8_t *at = sent->frame + 12;
	struct heard heard = {.port = sent->port};

	for (; at[0] == 0x81 || at[0] == 0x88; at += 4)
		heard.n_vlan++;
	bool v6 = at[0] == 0x86;
	const uint8_t *ip = at + 2, *tcp = ip + (v6 ? 40 : 20);
	uint16_t l4 = v6 ? (uint16_t)(ip[4] << 8 | ip[5]) : (uint16_t)((ip[2] << 8 | ip[3]) - 20);
	unsigned header = (tcp[12] >> 4) * 4u;
	uint8_t pseudo[4] = {0, 6, (uint8_t)(l4 >> 8), (uint8_t)l4};
	uint32_t sum = checksum_bytes(v6 ? ip + 8 : ip + 12, v6 ? 32 : 8, 0);

	sum = checksum_bytes(pseudo, 4, sum);
	assert_int_equal(checksum_fold(checksum_bytes(tcp, l4, sum)), 0xffff);
	if (!v6)
		assert_int_equal(checksum_fold(checksum_bytes(ip, 20, 0)), 0xffff);
	assert_true(tcp + l4 <= sent->frame + sent->length);
	heard.seq = get32(tcp + 4);
	heard.ack = get32(tcp + 8);
	heard.flags = tcp[13];
	heard.window = (uint16_t)(tcp[14] << 8 | tcp[15]);
	heard.length = (uint16_t)(l4 - header);
	heard.payload = (const char *)tcp + header;
	if (header == 32 && tcp[20] == 1 && tcp[22] == 8) {
		heard.ts_value = get32(tcp + 24);
		heard.ts_echo = get32(tcp + 28);
	}
	return heard;
}

static inline unsigned run(
	struct talk *talk, bool server, uint8_t flags, const char *payload, size_t length)
{
	struct pipe_packet packet = talk->like;
	uint8_t options[12] = {1, 1, 8, 10};

	packet.from_outside = server;
	packet.tcp_flags = flags;
	packet.seq = talk->seq[server];
	packet.ack = flags & TH_ACK ? talk->seq[!server] : 0;
	packet.payload = payload;
	packet.payload_length = (uint16_t)length;
	if (talk->clock) {
		uint32_t mine = server ? 0x1000 : 0, theirs = server ? 0 : 0x1000;

		talk->clock++;
		for (unsigned i = 0; i < 4; i++) {
			options[4 + i] = (uint8_t)((talk->clock + mine) >> (24 - 8 * i));
			options[8 + i] = (uint8_t)((talk->clock + theirs) >> (24 - 8 * i));
		}
		packet.options = options;
		packet.options_length = 12;
	}
	talk->seq[server] += (uint32_t)length + !!(flags & (TH_SYN | TH_FIN));
	return gate_run(talk->gate, &packet);
}

static inline unsigned say(struct talk *talk, bool server, const char *text)
{
	return run(talk, server, TH_ACK | TH_PUSH, text, strlen(text));
}

static inline unsigned again(struct talk *talk, bool server, const char *text)
{
	talk->seq[server] -= (uint32_t)strlen(text);
	return say(talk, server, text);
}

static inline struct talk talk_as(struct gate *gate, const struct pipe_packet *like, bool stamped)
{
	struct talk talk = {.gate = gate, .like = *like, .seq = {1000, 5000}, .clock = stamped};

	run(&talk, false, TH_SYN, NULL, 0);
	run(&talk, true, TH_SYN | TH_ACK, NULL, 0);
	assert_int_equal(run(&talk, false, TH_ACK, NULL, 0), 1);
	return talk;
}

static inline struct talk talk_to(struct gate *gate, uint16_t sport)
{
	return talk_as(gate, &(struct pipe_packet){.sport = sport}, false);
}

static inline struct heard sent_to(const struct talk *talk, unsigned n, uint8_t port)
{
	struct heard found = {0};
	unsigned of = 0;

	for (unsigned i = 0; i < n; i++) {
		struct heard heard = hear(&talk->gate->pipe->sent[i]);

		if (heard.port != port)
			continue;
		// a RST goes out for each number that its receiver may expect
		of += !(of && found.flags & heard.flags & TH_RST);
		found = heard;
	}
	assert_int_equal(of, 1);
	return found;
}

// The client's page, whole and well made.
static inline struct heard page_of(const struct talk *talk, unsigned n)
{
	struct heard page = sent_to(talk, n, PIPE_INSIDE);
	static char text[2048];

	assert_int_equal(page.flags, TH_FIN | TH_ACK | TH_PUSH);
	memcpy(text, page.payload, page.length);
	text[page.length] = 0;
	page.payload = text;
	assert_memory_equal(text, "HTTP/1.1 403 Forbidden\r\n", 24);
	assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(text, "\r\nCache-Control: no-store\r\n"));
	const char *body = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");

	assert_true(body && length && length < body);
	if (body[4]) {
		assert_int_equal(strtoul(length + 16, NULL, 10), strlen(body + 4));
		assert_non_null(strstr(body, "Rule: no-exe<"));
	}
	return page;
}

static inline void both_are_reset(const struct talk *talk, unsigned n)
{
	unsigned resets[2] = {0};

	for (unsigned i = 0; i < n; i++) {
		struct heard heard = hear(&talk->gate->pipe->sent[i]);

		assert_true(heard.flags & TH_RST);
		assert_int_equal(heard.length, 0);
		resets[heard.port]++;
	}
	assert_true(resets[0] && resets[1]);
	assert_int_equal(stats(talk->gate).notices_sent, 0);
}

// Frames in these seconds, as the lcore makes them by itself.
static inline unsigned in_time(struct talk *talk, double seconds)
{
	talk->gate->pipe->n_sent = 0;
	for (; seconds > 0; seconds -= 0.005) {
		pipe_advance(talk->gate->pipe, 0.005);
		pipe_turns(talk->gate->pipe);
	}
	unsigned n = talk->gate->pipe->n_sent;

	talk->gate->pipe->n_sent = 0;
	return n;
}

#endif
