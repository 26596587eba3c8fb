// SPDX-License-Identifier: BSD-3-Clause
// The verifier of audit logs, against the same in 40 lines: what it finds does not depend on how
// the bytes were cut, and a log without a fault has the right number and hash in each line. The
// first octet says how many bytes are fed at a time; a line "\\f" begins another file.
#include "audit/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct seen {
	uint64_t n;
	char text[AUDIT_HEX_BYTES]; // a hash over the faults so far
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void note(void *ctx, const struct audit_fault *fault)
{
	struct seen *seen = ctx;
	char text[1024];

	check(*fault->what && strlen(fault->what) < 400);
	check(!fault->file || fault->line > 0);
	seen->n++;
	int n = snprintf(text, sizeof(text), "%s %" PRIu64 " %" PRIu64 " %s", seen->text,
		fault->line, fault->seq, fault->what);
	audit_hash(text, (size_t)n, seen->text);
}

static const char *end_of_file(const char *at, const char *end)
{
	const char *mark = at < end ? memmem(at, (size_t)(end - at), "\n\f\n", 3) : NULL;

	return mark ? mark + 1 : end;
}

static void verify(const char *at, const char *end, size_t piece, struct seen *seen,
	struct audit_summary *summary)
{
	struct audit_chain *chain = audit_chain_new(note, seen, NULL);

	check(chain);
	while (at <= end) {
		const char *stop = end_of_file(at, end);
		audit_chain_file(chain, "file");
		while (at < stop) {
			size_t n = (size_t)(stop - at) < piece ? (size_t)(stop - at) : piece;
			char *exact = malloc(n); // an overrun of one byte is seen
			check(exact);
			memcpy(exact, at, n);
			audit_chain_feed(chain, exact, n);
			free(exact);
			at += n;
		}
		audit_chain_file_end(chain);
		at = stop + (stop < end ? 2 : 1);
	}
	audit_chain_end(chain, summary);
	audit_chain_free(chain);
	check(seen->n == summary->faults);
}

// Without a fault: written as the log writes it, line by line.
static void must_be_good(const char *at, const char *end, const struct audit_summary *summary)
{
	char prev[AUDIT_HEX_BYTES], frame[AUDIT_FRAME_MAX];
	uint64_t seq = summary->first_seq;

	memcpy(prev, audit_prev_none, sizeof(prev));
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		check(stop);
		if (stop - at == 1 && *at == '\f') {
			at = stop + 1;
			continue;
		}
		if (seq == summary->first_seq && seq > 1) // what is before it is not there
			memcpy(prev, strchr(memchr(at, 'v', (size_t)(end - at)), ':') + 2, 64);
		size_t n = audit_frame_write(frame, seq++, prev);
		check((size_t)(stop - at) > n && memcmp(at, frame, n) == 0 && stop[-1] == '}');
		audit_hash(at, (size_t)(stop - at), prev);
		at = stop + 1;
	}
	check(seq == summary->last_seq + 1 && strcmp(prev, summary->head) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct seen whole = {0}, pieces = {0};
	struct audit_summary one, other;

	if (!len)
		return 0;
	const char *at = (const char *)bytes + 1, *end = (const char *)bytes + len;
	verify(at, end, len, &whole, &one);
	verify(at, end, bytes[0] % 64 + 1u, &pieces, &other);
	check(memcmp(&one, &other, sizeof(one)) == 0 && strcmp(whole.text, pieces.text) == 0);
	if (!one.faults)
		must_be_good(at, end, &one);
	return 0;
}
