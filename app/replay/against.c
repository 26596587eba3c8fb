// SPDX-License-Identifier: BSD-3-Clause
// Replays a capture under two policies and compares their decisions.
#include "replay/against.h"
#include "pipeline/policy/content_rules.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "base/address_text.h"
#include "pipeline/policy/decide.h"
#include "control/event/eve.h"
#include "base/json_out.h"
#include "control/event/sink.h"
#include "pipeline/policy/policy.h"

#define RULE_UNDECIDED UINT32_MAX // the flow ended before its application was known
#define SLOTS_START    1024u
#define LINE_BYTES     2048u // ids and names are bounded

struct side {
	uint32_t rule_uid; // 0: the default
	uint16_t app;
	uint8_t action;
	bool stopped; // the decision stands: it would have ended the flow
	bool ended;   // its record came
};

struct seen { // a flow; found by its id, which is the same in both passes
	uint64_t flow_id;
	uint64_t start_ns;
	struct flow_ends ends;
	uint32_t user_uid;
	uint16_t vlan[2];
	uint8_t n_vlan;
	uint8_t l4_proto;
	struct side side[2];
};

struct against {
	const struct rule_names *names;
	const struct dataplane *dp;
	bool has_inside;
	bool no_memory;
	enum against_side at;
	struct seen *slots; // open addressing; flow_id 0: free
	uint32_t mask;
	uint32_t n;
};

struct against *against_new(const struct rule_names *names, bool has_inside)
{
	struct against *against = calloc(1, sizeof *against);

	if (!against)
		return NULL;
	against->names = names;
	against->has_inside = has_inside;
	against->mask = SLOTS_START - 1;
	against->slots = calloc(SLOTS_START, sizeof *against->slots);
	if (against->slots)
		return against;
	free(against);
	return NULL;
}

void against_free(struct against *against)
{
	if (!against)
		return;
	free(against->slots);
	free(against);
}

void against_begin(struct against *against, enum against_side side, const struct dataplane *dp)
{
	against->at = side;
	against->dp = dp;
}

void against_adjust(struct policy *policy)
{
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		struct rule *rule = &policy->rules[i];

		if (rule->content) {
			rule->mode = MODE_MONITOR;
			rule_content_settle(rule);
		}
		if (!action_blocks(rule->action))
			continue;
		if (rule->mode == MODE_MONITOR) { // it stops nothing: out of the way
			rule->has_time = true;
			rule->windows = 0;
		}
		rule->mode = MODE_MONITOR;
	}
	if (policy->mode == MODE_MONITOR)
		policy->default_action = ACTION_PASS;
	policy->mode = MODE_MONITOR;
	policy->enforces = policy->enforces_app = false;
	policy->malformed = policy->unsupported = INVALID_OBSERVE;
	policy->icmp_redirect = ICMP_REDIRECT_PASS;
	for (unsigned i = 0; i < LINK_PROTO_MAX; i++)
		policy->link[i] = ACTION_PASS;
}

// The ids are hashes already.
static struct seen *slot_of(struct seen *slots, uint32_t mask, uint64_t flow_id)
{
	uint32_t at = (uint32_t)flow_id & mask;

	while (slots[at].flow_id && slots[at].flow_id != flow_id)
		at = (at + 1) & mask;
	return &slots[at];
}

static bool grow(struct against *against)
{
	uint32_t mask = against->mask * 2 + 1;
	struct seen *slots;

	if (against->n * 2 <= against->mask)
		return true;
	slots = calloc((size_t)mask + 1, sizeof *slots);
	if (!slots)
		return false;
	for (uint32_t i = 0; i <= against->mask; i++)
		if (against->slots[i].flow_id)
			*slot_of(slots, mask, against->slots[i].flow_id) = against->slots[i];
	free(against->slots);
	against->slots = slots;
	against->mask = mask;
	return true;
}

static struct seen *seen_get(struct against *against, uint64_t flow_id)
{
	struct seen *seen;

	if (!grow(against)) {
		against->no_memory = true;
		return NULL;
	}
	seen = slot_of(against->slots, against->mask, flow_id);
	if (!seen->flow_id) {
		seen->flow_id = flow_id;
		against->n++;
	}
	return seen;
}

// Which rule lets a flow pass that nothing would have stopped.
static uint32_t passed_by(const struct against *against, const struct event *event)
{
	const struct policy *policy = atomic_load(&against->dp->policy);
	bool has_app = event->l4_proto == IPPROTO_TCP || event->l4_proto == IPPROTO_UDP;
	bool inside =
		event->in_port < against->dp->n_ports && against->dp->ports[event->in_port].inside;
	const struct decide_input input = {
		.ends = &event->ends,
		.app = event->app,
		.confidence = event->confidence,
		.l4_proto = event->l4_proto,
		.n_vlan = event->n_vlan,
		.app_final = event->app || event->flow.gaveup || !has_app,
		.ports_known = true,
		.c2s_from_inside = inside || !against->has_inside,
		.vlan = {event->vlan[0], event->vlan[1]},
		.windows = against->dp->lcores[event->lcore]->windows,
		.mac = event->has_mac ? event->mac : NULL,
		.dscp = event->dscp,
	};
	struct decision decision;

	if (event->flow.bypassed)
		return event->rule_uid; // it was decided for good
	if (policy->asks_mac && !event->has_mac)
		return RULE_UNDECIDED; // without payload none is kept
	decision = decide(policy, &input);
	if (!decision.final || decision.would_block)
		return RULE_UNDECIDED;
	return decision.rule == RULE_DEFAULT ? 0 : policy->rules[decision.rule].uid;
}

static void see_alert(struct against *against, const struct event *event)
{
	struct seen *seen = seen_get(against, event->flow_id);
	struct side *side = seen ? &seen->side[against->at] : NULL;

	if (!side || side->stopped || !action_blocks(event->action))
		return;
	side->stopped = true;
	side->action = event->action;
	side->rule_uid = event->rule_uid;
	side->app = event->app;
}

static void see_end(struct against *against, const struct event *event)
{
	struct seen *seen = seen_get(against, event->flow_id);
	struct side *side = seen ? &seen->side[against->at] : NULL;

	if (!side)
		return;
	seen->start_ns = event->flow.start_ns;
	seen->ends = event->ends;
	seen->l4_proto = event->l4_proto;
	seen->n_vlan = event->n_vlan;
	memcpy(seen->vlan, event->vlan, sizeof seen->vlan);
	seen->user_uid = event->user_uid;
	side->ended = true;
	if (side->stopped)
		return;
	side->app = event->app;
	side->action = ACTION_PASS;
	side->rule_uid = passed_by(against, event);
}

void against_see(void *ctx, const struct event *event)
{
	if (event->type == EVENT_ALERT && event->flow_id)
		see_alert(ctx, event);
	else if (event->type == EVENT_FLOW && event->flow_id)
		see_end(ctx, event);
}

static bool differs(const struct seen *seen)
{
	const struct side *old = &seen->side[AGAINST_OLD], *new = &seen->side[AGAINST_NEW];

	if (old->action != new->action || old->ended != new->ended)
		return true;
	if (old->rule_uid == new->rule_uid)
		return false;
	// which rule would have let a flow pass that said too little is no difference
	return old->rule_uid != RULE_UNDECIDED && new->rule_uid != RULE_UNDECIDED;
}

static const char *rule_of(const struct against *against, const struct side *side)
{
	const char *id = rule_names_get(against->names, side->rule_uid);

	if (side->rule_uid == RULE_UNDECIDED)
		return "undecided";
	return id ? id : "default";
}

static const char *app_of(const struct against *against, const struct side *side)
{
	const struct app_proto *app = app_names_get(rule_names_apps(against->names), side->app);

	return app ? app->name : "unknown";
}

static bool has_ports(uint8_t l4_proto)
{
	return l4_proto == IPPROTO_TCP || l4_proto == IPPROTO_UDP || l4_proto == IPPROTO_SCTP;
}

static void put_side(struct json_out *out, const char *key, const struct against *against,
	const struct side *side)
{
	json_out_open(out, key, '{');
	json_out_string(out, "action", action_word(side->action));
	json_out_string(out, "rule", rule_of(against, side));
	json_out_close(out, '}');
}

static int report_json(const struct against *against, const struct seen *seen, FILE *file)
{
	const struct side *old = &seen->side[AGAINST_OLD], *new = &seen->side[AGAINST_NEW];
	const char *user = rule_names_get(against->names, seen->user_uid);
	char line[LINE_BYTES], text[2][ADDRESS_TEXT_BYTES], number[4], stamp[40];
	struct json_out out;

	json_out_init(&out, line, sizeof line);
	eve_timestamp(seen->start_ns, stamp, sizeof stamp);
	for (unsigned i = 0; i < 2; i++)
		address_text(seen->ends.address[i], text[i]);
	json_out_open(&out, NULL, '{');
	json_out_string(&out, "start", stamp);
	json_out_u64(&out, "flow_id", seen->flow_id);
	json_out_string(&out, "proto", eve_proto(seen->l4_proto, number));
	json_out_string(&out, "src_ip", text[HALF_C2S]);
	if (has_ports(seen->l4_proto))
		json_out_u64(&out, "src_port", seen->ends.port[HALF_C2S]);
	json_out_string(&out, "dest_ip", text[HALF_S2C]);
	if (has_ports(seen->l4_proto))
		json_out_u64(&out, "dest_port", seen->ends.port[HALF_S2C]);
	if (seen->n_vlan) {
		json_out_open(&out, "vlan", '[');
		for (unsigned i = 0; i < seen->n_vlan && i < 2; i++)
			json_out_u64(&out, NULL, seen->vlan[i]);
		json_out_close(&out, ']');
	}
	if (user)
		json_out_string(&out, "user", user);
	json_out_string(&out, "app_proto", app_of(against, new));
	if (old->app != new->app)
		json_out_string(&out, "app_proto_old", app_of(against, old));
	put_side(&out, "old", against, old);
	put_side(&out, "new", against, new);
	json_out_close(&out, '}');
	json_out_newline(&out);
	size_t length = json_out_length(&out);

	return out.full || fwrite(line, 1, length, file) != length ? -EIO : 0;
}

static int report_text(const struct against *against, const struct seen *seen, FILE *out)
{
	const struct side *old = &seen->side[AGAINST_OLD], *new = &seen->side[AGAINST_NEW];
	char text[2][ADDRESS_TEXT_BYTES], port[2][8] = {"", ""}, number[4], stamp[40];

	eve_timestamp(seen->start_ns, stamp, sizeof stamp);
	for (unsigned i = 0; i < 2; i++) {
		address_text(seen->ends.address[i], text[i]);
		if (has_ports(seen->l4_proto))
			snprintf(port[i], sizeof port[i], " %u", seen->ends.port[i]);
	}
	int rc = fprintf(out, "%s %s %s%s > %s%s %s: %s by %s -> %s by %s\n", stamp,
		eve_proto(seen->l4_proto, number), text[HALF_C2S], port[HALF_C2S], text[HALF_S2C],
		port[HALF_S2C], app_of(against, new), action_word(old->action),
		rule_of(against, old), action_word(new->action), rule_of(against, new));

	return rc < 0 ? -EIO : 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct seen *x = *(struct seen *const *)a, *y = *(struct seen *const *)b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->flow_id > y->flow_id) - (x->flow_id < y->flow_id);
}

int against_report(struct against *against, FILE *out, bool json, struct against_sum *sum)
{
	struct seen **different = calloc((size_t)against->n + 1, sizeof(struct seen *));
	uint64_t n = 0;
	int rc = 0;

	*sum = (struct against_sum){0};
	if (against->no_memory || !different) {
		free(different);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i <= against->mask; i++) {
		struct seen *seen = &against->slots[i];

		if (!seen->flow_id)
			continue;
		sum->flows++;
		if (differs(seen))
			different[n++] = seen;
	}
	qsort(different, n, sizeof(struct seen *), compare_starts);
	for (uint64_t i = 0; i < n && !rc; i++)
		rc = json ? report_json(against, different[i], out)
			  : report_text(against, different[i], out);
	sum->differ = n;
	free(different);
	return rc ? rc : fflush(out) ? -EIO : 0;
}
