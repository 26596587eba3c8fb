// SPDX-License-Identifier: BSD-3-Clause
// Follows the chain of an audit log line by line. After a fault it goes on from the line at hand,
// so that one change is one fault, or two where a line came in between.
#include "audit/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHAT_MAX 400

struct audit_chain {
	audit_fault_fn *report;
	void *ctx;
	const char *anchor;
	const char *file;
	uint64_t line; // of the file; the one at hand
	struct audit_summary summary;
	size_t used;
	bool too_long; // the line at hand: the rest of it is passed over
	char bytes[AUDIT_LINE_MAX];
};

struct audit_chain *audit_chain_new(audit_fault_fn *report, void *ctx, const char *anchor)
{
	struct audit_chain *chain = calloc(1, sizeof(*chain));

	if (chain) {
		chain->report = report;
		chain->ctx = ctx;
		chain->anchor = anchor;
		memcpy(chain->summary.head, audit_prev_none, AUDIT_HEX_BYTES);
	}
	return chain;
}

void audit_chain_free(struct audit_chain *chain)
{
	free(chain);
}

__attribute__((format(printf, 3, 4))) static void fault(
	struct audit_chain *chain, uint64_t seq, const char *format, ...)
{
	char what[WHAT_MAX];
	struct audit_fault found = {
		.file = chain->file, .line = chain->line, .seq = seq, .what = what};
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	chain->summary.faults++;
	chain->report(chain->ctx, &found);
}

// Against the line before. True: it is its successor.
static void check_place(struct audit_chain *chain, const struct audit_frame *frame)
{
	const struct audit_summary *before = &chain->summary;
	uint64_t last = before->last_seq;

	if (!before->lines) {
		if (frame->seq == 1 && strcmp(frame->prev, audit_prev_none) != 0)
			fault(chain, 1, "line 1 of the log names a line before it: it was changed");
	} else if (frame->seq > last + 1) {
		fault(chain, frame->seq, "%" PRIu64 " follows %" PRIu64 ": %" PRIu64 " %s missing",
			frame->seq, last, frame->seq - last - 1,
			frame->seq - last == 2 ? "record is" : "records are");
	} else if (frame->seq != last + 1) {
		fault(chain, frame->seq,
			"%" PRIu64 " follows %" PRIu64
			": a record was inserted, or two were swapped",
			frame->seq, last);
	} else if (strcmp(frame->prev, before->head) != 0) {
		fault(chain, frame->seq,
			"it does not continue %" PRIu64 ": %" PRIu64 " was changed, or this one "
			"was put in the place of another",
			last, last);
	}
}

static void check_line(struct audit_chain *chain)
{
	struct audit_summary *summary = &chain->summary;
	struct audit_frame frame;
	const char *wrong = audit_frame_read(chain->bytes, chain->used, &frame);

	if (wrong) {
		fault(chain, 0, "it is no record: the line %s", wrong);
		return;
	}
	bool opens = audit_line_opens(chain->bytes, chain->used, &frame);
	if (chain->line == 1 && !opens)
		fault(chain, frame.seq,
			"the file does not begin with the line that opens it: its beginning was "
			"cut "
			"off");
	check_place(chain, &frame);
	summary->lines++;
	if (summary->lines == 1)
		summary->first_seq = frame.seq;
	summary->last_seq = frame.seq;
	audit_hash(chain->bytes, chain->used, summary->head);
	if (chain->anchor && strcmp(chain->anchor, summary->head) == 0)
		summary->anchor_seq = frame.seq;
}

void audit_chain_file(struct audit_chain *chain, const char *name)
{
	chain->file = name;
	chain->line = 1;
	chain->used = 0;
	chain->too_long = false;
	chain->summary.files++;
}

static void take(struct audit_chain *chain, const char *bytes, size_t length)
{
	if (chain->too_long || length > sizeof(chain->bytes) - chain->used) {
		if (!chain->too_long)
			fault(chain, 0, "it is no record: the line is longer than %u bytes",
				AUDIT_LINE_MAX);
		chain->too_long = true;
		return;
	}
	memcpy(chain->bytes + chain->used, bytes, length);
	chain->used += length;
}

void audit_chain_feed(struct audit_chain *chain, const char *bytes, size_t length)
{
	const char *end = bytes + length;

	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		take(chain, bytes, (size_t)((newline ? newline : end) - bytes));
		if (!newline)
			return;
		if (!chain->too_long)
			check_line(chain);
		chain->line++;
		chain->used = 0;
		chain->too_long = false;
		bytes = newline + 1;
	}
}

void audit_chain_file_end(struct audit_chain *chain)
{
	if (chain->used && !chain->too_long)
		fault(chain, 0,
			"the line has no end: it was cut off, or a gateway was killed while it "
			"wrote (which its next start mends)");
	chain->file = NULL;
	chain->line = 0;
}

void audit_chain_end(struct audit_chain *chain, struct audit_summary *out)
{
	if (!chain->summary.lines && !chain->summary.faults)
		fault(chain, 0, "there is no record");
	if (chain->anchor && !chain->summary.anchor_seq)
		fault(chain, 0,
			"no record has the hash %s: the log was cut off before that record, or "
			"written anew",
			chain->anchor);
	*out = chain->summary;
}
