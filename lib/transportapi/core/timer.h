// SPDX-License-Identifier: BSD-3-Clause
// Timers of peers: a heap by due time, and the one event of the core that it arms.
#ifndef TRANSPORTAPI_CORE_TIMER_H
#define TRANSPORTAPI_CORE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#define TAPI_US_PER_S 1000000u
#define TAPI_NEVER    UINT64_MAX

struct tapi_core;

struct tapi_timer { // embedded; in the heap of the core while `place` is not 0
	uint64_t due_us;
	uint32_t place;
};

bool tapi_timer_reserve(struct tapi_core *core, uint32_t timers); // room, once per peer
void tapi_timer_at(struct tapi_core *core, struct tapi_timer *timer, uint64_t due_us);
void tapi_timer_sooner(struct tapi_core *core, struct tapi_timer *timer, uint64_t due_us);
void tapi_timer_end(struct tapi_core *core, struct tapi_timer *timer);
struct tapi_timer *tapi_timer_due(struct tapi_core *core, uint64_t now_us);
uint64_t tapi_timer_next(const struct tapi_core *core);
void tapi_core_wish(struct tapi_core *core, uint64_t at_us); // the event, if it is armed later

#endif
