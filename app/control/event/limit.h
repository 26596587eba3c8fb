// SPDX-License-Identifier: BSD-3-Clause
// How many records of a kind are written in a second: of all sources, and of one (IPv4 address,
// IPv6 /64 of the initiator or sender). Each limit holds three times, by enum event_heard: a flood
// of forged packets, be it with the victim's address, takes the place of no record of flows whose
// both ends were heard. What is beyond is left out, counted by type, and reported in a summary;
// flows of one packet are put together by source, and reported as one. Memory is bounded: counts by
// a seeded hash in two rows, of which the lower one holds, so that a source may be limited for
// others by chance only where thousands send at once. Control core only; time comes with events.
#ifndef SLUICE_EVENT_LIMIT_H
#define SLUICE_EVENT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/event/event.h"

#define EVENT_LIMIT_SLOTS     4096 // of a row; a power of two
#define EVENT_LIMIT_SOURCES   256  // whose flows are put together at a time
#define EVENT_LIMIT_SUMMARY_S 10

struct event_limits {
	uint32_t per_s;        // records of a type, each enum event_heard; 0: no limit
	uint32_t source_per_s; // of one source, of a type, the same; 0: no limit
	uint64_t seed;
};

struct event_summary {
	uint64_t since_ns, until_ns;
	uint64_t left_out[EVENT_TYPES_MAX]; // records, by type; flows put together included
	uint64_t unheard[EVENT_TYPES_MAX];  // of these, EVENT_UNHEARD
	uint64_t put_together;              // of these, flows that other records tell of
};

struct event_limit;

// NULL: no memory.
struct event_limit *event_limit_new(const struct event_limits *limits);
void event_limit_free(struct event_limit *limit); // NULL is allowed
// False: the record is left out.
bool event_limit_take(struct event_limit *limit, const struct event *event);
// A summary is due: something was left out, and EVENT_LIMIT_SUMMARY_S have passed, or `at_once`.
bool event_limit_is_due(const struct event_limit *limit, uint64_t now_ns, bool at_once);
// Then: records of flows that were put together, one after the other, until false; and the summary,
// which begins the next interval.
bool event_limit_flow(struct event_limit *limit, struct event *out);
void event_limit_summary(struct event_limit *limit, uint64_t now_ns, struct event_summary *out);
// All that was left out so far; of these, EVENT_UNHEARD.
uint64_t event_limit_left_out(const struct event_limit *limit);
uint64_t event_limit_one_sided(const struct event_limit *limit);

#endif
