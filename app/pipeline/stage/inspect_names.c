// SPDX-License-Identifier: BSD-3-Clause
// Reads host names in long heads and in later requests of a connection.
#include "pipeline/stage/inspect_names.h"
#include <netinet/in.h>
#include <string.h>
#include "pipeline/stage/packet_rules.h"
#include "classify/names/host_name.h"
#include "pipeline/flow/app_usage.h"

// What a request is that names nobody's host.
static uint16_t known_as(const struct names_follow *names, uint16_t app)
{
	return app != APP_NONE ? app : app_find(names->http ? "http" : "tls");
}

// A second hello without a name takes nothing from the first (is_renamed).
static bool is_refused(const struct inspection *in, uint16_t app)
{
	const struct names_follow *names = &in->cold->names;

	return (app != APP_NONE || names->http) &&
	       packet_app_is_blocked(in->lcore, in->ctx, known_as(names, app), CONFIDENCE_DPI);
}

// A name that is refused counts more than anything that is not: else who begins with what is let
// pass, and is known by a pattern, a network or a peer's word, could ask for any name behind it.
static bool stands_first(
	const struct inspection *in, uint16_t name, uint16_t app, enum confidence confidence)
{
	return name != APP_NONE && name != app &&
	       packet_app_is_blocked(in->lcore, in->ctx, name, CONFIDENCE_DPI) &&
	       !packet_app_is_blocked(in->lcore, in->ctx, app, confidence);
}

// What explain tells of a name in a flow that is known; of others classification tells.
static void note_name(const struct inspection *in, const struct host_name *name, uint16_t app)
{
	if (app == APP_NONE || app == in->flow->app || !(in->flow->flags & FLOW_APP_FINAL))
		return;
	struct evidence *evidence = packet_evidence(in->lcore, in->ctx, EVIDENCE_USER_APP);
	uint32_t n = RTE_MIN((uint32_t)name->length, (uint32_t)EVIDENCE_BYTES);

	evidence->app = app;
	evidence->confidence = CONFIDENCE_DPI;
	evidence->detail = EVIDENCE_BY_HOST;
	evidence->half = HALF_C2S;
	evidence->offset = name->length - n;
	evidence->length = evidence->n_bytes = (uint8_t)n;
	evidence->looked_at = (uint16_t)name->length;
	memcpy(evidence->bytes, name->bytes + name->length - n, n);
}

// Names of a span: each may be new, what rules say of an application is not. It is asked once.
#define ANSWERS 32

struct finding {
	const struct inspection *in;
	uint32_t known, refused; // by slot
	uint16_t app[ANSWERS];
};

static bool is_refused_cached(struct finding *finding, uint16_t app)
{
	uint32_t slot = app % ANSWERS, bit = UINT32_C(1) << slot;

	if (app == APP_NONE && !finding->in->cold->names.http)
		return false;
	if (finding->known & bit && finding->app[slot] == app)
		return finding->refused & bit;
	finding->known |= bit;
	finding->app[slot] = app;
	finding->refused &= ~bit;
	if (is_refused(finding->in, app))
		finding->refused |= bit;
	return finding->refused & bit;
}

// Of several requests in a span, and of several names of a request, one that is refused stands
// before the others.
static void found(void *ctx, const struct host_name *name, bool also)
{
	struct finding *finding = ctx;
	const struct inspection *in = finding->in;
	struct names_follow *names = &in->cold->names;
	uint16_t app = user_apps_of_host(in->lcore->policy->user_apps, name->bytes, name->length);

	in->lcore->stats.names_requests += !also;
	if ((names->fresh && is_refused_cached(finding, names->app)) ||
		(also && !is_refused_cached(finding, app)))
		return;
	note_name(in, name, app);
	names->app = app;
	names->fresh = true;
}

static bool wanted(const struct inspection *in)
{
	const struct policy *policy = in->lcore->policy;

	return policy->enforces_app && !(in->flow->flags & FLOW_ALLOWED) &&
	       user_apps_have_hosts(policy->user_apps);
}

bool inspect_names(struct inspection *in, const struct span *span)
{
	struct lcore *lcore = in->lcore;
	struct names_follow *names = &in->cold->names;

	if (names->phase == NAMES_OVER || in->flow->l4_proto != IPPROTO_TCP)
		return true;
	if (names->phase == NAMES_BEGIN && !wanted(in))
		return true;
	if ((span->half & 1) == HALF_S2C && !names->asks && !names->http)
		return true;
	const struct name_user user = {
		.ends = &in->cold->ends,
		.now_ns = lcore->now_ns,
		.unheard = !flow_both_heard(in->flow),
		.inside = in->flow->flags & FLOW_C2S_INSIDE,
	};

	struct finding finding = {.in = in, .known = 0};

	if (!names_follow_feed(lcore->name_heads, names, span, &user, found, &finding)) {
		lcore->stats.names_nomem++;
		if (wanted(in)) {
			in->cold->report.dropped |= 1 << STREAM_TARGET_CLASSIFY_STATES;
			return false;
		}
		names_follow_end(lcore->name_heads, names);
	}
	if (names->kept)
		lcore->stats.names_displaced = name_heads_displaced(lcore->name_heads);
	packet_flag_if(in->ctx, CTX_DECODED, names->phase == NAMES_OVER);
	return true;
}

static bool is_carrier(uint16_t app)
{
	return app == APP_NONE || app_is_carrier(app);
}

// A request's names: one that is refused counts more than another one, by which the flow is known;
// nobody's host, if that is one of the policy's own.
static bool is_asked_otherwise(const struct inspection *in, uint16_t app)
{
	const struct names_follow *names = &in->cold->names;

	return (names->app != APP_NONE ||
		       user_apps_place(in->lcore->policy->user_apps, app) != UINT32_MAX) &&
	       is_refused(in, names->app);
}

// A second hello stands in place of the first one (RFC 8446 4.1.4): of what the flow is known as
// counts no name, and nothing against an application that is refused.
static bool is_renamed(
	const struct inspection *in, uint16_t app, uint16_t signature, enum confidence confidence)
{
	const struct names_follow *names = &in->cold->names;

	bool by_name = signature == UINT16_MAX && confidence == CONFIDENCE_DPI;

	if (stands_first(in, names->app, app, confidence))
		return true;
	if (names->http)
		return by_name && app != names->app && is_asked_otherwise(in, app);
	if (names->hellos < 2 || app == names->app)
		return false;
	if (by_name)
		return !packet_app_is_blocked(in->lcore, in->ctx, app, CONFIDENCE_DPI);
	return names->app != APP_NONE && is_refused(in, names->app);
}

void inspect_names_first(struct inspection *in, uint16_t name, struct classify_verdict *verdict)
{
	if (!stands_first(in, name, verdict->app, verdict->confidence))
		return;
	*verdict = (struct classify_verdict){
		.app = name,
		.signature = UINT16_MAX,
		.confidence = CONFIDENCE_DPI,
		.n_data_pkts = in->flow->n_data_pkts,
		.final = true,
	};
	classify_end(in->lcore->classifier, &in->flow->classify_state);
}

bool inspect_names_merge(struct inspection *in, struct classify_verdict *verdict)
{
	struct names_follow *names = &in->cold->names;

	if (!names->fresh)
		return false;
	bool renamed = is_renamed(in, verdict->app, verdict->signature, verdict->confidence);

	if (!is_carrier(verdict->app) && verdict->app != names->app && !renamed)
		return false;
	if (names->app == APP_NONE && !(renamed && verdict->final)) {
		names->fresh = !verdict->final;
		return false;
	}
	if (names->app == APP_NONE)
		names->app = known_as(names, APP_NONE);
	*verdict = (struct classify_verdict){
		.app = names->app,
		.signature = verdict->app == names->app ? verdict->signature : UINT16_MAX,
		.confidence = CONFIDENCE_DPI,
		.n_data_pkts = in->flow->n_data_pkts,
		.final = true,
	};
	names->fresh = false;
	names->by_name = true;
	classify_end(in->lcore->classifier, &in->flow->classify_state);
	return true;
}

void inspect_names_apply(struct inspection *in)
{
	struct lcore *lcore = in->lcore;
	struct flow *flow = in->flow;
	struct names_follow *names = &in->cold->names;
	uint16_t app = names->app;

	names->fresh = false;
	if (app == flow->app) {
		names->by_name |= app != APP_NONE;
		return;
	}
	bool renamed = is_renamed(in, flow->app, flow->signature, flow->confidence);

	// what was found by a pattern in it says more than a name that nobody refuses
	if (!is_carrier(flow->app) && !names->by_name && !renamed)
		return;
	if (app == APP_NONE && !names->by_name && (!renamed || is_carrier(flow->app)))
		return;
	names->by_name = app != APP_NONE;
	app = known_as(names, app);
	if (app == flow->app)
		return;
	classify_end(lcore->classifier, &flow->decoder_state);
	flow->flags &= (uint16_t) ~(FLOW_DECODED | FLOW_GAVEUP | FLOW_NOMEM | FLOW_MONITORED);
	flow->app = app;
	flow->signature = UINT16_MAX;
	flow->confidence = CONFIDENCE_DPI;
	flow->decided_pkts = flow->n_data_pkts;
	app_usage_settle(lcore->apps, flow);
	in->ctx->flags |= CTX_UNDECIDED;
	lcore->stats.names_changed++;
}
