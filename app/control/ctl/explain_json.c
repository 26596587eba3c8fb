// SPDX-License-Identifier: BSD-3-Clause
// A piece of evidence as JSON.
#include <string.h>

#include "control/event/eve.h"
#include "control/ctl/explain.h"
#include "control/ctl/explain_content.h"
#include "scan/job.h"
#include "control/ctl/list_filter.h"
#include "pipeline/event/evidence.h"
#include "pipeline/policy/policy.h"

#define PUT_APP        (1u << 0) // and confidence, if known
#define PUT_RULE       (1u << 1)
#define PUT_ACTION     (1u << 2)
#define PUT_SIGNATURE  (1u << 3)
#define PUT_VERIFIER   (1u << 4)
#define PUT_BYTES      (1u << 5)
#define PUT_CACHE_MODE (1u << 6)

// What each kind has, beside its ends and what put_special() knows.
static const uint8_t members[EVIDENCE_KINDS_MAX] = {
	[EVIDENCE_EXPECTED] = PUT_APP,
	[EVIDENCE_SIGNATURE] = PUT_APP | PUT_SIGNATURE | PUT_VERIFIER | PUT_BYTES,
	[EVIDENCE_SHAPE] = PUT_APP | PUT_VERIFIER | PUT_BYTES,
	[EVIDENCE_PORT_GUESS] = PUT_APP,
	[EVIDENCE_USER_APP] = PUT_APP,
	[EVIDENCE_LEARNED] = PUT_APP,
	[EVIDENCE_DECODER] = PUT_APP,
	[EVIDENCE_TOO_UNSURE] = PUT_APP | PUT_RULE,
	[EVIDENCE_MONITOR] = PUT_RULE | PUT_ACTION,
	[EVIDENCE_DECISION] = PUT_APP | PUT_RULE | PUT_ACTION | PUT_SIGNATURE,
	[EVIDENCE_SCAN_JOB] = PUT_RULE,
	[EVIDENCE_SCAN_VERDICT] = PUT_RULE,
	[EVIDENCE_CONTENT] = PUT_RULE,
	[EVIDENCE_CONTENT_NOTE] = PUT_RULE,
	[EVIDENCE_CACHE_LEARNED] = PUT_APP | PUT_RULE | PUT_CACHE_MODE,
	[EVIDENCE_CACHE_EXEMPT] = PUT_APP | PUT_RULE | PUT_CACHE_MODE,
	[EVIDENCE_CACHE_HIT] = PUT_APP | PUT_RULE | PUT_CACHE_MODE,
	[EVIDENCE_CACHE_REVOKED] = PUT_APP | PUT_RULE | PUT_CACHE_MODE,
	[EVIDENCE_CACHE_PASSED] = PUT_CACHE_MODE,
};

const char *explain_outcome_word(enum explain_outcome outcome)
{
	static const char *const words[] = {
		[EXPLAIN_PASS] = "pass",
		[EXPLAIN_MONITORED] = "monitored",
		[EXPLAIN_BLOCKED] = "blocked",
		[EXPLAIN_UNDECIDED] = "undecided",
		[EXPLAIN_INVALID] = "invalid",
		[EXPLAIN_UNKNOWN] = "unknown",
	};

	return outcome <= EXPLAIN_UNKNOWN ? words[outcome] : "?";
}

const char *explain_host(const struct evidence *evidence, char out[EXPLAIN_HOST_BYTES])
{
	unsigned n = evidence->n_bytes <= EVIDENCE_BYTES ? evidence->n_bytes : EVIDENCE_BYTES;
	char *at = stpcpy(out, evidence->looked_at > n ? "..." : "");

	for (unsigned i = 0; i < n; i++) {
		uint8_t byte = evidence->bytes[i]; // a client wrote it

		*at++ = byte > ' ' && byte <= '~' ? (char)byte : '?';
	}
	*at = 0;
	return out;
}

static void put_half(json_t **parent, unsigned half)
{
	put_text(parent, "half", half == HALF_C2S ? "to_server" : "to_client");
}

static void put_bytes(json_t **parent, const struct evidence *evidence)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * EVIDENCE_BYTES + 1] = "";
	json_t *object = json_object();

	for (unsigned i = 0; i < evidence->n_bytes && i < EVIDENCE_BYTES; i++) {
		hex[2 * i] = digits[evidence->bytes[i] >> 4];
		hex[2 * i + 1] = digits[evidence->bytes[i] & 15];
	}
	put_half(&object, evidence->half);
	put_number(&object, "offset", evidence->offset);
	put_number(&object, "length", evidence->length);
	put_text(&object, "hex", hex);
	put_number(&object, "looked_at", evidence->looked_at);
	if (evidence->flags & EVIDENCE_OF_DATAGRAM)
		put_bool(&object, "datagram", true);
	put_json(parent, "bytes", object);
}

static void put_user_app(json_t **parent, const struct evidence *evidence)
{
	static const char *const words[] = {
		[EVIDENCE_BY_PORT] = "port",
		[EVIDENCE_BY_HOST] = "host",
		[EVIDENCE_BY_ADDRESS] = "address",
	};

	put_text(parent, "by",
		evidence->detail <= EVIDENCE_BY_ADDRESS ? words[evidence->detail] : "?");
	if (evidence->detail == EVIDENCE_BY_PORT)
		put_number(parent, "port", evidence->length);
	if (evidence->detail == EVIDENCE_BY_HOST) {
		char host[EXPLAIN_HOST_BYTES];

		put_text(parent, "host", explain_host(evidence, host));
	}
}

static const char *verifier_word(uint8_t answer)
{
	switch (answer) {
	case VERIFY_NO: return "no";
	case VERIFY_MORE: return "more";
	case VERIFY_ALONE: return "alone";
	case VERIFY_PARTIAL: return "partial";
	case VERIFY_DPI: return "dpi";
	case VERIFY_YES: return "yes";
	default: return "none";
	}
}

static void put_ends(json_t **parent, const struct evidence *evidence)
{
	uint8_t proto = evidence->l4_proto;
	bool ports = eve_has_ports(proto);

	put_address(parent, "src_ip", evidence->ends.address[HALF_C2S]);
	if (ports && evidence->ends.port[HALF_C2S])
		put_number(parent, "src_port", evidence->ends.port[HALF_C2S]);
	put_address(parent, "dest_ip", evidence->ends.address[HALF_S2C]);
	if (ports && evidence->ends.port[HALF_S2C])
		put_number(parent, "dest_port", evidence->ends.port[HALF_S2C]);
	if (proto)
		put_proto(parent, proto);
	if (evidence->vlan)
		put_number(parent, "vlan", evidence->vlan & 0xfff);
}

static const char *made_word(uint8_t how)
{
	static const char *const words[] = {
		[EVIDENCE_MADE_SYN] = "syn",
		[EVIDENCE_MADE_MIDSTREAM] = "midstream",
		[EVIDENCE_MADE_DATAGRAM] = "datagram",
		[EVIDENCE_MADE_OTHER] = "other",
	};

	return how <= EVIDENCE_MADE_OTHER ? words[how] : "?";
}

static const char *end_word(uint8_t reason)
{
	static const char *const words[] = {
		[FLOW_END_TIMEOUT] = "timeout",
		[FLOW_END_FORCED] = "forced",
		[FLOW_END_SHUTDOWN] = "shutdown",
		[FLOW_END_CLOSED] = "closed",
	};

	return reason <= FLOW_END_CLOSED ? words[reason] : "?";
}

// A part of a half.
static void put_part(json_t **object, const struct evidence *evidence)
{
	put_half(object, evidence->half);
	put_number(object, "offset", evidence->offset);
	put_number(object, "length", evidence->length);
}

static void put_special(json_t **object, const struct evidence *evidence)
{
	uint8_t detail = evidence->detail;

	switch ((enum evidence_kind)evidence->kind) {
	case EVIDENCE_FLOW_MADE:
		put_text(object, "how", made_word(detail));
		if (evidence->flags & EVIDENCE_IS_ALLOWED)
			put_bool(object, "allowed", true);
		break;
	case EVIDENCE_PORT_GUESS: put_number(object, "port", evidence->length); break;
	case EVIDENCE_GIVE_UP:
		put_text(object, "budget", detail ? "packets" : "bytes");
		put_number(object, "data_pkts", evidence->length);
		break;
	case EVIDENCE_NO_STATE: put_bool(object, "dropped", detail); break;
	case EVIDENCE_GAP:
	case EVIDENCE_CONFLICT: put_part(object, evidence); break;
	case EVIDENCE_TOO_UNSURE:
		put_text(object, "min_confidence", confidence_word(detail));
		break;
	case EVIDENCE_DECISION:
		put_bool(object, "final", evidence->flags & EVIDENCE_IS_FINAL);
		put_bool(object, "again", evidence->flags & EVIDENCE_IS_AGAIN);
		if (evidence->flags & EVIDENCE_IS_ALLOWED)
			put_bool(object, "allowed", true);
		break;
	case EVIDENCE_SCAN_VERDICT:
		put_text(object, "value", scan_value_word(detail));
		if (evidence->n_bytes) {
			char name[EXPLAIN_HOST_BYTES];

			put_text(object, "name", explain_host(evidence, name));
		}
		put_part(object, evidence);
		break;
	case EVIDENCE_SCAN_JOB: put_part(object, evidence); break;
	case EVIDENCE_CONTENT:
	case EVIDENCE_CONTENT_NAME:
	case EVIDENCE_CONTENT_NOTE: explain_content_put(object, evidence); break;
	case EVIDENCE_RESETS: put_number(object, "sent", evidence->length); break;
	case EVIDENCE_CACHE_HIT:
		put_bool(object, "passed", evidence->flags & EVIDENCE_WAS_PASSED);
		break;
	case EVIDENCE_BLOCKED: put_bool(object, "answered", detail); break;
	case EVIDENCE_INVALID:
		put_text(object, "reason", drop_reason_word(detail));
		put_bool(object, "dropped", evidence->flags & EVIDENCE_WAS_DROPPED);
		break;
	case EVIDENCE_DROPPED: put_text(object, "reason", drop_reason_word(detail)); break;
	case EVIDENCE_OPERATOR:
		put_text(object, "command",
			detail == EVIDENCE_FLOW_RESET ? "flow-reset" : "flow-allow");
		put_bool(object, "expired", detail == EVIDENCE_ALLOW_EXPIRED);
		break;
	case EVIDENCE_ENDED: put_text(object, "reason", end_word(detail)); break;
	case EVIDENCE_LEARNED:
		put_text(object, "from", learned_from_word(detail));
		if (evidence->offset)
			put_number(object, "told_by", evidence->offset & INT64_MAX);
		break;
	case EVIDENCE_EXPECTED:
		if (!detail)
			break; // nothing is kept of it
		put_text(object, "as", expected_as_word(detail - 1u));
		put_number(object, "told_by", evidence->offset & INT64_MAX);
		break;
	case EVIDENCE_USER_APP: put_user_app(object, evidence); break;
	default: break;
	}
}

// As the policy in force has it, if the rule is there still.
static void put_comment(json_t **object, const struct control_context *context, uint32_t uid)
{
	const struct policy *policy = reload_policy(context->reload);
	const struct rule *rule = uid && policy ? policy_rule_by_uid(policy, uid) : NULL;

	if (rule && rule->comment)
		put_text(object, "rule_comment", rule->comment);
}

json_t *explain_evidence_json(
	const struct control_context *context, const struct evidence *evidence)
{
	const struct app_proto *app = app_names_get(reload_apps(context->reload), evidence->app);
	const struct sigdb *db = reload_sigdb(context->reload);
	uint8_t has = evidence->kind < EVIDENCE_KINDS_MAX ? members[evidence->kind] : 0;
	json_t *object = json_object();
	const char *rule =
		evidence->rule_uid ? rule_names_get(context->names, evidence->rule_uid) : "default";

	put_time(&object, "at", evidence->at_ns);
	put_number(&object, "lcore", evidence->lcore);
	put_text(&object, "what", evidence_word(evidence->kind));
	put_number(&object, "generation", evidence->generation);
	if (evidence->flow_id)
		put_number(&object, "flow_id", evidence->flow_id & INT64_MAX);
	if (has & PUT_APP && app) {
		put_text(&object, "app", app->name);
		if (evidence->confidence != CONFIDENCE_NONE)
			put_text(&object, "confidence", confidence_word(evidence->confidence));
	}
	if (has & PUT_SIGNATURE && db && sigdb_get(db, evidence->signature))
		put_text(&object, "signature", sigdb_get(db, evidence->signature)->id);
	if (has & PUT_VERIFIER)
		put_text(&object, "verifier", verifier_word(evidence->detail));
	// an entry of the connection cache without a rule is the operator's
	if (has & PUT_RULE && !(has & PUT_CACHE_MODE && !evidence->rule_uid)) {
		put_text(&object, "rule", rule ? rule : "?");
		put_comment(&object, context, evidence->rule_uid);
	}
	if (has & PUT_ACTION)
		put_text(&object, "action", action_word(evidence->detail));
	if (has & PUT_CACHE_MODE)
		put_text(&object, "mode", evidence->detail == CACHE_PEER ? "peer" : "tuple");
	put_special(&object, evidence);
	if (has & PUT_BYTES)
		put_bytes(&object, evidence);
	if (evidence->flags & EVIDENCE_HAS_ENDS)
		put_ends(&object, evidence);
	return object;
}
