// SPDX-License-Identifier: BSD-3-Clause
// Decides when the next scan parent is started, whether it is taken, and who has to end.
#include "scan/reload.h"

#include <string.h>

#define TURNS_MAX 5 // after a death, until scan lcores have said why

static const char no_start[] = "the launcher could not start it (its message says why)";
static const char too_slow[] = "it has not loaded its signatures in time";
static const char not_everywhere[] = "it has a child for some of the scan lcores only";
static const char died[] = "it ended while it loaded";

bool scan_reload_ask(struct scan_reload *reload)
{
	if (reload->state != SCAN_RELOAD_IDLE)
		return false;
	reload->state = SCAN_RELOAD_ASKED;
	return true;
}

void scan_reload_started(struct scan_reload *reload, uint32_t number, uint64_t now_ns)
{
	if (reload->state != SCAN_RELOAD_WISHED && reload->state != SCAN_RELOAD_LETTING)
		return;
	reload->state = SCAN_RELOAD_LOADING;
	reload->number = number;
	reload->is_dead = false;
	reload->waited = 0;
	reload->deadline_ns = now_ns + SCAN_RELOAD_LOAD_NS + reload->job_ns;
}

void scan_reload_dead(struct scan_reload *reload, uint32_t number)
{
	if (number == reload->old)
		reload->old = 0;
	if (number == reload->number)
		reload->is_dead = true;
	if (number == reload->leaves)
		reload->leaves = 0;
}

static enum scan_reload_step refuse(struct scan_reload *reload, const char *text)
{
	scan_wire_text(reload->text, sizeof(reload->text), text);
	reload->state = SCAN_RELOAD_IDLE;
	return SCAN_RELOAD_REFUSED;
}

void scan_reload_none(struct scan_reload *reload)
{
	if (reload->state == SCAN_RELOAD_WISHED)
		reload->deadline_ns = 0;
}

// One of the two is not needed any more: it ends by itself, or is killed.
static enum scan_reload_step leave(
	struct scan_reload *reload, uint32_t number, enum scan_reload_step step, uint64_t now_ns)
{
	reload->leaves = number;
	reload->state = number ? SCAN_RELOAD_LEAVING : SCAN_RELOAD_IDLE;
	reload->was_killed = false;
	reload->deadline_ns = now_ns + SCAN_RELOAD_LEAVE_NS;
	return step;
}

static enum scan_reload_step begin(
	struct scan_reload *reload, const struct scan_status *status, unsigned n, uint64_t now_ns)
{
	reload->old = reload->number = reload->leaves = 0;
	reload->text[0] = 0;
	reload->was_killed = false;
	for (unsigned i = 0; i < n; i++)
		if (status[i].parent > reload->old)
			reload->old = status[i].parent;
	if (reload->is_sequential && reload->old) {
		reload->state = SCAN_RELOAD_LETTING;
		reload->deadline_ns = now_ns + reload->job_ns + SCAN_RELOAD_LEAVE_NS;
		reload->parent = reload->old;
		return SCAN_RELOAD_LET_GO;
	}
	reload->state = SCAN_RELOAD_WISHED;
	reload->deadline_ns = now_ns + SCAN_RELOAD_WISH_NS;
	return SCAN_RELOAD_ASIDE;
}

// Its jobs have had their time, and it its own. Killed once; it is the launcher's matter then.
static enum scan_reload_step let_go(struct scan_reload *reload, uint64_t now_ns)
{
	if (now_ns < reload->deadline_ns)
		return SCAN_RELOAD_NOTHING;
	reload->deadline_ns = now_ns + SCAN_RELOAD_LEAVE_NS;
	if (reload->was_killed || !reload->old)
		return refuse(reload, no_start);
	reload->was_killed = true;
	reload->parent = reload->old;
	return SCAN_RELOAD_KILL;
}

struct votes {
	unsigned taken, refused;
	bool is_all_there_is; // where the next one was refused it is the only one
	const char *text;
};

static struct votes count(
	const struct scan_reload *reload, const struct scan_status *status, unsigned n)
{
	struct votes votes = {0};

	for (unsigned i = 0; i < n; i++) {
		const struct scan_status *one = &status[i];
		bool has = one->parent == reload->number;

		if (has && (one->state == SCAN_STATE_READY || one->state == SCAN_STATE_WAITING))
			votes.taken++;
		else if (has && one->state == SCAN_STATE_FAILED)
			votes.text = one->text;
		else if (one->refused == reload->number)
			votes.text = one->refusal;
		else
			continue;
		votes.refused += !(has && one->state != SCAN_STATE_FAILED);
		votes.is_all_there_is |= has && one->state == SCAN_STATE_FAILED;
	}
	return votes;
}

// Scan lcores that had it already cannot go back: then the old one ends, too, and the launcher
// starts another for all.
static bool is_split(const struct scan_reload *reload, const struct scan_status *status, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (reload->old && status[i].parent != reload->old)
			return true;
	return false;
}

static enum scan_reload_step fail(struct scan_reload *reload, const struct scan_status *status,
	unsigned n, const char *text, uint64_t now_ns)
{
	bool split = is_split(reload, status, n);
	enum scan_reload_step step = refuse(reload, text);

	leave(reload, split ? reload->old : reload->is_dead ? 0 : reload->number, step, now_ns);
	if (split)
		reload->deadline_ns = now_ns;
	return step;
}

static enum scan_reload_step give_up(struct scan_reload *reload, const struct scan_status *status,
	unsigned n, const struct votes *votes, uint64_t now_ns)
{
	if (reload->was_killed) // the launcher has not told of its death
		return fail(reload, status, n, too_slow, now_ns);
	scan_wire_text(reload->text, sizeof(reload->text),
		votes->taken || votes->refused ? not_everywhere : too_slow);
	reload->was_killed = true;
	reload->deadline_ns = now_ns + SCAN_RELOAD_LEAVE_NS;
	reload->parent = reload->number;
	return SCAN_RELOAD_KILL;
}

static enum scan_reload_step decide(
	struct scan_reload *reload, const struct scan_status *status, unsigned n, uint64_t now_ns)
{
	struct votes votes = count(reload, status, n);

	if (votes.taken == n)
		return leave(reload, reload->old, SCAN_RELOAD_TAKEN, now_ns);
	// One that has no other beside it stays, and looks for better signatures.
	if (votes.refused == n && votes.is_all_there_is)
		return refuse(reload, votes.text);
	if (votes.refused == n && !reload->text[0])
		return fail(reload, status, n, votes.text, now_ns);
	if (reload->is_dead && ++reload->waited >= TURNS_MAX) {
		char text[SCAN_WIRE_TEXT];

		scan_wire_text(text, sizeof(text),
			reload->text[0] ? reload->text
			: votes.text    ? votes.text
					: died);
		return fail(reload, status, n, text, now_ns);
	}
	return now_ns < reload->deadline_ns ? SCAN_RELOAD_NOTHING
					    : give_up(reload, status, n, &votes, now_ns);
}

static enum scan_reload_step see_off(struct scan_reload *reload, uint64_t now_ns)
{
	if (!reload->leaves) {
		reload->state = SCAN_RELOAD_IDLE;
	} else if (now_ns >= reload->deadline_ns) {
		reload->deadline_ns = now_ns + SCAN_RELOAD_LEAVE_NS;
		reload->parent = reload->leaves;
		return SCAN_RELOAD_KILL;
	}
	return SCAN_RELOAD_NOTHING;
}

enum scan_reload_step scan_reload_turn(
	struct scan_reload *reload, const struct scan_status *status, unsigned n, uint64_t now_ns)
{
	switch ((enum scan_reload_state)reload->state) {
	case SCAN_RELOAD_IDLE: break;
	case SCAN_RELOAD_ASKED: return begin(reload, status, n, now_ns);
	case SCAN_RELOAD_LETTING: return let_go(reload, now_ns);
	case SCAN_RELOAD_WISHED:
		return now_ns < reload->deadline_ns ? SCAN_RELOAD_NOTHING
						    : refuse(reload, no_start);
	case SCAN_RELOAD_LOADING: return decide(reload, status, n, now_ns);
	case SCAN_RELOAD_LEAVING: return see_off(reload, now_ns);
	}
	return SCAN_RELOAD_NOTHING;
}
