// SPDX-License-Identifier: BSD-3-Clause
// The whole packet path on hostile frames: no crash, no report of a sanitizer, every packet
// accounted for, every mbuf and classifier state back. The input is a classic pcap (its header is
// only skipped): the seeds are the golden captures. A bit of each record's time says on how many
// mbuf segments the frame lies; the policy blocks, and drops what is malformed, by turns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "classify/classify.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct pipe *pipe; // kept over inputs: what one leaves behind, the next would find

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static struct pipe *fresh_pipe(void)
{
	struct pipe *made = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(made);

	pipe_rule_app(policy, 1, ACTION_RESET, "bittorrent");
	pipe_publish(made, policy);
	made->dp.lcores[0]->inside_is_initiator = true;
	return made;
}

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_pipeline: %s\n", what);
	abort();
}

static void settle(void)
{
	struct event event;

	// longer than any time-out: every flow ends, in turns of a bounded budget
	pipe->now_ns += 8000 * NS_PER_S;
	for (unsigned i = 0; i < 8; i++)
		pipe_turns(pipe);
	while (pipe_event(pipe, 0, EVENT_TRACE, &event))
		;
	struct stats stats = pipe_stats(pipe);
	const struct lcore *lcore = pipe->dp.lcores[0];

	check(pipe_unaccounted(pipe) == 0, "a packet is unaccounted for");
	check(stats.flows_active + stats.embryos_active == 0, "a flow outlived its time-out");
	check(classifier_states_free(lcore->classifier) == classifier_states_max(lcore->classifier),
		"a classifier state was lost");
	check(rte_mempool_in_use_count(pipe->pool) == 0, "an mbuf was lost");
}

static void free_pipe(void)
{
	pipe_free(pipe);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	size_t at = 24;

	if (!pipe) {
		pipe = fresh_pipe();
		atexit(free_pipe);
	}
	pipe->policy->malformed = pipe->policy->unsupported =
		len & 1 ? INVALID_DROP : INVALID_OBSERVE;
	for (unsigned n = 0; n < 400 && at + 16 <= len; n++) {
		uint32_t time = le32(bytes + at + 4), caplen = le32(bytes + at + 8);

		at += 16;
		if (caplen > len - at)
			caplen = (uint32_t)(len - at);
		if (caplen > 2048)
			caplen = 2048;
		if (!caplen)
			continue;
		pipe->now_ns += time % 1000 * NS_PER_MS;
		pipe->n_sent = 0;
		pipe_run_frame(pipe, 0, bytes + at, caplen, false, time & 4 ? 1 + time % 4 : 1);
		if (n % 16 == 0)
			pipe_turns(pipe);
		at += caplen;
	}
	pipe->n_sent = 0;
	settle();
	return 0;
}
