// SPDX-License-Identifier: BSD-3-Clause
// Why something happened to a flow, or to what never became one: evidence of the data lcores as
// JSON, and the sentence that it comes to (docs/control-socket.md, "Explain"). Control core only.
#ifndef SLUICE_EXPLAIN_H
#define SLUICE_EXPLAIN_H

#include "control/cache/conn_list.h"
#include "control/ctl/command.h"
#include "pipeline/event/evidence.h"
#include "pipeline/query.h"

#define EXPLAIN_EVIDENCE_MAX 1000
#define EXPLAIN_FLOWS_MAX    EVIDENCE_FLOWS_MAX
#define EXPLAIN_CACHE_MAX    100
#define EXPLAIN_VERDICT_MAX  1024
#define EXPLAIN_HOST_BYTES   (EVIDENCE_BYTES + 4) // "...", the bytes, 0

struct explain_facts {
	const struct control_context *context;
	uint64_t flow_id; // that the verdict is about; 0: none
	bool live;
	bool wide;                       // asked of a host, a user or a rule
	struct flow_record flow;         // when live
	const struct evidence *evidence; // oldest first
	uint32_t n;
	const struct evidence *hit;    // the verdict is about this hit of the cache, not a flow
	const struct conn_list *cache; // entries that stop these ends now
	const char *exempt;            // network of cache-exempt that covers an end, or NULL
	uint64_t overwritten;
};

// What the lcores know of what was asked.
struct explain_found {
	const struct control_context *context;
	struct evidence_filter question;
	bool by_id;    // of flow_ids[0]
	bool has_ends; // question.ends is known (EVIDENCE_SCOPE_ENDS)
	uint64_t flow_ids[EXPLAIN_FLOWS_MAX];
	uint32_t n_flows;
	struct flow_record live[EXPLAIN_FLOWS_MAX]; // those of them that are in a table
	uint32_t n_live;
	struct content_look content;     // by_id: of the flow that was asked for
	const struct evidence *evidence; // of these flows, and of none; oldest first
	uint32_t n;
	struct conn_list cache; // merged; not all, if there are many
	uint64_t cache_entries; // in all
	bool cache_left_out;    // of them, when the cache was looked through
	uint64_t overwritten;
	bool left_out; // there was more evidence than is kept
};

enum explain_outcome {
	EXPLAIN_PASS,
	EXPLAIN_MONITORED,
	EXPLAIN_BLOCKED,
	EXPLAIN_UNDECIDED,
	EXPLAIN_INVALID,
	EXPLAIN_UNKNOWN,
};
const char *explain_outcome_word(enum explain_outcome outcome);

// One sentence for a person.
enum explain_outcome explain_verdict(
	const struct explain_facts *facts, char verdict[EXPLAIN_VERDICT_MAX]);
// The same of the flow alone, whatever came after it.
enum explain_outcome explain_verdict_of_flow(
	const struct explain_facts *facts, char verdict[EXPLAIN_VERDICT_MAX]);
// The last piece of that kind, of the flow in question if `of_flow`; NULL: none.
const struct evidence *explain_last(
	const struct explain_facts *facts, enum evidence_kind kind, bool of_flow);
// The message of the answer; NULL: no memory.
json_t *explain_answer(const struct explain_found *found);
// The end of the name that EVIDENCE_BY_HOST is about, printable; returns `out`.
const char *explain_host(const struct evidence *evidence, char out[EXPLAIN_HOST_BYTES]);
// NULL: no memory.
json_t *explain_evidence_json(
	const struct control_context *context, const struct evidence *evidence);

#endif
