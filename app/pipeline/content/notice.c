// SPDX-License-Identifier: BSD-3-Clause
// Whether a page may stand for the answer that was refused, and the page.
#include "pipeline/content/notice.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "pipeline/content/report_work.h"
#include "reassembly/tcp_track.h"

// Characters of markup become entities, what is not printable becomes '?'. All of the text or,
// where the room ends, its beginning.
static unsigned escape(char *to, size_t room, const char *text)
{
	unsigned n = 0;

	for (; *text; text++) {
		char plain[2] = {*text >= 0x20 && *text < 0x7f ? *text : '?', 0};
		const char *as = *text == '&'   ? "&amp;"
				 : *text == '<' ? "&lt;"
				 : *text == '>' ? "&gt;"
				 : *text == '"' ? "&quot;"
						: plain;
		size_t length = strlen(as);

		if (n + length >= room)
			break;
		memcpy(to + n, as, length);
		n += (unsigned)length;
	}
	to[n] = 0;
	return n;
}

#define PAGE_1                                                                                    \
	"<!DOCTYPE html><title>Blocked</title><h1>Blocked</h1>\n<p>The network has blocked this " \
	"file: "
#define PAGE_2 ".</p>\n<p>Rule: "
#define PAGE_3 "</p>\n"
#define HEAD                                                                   \
	"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html; charset=utf-8\r\n" \
	"Content-Length: %u\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
// RFC 5321 section 4.5.3.1.5: of a line, its end included.
#define REPLY     "554 5.7.1 Blocked by the network: %s. Rule: %s\r\n"
#define REPLY_MAX 512
#define WHY_MAX   48  // bytes of the words
#define ID_MAX    140 // ... of a rule's id, escaped
static_assert(sizeof(REPLY) + WHY_MAX + ID_MAX <= REPLY_MAX, "a line");
static_assert(sizeof(PAGE_1 PAGE_2 PAGE_3 HEAD) + WHY_MAX + ID_MAX <= CONTENT_NOTICE_BYTES,
	"one segment");
#define X(symbol, words) static_assert(sizeof(words) <= WHY_MAX, "one segment");
CONTENT_NOTICES(X)
#undef X

static const char *words_of(enum content_notice_why why)
{
	switch (why) {
#define X(symbol, words) \
	case CONTENT_NOTICE_##symbol: return words;
		CONTENT_NOTICES(X)
#undef X
	case CONTENT_NOTICE_NONE: break;
	}
	return "";
}

unsigned content_notice_page(uint8_t bytes[CONTENT_NOTICE_BYTES], const char *id,
	enum content_notice_why why, bool head_alone)
{
	char shown[ID_MAX], page[CONTENT_NOTICE_BYTES];

	escape(shown, sizeof(shown), id);
	int length =
		snprintf(page, sizeof(page), PAGE_1 "%s" PAGE_2 "%s" PAGE_3, words_of(why), shown);
	int all = snprintf((char *)bytes, CONTENT_NOTICE_BYTES, HEAD "%s", (unsigned)length,
		head_alone ? "" : page);

	return (unsigned)all;
}

// What is not printable becomes '?', so that it stays one line.
unsigned content_notice_reply(
	uint8_t bytes[CONTENT_NOTICE_BYTES], const char *id, enum content_notice_why why)
{
	char shown[ID_MAX];
	unsigned n = 0;

	for (; id[n] && n + 1 < sizeof(shown); n++)
		shown[n] = id[n] >= 0x20 && id[n] < 0x7f ? id[n] : '?';
	shown[n] = 0;
	return (unsigned)snprintf((char *)bytes, CONTENT_NOTICE_BYTES, REPLY, words_of(why), shown);
}

// Nothing of the server's half has left behind `from64`, and all before it: what lies between was
// not consumed, or waits.
static bool stands_at(const struct lcore *lcore, uint32_t ref, uint64_t from64)
{
	uint32_t track = flow_cold_at(lcore->flows, ref)->track;

	if (!track)
		return false;
	const struct tcp_half *server = &track_at(lcore->tracker, track)->half[HALF_S2C];

	return server->flags & HALF_STARTED && !(server->flags & (HALF_CLOSING | HALF_FREE)) &&
	       server->sent == from64 && server->left <= from64;
}

void report_notice(struct feeding *feeding, const struct rule *rule,
	const struct content_answer *answer, enum content_notice_why why)
{
	struct flow_content *flow = feeding->flow;
	struct lcore *lcore = feeding->lcore;

	if (!rule->content->notice || !flow->decoder || !flow->decoder->answer)
		return;
	if (!answer->known || !flow_both_heard(flow_at(lcore->flows, flow->ref)) ||
		!stands_at(lcore, flow->ref, answer->from64)) {
		lcore->stats.notices_late++;
		return;
	}
	flow->notice = (uint8_t)why;
	flow->noticed = *answer;
	memcpy(flow->notice_id, rule->id, sizeof(flow->notice_id));
}

struct content_answer report_answer(const struct feeding *feeding, unsigned half)
{
	const struct flow_content *flow = feeding->flow;
	struct content_answer answer = {0};

	if (flow->decoder && flow->decoder->answer)
		flow->decoder->answer(flow->state, half, &answer);
	return answer;
}

bool flow_content_notice(const struct lcore *lcore, uint32_t ref, struct content_notice *notice)
{
	const struct flow_content *flow = content_flow_of(lcore, ref);

	if (likely(!flow || !flow->notice))
		return false;
	notice->from64 = flow->noticed.from64;
	if (flow->noticed.reply)
		notice->length = (uint16_t)content_notice_reply(
			notice->bytes, flow->notice_id, flow->notice);
	else
		notice->length = (uint16_t)content_notice_page(
			notice->bytes, flow->notice_id, flow->notice, flow->noticed.no_body);
	return true;
}
