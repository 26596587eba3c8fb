// SPDX-License-Identifier: BSD-3-Clause
// Runs a case: the capture as it is, then with its operations, each on an lcore made anew, under
// the same policy with the real signatures; and judges.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "conversation.h"
#include "pipe_control.h"

#define CPU_PER_PACKET_NS (NS_PER_S / 2)
#define QUARANTINED       0x0a000042u // 10.0.0.66

#define P2P(id, more) "{'id':'" id "','match':{'category':['p2p']," more "},'action':'reset'"
static const struct {
	const char *name, *members;
} policies[] = {
	{"default", "'rules':[" P2P("no-p2p", "'min_confidence':'dpi'") ",'cache':'tuple'}]"},
	{"names", "'applications':[{'id':'blocked','category':'web','sni':['blocked.example'],"
		  "'regex':[{'pattern':'^OWN/[0-9]','protocol':'tcp','direction':'to_server',"
		  "'min_length':5}]}],'rules':[{'id':'no-blocked','match':{'app':['blocked'],"
		  "'min_confidence':'cache'},'action':'reset','cache':'none'}]"},
	{"learned", "'rules':[" P2P("no-learned",
			    "'min_confidence':'cache','protocol':'tcp'") ",'cache':'peer'}]"},
	{"deny",
		"'default':'drop','rules':[{'id':'web','match':{'protocol':'tcp','ports':[80,443]},"
		"'action':'pass'},{'id':'dns','match':{'protocol':'udp','ports':[53]},"
		"'action':'pass'}]"},
	{"monitor", "'mode':'monitor','rules':[" P2P("no-p2p", "'min_confidence':'partial'") "}]"},
	{"quarantine", "'rules':[{'id':'quarantine','match':{'source':['10.0.0.66']},"
		       "'action':'drop','cache':'none'}," P2P(
			       "shapes", "'min_confidence':'partial'") ",'cache':'none'}]"},
};

struct sent { // what one run has sent
	unsigned n;
	struct {
		uint32_t length;
		bool to_outside;
		uint8_t frame[CONVERSATION_FRAME];
	} frames[2 * CONVERSATION_PACKETS];
};

struct outcome {
	bool left[CONVERSATION_PACKETS];
	bool refused[CONVERSATION_PACKETS];       // by a rule
	const char *reason[CONVERSATION_PACKETS]; // of a drop that it came with, or NULL
};

static struct gate *gate;
static unsigned open_policy;
static struct conversation plain, changed;
static struct sent sent;
static struct outcome before, after;
static char why[CONVERSATION_WHY];
static uint64_t packets_run;

unsigned conversation_policies(void)
{
	return sizeof(policies) / sizeof(policies[0]);
}

const char *conversation_policy_name(unsigned policy)
{
	return policies[policy].name;
}

uint64_t conversation_packets_run(void)
{
	return packets_run;
}

void conversation_open(unsigned policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.flows = limits.embryos = limits.tracker.tracks = 128;
	limits.greetings = 16;
	open_policy = policy;
	gate = gate_new_with(1, &limits, policies[policy].members);
}

void conversation_close(void)
{
	gate_free(gate);
	gate = NULL;
}

static const char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	return why;
}

// An lcore that has seen nothing; what the last one kept is given back.
static const char *lcore_anew(void)
{
	struct pipe *pipe = gate->pipe;
	struct lcore *lcore = pipe->dp.lcores[0];
	char err[200];

	pipeline_drain(lcore, pipe->now_ns);
	if (pipe_unaccounted(pipe))
		return say("%lld packets unaccounted for", (long long)pipe_unaccounted(pipe));
	if (classifier_states_free(lcore->classifier) != classifier_states_max(lcore->classifier))
		return "classifier states are not back";
	if (rte_mempool_in_use_count(pipe->pool))
		return say("%u mbufs are not back", rte_mempool_in_use_count(pipe->pool));
	pipe->n_sent = 0;
	lcore_free(lcore);
	if (lcore_new(
		    &pipe->dp, 0, SOCKET_ID_ANY, pipe->pool, &pipe->dp.lcores[0], err, sizeof(err)))
		return say("%s", err);
	pipe_turns(pipe);
	pipe->now_ns += 100 * NS_PER_S; // what lived before it did is another matter
	pipe_turns(pipe);
	return NULL;
}

static void match(const struct conversation *talk, struct outcome *outcome, unsigned last,
	const uint8_t *frame, uint32_t length)
{
	for (unsigned i = last + 1; i-- > 0;) {
		const struct conversation_packet *packet = &talk->packets[i];

		if (packet->honest >= 0 && !outcome->left[packet->honest] &&
			packet->length == length && !memcmp(packet->frame, frame, length)) {
			outcome->left[packet->honest] = true;
			return;
		}
	}
}

static const char *take_sent(
	const struct conversation *talk, struct outcome *outcome, unsigned last)
{
	struct pipe *pipe = gate->pipe;

	for (unsigned i = 0; i < pipe->n_sent; i++) {
		const struct pipe_sent *one = &pipe->sent[i];
		const uint8_t *frame = one->frame;

		match(talk, outcome, last, frame, one->length);
		if (open_policy == 5 && one->length >= 34 && get16(frame + 12) == 0x0800 &&
			get32(frame + 26) == QUARANTINED)
			return say("packet %u of a quarantined host left", last);
		if (sent.n < sizeof(sent.frames) / sizeof(sent.frames[0]) &&
			one->length <= CONVERSATION_FRAME) {
			sent.frames[sent.n].length = one->length;
			sent.frames[sent.n].to_outside = one->port == PIPE_OUTSIDE;
			memcpy(sent.frames[sent.n++].frame, frame, one->length);
		}
	}
	pipe->n_sent = 0;
	return NULL;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void time_pass(struct pipe *pipe, uint64_t to_ns)
{
	const uint64_t from_ns = pipe->now_ns;

	while (pipe->now_ns < to_ns) {
		uint64_t step_ns = RTE_MAX(NS_PER_S, (pipe->now_ns - from_ns) / 8);

		pipe->now_ns = RTE_MIN(to_ns, pipe->now_ns + step_ns);
		pipe_turns(pipe);
	}
}

static const char *reason_of(const uint64_t *before_pkts, const uint64_t *now_pkts)
{
	for (unsigned reason = 0; reason < DROP_REASONS_MAX; reason++)
		if (now_pkts[reason] > before_pkts[reason])
			return drop_reason_word((enum drop_reason)reason);
	return NULL;
}

static const char *run(const struct conversation *talk, struct outcome *outcome)
{
	struct pipe *pipe = gate->pipe;
	const uint64_t start_ns = pipe->now_ns;
	const char *bad = NULL;

	memset(outcome, 0, sizeof(*outcome));
	sent.n = 0;
	for (unsigned i = 0; i < talk->n && !bad; i++) {
		const struct conversation_packet *packet = &talk->packets[i];
		struct stats *stats = &pipe->dp.lcores[0]->stats;
		uint64_t dropped[DROP_REASONS_MAX], began_ns;

		time_pass(pipe, start_ns + packet->ts_ns);
		bad = take_sent(talk, outcome, i);
		memcpy(dropped, stats->dropped_pkts, sizeof(dropped));
		began_ns = cpu_ns();
		pipe_run_frame(pipe, 0, packet->frame, packet->length, packet->outside,
			packet->length % 3 ? 1 : 2);
		pipe_turns(pipe);
		if (cpu_ns() - began_ns > CPU_PER_PACKET_NS)
			bad = say("packet %u took %llu ms", i,
				(unsigned long long)(cpu_ns() - began_ns) / 1000000);
		if (packet->honest >= 0) {
			outcome->refused[packet->honest] =
				stats->dropped_pkts[DROP_RULE] != dropped[DROP_RULE];
			outcome->reason[packet->honest] = reason_of(dropped, stats->dropped_pkts);
		}
		bad = bad ? bad : take_sent(talk, outcome, i);
		packets_run++;
	}
	time_pass(pipe, pipe->now_ns + 2 * NS_PER_S);
	bad = bad ? bad : take_sent(talk, outcome, talk->n - 1);
	return bad;
}

static const char *judge_victim(void)
{
	for (unsigned i = 0; i < plain.n; i++)
		if (before.left[i] && !after.left[i])
			return say("packet %u of the capture passes alone, and not beside a forger "
				   "(%s)",
				i, after.reason[i] ? after.reason[i] : "no drop");
	return NULL;
}

static bool same_ends(const uint8_t *a, const struct frame_view *va, const uint8_t *b,
	const struct frame_view *vb)
{
	unsigned size = va->v6 ? 32 : 8, at = va->v6 ? 8 : 12;

	return va->v6 == vb->v6 && va->proto == vb->proto && va->l3 == vb->l3 &&
	       !memcmp(a + va->l3 + at, b + vb->l3 + at, size) &&
	       !memcmp(a + va->l4, b + vb->l4, 4);
}

// All bytes of a refused segment have left, in whatever pieces.
static bool segment_left(const struct conversation_packet *refused, const struct frame_view *view)
{
	unsigned length = view->end - view->payload, got = 0;
	uint32_t seq = get32(refused->frame + view->l4 + 4);
	bool have[CONVERSATION_FRAME] = {false};

	for (unsigned i = 0; i < sent.n; i++) {
		struct frame_view of;
		const uint8_t *frame = sent.frames[i].frame;

		if (sent.frames[i].to_outside == refused->outside ||
			!frame_view(frame, sent.frames[i].length, &of) ||
			!same_ends(refused->frame, view, frame, &of))
			continue;
		uint32_t at = get32(frame + of.l4 + 4) - seq;

		for (unsigned k = 0; k < of.end - of.payload; k++, at++)
			if (at < length && !have[at] &&
				frame[of.payload + k] == refused->frame[view->payload + at])
				have[at] = ++got;
	}
	return got == length;
}

// The refused segment, and all of its stream that comes before: its receiver can read it.
static bool stream_left(const struct conversation_packet *refused, const struct frame_view *view)
{
	struct frame_view of;

	for (int i = 0; i < refused->honest; i++)
		if (frame_view(plain.packets[i].frame, plain.packets[i].length, &of) &&
			of.end > of.payload &&
			same_ends(refused->frame, view, plain.packets[i].frame, &of) &&
			!segment_left(&plain.packets[i], &of))
			return false;
	return segment_left(refused, view);
}

static bool datagram_left(const struct conversation_packet *packet, const struct frame_view *view)
{
	for (unsigned i = 0; i < sent.n; i++) {
		struct frame_view of;

		if (frame_view(sent.frames[i].frame, sent.frames[i].length, &of) &&
			same_ends(packet->frame, view, sent.frames[i].frame, &of) &&
			of.end - of.payload == view->end - view->payload &&
			!memcmp(sent.frames[i].frame + of.payload, packet->frame + view->payload,
				of.end - of.payload))
			return true;
	}
	return false;
}

// Both the refused datagram and the first that answers it have left, which was refused alone, too.
static bool exchange_left(const struct conversation_packet *refused, const struct frame_view *view)
{
	struct conversation_packet turned = *refused;
	struct frame_view of;

	if (!datagram_left(refused, view))
		return false;
	frame_turn(&turned, view);
	for (int i = refused->honest + 1; i < (int)plain.n; i++)
		if (frame_view(plain.packets[i].frame, plain.packets[i].length, &of) &&
			same_ends(turned.frame, view, plain.packets[i].frame, &of) &&
			of.end > of.payload)
			return !before.left[i] && datagram_left(&plain.packets[i], &of);
	return false;
}

static bool was_dropped(const struct conversation *talk, int honest)
{
	for (unsigned i = 0; i < talk->n; i++)
		if (talk->packets[i].honest == honest)
			return true;
	return false;
}

static const char *judge_enforce(void)
{
	for (unsigned i = 0; i < plain.n; i++) {
		const struct conversation_packet *packet = &plain.packets[i];
		struct frame_view view;

		if (!before.refused[i] || before.left[i])
			continue;
		if (!frame_view(packet->frame, packet->length, &view) || view.end == view.payload)
			return NULL;
		if (view.proto == IPPROTO_TCP
				? stream_left(packet, &view)
				: was_dropped(&changed, (int)i) && exchange_left(packet, &view))
			return say(
				"packet %u of the capture is refused alone, and left with tricks",
				i);
		return NULL; // what comes behind the first depends on how that ended
	}
	return NULL;
}

const char *conversation_run(const struct conversation_case *a_case)
{
	const char *bad = lcore_anew();

	conversation_of(a_case->capture, &plain);
	if (bad || plain.n < 2)
		return bad;
	if (a_case->mode != CONVERSATION_CHAOS) {
		bad = run(&plain, &before);
		bad = bad ? bad : lcore_anew();
	}
	changed = plain;
	conversation_apply(a_case, &changed);
	if (bad || !changed.n)
		return bad;
	bad = run(&changed, &after);
	if (!bad && a_case->mode == CONVERSATION_VICTIM)
		bad = judge_victim();
	if (!bad && a_case->mode == CONVERSATION_ENFORCE)
		bad = judge_enforce();
	return bad ? bad : lcore_anew();
}
