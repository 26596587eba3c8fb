// SPDX-License-Identifier: BSD-3-Clause
// Edits that the gateway says it makes: what leaves from then on is held against them.
#include "stream_world_state.h"

void stream_world_edit(unsigned half, uint64_t offset64, uint32_t length, uint8_t fill)
{
	struct world *w = &stream_world;

	if (w->n_edits == FRESH_MAX)
		stream_problem("too many edits at once");
	else if (!w->dir[half].ended)
		w->edits[w->n_edits++] = (struct fresh_edit){(uint8_t)half, fill, offset64, length};
}

void stream_take_edit(const struct fresh_edit *edit)
{
	struct world *w = &stream_world;
	struct direction *d = &w->dir[edit->half];

	for (uint32_t i = 0; i < edit->length; i++) {
		int32_t at = d->base + (int32_t)(edit->offset + i);

		if (!d->based || !followed(at))
			return;
		struct octet *o = octet(d, at);

		if (o->told_as != TOLD_BYTES)
			stream_problem("half %u: byte %d is edited, not inspected", edit->half, at);
		if (o->out_set && o->out != edit->fill)
			stream_problem("half %u: byte %d is edited, and has left as %02x",
				edit->half, at, o->out);
		o->edit_set = true;
		o->edited = edit->fill;
		w->tally.edited++;
	}
}
