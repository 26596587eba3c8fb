// SPDX-License-Identifier: BSD-3-Clause
// Runs a case: the capture as it is, then with its operations, each on an lcore made anew, under
// the same policy with the real signatures; and judges.
#include <ctype.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "conversation_judge.h"
#include "lib/pipeline/pipe_control.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/port.h"
#include "classify/classify.h"
#include "pipeline/limits.h"
#include "pipeline/lcores.h"
#include "pipeline/policy/policy.h"
#include "pipeline/loop.h"

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

// Decides nothing, has flows decoded, and masks.
#define EDITS                                                                                \
	"{'id':'edits','match':{},'cache':'none','chat':[{'keyword':['" CONVERSATION_KEYWORD \
	"'],'action':'mask'}],'transfers':[{'name':['*." CONVERSATION_KEYWORD                \
	"'],'action':'reset'}]}"
#define POLICY_MONITOR    4
#define POLICY_QUARANTINE 5

static struct gate *gate;
static unsigned open_policy;
static bool with_edits;
static struct conversation plain, changed, edited;
static struct sent sent;
static struct outcome before, after;
static const struct judged judged = {&plain, &changed, &before, &after, &sent};
static char why[CONVERSATION_WHY];
static uint64_t packets_run, packets_edited;

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

uint64_t conversation_packets_edited(void)
{
	return packets_edited;
}

void conversation_edits(bool on)
{
	with_edits = on;
}

// The policy, with the rule that edits before its own.
static const char *members_of(unsigned policy, char text[1024])
{
	static const char rules[] = "'rules':[";
	const char *members = policies[policy].members, *at = strstr(members, rules);

	if (!with_edits)
		return members;
	assert_non_null(at);
	at += sizeof(rules) - 1;
	assert_true(
		snprintf(text, 1024, "%.*s%s,%s", (int)(at - members), members, EDITS, at) < 1024);
	return text;
}

void conversation_open(unsigned policy)
{
	struct lcore_limits limits = with_edits ? pipe_limits_edits() : pipe_limits();
	char text[1024];

	limits.content.flows = with_edits ? 128 : 0;
	limits.content.source_pct = 100;
	limits.flows = limits.embryos = limits.tracker.tracks = 128;
	limits.greetings = 16;
	open_policy = policy;
	gate = gate_new_with(1, &limits, members_of(policy, text));
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
	pipe_egress_closes(pipe);
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
	pipe->now_ns += -pipe->now_ns % CONVERSATION_TICK_NS;
	pipe_turns(pipe);
	return NULL;
}

static void match(const struct conversation *talk, struct outcome *outcome, unsigned last,
	const uint8_t *frame, uint32_t length)
{
	for (unsigned i = last + 1; i-- > 0;) {
		const struct conversation_packet *packet = &talk->packets[i];

		if (packet->honest < 0 || outcome->left[packet->honest] || packet->length != length)
			continue;
		const uint8_t *masked = edited.packets[packet->honest].frame;
		bool is_masked = with_edits && memcmp(packet->frame, masked, length) &&
				 !memcmp(frame, masked, length);

		if (!is_masked && memcmp(packet->frame, frame, length))
			continue;
		outcome->left[packet->honest] = true;
		packets_edited += is_masked;
		return;
	}
}

// A rule's source is the inside end as the flow's first packet has it. Where that was forged, as
// one of another's address, a SYN-ACK alone passes as the other end's answer: it carries nothing,
// and what comes behind it from that side is not taken.
static bool is_bare_answer(const uint8_t *frame, unsigned length)
{
	unsigned at = 14 + (frame[14] & 15) * 4u;

	return frame[23] == IPPROTO_TCP && length >= at + 20 &&
	       (frame[at + 13] & 0x3f) == (TH_SYN | TH_ACK) &&
	       14u + get16(frame + 16) == at + (frame[at + 12] >> 4) * 4u;
}

static const char *take_sent(
	const struct conversation *talk, struct outcome *outcome, unsigned last)
{
	struct pipe *pipe = gate->pipe;

	for (unsigned i = 0; i < pipe->n_sent; i++) {
		const struct pipe_sent *one = &pipe->sent[i];
		const uint8_t *frame = one->frame;

		match(talk, outcome, last, frame, one->length);
		if (open_policy == POLICY_QUARANTINE && one->length >= 34 &&
			get16(frame + 12) == 0x0800 && frame[14] >> 4 == 4 &&
			one->length >= 14u + get16(frame + 16) &&
			get32(frame + 26) == QUARANTINED && !is_bare_answer(frame, one->length))
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

// SLUICE_TELL is set: what comes in, and what became of it.
static void tell(
	unsigned i, const struct conversation_packet *packet, unsigned n_left, const char *reason)
{
	struct frame_view view;
	char whose[16] = "forged";

	if (packet->honest >= 0)
		snprintf(whose, sizeof(whose), "of %d", packet->honest);
	fprintf(stderr, "%3u %-7s %9.3f s %s ", i, whose, (double)packet->ts_ns / NS_PER_S,
		packet->outside ? "outside" : "inside ");
	if (frame_view(packet->frame, packet->length, &view)) {
		const uint8_t *ip = packet->frame + view.l3, *l4 = packet->frame + view.l4;
		const uint8_t *from = ip + (view.v6 ? 20 : 12), *to = ip + (view.v6 ? 36 : 16);

		fprintf(stderr, "%08x:%u > %08x:%u ", get32(from), get16(l4), get32(to),
			get16(l4 + 2));
		if (view.proto == IPPROTO_TCP)
			fprintf(stderr, "flags %02x seq %08x ack %08x ", l4[13], get32(l4 + 4),
				get32(l4 + 8));
		fprintf(stderr, "%u octets \"", view.end - view.payload);
		for (unsigned k = view.payload; k < view.end && k < view.payload + 24; k++)
			fputc(isprint(packet->frame[k]) ? packet->frame[k] : '.', stderr);
		fprintf(stderr, "\" ");
	} else {
		fprintf(stderr, "%u octets ", packet->length);
		for (unsigned k = 12; k < packet->length && k < 62; k++)
			fprintf(stderr, "%02x", packet->frame[k]);
	}
	fprintf(stderr, "-> %u left, %s\n", n_left, reason ? reason : "no drop");
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
		if (getenv("SLUICE_TELL"))
			tell(i, packet, pipe->n_sent, reason_of(dropped, stats->dropped_pkts));
		bad = bad ? bad : take_sent(talk, outcome, i);
		packets_run++;
	}
	time_pass(pipe, pipe->now_ns + 2 * NS_PER_S);
	bad = bad ? bad : take_sent(talk, outcome, talk->n - 1);
	return bad;
}

// What is refused for what other connections have said is known by them, and by these changed, not
// known (docs/threat-model.md): it is asked for only of what is refused by itself.
static const char *refused_alone(unsigned refused, bool *alone)
{
	const char *bad = lcore_anew();

	changed.n = 0;
	for (unsigned i = 0; i < plain.n; i++)
		if (judge_same_connection(&plain.packets[refused], &plain.packets[i]))
			changed.packets[changed.n++] = plain.packets[i];
	bad = bad ? bad : run(&changed, &after);
	*alone = after.refused[refused];
	return bad;
}

// Of the capture as it is: all that leaves is what was said, but for the keyword.
static const char *judge_plain(void)
{
	int whole =
		with_edits && open_policy != POLICY_MONITOR ? edits_left_whole(&plain, &sent) : -1;

	if (whole >= 0)
		return say("the keyword of packet %d left", whole);
	if (with_edits && open_policy != POLICY_MONITOR &&
		edits_left_otherwise(&plain, &edited, &sent))
		return "a byte left that nobody has said there";
	return NULL;
}

static const char *judge(enum conversation_mode mode)
{
	int wronged = -1;
	bool alone = true;

	if (with_edits && open_policy != POLICY_MONITOR && mode == CONVERSATION_ENFORCE &&
		(wronged = judge_edits(&judged)) >= 0)
		return say("the keyword of packet %d of the capture left with tricks", wronged);
	if (mode == CONVERSATION_VICTIM && (wronged = judge_victim(&judged)) >= 0)
		return say("packet %d of the capture passes alone, and not beside a forger (%s)",
			wronged, after.reason[wronged] ? after.reason[wronged] : "no drop");
	if (mode == CONVERSATION_ENFORCE)
		wronged = judge_enforce(&judged);
	if (wronged < 0)
		return NULL;
	const char *bad = refused_alone((unsigned)wronged, &alone);

	return bad || !alone ? bad
			     : say("packet %d of the capture is refused alone, and left with "
				   "tricks",
				       wronged);
}

const char *conversation_run(const struct conversation_case *a_case)
{
	const char *bad = lcore_anew();

	conversation_of(a_case->capture, &plain);
	edits_expect(&plain, &edited);
	if (bad || plain.n < 2)
		return bad;
	if (a_case->mode != CONVERSATION_CHAOS) {
		bad = run(&plain, &before);
		bad = bad ? bad : judge_plain();
		bad = bad ? bad : lcore_anew();
	}
	changed = plain;
	conversation_apply(a_case, &changed);
	if (bad || !changed.n)
		return bad;
	bad = run(&changed, &after);
	bad = bad ? bad : judge(a_case->mode);
	return bad ? bad : lcore_anew();
}
