// SPDX-License-Identifier: BSD-3-Clause
// Decoders of flows: how they get them, how their bytes come to them, and how they lose them.
#include "pipeline/content/flow_content.h"

#include <netinet/in.h>
#include <string.h>
#include "content/edonkey/datagram.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/content/places.h"
#include "pipeline/content/report_work.h"
#include "pipeline/content/torrents.h"
#include "pipeline/flow/expect.h"
#include "pipeline/flow/table.h"
#include "pipeline/vocab/pages.h"

// Of a flow of which nothing can be refused nobody can be made to wait: what a span decodes to is
// told at once. All such flows have so many turns' budgets together in a turn; who sends what
// decodes to more is decoded no longer, and counted.
#define ROUNDS_AT_ONCE 64

// Large windows (br, zstd) leave an eighth of decoders' memory to others, where it is enough for
// more than one of them.
#define RESERVE_FROM ((uint64_t)32 << 20)
#define RESERVE_PART 8

static void decoders_find(struct content *content)
{
	for (uint16_t app = 1; app < APPS_MAX; app++) {
		const struct app_proto *proto = app_get(app);

		if (proto)
			content->decoder_of[app] = content_decoder_of(proto->name);
		if (proto && proto->datagram_ids)
			content->ids = proto;
		if (proto && proto->overhear)
			content->overheard = app;
	}
}

static size_t pool_bytes(uint32_t flows)
{
	return sizeof(struct content) + (flows + 1) * sizeof(struct flow_content);
}

bool content_new(struct lcore *lcore, const struct content_limits *limits)
{
	uint32_t flows = RTE_MIN(limits->flows, (uint32_t)CONTENT_FLOWS_MAX);
	struct content *content;

	if (!flows)
		return true;
	content = pages_new(pool_bytes(flows), lcore->socket);
	if (!content)
		return false;
	lcore->content = content;
	content->turn_bytes = limits->turn_bytes;
	content->left = limits->turn_bytes;
	content->left_at_once = ROUNDS_AT_ONCE * (uint64_t)limits->turn_bytes;
	content->n_flows = flows;
	content_places_init(lcore, content, limits->source_pct);
	decoders_find(content);
	content->memory = content_memory_new(limits->memory_bytes, lcore->socket);
	if (content->memory && limits->memory_bytes >= RESERVE_FROM)
		content_memory_reserve(content->memory, limits->memory_bytes / RESERVE_PART);
	content->channel = content_channel_new(lcore->index, limits->arena_bytes, lcore->socket);
	content->refused = refused_files_new(limits->refused, limits->refused_s, lcore->socket);
	if (limits->packet_bytes)
		content->incidents = incident_ring_new(limits->packet_bytes, lcore->socket);
	if (!torrents_join(&lcore->dp->torrents, limits->torrents_bytes, &lcore->parse.seed,
		    lcore->socket))
		return false;
	if (lcore->dp->torrents)
		content->torrents = torrents_for(lcore);
	content->torrent_type = file_type_by_word("torrent");
	return content->memory && content->channel && content->refused &&
	       (content->incidents || !limits->packet_bytes);
}

void content_free(struct lcore *lcore)
{
	if (!lcore->content)
		return;
	content_channel_free(lcore->content->channel);
	content_memory_free(lcore->content->memory);
	refused_files_free(lcore->content->refused);
	incident_ring_free(lcore->content->incidents);
	if (lcore->content->torrents.hold)
		torrents_leave(&lcore->dp->torrents);
	munmap(lcore->content, pool_bytes(lcore->content->n_flows));
	lcore->content = NULL;
}

void content_refused_hint(struct lcore *lcore, const struct refused_file *file)
{
	if (lcore->content)
		refused_files_hint(lcore, lcore->content->refused, file);
}

void content_turn_begin(struct lcore *lcore)
{
	lcore->content->left = lcore->content->turn_bytes;
	lcore->content->left_at_once = ROUNDS_AT_ONCE * (uint64_t)lcore->content->turn_bytes;
	if (unlikely(lcore->content->owed))
		content_report_owed(lcore->content);
}

struct content_channel *content_channel_of(const struct lcore *lcore)
{
	return lcore->content ? lcore->content->channel : NULL;
}

struct flow_content *content_flow_take(
	struct lcore *lcore, uint32_t ref, const struct content_decoder *decoder)
{
	struct content *content = lcore->content;
	void *state = content_take(content->memory, decoder->state_bytes);
	struct flow_content *flow = state ? content_place_take(lcore, ref) : NULL;

	if (!flow) {
		content_give(content->memory, state);
		return NULL;
	}
	memset(state, 0, decoder->state_bytes);
	flow->decoder = decoder;
	flow->state = state;
	flow->data_app = decoder->data_app ? app_find(decoder->data_app) : APP_NONE;
	flow->fed64[0] = flow->fed64[1] = FED_UNKNOWN;
	return flow;
}

static enum content_state state_of(const struct lcore *lcore, const struct flow_content *flow)
{
	const struct content_tally *c2s = content_tally_of(lcore, flow->ref, HALF_C2S);
	const struct content_tally *s2c = content_tally_of(lcore, flow->ref, HALF_S2C);

	if (flow->more[0] || flow->more[1])
		return CONTENT_STATE_PROCESSING;
	for (const struct open_file *file = flow->files; file; file = file->next)
		if (file->undecided)
			return CONTENT_STATE_PROCESSING;
	return c2s->files || s2c->files || c2s->messages || s2c->messages || flow->text_length[0] ||
			       flow->text_length[1]
		       ? CONTENT_STATE_RECEIVING
		       : CONTENT_STATE_INITIAL;
}

// The state that it is in, and the time spent in the one before.
static void settle(struct lcore *lcore, struct flow_content *flow)
{
	enum content_state state = state_of(lcore, flow);

	if (state == flow->phase)
		return;
	if (lcore->now_ns > flow->since_ns)
		flow->spent_ns[flow->phase] += lcore->now_ns - flow->since_ns;
	flow->phase = (uint8_t)state;
	flow->since_ns = lcore->now_ns;
}

static const struct content_torrents *torrents_of(const struct content *content)
{
	return content->torrents.hold ? &content->torrents : NULL;
}

// What was said in clear of who is connected to, as long as the decoder may need it.
static const struct endpoint_secret *secret_of(
	struct lcore *lcore, const struct flow_content *flow, const struct flow_cold *cold)
{
	struct endpoint_key key = {
		.port = cold->ends.port[HALF_S2C], .l4_proto = IPPROTO_TCP, .realm = cold->realm};
	const struct endpoint_entry *entry;

	if (!flow->decoder->opens ||
		(flow->fed64[HALF_C2S] && flow->fed64[HALF_C2S] != FED_UNKNOWN))
		return NULL;
	memcpy(key.address, cold->ends.address[HALF_S2C], sizeof(key.address));
	entry = endpoint_cache_find(lcore, lcore->endpoints, &key);
	return entry ? &entry->secret : NULL;
}

// One call, or as many as one span may ask for.
static enum content_taken feed_on(struct feeding *feeding, const struct span *span,
	const struct decoder_sink *others, bool waits)
{
	struct lcore *lcore = feeding->lcore;
	struct flow_content *flow = feeding->flow;
	const struct flow_cold *cold = flow_cold_at(lcore->flows, flow->ref);
	const struct expected *expected = expect_at(lcore->expect, cold->expected);
	struct content_sink sink = content_report;
	struct content_turn turn = {
		.sink = &sink,
		.memory = feeding->content->memory,
		.others = others,
		.ends = &cold->ends,
		.app = flow_at(lcore->flows, flow->ref)->app,
		.data_app = flow->data_app ? flow->data_app : flow_at(lcore->flows, flow->ref)->app,
		.announced = expected ? &expected->what.label : NULL,
		.secret = secret_of(lcore, flow, cold),
		.asks_opaque = flow->asks.opaque != ACTION_PASS,
		.torrents = torrents_of(feeding->content),
	};
	enum content_fed fed = CONTENT_MORE;
	unsigned half = span->half & 1;
	uint64_t *left = waits ? &feeding->content->left : &feeding->content->left_at_once;

	sink.ctx = feeding;
	feeding->decodes = true;
	for (unsigned round = 0; fed == CONTENT_MORE && round < ROUNDS_AT_ONCE && *left; round++) {
		uint32_t may = (uint32_t)RTE_MIN(*left, (uint64_t)feeding->content->turn_bytes);

		turn.output = may;
		fed = flow->decoder->feed(flow->state, span, &turn);
		*left -= may - turn.output;
		if (flow->refused)
			break;
	}
	report_notes_over(feeding);
	flow->fed64[half] = span->offset64 + turn.taken;
	// also where all is read, and there was no memory for what follows from it
	flow->more[half] = fed == CONTENT_MORE || fed == CONTENT_NO_MEMORY;
	settle(lcore, flow);
	if (flow->refused || fed == CONTENT_FED)
		return CONTENT_TAKEN;
	if (fed == CONTENT_OVER)
		return CONTENT_ENDED;
	if (fed == CONTENT_NO_MEMORY)
		return CONTENT_STARVED;
	if (waits)
		return CONTENT_LATER;
	lcore->stats.content_lost++;
	return CONTENT_ENDED;
}

// What is not fed yet of a span, and what is missing before it as a gap.
static enum content_taken feed_rest(struct feeding *feeding, const struct span *span,
	const struct decoder_sink *others, bool waits)
{
	uint64_t *fed = &feeding->flow->fed64[span->half & 1];
	struct span rest = *span;
	enum content_taken taken;

	if (*fed == FED_UNKNOWN)
		*fed = span->offset64;
	if (*fed < span->offset64) {
		const struct span gap = {.offset64 = *fed,
			.extent = (uint32_t)RTE_MIN(span->offset64 - *fed, (uint64_t)UINT32_MAX),
			.half = span->half,
			.flags = SPAN_GAP};

		taken = feed_on(feeding, &gap, others, waits);
		if (taken != CONTENT_TAKEN || feeding->flow->refused)
			return taken;
	}
	uint64_t before = *fed - span->offset64;

	if (before > span->extent ||
		(before == span->extent && span->extent && !feeding->flow->more[span->half & 1]))
		return CONTENT_TAKEN; // it was fed, and not taken for another's sake
	rest.offset64 += before;
	rest.extent -= (uint32_t)before;
	if (rest.unchecked)
		rest.unchecked += before;
	return feed_on(feeding, &rest, others, waits);
}

// What was looked at before there was a decoder: none of its words leaves as it came, or is late.
static struct scouted scout_end(struct lcore *lcore, uint32_t ref)
{
	const struct flow_content *flow = content_flow_of(lcore, ref);
	struct scouted scouted = {0};

	if (!flow || !flow->scouts)
		return scouted;
	scouted = flow->scouted;
	flow_content_end(lcore, ref);
	return scouted;
}

// What rules go by beside the application.
static uint8_t sureness(const struct lcore *lcore, uint32_t ref)
{
	unsigned shaped = flow_cold_at(lcore->flows, ref)->shaped;

	return (uint8_t)((unsigned)flow_at(lcore->flows, ref)->confidence << 1 | shaped);
}

bool flow_content_begin(struct lcore *lcore, uint32_t ref, const struct content_decoder *decoder,
	const struct content_prefix *prefix, const struct decoder_sink *others)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	const struct scouted scouted = scout_end(lcore, ref);
	struct flow_content *flow = content_flow_take(lcore, ref, decoder);

	if (!flow) {
		bool fresh = !prefix || !(prefix->length[0] | prefix->length[1]);

		lcore->stats.content_nomem++;
		cold->content = fresh ? CONTENT_WAITS : CONTENT_MISSED;
		content_mark(lcore, ref, HALF_C2S, CONTENT_MARK_MISSED);
		return false;
	}
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};

	lcore->stats.content_flows++;
	flow->ref = ref;
	flow->began_ns = lcore->now_ns;
	flow->since_ns = flow_at(lcore->flows, ref)->start_ns;
	cold->content = (uint16_t)(flow - lcore->content->flows);
	flow->epoch = lcore->epoch;
	flow->app = flow_at(lcore->flows, ref)->app;
	flow->sure = sureness(lcore, ref);
	flow->asks = content_asks_of(lcore, ref);
	flow->scouted = scouted;
	for (unsigned half = 0; prefix && half < 2; half++) {
		const struct span span = {.half = (uint8_t)half,
			.unchecked = prefix->bytes[half],
			.extent = prefix->length[half],
			.flags = cold->report.midstream & 1u << half ? SPAN_MIDSTREAM : 0};
		enum content_taken taken = CONTENT_TAKEN;

		flow->fed64[half] = 0;
		if (span.extent)
			taken = feed_on(&feeding, &span, others, false);
		if (taken == CONTENT_TAKEN)
			continue;
		flow_content_end(lcore, ref);
		if (taken == CONTENT_STARVED) {
			lcore->stats.content_nomem++;
			cold->content = CONTENT_MISSED;
			content_mark(lcore, ref, half, CONTENT_MARK_MISSED);
		}
		return taken == CONTENT_ENDED;
	}
	return true;
}

bool flow_content_begin_early(struct lcore *lcore, uint32_t ref,
	const struct content_decoder *decoder, const struct content_prefix *prefix,
	const struct decoder_sink *others)
{
	bool begun = flow_content_begin(lcore, ref, decoder, prefix, others);
	struct flow_content *flow = content_flow_of(lcore, ref);

	if (flow)
		flow->early = true;
	return begun;
}

bool flow_content_settles(struct lcore *lcore, uint32_t ref, const struct content_decoder *wanted)
{
	struct flow_content *flow = content_flow_of(lcore, ref);

	if (!flow || !flow->early)
		return false;
	flow->early = false;
	if (!wanted || wanted == flow->decoder || flow->refused)
		return false;
	flow_content_end(lcore, ref);
	return true;
}

// False: nothing that its decoder finds is asked for any more.
static bool follow_policy(struct lcore *lcore, struct flow_content *flow)
{
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};
	uint16_t app = flow_at(lcore->flows, flow->ref)->app;
	uint8_t sure = sureness(lcore, flow->ref);

	if (likely(flow->epoch == lcore->epoch && flow->app == app && flow->sure == sure) ||
		flow->refused)
		return true;
	bool surer = flow->sure != sure;

	flow->epoch = lcore->epoch;
	flow->app = app;
	flow->sure = sure;
	flow->asks = content_asks_of(lcore, flow->ref);
	if (surer)
		report_opaque_again(&feeding);
	return content_is_wanted(lcore, flow->decoder, &flow->asks);
}

static bool refuses_anything(const struct lcore *lcore, uint32_t ref)
{
	return lcore->policy->enforces && !(flow_at(lcore->flows, ref)->flags & FLOW_ALLOWED);
}

// A flow that has no decoder, as there was no room. One that may be refused gets it now, if nothing
// of it has passed; another is over.
static struct flow_content *begin_late(struct lcore *lcore, uint32_t ref, const struct span *span,
	const struct decoder_sink *others)
{
	struct content_prefix first = {0};
	const struct content_decoder *decoder = NULL;

	if (!span_is_gap(span)) {
		first.bytes[span->half & 1] = span_bytes(span);
		first.length[span->half & 1] = span_length(span);
	}
	if (flow_cold_at(lcore->flows, ref)->content == CONTENT_WAITS)
		decoder = flow_content_wanted(lcore, ref, &first);
	if (decoder)
		flow_content_begin(lcore, ref, decoder, NULL, others);
	return content_flow_of(lcore, ref);
}

enum content_taken flow_content_feed(struct lcore *lcore, uint32_t ref, const struct span *span,
	const struct decoder_sink *others)
{
	struct flow_content *flow = content_flow_of(lcore, ref);
	bool waits = refuses_anything(lcore, ref);

	if (flow_cold_at(lcore->flows, ref)->content == CONTENT_DONE)
		return CONTENT_ENDED;
	if (!flow) {
		struct content_asks asks = content_asks_of(lcore, ref);

		if (!waits || !content_asks_all(&asks) ||
			!content_may_be_wanted(lcore, ref, &asks)) {
			flow_cold_at(lcore->flows, ref)->content = CONTENT_DONE;
			return CONTENT_ENDED;
		}
		flow = begin_late(lcore, ref, span, others);
		if (!flow) // what came before was not looked at
			return CONTENT_STARVED;
	}
	if (unlikely(!follow_policy(lcore, flow))) {
		flow_content_end(lcore, ref);
		return CONTENT_ENDED;
	}
	if (flow->refused)
		return CONTENT_TAKEN;
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};
	// a datagram cannot be held, and decodes to no more than it is
	bool later = waits && content_asks_all(&flow->asks) && !(span->flags & SPAN_DATAGRAM);
	enum content_taken taken = feed_rest(&feeding, span, others, later);

	if (unlikely(flow->drops_datagram)) {
		flow->drops_datagram = false;
		return CONTENT_DROPPED;
	}
	if (taken == CONTENT_STARVED) {
		lcore->stats.content_nomem++;
		content_mark(lcore, ref, span->half, CONTENT_MARK_MISSED);
		if (!waits || !content_asks_all(&flow->asks))
			taken = CONTENT_ENDED;
	}
	if (taken == CONTENT_ENDED) {
		flow_content_end(lcore, ref);
		flow_cold_at(lcore->flows, ref)->content = CONTENT_DONE;
		content_mark(lcore, ref, span->half, CONTENT_MARK_ENDED);
	}
	return taken;
}

// What the policy says of the flow, when a datagram has named something.
static const struct content_asks *asks_once(struct feeding *feeding)
{
	struct flow_content *flow = feeding->flow;

	if (!flow->began_ns) {
		flow->began_ns = feeding->lcore->now_ns;
		flow->asks = content_asks_of(feeding->lcore, flow->ref);
	}
	return &flow->asks;
}

static void datagram_id(void *ctx, const struct content_id *id, unsigned half)
{
	struct feeding *feeding = ctx;

	if (asks_once(feeding)->ids)
		report_id(feeding, id, half);
}

static enum content_want datagram_file(void *ctx, const struct content_file *file)
{
	struct feeding *feeding = ctx;

	if (asks_once(feeding)->transfers)
		report_listed(feeding, file);
	return CONTENT_WANT_NAME;
}

// Ids that app/classify finds: those of torrents.
static void datagram_ids(struct feeding *feeding, const struct span *datagram)
{
	const struct app_proto *proto = feeding->content->ids;
	struct content_id ids[CONTENT_IDS_OF_DATAGRAM];
	unsigned n = proto ? proto->datagram_ids(datagram, ids, RTE_DIM(ids)) : 0;

	for (unsigned i = 0; i < n && i < RTE_DIM(ids); i++)
		datagram_id(feeding, &ids[i], datagram->half);
	if (n > RTE_DIM(ids) && asks_once(feeding)->ids && !feeding->flow->refused)
		content_report.note(feeding, CONTENT_NOTE_TOO_MANY_REQUESTS, datagram->half,
			datagram->offset64);
}

bool flow_content_datagram(
	struct lcore *lcore, uint32_t ref, const struct span *datagram, uint32_t *rule_uid)
{
	struct flow_content flow = {.ref = ref, .each_for_itself = true};
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = &flow};
	const struct content_sink sink = {
		.id = datagram_id, .file = datagram_file, .ctx = &feeding};

	if (lcore->asks_ids)
		datagram_ids(&feeding, datagram);
	if (!ed2k_datagram(datagram, lcore->content->memory, &sink))
		lcore->stats.content_nomem++;
	if (flow.refused)
		*rule_uid = flow.rule == RULE_DEFAULT ? 0 : lcore->policy->rules[flow.rule].uid;
	return flow.refused;
}

bool flow_content_others_over(struct lcore *lcore, uint32_t ref, bool over)
{
	struct flow_content *flow = content_flow_of(lcore, ref);

	if (flow)
		flow->others_over |= over;
	return flow && flow->others_over;
}

void flow_content_anew(struct lcore *lcore, uint32_t ref)
{
	struct flow_content *flow = content_flow_of(lcore, ref);

	if (!flow)
		return;
	struct content_turn turn = {
		.memory = lcore->content->memory, .torrents = torrents_of(lcore->content)};
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};
	struct content_sink sink = content_report;

	sink.ctx = &feeding;
	turn.sink = &sink;
	flow->decoder->over(flow->state, &turn);
	content_report_over(lcore, flow);
	memset(flow->state, 0, flow->decoder->state_bytes);
	flow->fed64[0] = flow->fed64[1] = FED_UNKNOWN;
	flow->untaken[0].hash = flow->untaken[1].hash = 0;
	flow->scouted = (struct scouted){0};
	flow->more[0] = flow->more[1] = false;
}

void flow_content_end(struct lcore *lcore, uint32_t ref)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct flow_content *flow = content_flow_of(lcore, ref);
	struct content *content = lcore->content;

	if (flow) {
		flow_content_anew(lcore, ref);
		content_give(content->memory, flow->state);
		content_place_give(content, flow);
	}
	cold->content = CONTENT_NONE;
}

bool flow_content_refuses(
	const struct lcore *lcore, uint32_t ref, uint32_t *rule, enum action *action)
{
	const struct flow_content *flow = content_flow_of(lcore, ref);

	if (!flow || !flow->refused)
		return false;
	*rule = flow->rule;
	*action = flow->action;
	return true;
}

bool flow_content_is_told(const struct lcore *lcore, uint32_t ref)
{
	const struct flow_content *flow = content_flow_of(lcore, ref);

	return flow && flow->told;
}

const struct item_id *flow_content_item(const struct lcore *lcore, uint32_t ref)
{
	const struct flow_content *flow = content_flow_of(lcore, ref);

	return flow && flow->refused && flow->refused_item.number ? &flow->refused_item : NULL;
}
