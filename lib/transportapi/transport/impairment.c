// SPDX-License-Identifier: BSD-3-Clause
// Draws loss, delay and duplication of messages, and keeps those that wait.
#include "transportapi/transport/impairment.h"

#include <stdlib.h>
#include <string.h>

#define READY_TO_GO UINT32_MAX // of overtake: as many as it takes have gone

void tapi_impairment_init(struct tapi_impairment *impairment, uint64_t seed)
{
	*impairment = (struct tapi_impairment){.state = seed};
	TAILQ_INIT(&impairment->held);
}

void tapi_impairment_end(struct tapi_impairment *impairment)
{
	struct tapi_held *held;

	while ((held = tapi_impairment_due(impairment, UINT64_MAX)))
		tapi_held_free(held);
}

struct tapi_impairment_rates tapi_impairment_rates_read(
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys)
{
	return (struct tapi_impairment_rates){
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
static uint64_t draw(struct tapi_impairment *impairment)
{
	uint64_t z = impairment->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool draw_below(struct tapi_impairment *impairment, uint32_t ppm)
{
	return (((draw(impairment) >> 32) * TAPI_IMPAIRMENT_MILLION) >> 32) < ppm;
}

struct tapi_impaired tapi_impairment_draw(struct tapi_impairment *impairment)
{
	const struct tapi_impairment_rates *rates = &impairment->rates;
	struct tapi_impaired impaired;

	impaired.dropped = draw_below(impairment, rates->drop_ppm);
	impaired.twice = draw_below(impairment, rates->duplicate_ppm);
	impaired.reordered = draw_below(impairment, rates->reorder_ppm);
	impaired.late_us = rates->delay_us + draw(impairment) % (rates->jitter_us + 1);
	return impaired;
}

bool tapi_impairment_hold(struct tapi_impairment *impairment, const struct tapi_impaired *impaired,
	const struct tapi_held *like, const void *message, uint64_t now_us)
{
	struct tapi_held *held, *before;

	if ((!impaired->reordered && !impaired->late_us) ||
		impairment->n_held >= impairment->rates.hold_msgs)
		return false;
	held = malloc(sizeof(*held) + like->size);
	if (!held)
		return false;
	*held = *like;
	if (held->size)
		memcpy(held->message, message, held->size);
	held->due_us = now_us + impaired->late_us +
		       (impaired->reordered ? impairment->rates.reorder_us : 0);
	held->overtake = impaired->late_us ? 0 : impairment->rates.reorder_depth;
	before = TAILQ_LAST(&impairment->held, tapi_held_list);
	while (before && before->due_us > held->due_us)
		before = TAILQ_PREV(before, tapi_held_list, next);
	if (before)
		TAILQ_INSERT_AFTER(&impairment->held, before, held, next);
	else
		TAILQ_INSERT_HEAD(&impairment->held, held, next);
	impairment->n_held++;
	impairment->n_overtaken += held->overtake > 0;
	return true;
}

uint64_t tapi_impairment_wish(const struct tapi_impairment *impairment)
{
	const struct tapi_held *first = TAILQ_FIRST(&impairment->held);

	return first ? first->due_us : UINT64_MAX;
}

static struct tapi_held *held_take(struct tapi_impairment *impairment, struct tapi_held *held)
{
	if (!held)
		return NULL;
	TAILQ_REMOVE(&impairment->held, held, next);
	impairment->n_held--;
	impairment->n_overtaken -= held->overtake > 0;
	return held;
}

struct tapi_held *tapi_impairment_due(struct tapi_impairment *impairment, uint64_t now_us)
{
	struct tapi_held *first = TAILQ_FIRST(&impairment->held);

	return first && first->due_us <= now_us ? held_take(impairment, first) : NULL;
}

void tapi_impairment_passed(struct tapi_impairment *impairment)
{
	struct tapi_held *held;

	if (impairment->n_overtaken == 0)
		return;
	TAILQ_FOREACH (held, &impairment->held, next)
		if (held->overtake > 0 && held->overtake != READY_TO_GO && --held->overtake == 0)
			held->overtake = READY_TO_GO;
}

struct tapi_held *tapi_impairment_overtaken(struct tapi_impairment *impairment)
{
	struct tapi_held *held;

	if (impairment->n_overtaken == 0)
		return NULL;
	TAILQ_FOREACH (held, &impairment->held, next)
		if (held->overtake == READY_TO_GO)
			return held_take(impairment, held);
	return NULL;
}

bool tapi_impairment_waits(const struct tapi_impairment *impairment, const void *session)
{
	const struct tapi_held *held;

	TAILQ_FOREACH (held, &impairment->held, next)
		if (held->session == session)
			return true;
	return false;
}

struct tapi_held *tapi_impairment_of(struct tapi_impairment *impairment, const void *session)
{
	struct tapi_held *held;

	TAILQ_FOREACH (held, &impairment->held, next)
		if (held->session == session)
			return held_take(impairment, held);
	return NULL;
}

void tapi_held_free(struct tapi_held *held)
{
	free(held);
}
