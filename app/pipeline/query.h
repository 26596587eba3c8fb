// SPDX-License-Identifier: BSD-3-Clause
// Answers the control core's questions (struct query), a bounded piece per turn.
#ifndef SLUICE_QUERY_H
#define SLUICE_QUERY_H

#include "pipeline/cache/conn_cache.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/flow/expect.h"
#include "pipeline/event/evidence.h"
#include "pipeline/content/look.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/stream_look.h"
#include "pipeline/vocab/stream_report.h"

// A question of the control core to one lcore. The control core owns the memory and waits for
// `done`; the lcore works on it a bounded number of entries per loop.
enum query_type {
	QUERY_FLOWS, // flows and stubs -> struct flow_record
	QUERY_CACHE, // connection cache -> struct conn_entry
	QUERY_CACHE_FLUSH,
	QUERY_TRACE,    // flow_id: set or clear its trace bit
	QUERY_EVIDENCE, // evidence that `filter` matches -> struct evidence, oldest first
	// Of the operator. The first two act on flow_id, if it is here -> struct flow_record, as it
	// was before; `aside`: resets sent.
	QUERY_FLOW_RESET, // `cache`
	QUERY_FLOW_ALLOW, // `ttl_ns`; n 1 and total 0: too many allowances have an end
	QUERY_CACHE_PUT,  // `entry`; total: 1, or 0 if an end is exempt
	QUERY_CACHE_TAKE, // `match`; total: entries that went
	QUERY_EXEMPT,     // `exemptions`; total: entries that went for them
	QUERY_ENDPOINTS,  // endpoint cache -> struct endpoint_entry
	QUERY_NAMES,      // name cache -> struct endpoint_entry
};
struct flow_record { // a flow as `sluicectl flow list` shows it
	uint64_t flow_id;
	uint64_t start_ns;
	uint64_t last_ns;
	uint64_t pkts[2];
	uint64_t bytes[2];
	uint64_t rate_bytes_s; // both halves, over about the last second
	struct flow_ends ends;
	uint32_t rule_uid;
	uint32_t user_uid;
	uint32_t generation;
	uint16_t app;
	uint16_t signature;
	uint16_t flags; // FLOW_*
	uint16_t vlan[2];
	uint32_t realm; // realm.h
	uint8_t n_vlan;
	uint8_t confidence;
	uint8_t action;
	uint8_t l4_proto;
	uint8_t lcore;
	uint8_t lru_class; // enum flow_class
	uint8_t decided_pkts;
	uint8_t n_data_pkts;
	uint8_t tcp_flags[2];
	uint8_t dscp;  // of its first packet
	uint8_t heard; // enum event_heard
	bool has_mac;  // stubs keep none
	uint8_t mac[6];
	uint32_t next[2], released[2], acked[2]; // TCP flows
	struct content_brief content;
};
struct flow_look { // how the flow of flow_id stands, beside its record
	bool tracked;
	struct stream_look half[2];
	struct stream_report report;
	struct expected expected; // parent 0: nothing is known of what announced it
	struct content_look content;
};
struct query {
	uint8_t type; // enum query_type
	bool trace_on;
	bool page; // QUERY_FLOWS: done when `out` is full; posted again with its cursor, goes on
	bool filtered;    // QUERY_FLOWS, QUERY_CACHE: only what `filter` matches
	uint64_t flow_id; // QUERY_TRACE; QUERY_FLOWS: only this one if not 0
	struct evidence_filter filter;
	uint8_t cache; // enum cache_mode
	uint64_t ttl_ns;
	struct conn_entry entry;
	struct conn_match match;
	const struct exemption *exemptions; // the asker's until `done`
	unsigned n_exemptions;
	void *out; // array of records, owned by the asker
	uint32_t max;
	uint32_t n;            // records written
	uint64_t cursor;       // lcore's own; 0 at first
	uint64_t total;        // entries that there were
	struct flow_look look; // QUERY_FLOWS of a flow_id that is here
	uint64_t aside;        // QUERY_EVIDENCE: records overwritten so far
	_Atomic bool done;
};

void query_step(struct lcore *lcore);

#endif
