// SPDX-License-Identifier: BSD-3-Clause
// Formats what EVE records say of a flow: addresses, counters, TCP, reassembly.
#include "reassembly/tcp_state.h"
#include "content/content.h"
#include "control/event/eve.h"
#include "pipeline/vocab/tick.h"
#include "scan/job.h"

#include <netinet/in.h>
#include <string.h>

#define TCP_SYN_BIT 0x02

static const struct {
	uint8_t bit;
	const char *word;
} tcp_bits[] = {
	{0x02, "syn"},
	{0x01, "fin"},
	{0x04, "rst"},
	{0x08, "psh"},
	{0x10, "ack"},
	{0x20, "urg"},
	{0x40, "ecn"},
	{0x80, "cwr"},
};

bool eve_has_ports(uint8_t l4_proto)
{
	return l4_proto == IPPROTO_TCP || l4_proto == IPPROTO_UDP || l4_proto == IPPROTO_SCTP;
}

const char *eve_proto(uint8_t l4_proto, char number[4])
{
	size_t n = 0;

	switch (l4_proto) {
	case IPPROTO_TCP: return "TCP";
	case IPPROTO_UDP: return "UDP";
	case IPPROTO_ICMP: return "ICMP";
	case IPPROTO_ICMPV6: return "IPv6-ICMP";
	case IPPROTO_SCTP: return "SCTP";
	case IPPROTO_GRE: return "GRE";
	case IPPROTO_ESP: return "ESP";
	case IPPROTO_AH: return "AH";
	default: break;
	}
	if (l4_proto >= 100)
		number[n++] = (char)('0' + l4_proto / 100);
	if (l4_proto >= 10)
		number[n++] = (char)('0' + l4_proto / 10 % 10);
	number[n++] = (char)('0' + l4_proto % 10);
	number[n] = '\0';
	return number;
}

static void put_flags(struct json_out *out, const char *key, uint8_t flags)
{
	static const char hex[] = "0123456789abcdef";
	char text[2] = {hex[flags >> 4], hex[flags & 15]};

	json_out_text(out, key, text, sizeof text);
}

static const char *state_word(const struct event *event)
{
	return event->flow.state == FLOW_STATE_BLOCKED ? "closed"
						       : tcp_state_word(event->flow.tcp_state);
}

// What reassembly has to say of a half; nothing, mostly.
static void put_half(
	struct json_out *out, const char *key, const struct stream_report *report, enum half half)
{
	static const struct stream_half_report nothing;
	const struct stream_half_report *of = &report->half[half];
	bool midstream = report->midstream & 1 << half;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{"gaps", of->gaps},
		{"gap_bytes", of->gap_bytes},
		{"conflict_bytes", of->conflict_bytes},
		{"dup_bytes", of->duplicate_bytes},
		{"copied_kb", of->copied_kb},
		{"held_pkts", of->held_pkts},
		{"held_ms", of->held_cs * UINT64_C(10)},
	};

	if (!midstream && !memcmp(of, &nothing, sizeof nothing))
		return;
	json_out_open(out, key, '{');
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (numbers[i].value)
			json_out_u64(out, numbers[i].key, numbers[i].value);
	}
	if (midstream)
		json_out_bool(out, "midstream", true);
	json_out_close(out, '}');
}

static void put_tcp(const struct event *event, struct json_out *out)
{
	uint8_t ts = event->flow.tcp_flags[HALF_C2S], tc = event->flow.tcp_flags[HALF_S2C];
	uint8_t both = ts | tc;

	json_out_open(out, "tcp", '{');
	put_flags(out, "tcp_flags", both);
	put_flags(out, "tcp_flags_ts", ts);
	put_flags(out, "tcp_flags_tc", tc);
	for (size_t i = 0; i < sizeof tcp_bits / sizeof *tcp_bits; i++) {
		if (both & tcp_bits[i].bit)
			json_out_bool(out, tcp_bits[i].word, true);
	}
	json_out_string(out, "state", state_word(event));
	json_out_bool(out, "ts_gap", event->flow.stream.half[HALF_C2S].gaps);
	json_out_bool(out, "tc_gap", event->flow.stream.half[HALF_S2C].gaps);
	put_half(out, "toserver", &event->flow.stream, HALF_C2S);
	put_half(out, "toclient", &event->flow.stream, HALF_S2C);
	json_out_close(out, '}');
}

static const char *flow_state_text(const struct event *event)
{
	switch (event->flow.state) {
	case FLOW_STATE_NEW: return "new";
	case FLOW_STATE_ESTABLISHED: return event->flow.bypassed ? "bypassed" : "established";
	default: return "closed";
	}
}

static const char *flow_action_text(const struct event *event)
{
	if (action_blocks(event->action) && event->mode == MODE_ENFORCE)
		return "drop";
	return event->rule_uid && !action_blocks(event->action) ? "pass" : "accept";
}

// Where room had ended for it, and what became of its packets then.
static void put_exceptions(const struct stream_report *report, struct json_out *out)
{
	const struct {
		uint8_t targets;
		const char *policy;
	} rows[] = {
		{report->dropped, "drop_packet"},
		{report->passed, "pass_packet"},
		{report->ignored, "ignore"},
	};

	if (!(report->dropped | report->passed | report->ignored))
		return;
	json_out_open(out, "exception_policy", '[');
	for (unsigned target = 0; target < STREAM_TARGETS_MAX; target++) {
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			if (!(rows[i].targets & 1 << target))
				continue;
			json_out_open(out, NULL, '{');
			json_out_string(out, "target", stream_target_word(target));
			json_out_string(out, "policy", rows[i].policy);
			json_out_close(out, '}');
		}
	}
	json_out_close(out, ']');
	if (!report->passed)
		return;
	json_out_string(out, "law", "waived");
	json_out_open(out, "law_reason", '[');
	for (unsigned target = 0; target < STREAM_TARGETS_MAX; target++) {
		if (report->passed & 1 << target)
			json_out_string(out, NULL, stream_target_word(target));
	}
	json_out_close(out, ']');
}

static void put_scan(const struct event *event, struct json_out *out)
{
	static const char *const reasons[] = {[FLOW_SCAN_PROTOCOL] = "protocol",
		[FLOW_SCAN_NO_ENGINE] = "no_engine",
		[FLOW_SCAN_NO_ROOM] = "no_room",
		[FLOW_SCAN_NOT_ASKED] = "not_asked",
		[FLOW_SCAN_NO_VERDICT] = "no_verdict"};
	bool done = event->flow.scan == FLOW_SCAN_DONE;

	if (event->flow.scan == FLOW_SCAN_NONE || event->flow.scan >= FLOW_SCAN_MAX)
		return;
	json_out_open(out, "scan", '{');
	json_out_string(
		out, "verdict", done ? scan_value_word(event->flow.scan_worst) : "unscanned");
	if (!done)
		json_out_string(out, "reason", reasons[event->flow.scan]);
	json_out_u64(out, "jobs", event->flow.scan_jobs);
	json_out_u64(out, "hold_ms", event->flow.hold_ms);
	json_out_close(out, '}');
}

// What its decoder told of files and messages; nothing of a flow that had none.
static void put_content(const struct content_summary *content, struct json_out *out)
{
	const struct content_tally *seen = content->seen;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{"files", seen[0].files + UINT64_C(0) + seen[1].files},
		{"messages", seen[0].messages + UINT64_C(0) + seen[1].messages},
		{"refused", seen[0].refused + UINT64_C(0) + seen[1].refused},
		{"monitored", seen[0].monitored + UINT64_C(0) + seen[1].monitored},
	};
	uint8_t marks = seen[0].marks | seen[1].marks;

	if (!content->is)
		return;
	json_out_open(out, "content", '{');
	json_out_string(out, "state", content_state_word(content->state));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		json_out_u64(out, numbers[i].key, numbers[i].value);
	if (content->began_ns) {
		json_out_open(out, "spent_ms", '{');
		for (unsigned state = 0; state < CONTENT_STATES_MAX; state++)
			json_out_u64(out, content_state_word(state),
				content->spent_ns[state] / NS_PER_MS);
		json_out_close(out, '}');
	}
	if (marks)
		json_out_open(out, "notes", '[');
	for (unsigned mark = 0; marks && mark < CONTENT_MARKS_MAX; mark++)
		if (marks & 1u << mark)
			json_out_string(out, NULL, content_mark_word(mark));
	if (marks)
		json_out_close(out, ']');
	for (unsigned half = 0; half < 2; half++)
		if (seen[half].note)
			json_out_string(out, half ? "note_toclient" : "note_toserver",
				content_note_word(seen[half].note - 1u));
	json_out_close(out, '}');
}

void eve_flow(const struct event *event, struct json_out *out)
{
	// A close is, in Suricata's words, a time-out of a closed flow.
	static const char *const reasons[] = {"timeout", "forced", "shutdown", "timeout"};
	uint64_t start = event->flow.start_ns, end = event->flow.end_ns;
	char stamp[40];

	json_out_open(out, "flow", '{');
	json_out_u64(out, "pkts_toserver", event->flow.pkts[HALF_C2S]);
	json_out_u64(out, "pkts_toclient", event->flow.pkts[HALF_S2C]);
	json_out_u64(out, "bytes_toserver", event->flow.bytes[HALF_C2S]);
	json_out_u64(out, "bytes_toclient", event->flow.bytes[HALF_S2C]);
	eve_timestamp(start, stamp, sizeof stamp);
	json_out_string(out, "start", stamp);
	eve_timestamp(end, stamp, sizeof stamp);
	json_out_string(out, "end", stamp);
	json_out_u64(out, "age", end > start ? (end - start) / NS_PER_S : 0);
	json_out_string(out, "state", flow_state_text(event));
	if (event->flow.bypassed)
		json_out_string(out, "bypass", "local");
	if (event->type == EVENT_FLOW)
		json_out_string(out, "reason",
			event->reason <= FLOW_END_CLOSED ? reasons[event->reason] : "?");
	json_out_bool(out, "alerted",
		event->flow.alerted || (action_blocks(event->action) &&
					       event->flow.by_hand != FLOW_OPERATOR_RESET));
	json_out_string(out, "action", flow_action_text(event));
	if (event->flow.state == FLOW_STATE_BLOCKED)
		json_out_bool(out, "condemned", true);
	if (event->flow.by_hand)
		json_out_string(out, "operator",
			event->flow.by_hand == FLOW_OPERATOR_RESET ? "reset" : "allow");
	if (event->flow.midstream)
		json_out_bool(out, "midstream", true);
	if (event->flow.elephant)
		json_out_bool(out, "elephant", true);
	if (event->flow.aggregated)
		json_out_u64(out, "aggregated", event->flow.aggregated);
	if (event->type == EVENT_ELEPHANT)
		json_out_u64(out, "rate_bytes_s", event->flow.rate_bytes_s);
	put_exceptions(&event->flow.stream, out);
	json_out_close(out, '}');
	put_scan(event, out);
	put_content(&event->flow.content, out);
	if (event->l4_proto == IPPROTO_TCP)
		put_tcp(event, out);
}

void eve_drop(const struct event *event, struct json_out *out)
{
	json_out_open(out, "drop", '{');
	json_out_u64(out, "len", event->drop.frame_length);
	json_out_u64(out, "tos", event->drop.tos);
	json_out_u64(out, "ttl", event->drop.ttl);
	json_out_u64(out, "ipid", event->drop.ip_id);
	if (event->l4_proto == IPPROTO_TCP) {
		json_out_u64(out, "tcpseq", event->drop.tcp_seq);
		json_out_u64(out, "tcpack", event->drop.tcp_ack);
		json_out_u64(out, "tcpwin", event->drop.tcp_win);
		for (size_t i = 0; i < 6; i++)
			json_out_bool(out, tcp_bits[i].word, event->tcp_flags & tcp_bits[i].bit);
	} else if (event->l4_proto == IPPROTO_UDP) {
		json_out_u64(out, "udplen", event->drop.udp_length);
	}
	json_out_string(out, "reason", drop_reason_word(event->reason));
	json_out_close(out, '}');
}
