// SPDX-License-Identifier: BSD-3-Clause
// A change of scan parents, as the control core leads it: the next one loads signatures beside the
// one in force (concurrent), or after it was let go (sequential: memory for one alone, and no
// engine meanwhile). It is taken when every scan lcore has it; until then nothing has changed. What
// is to be done is returned; who does it is cmd/run_scan.c. Pure; control core only.
#ifndef SLUICE_SCAN_RELOAD_H
#define SLUICE_SCAN_RELOAD_H

#include "scan/engine.h"
#include "pipeline/vocab/tick.h"

#define SCAN_RELOAD_WISH_NS  (10 * NS_PER_S)  // until the next parent is started
#define SCAN_RELOAD_LOAD_NS  (900 * NS_PER_S) // until every scan lcore has it
#define SCAN_RELOAD_LEAVE_NS (10 * NS_PER_S)  // until one that was let go has ended

enum scan_reload_state {
	SCAN_RELOAD_IDLE,
	SCAN_RELOAD_ASKED,   // not begun yet
	SCAN_RELOAD_LETTING, // the old one is let go
	SCAN_RELOAD_WISHED,  // the next one is to be started
	SCAN_RELOAD_LOADING,
	SCAN_RELOAD_LEAVING, // it is decided; one of the two has to end
};

enum scan_reload_step {
	SCAN_RELOAD_NOTHING,
	SCAN_RELOAD_ASIDE,   // wish for one more parent
	SCAN_RELOAD_LET_GO,  // retire `parent` in every scan lcore; the next one is to come at once
	SCAN_RELOAD_KILL,    // `parent`
	SCAN_RELOAD_TAKEN,   // tell it
	SCAN_RELOAD_REFUSED, // tell it, with `text`
};

struct scan_reload { // zeroed, but for the first two
	bool is_sequential;
	uint64_t job_ns; // a job's time: so long an old parent may have one
	uint8_t state;   // enum scan_reload_state
	bool was_killed;
	bool is_dead;    // `number`, as its launcher says
	uint8_t waited;  // turns since then: scan lcores hear of it, too
	uint32_t old;    // 0: none
	uint32_t number; // of the next one
	uint32_t leaves; // of the two
	uint64_t deadline_ns;
	uint32_t parent; // of the last step
	char text[SCAN_WIRE_TEXT];
};

// False: one is under way.
bool scan_reload_ask(struct scan_reload *reload);
// What the launcher says: a parent was started; it is dead; none can be started aside.
void scan_reload_started(struct scan_reload *reload, uint32_t number, uint64_t now_ns);
void scan_reload_dead(struct scan_reload *reload, uint32_t number);
void scan_reload_none(struct scan_reload *reload);
// The next step, from what `n` scan lcores say. Again until there is nothing to do.
enum scan_reload_step scan_reload_turn(
	struct scan_reload *reload, const struct scan_status *status, unsigned n, uint64_t now_ns);

#endif
