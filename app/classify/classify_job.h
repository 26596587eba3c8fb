// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: one call of classify_feed, for the looks that it takes (classify.c:
// signatures and shapes; names_asked.c: names). On the stack of a data lcore.
#ifndef SLUICE_CLASSIFY_JOB_H
#define SLUICE_CLASSIFY_JOB_H

#include <netinet/in.h>
#include "classify.h"
#include "states.h"

#define NO_SIGNATURE UINT16_MAX

struct job {
	const struct sigdb *db;
	const struct user_apps *user; // or NULL
	const struct classify_flow *flow;
	const struct span *span;
	struct look *look;
	struct classify_work *work;
	bool midstream;
	// the best answer of this call
	uint16_t app;
	uint16_t signature;
	uint8_t confidence;
};

static inline bool job_is_tcp(const struct job *job)
{
	return job->flow->l4_proto == IPPROTO_TCP;
}

// A half as verifiers see it: of TCP its prefix, of UDP the datagram at hand.
struct probe job_probe(const struct job *job, unsigned half);
// Takes this answer if it means more than the best of the call so far.
void job_propose(struct job *job, uint16_t app, uint16_t signature, uint8_t confidence);
// For who asks why; NULL: no room. `to`: where the match ended, or the bytes to show from the
// start.
struct classify_step *job_note(
	struct job *job, enum classify_step_kind kind, const struct probe *probe, uint32_t to);

// Of what has just grown. `state`: the flow's, or NULL if it has none yet.
void look_at_names(struct classifier *classifier, struct job *job, struct state *state);

#endif
