// SPDX-License-Identifier: BSD-3-Clause
// Draws loss, delay and duplication of messages, and keeps those that wait.
#include "transportapi/transport/fate.h"

#include <stdlib.h>
#include <string.h>

#define READY_TO_GO UINT32_MAX // of overtake: as many as it takes have gone

void tapi_fates_init(struct tapi_fates *fates, uint64_t seed)
{
	*fates = (struct tapi_fates){.state = seed};
	TAILQ_INIT(&fates->held);
}

void tapi_fates_end(struct tapi_fates *fates)
{
	struct tapi_held *held;

	while ((held = tapi_fates_due(fates, UINT64_MAX)))
		tapi_held_free(held);
}

struct tapi_fate_rates tapi_fate_rates_read(
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys)
{
	return (struct tapi_fate_rates){
		.drop_ppm = (uint32_t)tapi_conf_uint(conf, section, keys, "drop_ppm"),
		.duplicate_ppm = (uint32_t)tapi_conf_uint(conf, section, keys, "duplicate_ppm"),
		.reorder_ppm = (uint32_t)tapi_conf_uint(conf, section, keys, "reorder_ppm"),
		.reorder_depth = (uint32_t)tapi_conf_uint(conf, section, keys, "reorder_depth"),
		.hold_msgs = (uint32_t)tapi_conf_uint(conf, section, keys, "hold_msgs"),
		.reorder_us = tapi_conf_uint(conf, section, keys, "reorder_ms") * 1000,
		.delay_us = tapi_conf_uint(conf, section, keys, "delay_ms") * 1000,
		.jitter_us = tapi_conf_uint(conf, section, keys, "jitter_ms") * 1000,
	};
}

// splitmix64: one add and three mixes; every seed is as good as another.
static uint64_t draw(struct tapi_fates *fates)
{
	uint64_t z = fates->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool draw_below(struct tapi_fates *fates, uint32_t ppm)
{
	return (((draw(fates) >> 32) * TAPI_FATE_MILLION) >> 32) < ppm;
}

struct tapi_fate tapi_fates_draw(struct tapi_fates *fates)
{
	const struct tapi_fate_rates *rates = &fates->rates;
	struct tapi_fate fate;

	fate.dropped = draw_below(fates, rates->drop_ppm);
	fate.twice = draw_below(fates, rates->duplicate_ppm);
	fate.reordered = draw_below(fates, rates->reorder_ppm);
	fate.late_us = rates->delay_us + draw(fates) % (rates->jitter_us + 1);
	return fate;
}

bool tapi_fates_hold(struct tapi_fates *fates, const struct tapi_fate *fate,
	const struct tapi_held *like, const void *message, uint64_t now_us)
{
	struct tapi_held *held, *before;

	if ((!fate->reordered && !fate->late_us) || fates->n_held >= fates->rates.hold_msgs)
		return false;
	held = malloc(sizeof(*held) + like->size);
	if (!held)
		return false;
	*held = *like;
	if (held->size)
		memcpy(held->message, message, held->size);
	held->due_us = now_us + fate->late_us + (fate->reordered ? fates->rates.reorder_us : 0);
	held->overtake = fate->late_us ? 0 : fates->rates.reorder_depth;
	before = TAILQ_LAST(&fates->held, tapi_held_list);
	while (before && before->due_us > held->due_us)
		before = TAILQ_PREV(before, tapi_held_list, next);
	if (before)
		TAILQ_INSERT_AFTER(&fates->held, before, held, next);
	else
		TAILQ_INSERT_HEAD(&fates->held, held, next);
	fates->n_held++;
	fates->n_overtaken += held->overtake > 0;
	return true;
}

uint64_t tapi_fates_wish(const struct tapi_fates *fates)
{
	const struct tapi_held *first = TAILQ_FIRST(&fates->held);

	return first ? first->due_us : UINT64_MAX;
}

static struct tapi_held *held_take(struct tapi_fates *fates, struct tapi_held *held)
{
	if (!held)
		return NULL;
	TAILQ_REMOVE(&fates->held, held, next);
	fates->n_held--;
	fates->n_overtaken -= held->overtake > 0;
	return held;
}

struct tapi_held *tapi_fates_due(struct tapi_fates *fates, uint64_t now_us)
{
	struct tapi_held *first = TAILQ_FIRST(&fates->held);

	return first && first->due_us <= now_us ? held_take(fates, first) : NULL;
}

void tapi_fates_passed(struct tapi_fates *fates)
{
	struct tapi_held *held;

	if (fates->n_overtaken == 0)
		return;
	TAILQ_FOREACH (held, &fates->held, next)
		if (held->overtake > 0 && held->overtake != READY_TO_GO && --held->overtake == 0)
			held->overtake = READY_TO_GO;
}

struct tapi_held *tapi_fates_overtaken(struct tapi_fates *fates)
{
	struct tapi_held *held;

	if (fates->n_overtaken == 0)
		return NULL;
	TAILQ_FOREACH (held, &fates->held, next)
		if (held->overtake == READY_TO_GO)
			return held_take(fates, held);
	return NULL;
}

bool tapi_fates_waits(const struct tapi_fates *fates, const void *session)
{
	const struct tapi_held *held;

	TAILQ_FOREACH (held, &fates->held, next)
		if (held->session == session)
			return true;
	return false;
}

struct tapi_held *tapi_fates_of(struct tapi_fates *fates, const void *session)
{
	struct tapi_held *held;

	TAILQ_FOREACH (held, &fates->held, next)
		if (held->session == session)
			return held_take(fates, held);
	return NULL;
}

void tapi_held_free(struct tapi_held *held)
{
	free(held);
}
