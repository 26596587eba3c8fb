// SPDX-License-Identifier: BSD-3-Clause
// The sentence that evidence comes to. What is decided last holds; what the operator has said holds
// above it.
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/address_text.h"
#include "control/ctl/explain.h"
#include "control/ctl/explain_content.h"
#include "scan/job.h"
#include "pipeline/event/evidence.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

struct sentence {
	const struct explain_facts *facts;
	char *text;
	size_t length;
};

static void format(struct sentence *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void format(struct sentence *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(s->text + s->length, EXPLAIN_VERDICT_MAX - s->length, format, args);
	va_end(args);
	if (n > 0)
		s->length += (size_t)n;
	if (s->length >= EXPLAIN_VERDICT_MAX)
		s->length = EXPLAIN_VERDICT_MAX - 1;
}

static void format_rule(struct sentence *s, uint32_t uid, uint32_t generation)
{
	const char *id = uid ? rule_names_get(s->facts->context->names, uid) : NULL;

	if (id)
		format(s, "rule \"%s\" (generation %u)", id, generation);
	else
		format(s, "the policy's default (generation %u)", generation);
}

static const char *app_text(const struct explain_facts *facts, uint16_t app)
{
	const struct app_proto *proto = app_names_get(reload_apps(facts->context->reload), app);

	return proto ? proto->name : "no known application";
}

static const char *signature_text(const struct explain_facts *facts, uint16_t index)
{
	const struct sigdb *db = reload_sigdb(facts->context->reload);

	const struct signature *signature = db ? sigdb_get(db, index) : NULL;

	return signature ? signature->id : "?";
}

static const char *half_text(const struct evidence *evidence)
{
	if (evidence->flags & EVIDENCE_OF_DATAGRAM)
		return evidence->half == HALF_C2S ? "a datagram of the client"
						  : "a datagram of the server";
	return evidence->half == HALF_C2S ? "what the client sent" : "what the server sent";
}

static bool names_app(const struct evidence *evidence, uint16_t app)
{
	if (evidence->app != app)
		return false;
	switch ((enum evidence_kind)evidence->kind) {
	case EVIDENCE_SIGNATURE:
	case EVIDENCE_SHAPE: return evidence->confidence != CONFIDENCE_NONE;
	case EVIDENCE_EXPECTED:
	case EVIDENCE_LEARNED:
	case EVIDENCE_PORT_GUESS:
	case EVIDENCE_USER_APP: return true;
	default: return false;
	}
}

// What the application of a decision was known by: its signature, or the last word about it before
// the decision.
static const struct evidence *source_of(
	const struct explain_facts *facts, const struct evidence *decision)
{
	const struct evidence *last = NULL;

	for (const struct evidence *at = decision; at-- > facts->evidence;) {
		if (at->flow_id != facts->flow_id || !names_app(at, decision->app))
			continue;
		if (!last)
			last = at;
		if (decision->signature != UINT16_MAX && at->kind == EVIDENCE_SIGNATURE &&
			at->signature == decision->signature)
			return at;
	}
	return last;
}

// How an application was recognised that is known by host, address or port; by a pattern it is a
// signature.
static void format_user_app(struct sentence *s, const struct evidence *source)
{
	char host[EXPLAIN_HOST_BYTES];

	format(s, source->app > app_count() ? ", which the policy defines, " : ", ");
	if (source->detail == EVIDENCE_BY_HOST && source->half == HALF_S2C)
		format(s, "by the name in the server's certificate (%s)",
			explain_host(source, host));
	else if (source->detail == EVIDENCE_BY_HOST)
		format(s, "by the host that the client asked for (%s)", explain_host(source, host));
	else if (source->detail == EVIDENCE_BY_ADDRESS)
		format(s, "by the responder's address");
	else
		format(s, "guessed by port %u alone", source->length);
}

static void format_expected(struct sentence *s, const struct evidence *source)
{
	format(s, ", because another flow announced it");
	if (source->detail)
		format(s, " (%s)", expected_as_word(source->detail - 1u));
}

static void format_source(struct sentence *s, const struct evidence *source)
{
	switch ((enum evidence_kind)source->kind) {
	case EVIDENCE_SIGNATURE:
		format(s, ", %s signature %s in the first %u bytes of %s",
			source->detail == VERIFY_YES ? "verified by" : "by",
			signature_text(s->facts, source->signature), source->looked_at,
			half_text(source));
		break;
	case EVIDENCE_SHAPE: format(s, ", by the shape of %s", half_text(source)); break;
	case EVIDENCE_EXPECTED: format_expected(s, source); break;
	case EVIDENCE_LEARNED:
		format(s, ", because %s named %s",
			source->detail == LEARNED_DNS ? "DNS" : learned_from_word(source->detail),
			source->detail == LEARNED_DNS ? "its address so" : "this endpoint");
		break;
	case EVIDENCE_PORT_GUESS: format(s, ", guessed by port %u alone", source->length); break;
	case EVIDENCE_USER_APP: format_user_app(s, source); break;
	default: break;
	}
}

static void format_app(struct sentence *s, const struct evidence *decision)
{
	if (decision->app == APP_NONE) {
		if (explain_last(s->facts, EVIDENCE_GIVE_UP, true))
			format(s, ": no application was recognised within %u data packets",
				explain_last(s->facts, EVIDENCE_GIVE_UP, true)->length);
		else if (explain_last(s->facts, EVIDENCE_NO_STATE, true))
			format(s, ": it was not looked at, because no classifier state was free");
		else
			format(s, ", which needed no application");
		return;
	}
	format(s, ": %s", app_text(s->facts, decision->app));
	const struct evidence *source = source_of(s->facts, decision);

	if (source)
		format_source(s, source);
	else
		format(s, ", confidence %s", confidence_word(decision->confidence));
}

static void format_until(struct sentence *s, uint64_t ns)
{
	char stamp[40], now[40];

	eve_timestamp(ns, stamp, sizeof stamp);
	eve_timestamp(s->facts->context->now_ns(), now, sizeof now);
	if (strncmp(stamp, now, 10)) // not today
		format(s, "until %.10s %.8s UTC", stamp, stamp + 11);
	else
		format(s, "until %.8s UTC", stamp + 11);
}

static void format_cache(struct sentence *s)
{
	const struct conn_list *cache = s->facts->cache;
	const struct conn_entry *longest = NULL;

	for (uint32_t i = 0; cache && i < cache->n; i++) {
		if (!longest || cache->entries[i].expires_ns > longest->expires_ns)
			longest = &cache->entries[i];
	}
	if (!longest)
		return;
	format(s, "; %s is in the connection cache ",
		longest->key.mode == CACHE_PEER ? "the peer, on any port," : "the peer");
	format_until(s, longest->expires_ns);
	if (longest->hits == 1)
		format(s, " (hit once)");
	else if (longest->hits)
		format(s, " (hit %llu times)", (unsigned long long)longest->hits);
}

static void format_unsure(struct sentence *s, const struct evidence *decision)
{
	const struct evidence *unsure = explain_last(s->facts, EVIDENCE_TOO_UNSURE, true);

	// written with the decision that it speaks of
	if (!unsure || unsure->at_ns != decision->at_ns)
		return;
	format(s, "; ");
	format_rule(s, unsure->rule_uid, unsure->generation);
	format(s, " names %s, but asks for confidence %s, and this is only %s",
		app_text(s->facts, unsure->app), confidence_word(unsure->detail),
		confidence_word(unsure->confidence));
}

static void format_rest(struct sentence *s, const struct evidence *decision)
{
	const struct explain_facts *facts = s->facts;
	const struct evidence *made = explain_last(facts, EVIDENCE_FLOW_MADE, true);
	const struct evidence *ended = explain_last(facts, EVIDENCE_ENDED, true);
	const struct evidence *gap = explain_last(facts, EVIDENCE_GAP, true);
	const struct evidence *conflict = explain_last(facts, EVIDENCE_CONFLICT, true);

	if (decision && decision->flags & EVIDENCE_IS_AGAIN)
		format(s, "; decided again when that policy came into force");
	if (made && made->detail == EVIDENCE_MADE_MIDSTREAM)
		format(s, "; its beginning was not seen");
	if (gap)
		format(s, "; %u bytes of %s were never seen", gap->length, half_text(gap));
	if (conflict)
		format(s, "; %u bytes of %s came again with other content", conflict->length,
			half_text(conflict));
	if (explain_last(facts, EVIDENCE_DECODER, true))
		format(s, "; its decoder reads on");
	if (ended)
		format(s, "; it has ended");
	if (facts->exempt)
		format(s, "; %s is exempt from the connection cache by the operator",
			facts->exempt);
	else if (explain_last(facts, EVIDENCE_CACHE_EXEMPT, true))
		format(s, "; the peer was not put into the connection cache: it is exempt");
}

static enum explain_outcome verdict_blocked(struct sentence *s, const struct evidence *decision)
{
	const struct evidence *resets = explain_last(s->facts, EVIDENCE_RESETS, true);
	const struct evidence *late = explain_last(s->facts, EVIDENCE_BLOCKED, true);
	char content[EXPLAIN_CONTENT_MAX];

	format(s, "%s by ", decision->detail == ACTION_RESET ? "Reset" : "Dropped");
	format_rule(s, decision->rule_uid, decision->generation);
	if (explain_content(s->facts, MODE_ENFORCE, decision, content))
		format(s, ": %s, in %s", content, app_text(s->facts, decision->app));
	else
		format_app(s, decision);
	if (resets && !resets->length)
		format(s, "; no reset could be sent, so its packets are dropped silently");
	format(s, "%s", resets && resets->detail ? "; its client was shown a page (403)" : "");
	if (late)
		format(s, "; packets came after that and were dropped%s",
			late->detail ? " and answered" : "");
	format_cache(s);
	format_rest(s, decision);
	return EXPLAIN_BLOCKED;
}

static enum explain_outcome verdict_reprieved(
	struct sentence *s, const struct evidence *decision, const struct evidence *reprieved)
{
	format(s, "Blocked before by ");
	format_rule(s, decision->rule_uid, decision->generation);
	format(s,
		"; the policy of generation %u no longer blocks it: its next packet began a new "
		"flow",
		reprieved->generation);
	return EXPLAIN_PASS;
}

static enum explain_outcome verdict_monitored(
	struct sentence *s, const struct evidence *monitor, const struct evidence *decision)
{
	format(s, "Passes, but ");
	format_rule(s, monitor->rule_uid, monitor->generation);
	format(s, " would have %s it, were it not in monitor mode",
		monitor->detail == ACTION_SCAN    ? "scanned"
		: monitor->detail == ACTION_RESET ? "reset"
						  : "dropped");
	if (decision)
		format_app(s, decision);
	format_rest(s, decision);
	return EXPLAIN_MONITORED;
}

// Of a flow that passes: what was changed in it, or would have been refused.
static void format_content(struct sentence *s)
{
	char content[EXPLAIN_CONTENT_MAX];

	if (explain_content(s->facts, MODE_ENFORCE, NULL, content))
		format(s, "; %s", content);
	if (explain_content(s->facts, MODE_MONITOR, NULL, content))
		format(s, "; %s, and is only monitored", content);
}

static enum explain_outcome verdict_passes(struct sentence *s, const struct evidence *decision)
{
	format(s, "Passes by ");
	format_rule(s, decision->rule_uid, decision->generation);
	format_app(s, decision);
	format_content(s);
	format_unsure(s, decision);
	format_rest(s, decision);
	return EXPLAIN_PASS;
}

// To be scanned: what the engine has said of it, and what followed.
static enum explain_outcome verdict_scanned(struct sentence *s, const struct evidence *decision)
{
	const struct evidence *job = explain_last(s->facts, EVIDENCE_SCAN_JOB, true);
	const struct evidence *found = explain_last(s->facts, EVIDENCE_SCAN_VERDICT, true);
	const struct evidence *resets = explain_last(s->facts, EVIDENCE_RESETS, true);
	char name[EXPLAIN_HOST_BYTES];
	bool blocked = found && resets && resets > found;

	if (found && found->detail == SCAN_INFECTED)
		format(s, "%s: the scan engine found \"%s\" in %s", blocked ? "Reset" : "Infected",
			explain_host(found, name), half_text(found));
	else if (blocked)
		format(s,
			"Reset: the scan engine's verdict on %s was %s (gateway.json: scan.on_%s)",
			half_text(found), scan_value_word(found->detail),
			scan_value_word(found->detail));
	else if (found)
		format(s, "Passes, scanned: %s", scan_value_word(found->detail));
	else if (decision->l4_proto == IPPROTO_UDP)
		format(s, "Passes unscanned: datagrams are not scanned");
	else
		format(s, "Passes, to be scanned: %s",
			job ? "no verdict yet" : "nothing was given to the engine yet");
	format(s, "; by ");
	format_rule(s, decision->rule_uid, decision->generation);
	format_app(s, decision);
	format_rest(s, decision);
	return blocked ? EXPLAIN_BLOCKED : EXPLAIN_PASS;
}

static enum explain_outcome verdict_operator(struct sentence *s, const struct evidence *word)
{
	const struct evidence *resets = explain_last(s->facts, EVIDENCE_RESETS, true);

	const struct evidence *decision = explain_last(s->facts, EVIDENCE_DECISION, true);

	if (word->detail == EVIDENCE_FLOW_ALLOW && decision && action_blocks(decision->detail)) {
		format(s, "Blocked before by ");
		format_rule(s, decision->rule_uid, decision->generation);
		format(s, "; the operator has allowed it since: new connections of its client to "
			  "that "
			  "port of its server pass");
		return EXPLAIN_PASS;
	}
	if (word->detail == EVIDENCE_FLOW_ALLOW) {
		format(s, "Passes because the operator allowed it, whatever the policy says");
		format_rest(s, NULL);
		return EXPLAIN_PASS;
	}
	format(s, "Reset by the operator");
	if (resets && !resets->length)
		format(s, "; no reset could be sent at once, its packets are dropped%s",
			s->facts->live && s->facts->flow.action == ACTION_RESET ? " and answered"
										: "");
	format_cache(s);
	format_rest(s, NULL);
	return EXPLAIN_BLOCKED;
}

static enum explain_outcome verdict_undecided(struct sentence *s)
{
	const struct explain_facts *facts = s->facts;
	const struct evidence *starved = explain_last(facts, EVIDENCE_NO_STATE, true);
	const struct evidence *ended = explain_last(facts, EVIDENCE_ENDED, true);

	if (starved && starved->detail) {
		format(s, "Held up: no classifier state is free to look at it, and the policy asks "
			  "for the application; raise limits.classifying");
		return EXPLAIN_UNDECIDED;
	}
	if (ended)
		format(s, "Passed, and ended before an application was recognised");
	else if (facts->live)
		format(s, "Passes for now: not decided yet after %u data packets",
			facts->flow.n_data_pkts);
	else
		format(s, "Passes for now: not decided yet");
	format_rest(s, NULL);
	return EXPLAIN_UNDECIDED;
}

// A flow whose decision is not among the evidence (any more): what its entry says.
static enum explain_outcome verdict_of_entry(struct sentence *s)
{
	const struct flow_record *flow = &s->facts->flow;
	bool stub = flow->lru_class <= FLOW_CLASS_BLOCKED;

	if (flow->lru_class == FLOW_CLASS_BLOCKED) {
		format(s, "%s by ", flow->action == ACTION_RESET ? "Reset" : "Dropped");
		if (flow->flags & FLOW_OPERATOR)
			format(s, "the operator");
		else
			format_rule(s, flow->rule_uid, flow->generation);
		if (flow->app)
			format(s, ": %s", app_text(s->facts, flow->app));
		format(s, "; what led to it has been overwritten");
		format_cache(s);
		return EXPLAIN_BLOCKED;
	}
	if (flow->flags & FLOW_ALLOWED) {
		format(s, "Passes because the operator allowed it, whatever the policy says");
		return EXPLAIN_PASS;
	}
	if (stub && (flow->l4_proto == IPPROTO_TCP || flow->l4_proto == IPPROTO_UDP)) {
		format(s,
			"Passes for now: it has carried no payload yet, and no rule blocks it by "
			"its addresses (generation %u)",
			flow->generation);
		return EXPLAIN_UNDECIDED;
	}
	if (flow->flags & FLOW_FINAL) {
		format(s, "Passes by ");
		format_rule(s, flow->rule_uid, flow->generation);
		format(s, "; what led to it has been overwritten");
		return EXPLAIN_PASS;
	}
	return verdict_undecided(s);
}

static enum explain_outcome verdict_of_flow(struct sentence *s)
{
	const struct explain_facts *facts = s->facts;
	const struct evidence *decision = explain_last(facts, EVIDENCE_DECISION, true);
	const struct evidence *monitor = explain_last(facts, EVIDENCE_MONITOR, true);
	const struct evidence *word = explain_last(facts, EVIDENCE_OPERATOR, true);
	const struct evidence *reprieved = explain_last(facts, EVIDENCE_REPRIEVED, true);

	// an allowance that is over leaves the flow to the policy
	if (word && word->detail != EVIDENCE_ALLOW_EXPIRED)
		return verdict_operator(s, word);
	if (!decision)
		return monitor       ? verdict_monitored(s, monitor, NULL)
		       : facts->live ? verdict_of_entry(s)
				     : verdict_undecided(s);
	if (decision->detail == ACTION_SCAN)
		return verdict_scanned(s, decision);
	if (decision->detail != ACTION_PASS)
		return reprieved && reprieved > decision ? verdict_reprieved(s, decision, reprieved)
							 : verdict_blocked(s, decision);
	if (decision->flags & EVIDENCE_IS_ALLOWED) {
		format(s, "Passes because the operator allowed its ends, whatever the policy says");
		format_rest(s, decision);
		return EXPLAIN_PASS;
	}
	// of this generation; another policy may have no such rule
	if (monitor && monitor->generation == decision->generation)
		return verdict_monitored(s, monitor, decision);
	return decision->flags & EVIDENCE_IS_FINAL ? verdict_passes(s, decision)
						   : verdict_undecided(s);
}

static void format_ends(struct sentence *s, const struct evidence *evidence)
{
	char from[ADDRESS_TEXT_BYTES], to[ADDRESS_TEXT_BYTES];

	address_text(evidence->ends.address[HALF_C2S], from);
	address_text(evidence->ends.address[HALF_S2C], to);
	format(s, "from %s to %s", from, to);
	if (evidence->ends.port[HALF_S2C])
		format(s, " port %u", evidence->ends.port[HALF_S2C]);
}

static enum explain_outcome verdict_hit(struct sentence *s, const struct evidence *hit)
{
	bool passed = hit->flags & EVIDENCE_WAS_PASSED;

	format(s, passed ? "Passes, although connections " : "Blocked: connections ");
	format_ends(s, hit);
	format(s, " are in the connection cache");
	if (hit->rule_uid) {
		format(s, " by ");
		format_rule(s, hit->rule_uid, hit->generation);
		if (hit->app)
			format(s, ", for %s", app_text(s->facts, hit->app));
	} else {
		format(s, " by the operator");
	}
	if (hit->flow_id)
		format(s, ", taught by flow %llu", (unsigned long long)hit->flow_id);
	if (passed)
		format(s, "; the cache only learns (conn_cache.learn_only)");
	if (s->facts->cache && s->facts->cache->n)
		format_cache(s);
	else
		format(s, "; the entry has gone since");
	return passed ? EXPLAIN_MONITORED : EXPLAIN_BLOCKED;
}

static enum explain_outcome verdict_invalid(struct sentence *s, const struct evidence *invalid)
{
	static const char *const why[DROP_REASONS_MAX] = {
		[DROP_MALFORMED] = "is malformed: no host accepts it",
		[DROP_UNSUPPORTED] = "has more headers or tunnels than the gateway follows",
		[DROP_ICMP_ERROR] = "is an ICMP error that nothing in its flow can have caused",
		[DROP_BAD_CHECKSUM] = "has a wrong checksum: no host accepts it",
	};
	const char *text = invalid->detail < DROP_REASONS_MAX ? why[invalid->detail] : NULL;

	format(s, "A packet ");
	if (invalid->flags & EVIDENCE_HAS_ENDS) {
		format_ends(s, invalid);
		format(s, " ");
	}
	format(s, "%s; it was %s (invalid.%s of the policy, generation %u)",
		text ? text : "is invalid",
		invalid->flags & EVIDENCE_WAS_DROPPED ? "dropped" : "forwarded uninspected",
		invalid->detail == DROP_UNSUPPORTED ? "unsupported" : "malformed",
		invalid->generation);
	return EXPLAIN_INVALID;
}

static enum explain_outcome verdict_loose(struct sentence *s)
{
	const struct explain_facts *facts = s->facts;

	for (uint32_t i = facts->n; i-- > 0;) {
		const struct evidence *evidence = &facts->evidence[i];

		switch ((enum evidence_kind)evidence->kind) {
		case EVIDENCE_CACHE_HIT: return verdict_hit(s, evidence);
		case EVIDENCE_INVALID: return verdict_invalid(s, evidence);
		case EVIDENCE_DROPPED:
			format(s, "A packet ");
			format_ends(s, evidence);
			format(s, " was dropped: %s", drop_reason_word(evidence->detail));
			return EXPLAIN_BLOCKED;
		default: break;
		}
	}
	if (facts->cache && facts->cache->n) {
		format(s, "No such flow was seen; a new connection would be blocked");
		format_cache(s);
		return EXPLAIN_BLOCKED;
	}
	format(s, "No evidence: nothing like it was seen, or it has been overwritten");
	if (facts->overwritten)
		format(s, " (%llu pieces were; limits.evidence keeps more)",
			(unsigned long long)facts->overwritten);
	return EXPLAIN_UNKNOWN;
}

enum explain_outcome explain_verdict_of_flow(
	const struct explain_facts *facts, char verdict[EXPLAIN_VERDICT_MAX])
{
	struct sentence s = {.facts = facts, .text = verdict};

	verdict[0] = '\0';
	enum explain_outcome outcome = verdict_of_flow(&s);

	format(&s, ".");
	return outcome;
}

// Asked by ends: of a flow that is over, what came later counts. Of a wider question a later hit is
// of other ends.
static bool is_followed_by_hit(const struct explain_facts *facts)
{
	const struct evidence *hit = explain_last(facts, EVIDENCE_CACHE_HIT, false);
	const struct evidence *made = explain_last(facts, EVIDENCE_FLOW_MADE, true);

	return !facts->wide && hit && hit->flow_id != facts->flow_id && (!made || hit > made);
}

enum explain_outcome explain_verdict(
	const struct explain_facts *facts, char verdict[EXPLAIN_VERDICT_MAX])
{
	struct sentence s = {.facts = facts, .text = verdict};
	enum explain_outcome outcome;

	verdict[0] = '\0';
	if (facts->hit)
		outcome = verdict_hit(&s, facts->hit);
	else if (facts->flow_id && !is_followed_by_hit(facts))
		outcome = verdict_of_flow(&s);
	else
		outcome = verdict_loose(&s);
	format(&s, ".");
	return outcome;
}
