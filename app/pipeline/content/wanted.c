// SPDX-License-Identifier: BSD-3-Clause
// Which flows are decoded, and what may be changed of them, as the policy in force asks.
#include <netinet/in.h>
#include "pipeline/content/speaks_http.h"
#include "pipeline/content/state.h"
#include "pipeline/flow/expect.h"
#include "pipeline/flow/facts.h"

struct content_asks content_asks_of(const struct lcore *lcore, uint32_t ref)
{
	struct flow_ends ends;
	struct decide_input input;

	struct content_asks asks = content_asks_nothing();

	if (flow_at(lcore->flows, ref)->flags & FLOW_ALLOWED)
		return asks;
	if (lcore->policy->asks_content) {
		flow_content_input(lcore, ref, &ends, &input);
		asks = content_asks(lcore->policy, &input);
	}
	if (lcore->blocked_ids) {
		asks.ids = true;
		asks.enforces |= lcore->policy->enforces;
	}
	return asks;
}

static bool finds_ids_alone(const struct content_decoder *decoder)
{
	return decoder->finds == CONTENT_FINDS_IDS;
}

static const struct content_decoder *decoder_for(
	const struct lcore *lcore, uint32_t ref, const struct content_prefix *prefix)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct expected *expected =
		expect_at(lcore->expect, flow_cold_at(lcore->flows, ref)->expected);
	bool claimed = expected && expected->what.claimed && flow->confidence < CONFIDENCE_DPI;
	uint16_t app = claimed ? expected->what.app : flow->app;
	const struct content_decoder *decoder =
		app < APPS_MAX ? lcore->content->decoder_of[app] : NULL;

	// a tracker over HTTP is BitTorrent, too
	if ((!decoder || decoder->rides_http || finds_ids_alone(decoder)) && prefix &&
		flow->l4_proto == IPPROTO_TCP && content_speaks_http(prefix))
		decoder = content_decoder_of("http");
	return decoder;
}

// What it finds, or tells, is what the policy asks for.
static bool is_asked_of(const struct content_decoder *decoder, const struct content_asks *asks)
{
	return (asks->transfers && decoder->finds & CONTENT_FINDS_FILES) ||
	       (asks->chat && decoder->finds & CONTENT_FINDS_CHAT) ||
	       (asks->ids && decoder->finds & CONTENT_FINDS_IDS) ||
	       (asks->opaque != ACTION_PASS && decoder->finds & CONTENT_FINDS_OPAQUE);
}

bool content_is_wanted(const struct lcore *lcore, const struct content_decoder *decoder,
	const struct content_asks *asks)
{
	if (lcore->dp->extracts)
		return !finds_ids_alone(decoder);
	if (finds_ids_alone(decoder))
		return asks->ids || asks->audit_transfers;
	return is_asked_of(decoder, asks);
}

const struct content_decoder *flow_content_wanted(
	const struct lcore *lcore, uint32_t ref, const struct content_prefix *first)
{
	const struct content_decoder *decoder;

	if (!content_is_asked(lcore))
		return NULL;
	decoder = decoder_for(lcore, ref, first);
	if (!decoder)
		return NULL;
	struct content_asks asks = content_asks_of(lcore, ref);

	return content_is_wanted(lcore, decoder, &asks) ? decoder : NULL;
}

bool content_may_be_wanted(const struct lcore *lcore, uint32_t ref, const struct content_asks *asks)
{
	const struct content_decoder *own = decoder_for(lcore, ref, NULL);
	bool tcp = flow_at(lcore->flows, ref)->l4_proto == IPPROTO_TCP;

	return (own && content_is_wanted(lcore, own, asks)) ||
	       (tcp && content_is_wanted(lcore, content_decoder_of("http"), asks));
}

uint16_t flow_content_overheard(const struct lcore *lcore)
{
	return content_is_asked(lcore) ? lcore->content->overheard : APP_NONE;
}

bool flow_content_overhears(const struct lcore *lcore, uint32_t ref)
{
	return flow_content_overheard(lcore) != APP_NONE && content_asks_of(lcore, ref).chat;
}

unsigned flow_content_edits(const struct lcore *lcore, uint32_t ref)
{
	const struct flow_content *flow = content_flow_of(lcore, ref);
	struct content_asks asks = content_asks_of(lcore, ref);

	if (asks.edits)
		return 1u << HALF_C2S | 1u << HALF_S2C;
	if (!asks.whole && !asks.plain)
		return 0;
	return flow ? flow->decoder->words : 1u << HALF_C2S;
}
