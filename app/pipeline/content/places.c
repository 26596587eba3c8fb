// SPDX-License-Identifier: BSD-3-Clause
// Shares out the places for flows that are decoded.
#include "pipeline/content/places.h"

void content_places_init(const struct lcore *lcore, struct content *content, uint32_t source_pct)
{
	uint64_t most = (uint64_t)content->n_flows * source_pct / 100;

	content->shares.seed = &lcore->flows->seed;
	content->shares.most = most ? (uint32_t)most : 1;
}

static struct flow_share share_of(const struct lcore *lcore, uint32_t ref)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	bool v6 = flow->flags & FLOW_V6;
	const struct flow_source source =
		flow_source_of(flow_key_of(lcore->flows, flow->key_pos, v6), flow->flags);

	return flow_share_of(&lcore->content->shares, &source);
}

static bool is_scarce(const struct content *content)
{
	return content->n_taken > content->n_flows - content->n_flows / 4;
}

static struct flow_content *free_place(struct content *content)
{
	uint32_t place = content->first_free;

	if (place != CONTENT_NONE)
		content->first_free = content->flows[place].next_free;
	else if (content->n_touched < content->n_flows)
		place = ++content->n_touched;
	return place == CONTENT_NONE ? NULL : &content->flows[place];
}

struct flow_content *content_place_take(struct lcore *lcore, uint32_t ref)
{
	struct content *content = lcore->content;
	struct flow_share share = share_of(lcore, ref);
	struct flow_content *flow;

	if (is_scarce(content) && flow_share_full(&content->shares, share)) {
		lcore->stats.content_over_share++;
		return NULL;
	}
	flow = free_place(content);
	if (!flow)
		return NULL;
	*flow = (struct flow_content){.share = share};
	flow_share_add(&content->shares, share);
	content->n_taken++;
	return flow;
}

void content_place_give(struct content *content, struct flow_content *flow)
{
	flow_share_sub(&content->shares, flow->share);
	content->n_taken--;
	flow->next_free = content->first_free;
	content->first_free = (uint32_t)(flow - content->flows);
}
