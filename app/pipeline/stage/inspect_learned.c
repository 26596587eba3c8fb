// SPDX-License-Identifier: BSD-3-Clause
// Puts what flows in clear announce into the caches, and names flows by what the caches know.
#include "pipeline/stage/inspect_learned.h"
#include <netinet/in.h>
#include <string.h>
#include "pipeline/vocab/fault.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/flow/expect.h"
#include "pipeline/lcore/hints.h"
#include "pipeline/cache/endpoint_cache.h"

// Keyed: nobody can speak from an address that takes the share of another.
static uint32_t teller_of(const struct lcore *lcore, const uint8_t address[16])
{
	uint64_t words[2];

	memcpy(words, address, 16);
	return hash_words(&lcore->parse.seed, words, 2);
}

static void broadcast(struct lcore *lcore, const struct endpoint_entry *entry, bool is_name)
{
	hints_broadcast(lcore, is_name ? HINT_NAME : HINT_ENDPOINT, entry, sizeof(*entry), true);
}

static bool may_teach(const struct flow *flow)
{
	return flow_both_heard(flow) || FAULT(UNASKED);
}

static void learn_peer(
	struct inspection *in, const struct learned_endpoint *endpoint, uint8_t l4_proto)
{
	struct lcore *lcore = in->lcore;
	struct endpoint_entry entry = {
		.key = {.port = endpoint->port, .l4_proto = l4_proto, .realm = in->cold->realm},
		.created_ns = lcore->now_ns,
		.expires_ns = lcore->now_ns + ENDPOINT_TTL_S * NS_PER_S,
		.flow_id = packet_flow_id(lcore, in->ctx),
		.teller = teller_of(lcore, in->cold->ends.address[endpoint->half & 1]),
		.app = in->flow->app,
		.from = endpoint->from,
		.secret = endpoint->secret,
	};

	memcpy(entry.key.address, endpoint->address, 16);
	if (!endpoint_cache_learn(lcore, lcore->endpoints, &entry)) {
		lcore->stats.endpoints_refused++;
		return;
	}
	lcore->stats.endpoints_learned++;
	broadcast(lcore, &entry, false);
}

void learned_expectation(void *ctx, const struct expectation *expectation)
{
	const struct inspection *in = ctx;
	bool one_sided = !may_teach(in->flow), claimed = one_sided || expectation->claimed;

	if (expectation->claimed && !content_is_asked(in->lcore))
		return; // of no use
	if (one_sided && !(expectation->as == EXPECTED_TFTP && content_is_asked(in->lcore))) {
		in->lcore->stats.expectations_refused++;
		return;
	}
	struct expected expected = {
		.what = *expectation,
		.parent = packet_flow_id(in->lcore, in->ctx),
		.teller =
			teller_of(in->lcore, in->cold->ends.address[HALF_C2S]), // a server has many
		.realm = in->cold->realm,
	};

	expected.what.claimed = claimed;
	expect_add(in->lcore, &expected, true);
}

void learned_transfer(void *ctx, const struct transfer_label *label)
{
	const struct inspection *in = ctx;

	expect_label(in->lcore->expect, in->cold->expected, label);
	flow_event_transfer(in->lcore, in->ctx->ref, label);
}

void learned_expected(struct lcore *lcore, uint32_t ref, struct evidence *evidence)
{
	const struct expected *expected =
		expect_at(lcore->expect, flow_cold_at(lcore->flows, ref)->expected);

	if (!expected)
		return;
	evidence->detail = (uint8_t)(expected->what.as + 1);
	evidence->offset = expected->parent;
	if (expected->what.as != EXPECTED_MEDIA) // a call is no transfer
		flow_event_transfer(lcore, ref, &expected->what.label);
}

void learned_expected_again(
	const struct lcore *lcore, struct flow *flow, const struct flow_cold *cold)
{
	const struct expected *expected = expect_at(lcore->expect, cold->expected);

	if (!expected || expected->what.claimed)
		return;
	flow->app = expected->what.app;
	flow->confidence = CONFIDENCE_CACHE;
	flow->decided_pkts = 1;
}

void learned_endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	struct inspection *in = ctx;

	if (!may_teach(in->flow) || endpoint->port < ENDPOINT_PORT_FIRST ||
		!endpoint_is_plausible(
			endpoint->address, in->cold->ends.address[endpoint->half & 1])) {
		in->lcore->stats.endpoints_refused++;
		return;
	}
	if (endpoint->l4_proto != IPPROTO_UDP)
		learn_peer(in, endpoint, IPPROTO_TCP);
	if (endpoint->l4_proto != IPPROTO_TCP)
		learn_peer(in, endpoint, IPPROTO_UDP);
}

// One address for several names: those of one application agree, others make it nobody's. (An
// entry without an application lives as long as the name's would.)
static void settle_name(struct lcore *lcore, struct endpoint_entry *entry)
{
	const struct endpoint_entry *known = endpoint_cache_find(lcore, lcore->names, &entry->key);

	if (known && known->app != entry->app)
		entry->app = APP_NONE;
	if (!known && entry->app == APP_NONE)
		return; // there is nothing to take back
	if (!endpoint_cache_learn(lcore, lcore->names, entry)) {
		lcore->stats.endpoints_refused++;
		return;
	}
	lcore->stats.names_learned++;
	broadcast(lcore, entry, true);
}

void learned_name(void *ctx, const struct learned_name *name)
{
	struct inspection *in = ctx;
	struct lcore *lcore = in->lcore;
	const struct user_apps *hosts = lcore->policy->user_apps;
	uint32_t ttl_s = RTE_MIN(RTE_MAX(name->ttl_s, NAME_TTL_MIN_S), NAME_TTL_MAX_S);
	uint16_t app;

	if (!may_teach(in->flow)) {
		lcore->stats.endpoints_refused++;
		return;
	}
	app = user_apps_of_host(hosts, name->name, name->length);

	if (app == APP_NONE && name->alias)
		app = user_apps_of_host(hosts, name->alias, name->alias_length);
	struct endpoint_entry entry = {
		.key = {.realm = in->cold->realm},
		.created_ns = lcore->now_ns,
		.expires_ns = lcore->now_ns + ttl_s * NS_PER_S,
		.flow_id = packet_flow_id(lcore, in->ctx),
		.teller = teller_of(lcore, in->cold->ends.address[HALF_S2C]) ^
			  teller_of(lcore, name->address), // a resolver tells everything
		.app = app,
		.from = LEARNED_DNS,
	};

	memcpy(entry.key.address, name->address, 16);
	settle_name(lcore, &entry);
	entry.app = app;
	memcpy(entry.key.client, in->cold->ends.address[HALF_C2S], 16);
	settle_name(lcore, &entry);
}

void learned_hint(struct lcore *lcore, const struct endpoint_entry *entry, bool is_name)
{
	endpoint_cache_learn(lcore, is_name ? lcore->names : lcore->endpoints, entry);
	lcore->stats.endpoints_replicated++;
}

void learned_age(struct lcore *lcore, unsigned budget)
{
	expect_age(lcore, budget);
	lcore->stats.endpoints_expired +=
		endpoint_cache_age(lcore->endpoints, lcore->now_ns, budget) +
		endpoint_cache_age(lcore->names, lcore->now_ns, budget);
}

static struct endpoint_key peer_key(const struct flow_cold *cold, unsigned end, uint8_t l4_proto)
{
	struct endpoint_key key = {
		.port = cold->ends.port[end], .l4_proto = l4_proto, .realm = cold->realm};

	memcpy(key.address, cold->ends.address[end], 16);
	return key;
}

static struct endpoint_key name_key(const struct flow_cold *cold, bool of_client)
{
	struct endpoint_key key = {.realm = cold->realm};

	memcpy(key.address, cold->ends.address[HALF_S2C], 16);
	if (of_client)
		memcpy(key.client, cold->ends.address[HALF_C2S], 16);
	return key;
}

// The responder listens; over UDP a peer speaks from the port that it listens on, too.
static const struct endpoint_entry *find_peer(
	struct lcore *lcore, const struct flow_cold *cold, uint8_t l4_proto)
{
	struct endpoint_key key = peer_key(cold, HALF_S2C, l4_proto);
	const struct endpoint_entry *entry = endpoint_cache_find(lcore, lcore->endpoints, &key);

	if (entry || l4_proto != IPPROTO_UDP)
		return entry;
	key = peer_key(cold, HALF_C2S, l4_proto);
	return endpoint_cache_find(lcore, lcore->endpoints, &key);
}

// What the client itself was reported counts before what anybody was.
static const struct endpoint_entry *find_name(struct lcore *lcore, const struct flow_cold *cold)
{
	struct endpoint_key key = name_key(cold, true);
	const struct endpoint_entry *entry = endpoint_cache_find(lcore, lcore->names, &key);

	if (entry)
		return entry;
	key = name_key(cold, false);
	return endpoint_cache_find(lcore, lcore->names, &key);
}

static const struct endpoint_entry *find(
	struct lcore *lcore, const struct flow_cold *cold, uint8_t l4_proto, bool is_name)
{
	return is_name ? find_name(lcore, cold) : find_peer(lcore, cold, l4_proto);
}

void learned_ask(struct lcore *lcore, struct flow_cold *cold, uint8_t l4_proto)
{
	const struct endpoint_entry *entry = NULL;

	cold->learned_app = APP_NONE;
	cold->named = cold->shaped = false;
	if (l4_proto != IPPROTO_TCP && l4_proto != IPPROTO_UDP)
		return;
	if (endpoint_cache_count(lcore->endpoints))
		entry = find_peer(lcore, cold, l4_proto);
	if (!entry && endpoint_cache_count(lcore->names))
		entry = find_name(lcore, cold);
	if (!entry)
		return;
	cold->learned_app = entry->app;
	cold->learned_from = entry->from;
}

static bool looks_like(const struct inspection *in, uint16_t app, const struct span *span)
{
	const struct app_proto *proto = app_get(app);

	return proto && proto->disguised && span_length(span) &&
	       proto->disguised(span, in->flow->l4_proto);
}

// They do not say whose they are.
static bool has_media(const struct classify_verdict *verdict)
{
	const struct app_proto *proto = app_get(verdict->app);

	return proto && proto->media;
}

// Payload has an answer of its own. That of a carrier which gave no name is not all there is.
static bool has_answer(const struct inspection *in, const struct classify_verdict *verdict)
{
	if (has_media(verdict))
		return false;
	if (verdict->app == APP_NONE || verdict->confidence < CONFIDENCE_CACHE)
		return verdict->app > app_count(); // a network that the operator knows
	return !(in->cold->learned_from == LEARNED_DNS && app_is_carrier(verdict->app) &&
		 verdict->final && !in->cold->named);
}

static void contradict(struct inspection *in, const struct classify_verdict *verdict)
{
	struct flow_cold *cold = in->cold;

	if (cold->learned_from == LEARNED_DNS || !verdict->final || has_media(verdict) ||
		verdict->confidence < CONFIDENCE_DPI || !flow_both_heard(in->flow))
		return;
	const struct endpoint_entry *entry = find_peer(in->lcore, cold, in->flow->l4_proto);

	cold->learned_app = APP_NONE;
	if (!entry || entry->app == verdict->app)
		return;
	struct endpoint_entry wrong = *entry;

	endpoint_cache_forget(in->lcore->endpoints, &wrong.key);
	in->lcore->stats.endpoints_wrong++;
	hints_broadcast(in->lcore, HINT_ENDPOINT_WRONG, &wrong, sizeof(wrong), true);
}

void learned_from_parser(struct inspection *in)
{
	const struct classify_verdict verdict = {
		.app = in->flow->app, .confidence = in->flow->confidence, .final = true};

	if (in->cold->learned_app != APP_NONE && in->cold->learned_app != in->flow->app)
		contradict(in, &verdict);
}

void learned_wrong(struct lcore *lcore, const struct endpoint_entry *entry)
{
	const struct endpoint_entry *known =
		endpoint_cache_find(lcore, lcore->endpoints, &entry->key);

	if (known && known->app == entry->app)
		endpoint_cache_forget(lcore->endpoints, &entry->key);
}

static void note(struct inspection *in, uint16_t app, enum confidence confidence)
{
	struct lcore *lcore = in->lcore;
	bool is_name = in->cold->learned_from == LEARNED_DNS;
	struct evidence *evidence = packet_evidence(lcore, in->ctx, EVIDENCE_LEARNED);

	evidence->app = app;
	evidence->confidence = (uint8_t)confidence;
	evidence->detail = in->cold->learned_from;
	const struct endpoint_entry *entry = find(lcore, in->cold, in->flow->l4_proto, is_name);

	if (!entry)
		return; // over since the flow began
	const struct endpoint_key key = entry->key;

	evidence->offset = entry->flow_id;
	endpoint_cache_hit(is_name ? lcore->names : lcore->endpoints, &key);
}

// A shape cannot tell applications apart that hide in the same way, and is no more than PARTIAL.
static bool is_shape(const struct classify_verdict *verdict)
{
	return verdict->confidence == CONFIDENCE_PARTIAL && verdict->signature == UINT16_MAX;
}

// The flow to a peer that others named has a shape: that it goes where the peers are says more of
// what it is than the shape does. A rule that asks for PARTIAL gets it all the same (stage_decide).
static bool keep_source(struct inspection *in, struct classify_verdict *verdict)
{
	struct flow_cold *cold = in->cold;
	bool news = in->flow->app != cold->learned_app || in->flow->confidence != CONFIDENCE_CACHE;

	if (!cold->shaped)
		in->ctx->flags |= CTX_UNDECIDED;
	cold->shaped = true;
	verdict->app = cold->learned_app;
	verdict->signature = UINT16_MAX;
	verdict->confidence = CONFIDENCE_CACHE;
	verdict->n_data_pkts = news ? in->flow->n_data_pkts : 0; // known since before
	if (news) {
		in->lcore->stats.endpoints_hits++;
		note(in, cold->learned_app, CONFIDENCE_CACHE);
	}
	return true;
}

// How the half of `span` begins, in one piece, when that has just become known.
static bool first_flight(const struct inspection *in, const struct span *span, struct span *first)
{
	*first = *span;
	if (in->flow->l4_proto != IPPROTO_TCP || !span->offset64)
		return true;
	if (span->offset64 >= UNCLOAK_BYTES)
		return false;
	first->unchecked = classify_prefix(
		in->lcore->classifier, in->flow->classify_state, span->half & 1, &first->extent);
	first->offset64 = 0;
	return first->unchecked;
}

// What hides from who has not seen its key: the cache knows who hears it, and that one's secrets.
static bool uncloaks(
	struct inspection *in, const struct span *span, struct classify_verdict *verdict)
{
	const struct app_proto *proto = app_get(in->cold->learned_app);
	uint8_t l4_proto = in->flow->l4_proto;
	struct span first;

	if (!proto || !proto->uncloaks || verdict->confidence >= CONFIDENCE_DPI ||
		!span_length(span) || !first_flight(in, span, &first))
		return false;
	const struct endpoint_key key = peer_key(in->cold, !span->half, l4_proto);
	const struct endpoint_entry *entry =
		endpoint_cache_find(in->lcore, in->lcore->endpoints, &key);

	if (!entry || !(entry->secret.has_node | entry->secret.has_user))
		return false;
	in->lcore->stats.uncloak_tried++;
	if (!proto->uncloaks(&first, &in->cold->ends, l4_proto, &entry->secret))
		return false;
	in->lcore->stats.uncloak_opened++;
	*verdict = (struct classify_verdict){.app = in->cold->learned_app,
		.signature = UINT16_MAX,
		.confidence = CONFIDENCE_VERIFIED,
		.n_data_pkts = in->flow->n_data_pkts,
		.final = true};
	classify_end(in->lcore->classifier, &in->flow->classify_state);
	note(in, verdict->app, CONFIDENCE_VERIFIED);
	return true;
}

// The flow may be what its ends are known for.
static bool may_be(const struct inspection *in, const struct span *span,
	const struct classify_work *work, const struct classify_verdict *verdict)
{
	const struct flow_cold *cold = in->cold;

	// a flow that says itself what it wants, and nothing that we know, is not of the name
	if (cold->learned_from == LEARNED_DNS)
		return !cold->named && !work->awaits_name;
	return looks_like(in, cold->learned_app, span) || (verdict->final && !has_media(verdict));
}

bool learned_apply(struct inspection *in, const struct span *span, const struct classify_work *work,
	struct classify_verdict *verdict)
{
	struct flow_cold *cold = in->cold;
	uint16_t app = cold->learned_app;

	cold->named |= work->named;
	if (likely(app == APP_NONE))
		return false;
	if (uncloaks(in, span, verdict))
		return true;
	if (cold->learned_from != LEARNED_DNS && is_shape(verdict) &&
		(verdict->app == app || in->flow->app == app))
		return keep_source(in, verdict);
	if (verdict->app == app)
		return false;
	if (has_answer(in, verdict)) {
		contradict(in, verdict);
		return false;
	}
	if (!may_be(in, span, work, verdict))
		return false;
	verdict->app = app;
	verdict->signature = UINT16_MAX;
	verdict->confidence = CONFIDENCE_CACHE;
	verdict->n_data_pkts = in->flow->n_data_pkts;
	if (cold->learned_from == LEARNED_DNS)
		in->lcore->stats.names_hits++;
	else
		in->lcore->stats.endpoints_hits++;
	note(in, app, CONFIDENCE_CACHE);
	return true;
}
