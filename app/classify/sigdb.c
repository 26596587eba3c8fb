// SPDX-License-Identifier: BSD-3-Clause
// Compiles signatures into databases of Hyperscan, and scans prefixes of halves with them.
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "classify/sigdb.h"

#define SIGNATURES_MAX SIGNATURE_USER_FIRST // of either kind; UINT16_MAX is none

static unsigned part_of(uint8_t l4_proto, unsigned half)
{
	return (l4_proto == IPPROTO_UDP ? 2 : 0) + half;
}

// Each signature is reported once a scan: the list of hits stays bounded, and nobody needs to know
// how often it matched. No start of match: it is dear, and crashes were reported with it.
static unsigned hs_flags_of(const struct signature *signature)
{
	return HS_FLAG_SINGLEMATCH | (signature->caseless ? HS_FLAG_CASELESS : 0) |
	       (signature->dotall ? HS_FLAG_DOTALL : 0);
}

static int check_signature(const struct signature *signature, char *err, size_t err_len)
{
	const char *wrong = NULL;

	if (!signature->id[0])
		wrong = "it has no id";
	else if (!signature->pattern[0])
		wrong = "its pattern is empty";
	else if (signature->l4 != IPPROTO_TCP && signature->l4 != IPPROTO_UDP)
		wrong = "its l4 is neither tcp nor udp";
	else if (!(signature->halves & 3) || signature->halves & ~3)
		wrong = "its direction is none";
	else if (signature->app == APP_NONE || signature->app >= APPS_MAX)
		wrong = "its application is unknown";
	else if (signature->verify &&
		 (!app_get(signature->app) || !app_get(signature->app)->verify))
		wrong = "it asks for a verifier that its application does not have";
	else if (!signature->verify && (signature->confidence < CONFIDENCE_PARTIAL ||
					       signature->confidence > CONFIDENCE_DPI))
		wrong = "its confidence is neither partial nor dpi";
	if (!wrong)
		return 0;
	snprintf(err, err_len, "signature \"%s\": %s", signature->id, wrong);
	return -EINVAL;
}

int sigdb_check_pattern(const struct signature *signature, char *err, size_t err_len)
{
	hs_expr_info_t *info = NULL;
	hs_compile_error_t *error = NULL;
	int rc = check_signature(signature, err, err_len);

	if (rc)
		return rc;
	if (hs_expression_info(signature->pattern, hs_flags_of(signature), &info, &error) !=
		HS_SUCCESS) {
		snprintf(err, err_len, "signature \"%s\": pattern: %s", signature->id,
			error ? error->message : "not accepted");
		hs_free_compile_error(error);
		return -EINVAL;
	}
	// A pattern that matches nothing at all would name every flow.
	if (info->min_width == 0) {
		snprintf(err, err_len, "signature \"%s\": pattern: it matches an empty payload",
			signature->id);
		rc = -EINVAL;
	}
	free(info);
	return rc;
}

// The patterns of one part, in arrays as Hyperscan takes them.
struct part_input {
	const char **patterns;
	unsigned *flags;
	unsigned *ids;
	unsigned n;
};

static void part_fill(struct part_input *in, const struct sigdb *db, unsigned part)
{
	in->n = 0;
	for (unsigned i = 0; i < db->n; i++) {
		const struct signature *signature = &db->signatures[i];

		for (unsigned half = 0; half < 2; half++) {
			if (!(signature->halves >> half & 1) ||
				part_of(signature->l4, half) != part)
				continue;
			in->patterns[in->n] = signature->pattern;
			in->flags[in->n] = hs_flags_of(signature);
			in->ids[in->n++] = i;
		}
	}
}

static int part_compile(
	const struct part_input *in, struct sigdb *db, unsigned part, char *err, size_t err_len)
{
	hs_compile_error_t *error = NULL;

	if (!in->n)
		return 0;
	if (hs_compile_multi(in->patterns, in->flags, in->ids, in->n, HS_MODE_BLOCK, NULL,
		    &db->parts[part], &error) == HS_SUCCESS)
		return 0;
	bool named = error && error->expression >= 0 && (unsigned)error->expression < in->n;

	snprintf(err, err_len, "signature \"%s\": pattern: %s",
		named ? db->signatures[in->ids[error->expression]].id : "?",
		error ? error->message : "not accepted");
	hs_free_compile_error(error);
	return -EINVAL;
}

static int compile(struct sigdb *db, char *err, size_t err_len)
{
	struct part_input in = {
		.patterns = calloc(db->n + 1, sizeof(*in.patterns)),
		.flags = calloc(db->n + 1, sizeof(*in.flags)),
		.ids = calloc(db->n + 1, sizeof(*in.ids)),
	};
	int rc = in.patterns && in.flags && in.ids ? 0 : -ENOMEM;

	for (unsigned part = 0; !rc && part < SIGDB_PARTS; part++) {
		part_fill(&in, db, part);
		rc = part_compile(&in, db, part, err, err_len);
	}
	free(in.patterns);
	free(in.flags);
	free(in.ids);
	return rc;
}

static int check_all(const struct sigdb *db, char *err, size_t err_len)
{
	for (unsigned i = 0; i < db->n; i++) {
		const struct signature *signature = &db->signatures[i];
		int rc = signature_is_gone(signature) && signature->app != APP_NONE
				 ? 0
				 : check_signature(signature, err, err_len);

		if (rc)
			return rc;
	}
	return 0;
}

static int sigdb_make(const struct sigdb *base, const struct signature *signatures, unsigned n,
	const char *cache_dir, struct sigdb **out, bool *from_cache, char *err, size_t err_len)
{
	struct sigdb *db = calloc(1, sizeof(*db));
	size_t key_len = 0;
	uint8_t *key = NULL;
	bool cached = false;
	int rc;

	*out = NULL;
	snprintf(err, err_len, "no memory for %u signatures", n);
	if (from_cache)
		*from_cache = false;
	if (!db)
		return -ENOMEM;
	db->base = base;
	db->n = n;
	db->signatures = calloc(n + 1, sizeof(*signatures));
	if (!db->signatures || n >= SIGNATURES_MAX) {
		sigdb_free(db);
		return -ENOMEM;
	}
	if (n)
		memcpy(db->signatures, signatures, n * sizeof(*signatures));
	rc = check_all(db, err, err_len);
	if (!rc && hs_valid_platform() != HS_SUCCESS) {
		snprintf(err, err_len, "this CPU lacks SSSE3, which Hyperscan needs");
		rc = -EINVAL;
	}
	if (!rc && cache_dir)
		key = sigdb_cache_key(db->signatures, n, &key_len);
	if (!rc && key)
		cached = sigdb_cache_read(cache_dir, key, key_len, db->parts);
	if (!rc && !cached)
		rc = compile(db, err, err_len);
	if (!rc && !cached && key)
		sigdb_cache_write(cache_dir, key, key_len, db->parts);
	free(key);
	if (rc) {
		sigdb_free(db);
		return rc;
	}
	if (from_cache)
		*from_cache = cached;
	*out = db;
	return 0;
}

int sigdb_new(const struct signature *signatures, unsigned n, const char *cache_dir,
	struct sigdb **out, bool *from_cache, char *err, size_t err_len)
{
	return sigdb_make(NULL, signatures, n, cache_dir, out, from_cache, err, err_len);
}

int sigdb_new_overlay(const struct sigdb *base, const struct signature *own, unsigned n,
	const char *cache_dir, struct sigdb **out, bool *from_cache, char *err, size_t err_len)
{
	return sigdb_make(base, own, n, cache_dir, out, from_cache, err, err_len);
}

void sigdb_free(struct sigdb *db)
{
	if (!db)
		return;
	for (unsigned part = 0; part < SIGDB_PARTS; part++)
		hs_free_database(db->parts[part]);
	free(db->signatures);
	free(db);
}

static const struct sigdb *base_of(const struct sigdb *db)
{
	return db->base ? db->base : db;
}

static unsigned count(const struct sigdb *db)
{
	unsigned n = 0;

	for (unsigned i = 0; i < db->n; i++)
		n += !signature_is_gone(&db->signatures[i]);
	return n;
}

unsigned sigdb_count(const struct sigdb *db)
{
	return count(base_of(db));
}

unsigned sigdb_user_count(const struct sigdb *db)
{
	return db->base ? count(db) : 0;
}

const struct signature *sigdb_get(const struct sigdb *db, unsigned index)
{
	if (index < SIGNATURE_USER_FIRST)
		return index < base_of(db)->n ? &base_of(db)->signatures[index] : NULL;
	index -= SIGNATURE_USER_FIRST;
	return db->base && index < db->n ? &db->signatures[index] : NULL;
}

static bool scratch_grow(struct sigdb_scratch *scratch, const struct sigdb *db)
{
	for (unsigned part = 0; part < SIGDB_PARTS; part++)
		if (db->parts[part] &&
			hs_alloc_scratch(db->parts[part], &scratch->hs) != HS_SUCCESS)
			return false;
	return true;
}

int sigdb_scratch_new(const struct sigdb *db, struct sigdb_scratch **out)
{
	unsigned room = base_of(db)->n + (db->base ? db->n : 0);
	struct sigdb_scratch *scratch =
		calloc(1, sizeof(*scratch) + room * sizeof(scratch->hits[0]));

	*out = NULL;
	if (!scratch)
		return -ENOMEM;
	scratch->db = db;
	scratch->room = room;
	if (!scratch_grow(scratch, db) || (db->base && !scratch_grow(scratch, db->base))) {
		sigdb_scratch_free(scratch);
		return -ENOMEM;
	}
	*out = scratch;
	return 0;
}

void sigdb_scratch_free(struct sigdb_scratch *scratch)
{
	if (!scratch)
		return;
	hs_free_scratch(scratch->hs);
	free(scratch);
}

int edition_new(const struct sigdb *db, unsigned n_scratch, struct edition **out)
{
	struct edition *edition = calloc(1, sizeof(*edition));
	int rc = edition && n_scratch <= EDITION_SCRATCHES_MAX ? 0 : -ENOMEM;

	*out = NULL;
	for (unsigned i = 0; !rc && i < n_scratch; i++) {
		rc = sigdb_scratch_new(db, &edition->scratch[i]);
		edition->n_scratch += !rc;
	}
	if (rc) {
		edition_free(edition);
		return rc;
	}
	edition->db = db;
	*out = edition;
	return 0;
}

void edition_free(struct edition *edition)
{
	if (!edition)
		return;
	for (unsigned i = 0; i < edition->n_scratch; i++)
		sigdb_scratch_free(edition->scratch[i]);
	free(edition);
}

// Only appends: a nested scan with the same scratch would corrupt it.
static int on_match(
	unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *ctx)
{
	struct sigdb_scratch *scratch = ctx;

	(void)from;
	(void)flags;
	if (scratch->n_hits < scratch->room)
		scratch->hits[scratch->n_hits++] = (struct sigdb_hit){
			.signature = (uint16_t)(scratch->first + id),
			.to = to < UINT16_MAX ? (uint16_t)to : UINT16_MAX,
		};
	return 0;
}

static bool lacks_slack(const uint8_t *bytes, uint32_t length)
{
	// of the last octet: an input that ends with its page has nothing behind it
	uintptr_t last = (uintptr_t)bytes + length - 1;

	return last % SIGDB_PAGE >= SIGDB_PAGE - SIGDB_SLACK;
}

static const uint8_t *with_slack(
	struct sigdb_scratch *scratch, const uint8_t *bytes, uint32_t length)
{
	if (__builtin_expect(!lacks_slack(bytes, length), true))
		return bytes;
	scratch->copied++;
	return memcpy(scratch->copy + CLASSIFY_PREFIX_BYTES - length, bytes, length);
}

// The only caller of hs_scan: `bytes` are with_slack().
static bool scan(const struct sigdb *db, unsigned which, unsigned first,
	struct sigdb_scratch *scratch, const uint8_t *bytes, uint32_t length)
{
	const hs_database_t *part = db->parts[which];

	scratch->first = first;
	// hs_scan takes char; the bytes stay bytes
	return !part || hs_scan(part, (const char *)bytes, length, 0, scratch->hs, on_match,
				scratch) == HS_SUCCESS;
}

bool sigdb_scan(const struct sigdb *db, struct sigdb_scratch *scratch, uint8_t l4_proto,
	unsigned half, const uint8_t *bytes, uint32_t length)
{
	unsigned which = part_of(l4_proto, half);

	if (!scratch || scratch->db != db)
		return false;
	scratch->n_hits = 0;
	if (!length)
		return true;
	if (length > CLASSIFY_PREFIX_BYTES)
		length = CLASSIFY_PREFIX_BYTES;
	bytes = with_slack(scratch, bytes, length);
	if (scan(base_of(db), which, 0, scratch, bytes, length) &&
		(!db->base || scan(db, which, SIGNATURE_USER_FIRST, scratch, bytes, length)))
		return true;
	scratch->n_hits = 0;
	return false;
}
