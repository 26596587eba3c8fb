// SPDX-License-Identifier: BSD-3-Clause
// Compiles patterns over normalised text into one database of Hyperscan, and scans texts with it.
#include "classify/text_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classify/sigdb.h"

#define REGEX_FLAGS (HS_FLAG_UTF8 | HS_FLAG_CASELESS | HS_FLAG_DOTALL | HS_FLAG_SINGLEMATCH)
// Of a literal every place is told. Its letters are folded already. (One match of each would be
// kept account of for all patterns before every scan, and would exclude Hyperscan's way for sets of
// literals alone.)
#define LITERAL_FLAGS HS_FLAG_UTF8
#define REGEX_LENGTH  0 // in pattern_of.length

struct pattern_of {
	uint32_t owner;
	uint32_t length; // of a literal
};

struct text_set {
	hs_database_t *db; // NULL: there are no patterns
	uint32_t n;
	struct pattern_of patterns[];
};

// The last hit of a pattern, if `scan` is this scan's.
struct last_hit {
	uint32_t scan;
	uint32_t hit;
};

struct text_set_scratch {
	const struct text_set *set; // that it is good for
	hs_scratch_t *hs;
	uint64_t scans;
	uint32_t scan; // number of this scan; never 0
	uint32_t length;
	uint32_t n_hits, n_ranges;
	bool more;
	uint32_t room;
	uint8_t *text;          // `room` bytes and SIGDB_SLACK zeros
	struct last_hit *last;  // by pattern
	struct text_hit hits[]; // set->n + TEXT_SET_RANGES_MAX
};

static int complain(struct text_set_error *error, int rc, uint32_t pattern, const char *message)
{
	error->pattern = pattern;
	snprintf(error->message, sizeof(error->message), "%s", message);
	return rc;
}

int text_set_check(const char *regex, char *message, size_t message_len)
{
	hs_expr_info_t *info = NULL;
	hs_compile_error_t *error = NULL;
	bool empty;

	if (hs_expression_info(regex, REGEX_FLAGS, &info, &error) != HS_SUCCESS) {
		snprintf(message, message_len, "%s", error ? error->message : "not accepted");
		hs_free_compile_error(error);
		return -EINVAL;
	}
	empty = info->min_width == 0;
	free(info);
	if (!empty)
		return 0;
	snprintf(message, message_len, "It matches an empty text, and so every one");
	return -EINVAL;
}

// A literal as a regex. 4 bytes of each byte are enough.
static char *put_literal(char *at, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		bool plain = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
			     (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');

		at += plain ? snprintf(at, 2, "%c", byte) : snprintf(at, 5, "\\x%02x", byte);
	}
	*at = '\0';
	return at + 1;
}

// The patterns in arrays as Hyperscan takes them.
struct compile_input {
	const char **patterns;
	unsigned *flags;
	unsigned *ids;
	char *literals;
};

static int fill(struct compile_input *in, const struct text_pattern *patterns, uint32_t n)
{
	size_t bytes = 1;
	char *at;

	for (uint32_t i = 0; i < n; i++)
		bytes += patterns[i].regex ? 0 : 4 * strlen(patterns[i].text) + 1;
	in->patterns = calloc(n, sizeof(*in->patterns));
	in->flags = calloc(n, sizeof(*in->flags));
	in->ids = calloc(n, sizeof(*in->ids));
	in->literals = at = malloc(bytes);
	if (!in->patterns || !in->flags || !in->ids || !in->literals)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		in->ids[i] = i;
		in->flags[i] = patterns[i].regex ? REGEX_FLAGS : LITERAL_FLAGS;
		in->patterns[i] = patterns[i].regex ? patterns[i].text : at;
		if (!patterns[i].regex)
			at = put_literal(at, patterns[i].text);
	}
	return 0;
}

static int compile(
	struct text_set *set, const struct text_pattern *patterns, struct text_set_error *error)
{
	hs_compile_error_t *failed = NULL;
	struct compile_input in = {0};
	int rc = fill(&in, patterns, set->n);

	if (rc)
		complain(error, rc, UINT32_MAX, "no memory");
	else if (hs_compile_multi(in.patterns, in.flags, in.ids, set->n, HS_MODE_BLOCK, NULL,
			 &set->db, &failed) != HS_SUCCESS)
		rc = complain(error, -EINVAL,
			failed && failed->expression >= 0 ? (uint32_t)failed->expression
							  : UINT32_MAX,
			failed ? failed->message : "not accepted");
	hs_free_compile_error(failed);
	free(in.patterns);
	free(in.flags);
	free(in.ids);
	free(in.literals);
	return rc;
}

int text_set_new(const struct text_pattern *patterns, uint32_t n, struct text_set **out,
	struct text_set_error *error)
{
	struct text_set *set;
	int rc = 0;

	*out = NULL;
	if (n > TEXT_SET_PATTERNS_MAX)
		return complain(error, -E2BIG, UINT32_MAX, "too many patterns");
	if (hs_valid_platform() != HS_SUCCESS)
		return complain(
			error, -EINVAL, UINT32_MAX, "this CPU lacks SSSE3, which Hyperscan needs");
	set = calloc(1, sizeof(*set) + n * sizeof(set->patterns[0]));
	if (!set)
		return complain(error, -ENOMEM, UINT32_MAX, "no memory");
	set->n = n;
	for (uint32_t i = 0; i < n && !rc; i++) {
		set->patterns[i].owner = patterns[i].owner;
		set->patterns[i].length =
			patterns[i].regex ? REGEX_LENGTH : (uint32_t)strlen(patterns[i].text);
		if (!patterns[i].text[0])
			rc = complain(error, -EINVAL, i, "It is empty");
	}
	if (n && !rc)
		rc = compile(set, patterns, error);
	if (rc) {
		text_set_free(set);
		return rc;
	}
	*out = set;
	return 0;
}

void text_set_free(struct text_set *set)
{
	if (!set)
		return;
	hs_free_database(set->db);
	free(set);
}

int text_set_scratch_new(const struct text_set *set, uint32_t room, struct text_set_scratch **out)
{
	size_t hits = (size_t)set->n + TEXT_SET_RANGES_MAX;
	struct text_set_scratch *scratch =
		calloc(1, sizeof(*scratch) + hits * sizeof(scratch->hits[0]));

	*out = NULL;
	if (!scratch)
		return -ENOMEM;
	scratch->set = set;
	scratch->room = room;
	scratch->text = calloc(1, (size_t)room + SIGDB_SLACK);
	scratch->last = calloc(set->n + 1, sizeof(*scratch->last));
	if (!scratch->text || !scratch->last ||
		(set->db && hs_alloc_scratch(set->db, &scratch->hs) != HS_SUCCESS)) {
		text_set_scratch_free(scratch);
		return -ENOMEM;
	}
	*out = scratch;
	return 0;
}

void text_set_scratch_free(struct text_set_scratch *scratch)
{
	if (!scratch)
		return;
	hs_free_scratch(scratch->hs);
	free(scratch->text);
	free(scratch->last);
	free(scratch);
}

uint8_t *text_set_room(struct text_set_scratch *scratch, uint32_t *size)
{
	*size = scratch->room;
	return scratch->text;
}

uint64_t text_set_scans(const struct text_set_scratch *scratch)
{
	return scratch ? scratch->scans : 0;
}

// Only writes down: a nested scan with the same scratch would corrupt it.
static int on_match(
	unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *ctx)
{
	struct text_set_scratch *scratch = ctx;
	const struct pattern_of *pattern = &scratch->set->patterns[id];
	struct last_hit *last = &scratch->last[id];
	bool again = last->scan == scratch->scan;
	struct text_hit hit = {
		.pattern = id, .owner = pattern->owner, .from = 0, .to = scratch->length};

	(void)from;
	(void)flags;
	if (pattern->length != REGEX_LENGTH) {
		hit.to = (uint32_t)to;
		hit.from = hit.to - pattern->length;
	}
	if (again && scratch->hits[last->hit].to >= hit.from) {
		scratch->hits[last->hit].to = hit.to;
		return 0;
	}
	if (again && scratch->n_ranges++ >= TEXT_SET_RANGES_MAX) {
		scratch->more = true;
		return 0;
	}
	*last = (struct last_hit){.scan = scratch->scan, .hit = scratch->n_hits};
	scratch->hits[scratch->n_hits++] = hit;
	return 0;
}

static void next_scan(struct text_set_scratch *scratch, uint32_t length)
{
	if (++scratch->scan == 0) { // after 2^32 scans none may look like this one
		memset(scratch->last, 0, scratch->set->n * sizeof(*scratch->last));
		scratch->scan = 1;
	}
	scratch->length = length;
	scratch->n_hits = scratch->n_ranges = 0;
	scratch->more = false;
}

struct text_hits text_set_scan(const struct text_set *set, struct text_set_scratch *scratch,
	uint32_t from, uint32_t length)
{
	struct text_hits none = {0}, failed = {.failed = true};

	if (!scratch || scratch->set != set || from > scratch->room ||
		length > scratch->room - from)
		return failed;
	if (!set->db || !length)
		return none;
	next_scan(scratch, length);
	scratch->scans++;
	// hs_scan takes char; the bytes stay bytes
	if (hs_scan(set->db, (const char *)scratch->text + from, length, 0, scratch->hs, on_match,
		    scratch) != HS_SUCCESS)
		return failed;
	return (struct text_hits){
		.hits = scratch->hits, .n = scratch->n_hits, .more = scratch->more};
}
