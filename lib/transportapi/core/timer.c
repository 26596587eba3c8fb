// SPDX-License-Identifier: BSD-3-Clause
// Peers by their next wish: a binary heap, so that neither a message nor a turn costs more with
// 10,000 peers. Each peer has one timer; what it waits for is worked out again in its turn, which
// keeps sends and receives from moving timers about.
#include "transportapi/core/timer.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/time.h>

#include "transportapi/core/state.h"

bool tapi_timer_reserve(struct tapi_core *core, uint32_t timers)
{
	struct tapi_timer **grown;
	uint32_t room = core->heap_room != 0 ? core->heap_room : 32;

	if (timers + 1 <= core->heap_room)
		return true;
	while (room < timers + 1)
		room *= 2;
	grown = realloc(core->heap, room * sizeof(struct tapi_timer *));
	if (grown == NULL)
		return false;
	core->heap = grown;
	core->heap_room = room;
	return true;
}

static void put(struct tapi_core *core, uint32_t place, struct tapi_timer *timer)
{
	core->heap[place] = timer;
	timer->place = place;
}

static void up(struct tapi_core *core, uint32_t place)
{
	struct tapi_timer *timer = core->heap[place];

	for (; place > 1 && core->heap[place / 2]->due_us > timer->due_us; place /= 2)
		put(core, place, core->heap[place / 2]);
	put(core, place, timer);
}

static void down(struct tapi_core *core, uint32_t place)
{
	struct tapi_timer *timer = core->heap[place];

	while (2 * place <= core->n_heap) {
		uint32_t child = 2 * place;

		if (child < core->n_heap &&
			core->heap[child + 1]->due_us < core->heap[child]->due_us)
			child++;
		if (core->heap[child]->due_us >= timer->due_us)
			break;
		put(core, place, core->heap[child]);
		place = child;
	}
	put(core, place, timer);
}

void tapi_timer_end(struct tapi_core *core, struct tapi_timer *timer)
{
	uint32_t place = timer->place;
	struct tapi_timer *last;

	if (place == 0)
		return;
	timer->place = 0;
	last = core->heap[core->n_heap--];
	if (last == timer)
		return;
	put(core, place, last);
	up(core, place);
	down(core, last->place);
}

void tapi_timer_at(struct tapi_core *core, struct tapi_timer *timer, uint64_t due_us)
{
	if (due_us == TAPI_NEVER) {
		tapi_timer_end(core, timer);
		return;
	}
	timer->due_us = due_us;
	if (timer->place == 0)
		put(core, ++core->n_heap, timer); // room was made with the peer
	up(core, timer->place);
	down(core, timer->place);
	tapi_core_wish(core, due_us);
}

void tapi_timer_sooner(struct tapi_core *core, struct tapi_timer *timer, uint64_t due_us)
{
	if (timer->place == 0 || due_us < timer->due_us)
		tapi_timer_at(core, timer, due_us);
}

struct tapi_timer *tapi_timer_due(struct tapi_core *core, uint64_t now_us)
{
	return core->n_heap != 0 && core->heap[1]->due_us <= now_us ? core->heap[1] : NULL;
}

uint64_t tapi_timer_next(const struct tapi_core *core)
{
	return core->n_heap != 0 ? core->heap[1]->due_us : TAPI_NEVER;
}

void tapi_core_wish(struct tapi_core *core, uint64_t at_us)
{
	struct timeval wait;
	uint64_t now_us, left_us;

	// In a turn the event is armed once, at its end.
	if (core->event == NULL || at_us >= core->armed_us)
		return;
	core->armed_us = at_us;
	now_us = tapi_core_now(core);
	left_us = at_us > now_us ? at_us - now_us : 0;
	wait.tv_sec = (time_t)(left_us / TAPI_US_PER_S);
	wait.tv_usec = (suseconds_t)(left_us % TAPI_US_PER_S);
	event_add(core->event, &wait);
}
