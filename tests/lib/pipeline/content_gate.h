// SPDX-License-Identifier: BSD-3-Clause
// A gate with little room for content: connections over it that ask for files, and who takes all
// the room. For tests of what happens then.
#ifndef SLUICE_CONTENT_GATE_H
#define SLUICE_CONTENT_GATE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe_control.h"
#include "pipeline/content/state.h"

#define FLOWS 2

#define REFUSES \
	"'rules':[{'id':'no-exe','match':{},'transfers':[{'name':['*.exe'],'action':'reset'}]}]"
#define REFUSES_AND_LOGS                                                                        \
	"'rules':[{'id':'no-exe','match':{},'transfers':[{'name':['*.exe'],'action':'reset'}]," \
	"'audit':{'transfers':true,'files':true}}]"
#define LOGS "'rules':[{'id':'log','match':{},'audit':{'transfers':true,'files':true}}]"

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfine!";
static const char half_an_answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfine";

static inline struct gate *gate_with_places(uint32_t flows, const char *policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.content = (struct content_limits){.flows = flows,
		.source_pct = 10,
		.turn_bytes = 64u << 10,
		.memory_bytes = 1,
		.arena_bytes = 1};
	return gate_new_with(1, &limits, policy);
}

static inline struct gate *gate_with(const char *policy)
{
	return gate_with_places(FLOWS, policy);
}

static inline struct lcore *lcore_of(const struct gate *gate)
{
	return gate->pipe->dp.lcores[0];
}

static inline struct stats stats(const struct gate *gate)
{
	return pipe_stats(gate->pipe);
}

// A connection that asks for a file, and whether its request left.
static inline bool asks(struct gate *gate, struct gate_tcp *tcp, uint16_t sport, const char *name)
{
	char request[128];
	int length = snprintf(
		request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a.example\r\n\r\n", name);

	*tcp = gate_connect(gate, 1, sport, 80);
	return gate_send(gate, tcp, false, request, (size_t)length) == 1;
}

static inline unsigned answers(struct gate *gate, struct gate_tcp *tcp, const char *text)
{
	return gate_send(gate, tcp, true, text, strlen(text));
}

// What a server sends of a refused file: nothing of it leaves, whatever does (resets).
static inline void answers_in_vain(struct gate *gate, struct gate_tcp *tcp, const char *text)
{
	unsigned n = answers(gate, tcp, text);

	for (unsigned i = 0; i < n; i++) {
		const struct pipe_sent *sent = &gate->pipe->sent[i];

		assert_null(memmem(sent->frame, sent->length, text, strlen(text)));
	}
}

// What was not taken is sent again: as many bytes of that end.
static inline unsigned sends_again(
	struct gate *gate, struct gate_tcp *tcp, bool server, const void *bytes, size_t length)
{
	tcp->seq[server] -= (uint32_t)length;
	return gate_send(gate, tcp, server, bytes, length);
}

static inline void ends(struct gate *gate, struct gate_tcp *tcp)
{
	const struct pipe_packet packet = {.client = tcp->client,
		.sport = tcp->sport,
		.dport = tcp->dport,
		.seq = tcp->seq[0],
		.ack = tcp->seq[1],
		.tcp_flags = TH_RST | TH_ACK};

	assert_int_equal(gate_run(gate, &packet), 1);
	pipe_advance(gate->pipe, 200); // beyond what a closed flow stays
}

// Records of a kind that the lcore has sent; all are given back.
static inline unsigned records(struct gate *gate, enum content_record_kind kind)
{
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	const struct content_record *record;
	unsigned n = 0;

	while ((record = content_channel_next(channel))) {
		n += record->kind == kind;
		content_channel_done(channel, record);
	}
	return n;
}

// A refused and an allowed file, each on a connection of its own: as if nothing had been.
static inline void works(struct gate *gate, uint16_t sport)
{
	uint64_t refused = stats(gate).content_refused;
	struct gate_tcp allowed, no;

	assert_true(asks(gate, &allowed, sport, "fine.txt"));
	assert_int_equal(answers(gate, &allowed, answer), 1);
	ends(gate, &allowed);
	assert_true(asks(gate, &no, (uint16_t)(sport + 1), "setup.exe"));
	answers_in_vain(gate, &no, answer);
	assert_int_equal(stats(gate).content_refused, refused + 1);
	answers_in_vain(gate, &no, "more");
	pipe_advance(gate->pipe, 200);
}

static inline void take_all_places(struct gate *gate, struct gate_tcp tcp[FLOWS])
{
	for (uint16_t i = 0; i < FLOWS; i++) {
		assert_true(asks(gate, &tcp[i], (uint16_t)(41000 + i), "long.txt"));
		assert_int_equal(answers(gate, &tcp[i], half_an_answer), 1);
	}
	assert_int_equal(stats(gate).content_nomem, 0);
}

static struct content_record *record_hogs[CONTENT_CHANNEL_RECORDS + 1]; // and the end

static inline unsigned hog_records(struct gate *gate)
{
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	unsigned n = 0;

	while ((record_hogs[n] = content_record_new(channel, 0)))
		n++;
	assert_true(n >= CONTENT_CHANNEL_RECORDS - 1); // of which a file has one
	return n;
}

static inline unsigned hog_arena(struct gate *gate)
{
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	unsigned n = 0;

	for (uint32_t bytes = 4u << 20; bytes; bytes /= 2)
		while ((record_hogs[n] = content_record_new(channel, bytes)))
			n++;
	assert_true(n < CONTENT_CHANNEL_RECORDS);
	return n;
}

#endif
