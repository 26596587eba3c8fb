// SPDX-License-Identifier: BSD-3-Clause
// Takes verdicts of the scan engine and carries out what they say of a flow.
#include "pipeline/stage/hold_verdict.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/flow_report.h"
#include "pipeline/stage/hold.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/stage/notice.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/flow/app_usage.h"
#include "reassembly/tcp_track.h"
#include "scan/job.h"

static struct rte_mbuf *first_held(const struct lcore *lcore, uint32_t ref, enum half half)
{
	uint32_t track = flow_cold_at(lcore->flows, ref)->track;
	const struct segment *held =
		track ? TAILQ_FIRST(&track_at(lcore->tracker, track)->half[half].q2.held) : NULL;

	return held ? held->m : NULL;
}

// As block() in pipeline/stage/decide.c, but that no packet is at hand: what was held is dropped,
// the first of it is reported.
static void block(struct lcore *lcore, uint32_t ref, enum half half, enum drop_reason reason)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct rte_mbuf *held = first_held(lcore, ref, half);
	struct event about = {0};

	flow->action = ACTION_RESET;
	app_usage_settle(lcore->apps, flow);
	lcore->stats.flows_condemned++;
	lcore->apps[flow->app < APPS_MAX ? flow->app : APP_NONE].flows_blocked++;
	flow_event_identify(lcore, ref, &about);
	if (held)
		flow_event_drop(lcore, ref, held, reason, flow->rule_uid);
	if (!flow_both_heard(flow)) { // what was held is dropped, and nothing else
		inspect_end(lcore, ref, reason);
		flow_end_entry(lcore, ref, FLOW_STEP_REFUSE);
		return;
	}
	uint64_t before = lcore->stats.resets_sent;
	struct notice *notice = notice_show(lcore, ref, half == HALF_C2S ? held : NULL);

	if (notice)
		teardown_server(lcore, NULL, ref);
	else
		teardown_flow_now(lcore, ref);
	struct evidence *resets = evidence_add(lcore, EVIDENCE_RESETS, about.flow_id);

	resets->detail = notice != NULL;
	resets->length = (uint32_t)(lcore->stats.resets_sent - before);
	inspect_end(lcore, ref, reason);
	flow_report_end(lcore, ref, FLOW_END_FORCED);
	uint32_t stub = flow_block(lcore, ref);

	notice_keep(lcore, notice, stub);
	// A policy says nothing about what was found: no reload reprieves it.
	if (stub != FLOW_REF_NONE)
		flow_life_step_stub(flow_stub_at(lcore->flows, stub), FLOW_STEP_FIND);
}

// The policy may be another than the one under which the job went out, and no packet has come
// since that would have been decided under it.
static bool is_scanned(const struct lcore *lcore, const struct flow *flow)
{
	const struct policy *policy = lcore->policy;

	if (flow->action != ACTION_SCAN || flow->flags & FLOW_ALLOWED || !policy->enforces)
		return false;
	if (policy->reevaluate != REEVALUATE_ALL || flow->policy_epoch == lcore->epoch)
		return true;
	const struct rule *rule = policy_rule_by_uid(policy, flow->rule_uid);

	return rule && rule->action == ACTION_SCAN && rule->mode == MODE_ENFORCE;
}

static bool lets_pass(const struct scan_config *config, const struct scan_verdict *verdict)
{
	switch ((enum scan_value)verdict->value) {
	case SCAN_CLEAN: return true;
	case SCAN_UNSCANNED:
	case SCAN_ERROR: return config->on_error == SCAN_FAILURE_PASS;
	case SCAN_TIMEOUT: return config->on_timeout == SCAN_FAILURE_PASS;
	case SCAN_INFECTED:
	case SCAN_VALUES_MAX: break;
	}
	return false;
}

static void obey(
	struct lcore *lcore, uint32_t ref, enum half half, const struct scan_verdict *verdict)
{
	if (!is_scanned(lcore, flow_at(lcore->flows, ref)) || lets_pass(lcore->dp->scan, verdict)) {
		inspect_resume(lcore, ref, half);
		return;
	}
	flow_event_scan(lcore, ref, half, verdict);
	block(lcore, ref, half, verdict->value == SCAN_INFECTED ? DROP_INFECTED : DROP_UNSCANNED);
}

// What waits for the file leaves; what of its half was not looked at yet stands.
static void let_go_on(struct lcore *lcore, const struct scan_told *told)
{
	struct tcp_track *track = inspect_track(lcore, flow_cold_at(lcore->flows, told->ref));

	if (!track)
		return;
	// what brings bytes of a file sets it again; what brings none is not to wait for them
	if (!told->stands)
		track_gate(lcore->tracker, track, told->half, TRACK_GATE_NONE);
	if (!told->waits)
		inspect_resume(lcore, told->ref, told->half);
}

static void obey_file(struct lcore *lcore, const struct scan_told *told)
{
	if (!content_scan_told(lcore, told)) {
		if (told->enforces && told->is_here)
			let_go_on(lcore, told);
		return;
	}
	flow_at(lcore->flows, told->ref)->rule_uid = told->rule_uid;
	block(lcore, told->ref, told->half,
		told->result.value == SCAN_INFECTED ? DROP_INFECTED : DROP_UNSCANNED);
}

void hold_poll(struct lcore *lcore)
{
	hold_take_verdicts(lcore, &(struct hold_obey){.half = obey, .file = obey_file});
}
