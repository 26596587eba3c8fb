// SPDX-License-Identifier: BSD-3-Clause
// "scan" of a rule: how the virus engine looks at files, and what becomes of them by its verdict.
#include <string.h>

#include "control/policy/fields.h"
#include "pipeline/policy/content_rules.h"

#define WINDOW_MIN  4096u
#define WINDOW_MAX  (16u << 20)
#define OVERLAP_MAX (1u << 20)

static const char *const mode_words[] = {"whole", "windows", NULL};
static const char *const policy_words[] = {"pass", "audit", "reset", NULL};

static void read_policy(const struct json_at *at, uint8_t *policy)
{
	unsigned word;

	if (json_want_word(at, policy_words, &word))
		*policy = (uint8_t)word;
}

static void read_bytes(const struct json_at *at, uint32_t min, uint32_t max, uint32_t *bytes)
{
	uint64_t value;

	if (json_want_integer(at, min, max, &value))
		*bytes = (uint32_t)value;
}

static void read_mode(const struct json_at *at, void *ctx)
{
	struct rule_scan *scan = ctx;
	unsigned word;

	if (json_want_word(at, mode_words, &word))
		scan->windows = word;
}

static void read_direction(const struct json_at *at, void *ctx)
{
	struct rule_scan *scan = ctx;
	unsigned word;

	if (json_want_word(at, policy_content_direction_words, &word))
		scan->direction = (uint8_t)word;
}

static void read_max(const struct json_at *at, void *ctx)
{
	struct rule_scan *scan = ctx;

	read_bytes(at, WINDOW_MIN, SCAN_FILE_MAX, &scan->max_bytes);
}

static void read_window(const struct json_at *at, void *ctx)
{
	struct rule_scan *scan = ctx;

	read_bytes(at, WINDOW_MIN, WINDOW_MAX, &scan->window_bytes);
}

static void read_overlap(const struct json_at *at, void *ctx)
{
	struct rule_scan *scan = ctx;

	read_bytes(at, 0, OVERLAP_MAX, &scan->overlap_bytes);
}

#define READ(dotted, function)                                                         \
	{                                                                              \
		.name = dotted, .kind = JSON_KIND_READ, .read = function, .live = true \
	}
#define READ_POLICY(word, where)                                     \
	static void read_##word(const struct json_at *at, void *ctx) \
	{                                                            \
		struct rule_scan *scan = ctx;                        \
                                                                     \
		read_policy(at, &scan->where);                       \
	}
READ_POLICY(infected, on[SCAN_INFECTED])
READ_POLICY(error, on[SCAN_ERROR])
READ_POLICY(timeout, on[SCAN_TIMEOUT])
READ_POLICY(too_big, on_unscanned[SCAN_REASON_TOO_BIG])
READ_POLICY(too_deep, on_unscanned[SCAN_REASON_TOO_DEEP])
READ_POLICY(encrypted, on_unscanned[SCAN_REASON_ENCRYPTED])
READ_POLICY(format, on_unscanned[SCAN_REASON_FORMAT])
READ_POLICY(limit, on_unscanned[SCAN_REASON_LIMIT])
READ_POLICY(protocol, on_unscanned[SCAN_REASON_PROTOCOL])
READ_POLICY(busy, on_unscanned[SCAN_REASON_BUSY])
READ_POLICY(no_engine, on_unscanned[SCAN_REASON_NO_ENGINE])

static const struct json_field unscanned_fields[] = {
	READ("rules[].scan.unscanned.too_big", read_too_big),
	READ("rules[].scan.unscanned.too_deep", read_too_deep),
	READ("rules[].scan.unscanned.encrypted", read_encrypted),
	READ("rules[].scan.unscanned.format", read_format),
	READ("rules[].scan.unscanned.limit", read_limit),
	READ("rules[].scan.unscanned.protocol", read_protocol),
	READ("rules[].scan.unscanned.busy", read_busy),
	READ("rules[].scan.unscanned.no_engine", read_no_engine),
	JSON_FIELD_END,
};

static void read_unscanned(const struct json_at *at, void *ctx)
{
	json_fields_read(at, unscanned_fields, NULL, NULL, ctx);
}

static const struct json_field scan_fields[] = {
	READ("rules[].scan.mode", read_mode),
	READ("rules[].scan.max_bytes", read_max),
	READ("rules[].scan.window_bytes", read_window),
	READ("rules[].scan.overlap_bytes", read_overlap),
	READ("rules[].scan.direction", read_direction),
	READ("rules[].scan.infected", read_infected),
	READ("rules[].scan.error", read_error),
	READ("rules[].scan.timeout", read_timeout),
	READ("rules[].scan.unscanned", read_unscanned),
	JSON_FIELD_END,
};

// What nobody has looked at is refused, but where that would refuse what is in daily use.
static const struct rule_scan scan_default = {
	.max_bytes = SCAN_MAX_BYTES,
	.window_bytes = SCAN_WINDOW_BYTES,
	.overlap_bytes = SCAN_OVERLAP_BYTES,
	.on =
		{
			[SCAN_ERROR] = SCAN_POLICY_RESET,
			[SCAN_TIMEOUT] = SCAN_POLICY_RESET,
			[SCAN_INFECTED] = SCAN_POLICY_RESET,
		},
	.on_unscanned =
		{
			[SCAN_REASON_TOO_BIG] = SCAN_POLICY_AUDIT,
			[SCAN_REASON_TOO_DEEP] = SCAN_POLICY_RESET,
			[SCAN_REASON_ENCRYPTED] = SCAN_POLICY_AUDIT,
			[SCAN_REASON_FORMAT] = SCAN_POLICY_AUDIT,
			[SCAN_REASON_LIMIT] = SCAN_POLICY_RESET,
			[SCAN_REASON_PROTOCOL] = SCAN_POLICY_AUDIT,
			[SCAN_REASON_BUSY] = SCAN_POLICY_RESET,
			[SCAN_REASON_NO_ENGINE] = SCAN_POLICY_RESET,
		},
};

void policy_read_rule_scan(const struct json_at *at, void *ctx)
{
	struct rule_content *content = policy_rule_content(at, ctx);

	if (!content)
		return;
	content->has_scan = true;
	content->scan = scan_default;
	json_fields_read(at, scan_fields, NULL, NULL, &content->scan);
	if (content->scan.overlap_bytes > content->scan.window_bytes)
		json_at_error(at,
			"overlap_bytes (%u) is more than window_bytes (%u): make the windows "
			"larger",
			content->scan.overlap_bytes, content->scan.window_bytes);
}

json_t *policy_scan_json(const struct rule_scan *scan)
{
	json_t *unscanned = json_object();

	for (unsigned i = SCAN_REASON_NONE + 1; i < SCAN_REASONS_MAX; i++)
		json_object_set_new(unscanned, scan_reason_word(i),
			json_string(policy_words[scan->on_unscanned[i]]));
	return json_pack("{s:s,s:I,s:I,s:I,s:s,s:s,s:s,s:s,s:o}", "mode", mode_words[scan->windows],
		"max_bytes", (json_int_t)scan->max_bytes, "window_bytes",
		(json_int_t)scan->window_bytes, "overlap_bytes", (json_int_t)scan->overlap_bytes,
		"direction", policy_content_direction_words[scan->direction], "infected",
		policy_words[scan->on[SCAN_INFECTED]], "error", policy_words[scan->on[SCAN_ERROR]],
		"timeout", policy_words[scan->on[SCAN_TIMEOUT]], "unscanned", unscanned);
}
