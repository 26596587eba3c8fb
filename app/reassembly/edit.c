// SPDX-License-Identifier: BSD-3-Clause
// Remembers the edits of a half, and makes them in the bytes that are kept.
#include <string.h>
#include "reassembly/edit.h"

bool edits_add(struct q2 *q2, struct slab *slab, const struct stream_edit *edits, unsigned n)
{
	struct edit_list *list = q2->edits;

	if ((list ? list->n : 0) + n > EDITS_MAX)
		return false;
	if (!list) {
		list = slab_take(slab);
		if (!list)
			return false;
		list->n = 0;
		q2->edits = list;
	}
	memcpy(&list->edits[list->n], edits, n * sizeof(*edits));
	list->n += n;
	return true;
}

void edits_forget(struct q2 *q2, struct slab *slab)
{
	if (q2->edits)
		slab_put(slab, q2->edits);
	q2->edits = NULL;
}

// The segment's bytes as they came, before they are changed. False: no block is free.
static bool keep_original(struct q2 *q2, struct slab *slab, struct segment *segment)
{
	struct segment *original = segment->original;

	if (!original) {
		original = slab_take(slab);
		if (!original)
			return false;
		original->start = segment->start;
		original->length = 0;
		segment->original = original;
		q2->n_blocks++;
	}
	memcpy(original->bytes + original->length, segment->bytes + original->length,
		segment->length - original->length);
	original->length = segment->length;
	return true;
}

static void overwrite(uint8_t *bytes, uint64_t length, const struct stream_edit *edit)
{
	if (!edit->keeps_lines) {
		memset(bytes, edit->fill, length);
		return;
	}
	for (uint64_t i = 0; i < length; i++)
		if (bytes[i] != '\r' && bytes[i] != '\n')
			bytes[i] = edit->fill;
}

static bool make(struct q2 *q2, struct slab *slab, const struct stream_edit *edit, uint64_t end)
{
	for (struct segment *at = q2_at(q2, edit->offset64); at && at->start < end;
		at = q2_after(at)) {
		uint64_t from = at->start > edit->offset64 ? at->start : edit->offset64;
		uint64_t until = at->start + at->length < end ? at->start + at->length : end;

		if (!keep_original(q2, slab, at))
			return false;
		overwrite(at->bytes + (from - at->start), until - from, edit);
	}
	return true;
}

bool edits_make(struct q2 *q2, struct slab *slab, uint64_t until)
{
	struct edit_list *list = q2->edits;
	uint32_t n = 0;
	bool made = true;

	for (uint32_t i = 0; list && i < list->n; i++) {
		struct stream_edit edit = list->edits[i];
		uint64_t end = edit.offset64 + edit.length, to = end < until ? end : until;

		if (to > edit.offset64) {
			if (!make(q2, slab, &edit, to))
				made = false;
			else
				edit.offset64 = to;
		}
		edit.length = (uint32_t)(end - edit.offset64);
		if (edit.length)
			list->edits[n++] = edit;
	}
	if (list)
		list->n = n;
	if (!n)
		edits_forget(q2, slab);
	return made;
}
