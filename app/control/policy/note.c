// SPDX-License-Identifier: BSD-3-Clause
// Comments in policy.json: what a rule or a set is for, kept for `policy show` and `explain`.
#include <stdlib.h>
#include <string.h>
#include "control/policy/fields.h"

// Text for a person: no control characters, which would break lines that show it.
static bool want_comment(const struct json_at *at, const char **out)
{
	if (!json_want_text(at, 1, POLICY_COMMENT_MAX, out))
		return false;
	for (const char *c = *out; *c; c++) {
		if ((unsigned char)*c >= 0x20 && *c != 0x7f)
			continue;
		json_at_error(at, "a control character (0x%02x) in a comment: remove it",
			(unsigned char)*c);
		return false;
	}
	return true;
}

void policy_read_rule_comment(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	const char *text;

	if (!want_comment(at, &text))
		return;
	reader->rule->comment = strdup(text);
	if (!reader->rule->comment)
		json_at_error(at, "no memory");
}

struct set_reader {
	const char *comment;
	json_t *addresses;
};

static void read_set_comment(const struct json_at *at, void *ctx)
{
	struct set_reader *set = ctx;
	const char *text;

	if (want_comment(at, &text))
		set->comment = text;
}

static void read_set_addresses(const struct json_at *at, void *ctx)
{
	struct set_reader *set = ctx;

	set->addresses = at->value;
}

const struct json_field policy_set_fields[] = {
	{.name = "address_sets[].comment",
		.kind = JSON_KIND_READ,
		.read = read_set_comment,
		.live = true},
	{.name = "address_sets[].addresses",
		.kind = JSON_KIND_READ,
		.read = read_set_addresses,
		.required = true,
		.live = true},
	JSON_FIELD_END,
};

struct json_at policy_set_entries(const struct json_at *at, const char **comment)
{
	struct set_reader set = {0};

	*comment = NULL;
	if (!json_is_object(at->value))
		return *at;
	json_fields_read(at, policy_set_fields, NULL, NULL, &set);
	*comment = set.comment;
	return json_at_key(at, "addresses", set.addresses);
}

void policy_note_set(const struct json_at *at, struct policy *policy, const char *comment,
	const struct address_set *addresses, const struct mac_set *macs)
{
	struct set_note *grown =
		reallocarray(policy->notes, policy->n_notes + 1, sizeof *policy->notes);
	struct set_note note = {
		.name = strdup(at->key), .comment = strdup(comment), .is_mac = macs != NULL};
	int rc = grown && note.name && note.comment ? 0 : -1;

	if (grown)
		policy->notes = grown;
	if (!rc)
		rc = macs ? mac_set_merge(&note.macs, macs)
			  : address_set_merge(&note.addresses, addresses);
	if (!rc) {
		policy->notes[policy->n_notes++] = note;
		return;
	}
	free(note.name);
	free(note.comment);
	mac_set_free(&note.macs);
	address_set_free(&note.addresses);
	json_at_error(at, "no memory");
}

int policy_notes_json(json_t *object, const struct policy *policy, bool is_mac)
{
	int rc = object ? 0 : -1;

	for (uint32_t i = 0; i < policy->n_notes && !rc; i++) {
		const struct set_note *note = &policy->notes[i];

		if (note->is_mac == is_mac)
			rc = json_object_set_new(object, note->name,
				json_pack("{s:s, s:o}", "comment", note->comment, "addresses",
					is_mac ? policy_macs_json(&note->macs)
					       : policy_addresses_json(&note->addresses)));
	}
	return rc;
}
