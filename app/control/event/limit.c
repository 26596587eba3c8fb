// SPDX-License-Identifier: BSD-3-Clause
// Limits the records per second of each kind, in all and per source.
#include "control/event/limit.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/vocab/address.h"
#include "pipeline/vocab/tick.h"

struct count {
	uint32_t second; // that it is of
	uint32_t n;
};

struct gathered { // flows of one packet, of one source
	uint64_t source[2];
	struct event event; // the first; counters and times are of all
};

struct event_limit {
	struct event_limits limits;
	struct quota {
		struct count types[EVENT_TYPES_MAX];
		struct count sources[2][EVENT_LIMIT_SLOTS];
	} quotas[EVENT_HEARD_MAX];
	struct gathered gathered[EVENT_LIMIT_SOURCES]; // aggregated 0: free
	unsigned next_flow;
	struct event_summary summary;
	uint64_t left_out, unheard;
};

struct event_limit *event_limit_new(const struct event_limits *limits)
{
	struct event_limit *limit = calloc(1, sizeof *limit);

	if (limit)
		limit->limits = *limits;
	return limit;
}

void event_limit_free(struct event_limit *limit)
{
	free(limit);
}

// What the operator asked for, and parts of a record: those count once.
static bool is_exempt(uint8_t type)
{
	return type == EVENT_OPERATOR || type == EVENT_TRACE || type == EVENT_HANDSHAKE_META_MORE ||
	       type >= EVENT_TYPES_MAX;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull; // the finaliser of splitmix64
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static uint64_t hash_of(const struct event_limit *limit, const uint64_t source[2], uint8_t type)
{
	uint64_t seed = limit->limits.seed;

	return mix(mix(mix(seed ^ source[0]) ^ source[1]) ^ (seed + type + 1u));
}

static uint32_t count_in(struct count *count, uint32_t second)
{
	if (count->second != second)
		*count = (struct count){.second = second};
	return count->n;
}

// Counts it, if it is within both limits.
static bool is_within(struct event_limit *limit, const struct event *event, uint64_t hash)
{
	uint32_t second = (uint32_t)(event->now_ns / NS_PER_S), of_source = UINT32_MAX;
	struct quota *quota = &limit->quotas[event->heard % EVENT_HEARD_MAX];
	struct count *type = &quota->types[event->type], *source[2];

	for (unsigned row = 0; row < 2; row++) {
		source[row] = &quota->sources[row][(hash >> 32 * row) % EVENT_LIMIT_SLOTS];
		if (count_in(source[row], second) < of_source)
			of_source = source[row]->n;
	}
	if (limit->limits.source_per_s && of_source >= limit->limits.source_per_s)
		return false;
	if (limit->limits.per_s && count_in(type, second) >= limit->limits.per_s)
		return false;
	type->n += count_in(type, second) < UINT32_MAX;
	for (unsigned row = 0; row < 2; row++)
		source[row]->n++;
	return true;
}

static bool is_single_packet(const struct event *event)
{
	return event->type == EVENT_FLOW && !event->action &&
	       event->flow.pkts[HALF_C2S] + event->flow.pkts[HALF_S2C] == 1;
}

static void gather(struct event_limit *limit, const struct event *event, const uint64_t source[2],
	uint64_t hash)
{
	struct gathered *at = &limit->gathered[hash % EVENT_LIMIT_SOURCES];
	struct event *of = &at->event;

	if (!is_single_packet(event))
		return;
	if (!of->flow.aggregated) {
		memcpy(at->source, source, sizeof at->source);
		*of = *event;
		of->flow.aggregated = 1;
		limit->summary.put_together++;
		return;
	}
	if (memcmp(at->source, source, sizeof at->source) != 0)
		return; // its place is taken until the next summary
	of->flow.aggregated++;
	limit->summary.put_together++;
	for (unsigned half = 0; half < 2; half++) {
		of->flow.pkts[half] += event->flow.pkts[half];
		of->flow.bytes[half] += event->flow.bytes[half];
		of->flow.tcp_flags[half] |= event->flow.tcp_flags[half];
	}
	if (event->flow.end_ns > of->flow.end_ns)
		of->flow.end_ns = event->flow.end_ns;
	if (event->flow.start_ns < of->flow.start_ns)
		of->flow.start_ns = event->flow.start_ns;
}

bool event_limit_take(struct event_limit *limit, const struct event *event)
{
	uint64_t source[2];

	if (is_exempt(event->type))
		return true;
	address_source(event->ends.address[HALF_C2S], source);
	uint64_t hash = hash_of(limit, source, event->type);

	if (is_within(limit, event, hash))
		return true;
	if (!limit->summary.since_ns)
		limit->summary.since_ns = event->now_ns;
	limit->summary.left_out[event->type]++;
	limit->left_out++;
	if (event->heard == EVENT_UNHEARD) {
		limit->summary.unheard[event->type]++;
		limit->unheard++;
	}
	gather(limit, event, source, hash);
	return false;
}

bool event_limit_is_due(const struct event_limit *limit, uint64_t now_ns, bool at_once)
{
	uint64_t since = limit->summary.since_ns;

	return since && (at_once || now_ns >= since + EVENT_LIMIT_SUMMARY_S * NS_PER_S);
}

bool event_limit_flow(struct event_limit *limit, struct event *out)
{
	for (; limit->next_flow < EVENT_LIMIT_SOURCES; limit->next_flow++) {
		struct event *event = &limit->gathered[limit->next_flow].event;

		if (!event->flow.aggregated)
			continue;
		*out = *event;
		event->flow.aggregated = 0;
		limit->next_flow++;
		return true;
	}
	limit->next_flow = 0;
	return false;
}

void event_limit_summary(struct event_limit *limit, uint64_t now_ns, struct event_summary *out)
{
	*out = limit->summary;
	out->until_ns = now_ns > out->since_ns ? now_ns : out->since_ns;
	limit->summary = (struct event_summary){0};
}

uint64_t event_limit_left_out(const struct event_limit *limit)
{
	return limit->left_out;
}

uint64_t event_limit_one_sided(const struct event_limit *limit)
{
	return limit->unheard;
}
