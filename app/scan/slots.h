// SPDX-License-Identifier: BSD-3-Clause
// The jobs that an engine has taken, each in a slot, and lists of them: a slot is in one list at a
// time. Of one engine, which alone uses them.
#ifndef SLUICE_SCAN_SLOTS_H
#define SLUICE_SCAN_SLOTS_H

#include "scan/job.h"

#define JOB_NONE UINT32_MAX

struct scan_slot {
	struct scan_verdict verdict; // its job, and what is known of the rest
	uint32_t next;
	uint64_t
		closed_ns; // when the parent of its child closed its socket; UINT64_MAX: it has not
};

struct scan_list { // zeroed: empty
	uint32_t first, last, n;
};

static inline void scan_slots_add(struct scan_slot *slots, struct scan_list *list, uint32_t index)
{
	slots[index].next = JOB_NONE;
	if (list->n++)
		slots[list->last].next = index;
	else
		list->first = index;
	list->last = index;
}

// The first, of at least one.
static inline uint32_t scan_slots_take(struct scan_slot *slots, struct scan_list *list)
{
	uint32_t index = list->first;

	list->first = slots[index].next;
	list->n--;
	return index;
}

#endif
