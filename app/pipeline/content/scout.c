// SPDX-License-Identifier: BSD-3-Clause
// Looks at the first request of a flow before its application is known. That is known when the
// request's head has come, and what came of it in earlier segments has left by then: the words of
// it that a rule may want changed are changed as they come. The decoder that the flow gets then
// begins with its first byte, and goes on as if it had changed them itself.
#include <string.h>
#include "pipeline/content/speaks_http.h"
#include "pipeline/content/state.h"
#include "pipeline/flow/expect.h"

#define FIRST_BYTES 32 // that say whether it may be HTTP

// The first bytes of the client's half, with those of the span.
static bool may_be_http(const struct span *span, const struct content_prefix *first)
{
	uint8_t bytes[FIRST_BYTES];
	uint32_t n = RTE_MIN(first->length[HALF_C2S], (uint32_t)sizeof(bytes));
	uint32_t more = RTE_MIN(span_length(span), (uint32_t)sizeof(bytes) - n);

	if (n)
		memcpy(bytes, first->bytes[HALF_C2S], n);
	memcpy(bytes + n, span_bytes(span), more);
	const struct content_prefix begins = {.bytes = {bytes}, .length = {n + more}};

	return content_speaks_http(&begins);
}

static void scout_feed(struct feeding *feeding, const struct span *span)
{
	struct flow_content *flow = feeding->flow;
	struct content_sink sink = content_report;
	struct content_turn turn = {.sink = &sink, .memory = feeding->content->memory};

	sink.ctx = feeding;
	if (flow->fed64[HALF_C2S] == FED_UNKNOWN)
		return;
	if (flow->decoder->feed(flow->state, span, &turn) != CONTENT_FED)
		flow->fed64[HALF_C2S] = FED_UNKNOWN; // it is over
	flow->scouted.until64 += turn.taken;
}

static struct flow_content *scout_begin(
	struct lcore *lcore, uint32_t ref, const struct content_prefix *first)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct flow_content *flow = content_flow_take(lcore, ref, &content_http_first);

	if (!flow)
		return NULL;
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};
	const struct span before = {.unchecked = first->bytes[HALF_C2S],
		.extent = first->length[HALF_C2S],
		.half = HALF_C2S};

	flow->ref = ref;
	flow->scouts = true;
	flow->since_ns = flow_at(lcore->flows, ref)->start_ns;
	flow->fed64[HALF_C2S] = 0;
	cold->content = (uint16_t)(flow - lcore->content->flows);
	flow->asks = content_asks_of(lcore, ref);
	if (before.extent)
		scout_feed(&feeding, &before);
	return flow;
}

void flow_content_scout(struct lcore *lcore, uint32_t ref, const struct span *span,
	const struct content_prefix *first)
{
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct flow_content *flow = content_flow_of(lcore, ref);

	if (span->half != HALF_C2S || span_is_gap(span) || cold->expected != EXPECT_NONE)
		return;
	if (!flow && cold->content == CONTENT_NONE && may_be_http(span, first) &&
		flow_content_edits(lcore, ref))
		flow = scout_begin(lcore, ref, first);
	if (!flow || !flow->scouts)
		return;
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};

	if (flow->epoch != lcore->epoch)
		flow->asks = content_asks_of(lcore, ref);
	flow->epoch = lcore->epoch;
	scout_feed(&feeding, span);
}

bool flow_content_scouts(const struct lcore *lcore, uint32_t ref)
{
	const struct flow_content *flow = content_flow_of(lcore, ref);

	return flow && flow->scouts;
}
