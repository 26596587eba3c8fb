// SPDX-License-Identifier: BSD-3-Clause
// The limits of a data lcore's tables, as the gateway's file or a replay's options say them.
#ifndef SLUICE_LIMITS_H
#define SLUICE_LIMITS_H

#include "pipeline/content/limits.h"
#include "pipeline/egress/impair.h"
#include "pipeline/flow/flow.h"
#include "reassembly/frag.h"
#include "reassembly/tcp_track.h"

struct lcore_limits {
	struct parse_settings parse; // the same for all lcores, as hints carry realms and hashes
	uint32_t flows;              // per lcore, IPv4 and IPv6 together
	uint32_t embryos;            // stubs, per lcore
	uint32_t source_pct;  // of either pool, for one source's unheard entries (flow/share.h)
	uint32_t classifying; // classifier states
	uint32_t heads;       // of requests and hellos that are not here to their end
	uint32_t conn_cache;
	uint32_t expectations;
	uint32_t endpoints, names;       // entries of these caches; 0: they are off
	uint32_t evidence;               // records, per lcore
	uint32_t greetings;              // that the control core keeps; 0: none are read
	struct tracker_limits tracker;   // tcp_track.h
	struct frag_limits fragments;    // per lcore
	struct elephant_limits elephant; // pipeline/flow/rate.h
	struct flow_timeouts timeouts;
	struct content_limits content;
	struct impair_settings impair;
};

#endif
