// SPDX-License-Identifier: BSD-3-Clause
// Decides living flows under two policies and counts the differences.
#include "control/ctl/flow_diff.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/policy/decide.h"
#include "control/ctl/flow_json.h"
#include "pipeline/query.h"
#include "pipeline/policy/policy.h"

#define KEPT_PER_EXAMPLE 4 // flows kept for each that is shown, so that rare changes find room

struct verdict_of { // a decision, as an operator names it
	uint8_t action;
	const char *rule; // borrowed from its policy
	bool final;
};

struct example {
	struct flow_record record;
	struct example *next;
};

struct transition {
	struct verdict_of old;
	struct verdict_of new;
	uint64_t flows;
	struct example *examples, **last; // owned; oldest first
	unsigned n_examples;
};

struct flow_diff {
	const struct policy *old;
	const struct policy *new;
	uint64_t old_windows;
	uint64_t new_windows;
	unsigned examples;
	unsigned kept;
	uint64_t looked_at;
	uint64_t changed;
	uint64_t undecided;
	bool no_memory;
	struct transition **transitions;
	size_t n;
};

struct flow_diff *flow_diff_new(
	const struct policy *old, const struct policy *new, uint64_t wall_ns, unsigned examples)
{
	struct flow_diff *diff = calloc(1, sizeof *diff);

	if (!diff)
		return NULL;
	diff->old = old;
	diff->new = new;
	diff->old_windows = timetable_at(&old->times, wall_ns).active;
	diff->new_windows = timetable_at(&new->times, wall_ns).active;
	diff->examples = examples;
	return diff;
}

void flow_diff_free(struct flow_diff *diff)
{
	if (!diff)
		return;
	for (size_t i = 0; i < diff->n; i++) {
		struct example *example = diff->transitions[i]->examples;

		while (example) {
			struct example *next = example->next;

			free(example);
			example = next;
		}
		free(diff->transitions[i]);
	}
	free(diff->transitions);
	free(diff);
}

// As the stages ask (stage_inspect, stage_admit), on what the record knows.
static struct verdict_of ask(
	const struct policy *policy, uint64_t windows, const struct flow_record *record)
{
	bool blocked = record->lru_class == FLOW_CLASS_BLOCKED;
	bool has_app = record->l4_proto == IPPROTO_TCP || record->l4_proto == IPPROTO_UDP;
	const struct decide_input input = {
		.ends = &record->ends,
		.app = record->app,
		.confidence = record->confidence,
		.l4_proto = record->l4_proto,
		.n_vlan = record->n_vlan,
		.app_final = blocked || !has_app || record->flags & FLOW_APP_FINAL,
		.ports_known = true,
		.c2s_from_inside = record->flags & FLOW_C2S_INSIDE,
		.vlan = {record->vlan[0], record->vlan[1]},
		.windows = windows,
		.mac = record->has_mac ? record->mac : NULL,
		.dscp = record->dscp,
	};
	struct decision decision = decide(policy, &input);

	return (struct verdict_of){
		.action = decision.action,
		.rule = decision.rule == RULE_DEFAULT ? "default" : policy->rules[decision.rule].id,
		// what has not carried payload keeps no MAC address: its next packet says
		.final = decision.final && (record->has_mac || !policy->asks_mac),
	};
}

static bool same_verdict(const struct verdict_of *a, const struct verdict_of *b)
{
	return a->action == b->action && strcmp(a->rule, b->rule) == 0;
}

static struct transition *transition_get(
	struct flow_diff *diff, const struct verdict_of *old, const struct verdict_of *new)
{
	struct transition **grown, *made;

	for (size_t i = 0; i < diff->n; i++) {
		struct transition *transition = diff->transitions[i];

		if (same_verdict(&transition->old, old) && same_verdict(&transition->new, new))
			return transition;
	}
	grown = reallocarray(diff->transitions, diff->n + 1, sizeof *grown);
	if (!grown)
		return NULL;
	diff->transitions = grown;
	made = calloc(1, sizeof *made);
	if (!made)
		return NULL;
	*made = (struct transition){.old = *old, .new = *new, .last = &made->examples};
	grown[diff->n++] = made;
	return made;
}

static void example_keep(
	struct flow_diff *diff, struct transition *transition, const struct flow_record *record)
{
	struct example *example;

	if (transition->n_examples >= diff->examples)
		return;
	if (diff->kept >= diff->examples * KEPT_PER_EXAMPLE && transition->n_examples)
		return;
	example = calloc(1, sizeof *example);
	if (!example) {
		diff->no_memory = true;
		return;
	}
	example->record = *record;
	*transition->last = example;
	transition->last = &example->next;
	transition->n_examples++;
	diff->kept++;
}

void flow_diff_look(struct flow_diff *diff, const struct flow_record *record)
{
	struct verdict_of old, new;
	struct transition *transition;

	diff->looked_at++;
	// the operator's word stands above every policy
	if (record->flags & (FLOW_ALLOWED | FLOW_OPERATOR))
		return;
	old = ask(diff->old, diff->old_windows, record);
	new = ask(diff->new, diff->new_windows, record);
	if (!new.final) {
		diff->undecided++;
		return;
	}
	// of a flow that was undecided before, which rule lets it pass is no news
	if (same_verdict(&old, &new) || (!old.final && old.action == new.action))
		return;
	diff->changed++;
	transition = transition_get(diff, &old, &new);
	if (!transition) {
		diff->no_memory = true;
		return;
	}
	transition->flows++;
	example_keep(diff, transition, record);
}

static json_t *verdict_json(const struct verdict_of *verdict)
{
	return json_pack(
		"{s:s, s:s}", "action", action_word(verdict->action), "rule", verdict->rule);
}

static int compare_transitions(const void *a, const void *b)
{
	const struct transition *x = *(struct transition *const *)a;
	const struct transition *y = *(struct transition *const *)b;
	int order = (x->flows < y->flows) - (x->flows > y->flows);

	if (!order)
		order = strcmp(x->old.rule, y->old.rule);
	return order ? order : strcmp(x->new.rule, y->new.rule);
}

// One of each transition, then a second of each ...
static int examples_add(
	json_t *out, const struct flow_diff *diff, const struct control_context *context)
{
	unsigned left = diff->examples, found = 1;
	int rc = 0;

	for (unsigned round = 0; left && found && !rc; round++) {
		found = 0;
		for (size_t i = 0; i < diff->n && left && !rc; i++) {
			const struct transition *transition = diff->transitions[i];
			const struct example *example = transition->examples;
			json_t *object;

			for (unsigned k = 0; k < round && example; k++)
				example = example->next;
			if (!example)
				continue;
			object = flow_json(context, &example->record);
			put_json(&object, "old", verdict_json(&transition->old));
			put_json(&object, "new", verdict_json(&transition->new));
			rc = json_array_append_new(out, object);
			found++;
			left--;
		}
	}
	return rc;
}

json_t *flow_diff_json(const struct flow_diff *diff, const struct control_context *context)
{
	json_t *transitions = json_array(), *examples = json_array(), *message = NULL;
	int rc = diff->no_memory || !transitions || !examples;

	if (diff->n)
		qsort(diff->transitions, diff->n, sizeof *diff->transitions, compare_transitions);
	for (size_t i = 0; i < diff->n && !rc; i++) {
		const struct transition *transition = diff->transitions[i];

		rc = json_array_append_new(transitions,
			json_pack("{s:o, s:o, s:I}", "old", verdict_json(&transition->old), "new",
				verdict_json(&transition->new), "flows",
				(json_int_t)transition->flows));
	}
	if (!rc)
		rc = examples_add(examples, diff, context);
	if (!rc)
		message = json_pack("{s:I, s:I, s:I, s:O, s:O}", "looked_at",
			(json_int_t)diff->looked_at, "changed", (json_int_t)diff->changed,
			"undecided", (json_int_t)diff->undecided, "transitions", transitions,
			"examples", examples);
	json_decref(transitions);
	json_decref(examples);
	return message;
}
