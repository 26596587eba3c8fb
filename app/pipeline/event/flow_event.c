// SPDX-License-Identifier: BSD-3-Clause
// Fills event records from flows and packets, and sends them to the event ring.
#include <string.h>
#include <netinet/in.h>
#include "pipeline/event/flow_event.h"
#include "pipeline/policy/frame_marks.h"
#include "reassembly/tcp_state.h"
#include "pipeline/flow/rate.h"
#include "pipeline/event/evidence.h"
#include "pipeline/event/windows.h"
#include "pipeline/flow/ends.h"
#include "pipeline/flow/expect.h"
#include "pipeline/lcore/lcore.h"

#define INVALID_EVENTS_PER_S 20

bool event_has_room(const struct lcore *lcore, enum event_room room)
{
	static const unsigned used[] = {
		[EVENT_ROOM_UNHEARD] = EVENT_RING_SIZE / 4,
		[EVENT_ROOM_LIMITED] = EVENT_RING_SIZE * 3 / 8,
		[EVENT_ROOM_SPARE] = EVENT_RING_SIZE / 2,
		[EVENT_ROOM_ANY] = EVENT_RING_SIZE,
	};

	return rte_ring_count(lcore->events) < used[room];
}

// UDP and what has no ports: both ends were seen; they may speak what nobody knows.
static enum event_heard heard_of(uint8_t l4_proto, bool both_heard, bool both_seen)
{
	if (l4_proto == IPPROTO_TCP)
		return both_heard ? EVENT_OF_BOTH : EVENT_UNHEARD;
	return both_heard || both_seen ? EVENT_ANSWERED : EVENT_UNHEARD;
}

static enum event_heard heard_by(const struct lcore *lcore, uint32_t ref)
{
	if (ref == FLOW_REF_NONE)
		return EVENT_UNHEARD;
	if (ref & FLOW_REF_STUB) {
		const struct flow_stub *stub = flow_stub_at(lcore->flows, ref);

		return heard_of(
			stub->l4_proto, stub_both_heard(stub), stub->pkts[0] && stub->pkts[1]);
	}
	const struct flow *flow = flow_at(lcore->flows, ref);

	return heard_of(flow->l4_proto, flow_both_heard(flow), flow->pkts[0] && flow->pkts[1]);
}

static enum event_room room_of(const struct event *event, enum event_room unheard)
{
	return event->heard == EVENT_UNHEARD ? unheard : EVENT_ROOM_ANY;
}

void event_stamp(const struct lcore *lcore, struct event *event)
{
	event->now_ns = lcore->now_ns;
	event->lcore = (uint8_t)lcore->index;
	event->pcap_cnt = lcore->pcap_cnt;
	event->generation = lcore->policy ? lcore->policy->generation : 0;
}

void event_send(struct lcore *lcore, struct event *event, enum event_room room)
{
	if (unlikely(room != EVENT_ROOM_ANY && !event_has_room(lcore, room))) {
		lcore->stats.events_unheard_lost++;
		return;
	}
	event_stamp(lcore, event);
	if (rte_ring_sp_enqueue_elem(lcore->events, event, sizeof(*event)) == 0)
		lcore->stats.events_sent++;
	else
		lcore->stats.events_lost++;
}

static void identify_stub(const struct lcore *lcore, uint32_t ref, struct event *event)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ref);
	bool v6 = stub->flags & FLOW_V6;
	const union flow_key *key = flow_key_of(lcore->flows, stub->key_pos, v6);

	event->in_port = stub->in_port;
	event->l4_proto = stub->l4_proto;
	event->signature = UINT16_MAX;
	// isn[] becomes rule_uid when the stub is blocked; the action is set with it
	if (action_blocks(stub->action)) {
		event->app = stub->app;
		event->confidence = stub->app ? stub->confidence : CONFIDENCE_NONE;
		event->rule_uid = stub->rule_uid;
	} else if (stub->app) {
		event->app = stub->app;
		event->confidence = CONFIDENCE_IP;
	}
	if (key) {
		flow_ends_of(key, stub->flags, &event->ends);
		event->user_uid = flow_user_uid(lcore, &event->ends, stub->flags & FLOW_C2S_INSIDE);
		event->flow_id = flow_id_of(key, v6, stub->start_ns);
		event->n_vlan = (uint8_t)realm_tags(parse_key_realm(key, v6), event->vlan);
	}
	event->dscp = stub->dscp;
}

void flow_event_identify(const struct lcore *lcore, uint32_t ref, struct event *event)
{
	event->heard = (uint8_t)heard_by(lcore, ref);
	if (ref & FLOW_REF_STUB) {
		identify_stub(lcore, ref, event);
		return;
	}
	const struct flow *flow = flow_at(lcore->flows, ref);
	bool v6 = flow->flags & FLOW_V6;
	const union flow_key *key = flow_key_of(lcore->flows, flow->key_pos, v6);

	event->in_port = flow->in_port;
	event->l4_proto = flow->l4_proto;
	event->app = flow->app;
	event->confidence = flow->confidence;
	event->signature = flow->signature;
	event->rule_uid = flow->rule_uid;
	event->n_data_pkts = flow->decided_pkts;
	event->n_vlan = flow->n_vlan;
	event->vlan[0] = flow->vlan[0];
	event->vlan[1] = flow->vlan[1];
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	if (cold->carrier != flow->app)
		event->carrier = cold->carrier;
	event->ends = cold->ends;
	event->dscp = cold->dscp;
	const uint8_t *mac = flow_mac(flow, cold);

	event->has_mac = mac;
	if (mac)
		memcpy(event->mac, mac, sizeof(event->mac));
	if (flow->confidence == CONFIDENCE_CACHE && flow->app && flow->app == cold->learned_app) {
		event->learned = (uint8_t)(cold->learned_from + 1);
		event->shaped = cold->shaped;
	}
	const struct expected *expected = expect_at(lcore->expect, cold->expected);

	if (expected) {
		event->expected_as = (uint8_t)(expected->what.as + 1);
		event->parent = expected->parent;
	}
	event->user_uid = flow_user_uid(lcore, &event->ends, flow->flags & FLOW_C2S_INSIDE);
	if (key)
		event->flow_id = flow_id_of(key, v6, flow->start_ns);
}

// The bit of a flow that passes means something else (flow.h).
static uint8_t operator_of(uint16_t flags, uint8_t action)
{
	if (flags & FLOW_OPERATOR && action_blocks(action))
		return FLOW_OPERATOR_RESET;
	return flags & FLOW_ALLOWED ? FLOW_OPERATOR_ALLOW : FLOW_OPERATOR_NONE;
}

static void fill_scan(const struct lcore *lcore, const struct flow *flow,
	const struct scan_summary *scan, struct event *event)
{
	event->flow.scan_jobs = scan->jobs;
	event->flow.hold_ms = (uint32_t)(scan->longest_ns / NS_PER_MS);
	event->flow.scan_worst = scan->worst;
	if (scan->has_verdict)
		event->flow.scan = FLOW_SCAN_DONE;
	else if (scan->jobs)
		event->flow.scan = FLOW_SCAN_NO_VERDICT;
	else if (flow->action != ACTION_SCAN)
		event->flow.scan = FLOW_SCAN_NONE;
	else if (flow->l4_proto != IPPROTO_TCP)
		event->flow.scan = FLOW_SCAN_PROTOCOL;
	else if (!lcore->hold)
		event->flow.scan = FLOW_SCAN_NO_ENGINE;
	else
		event->flow.scan = scan->has_place ? FLOW_SCAN_NOT_ASKED : FLOW_SCAN_NO_ROOM;
}

static void fill_flow_record(const struct lcore *lcore, uint32_t ref,
	const struct scan_summary *scan, const struct content_summary *content, struct event *event)
{
	const struct flow *flow = flow_at(lcore->flows, ref);

	event->flow.content = *content;
	event->action = flow->action;
	fill_scan(lcore, flow, scan, event);
	event->flow.start_ns = flow->start_ns;
	event->flow.end_ns = flow->last_ns;
	event->flow.v6 = flow->flags & FLOW_V6;
	event->flow.midstream = flow->flags & FLOW_MIDSTREAM;
	event->flow.gaveup = flow->flags & FLOW_GAVEUP;
	event->flow.bypassed = flow->flags & FLOW_FINAL;
	event->flow.by_hand = operator_of(flow->flags, flow->action);
	event->flow.elephant = flow->flags & FLOW_ELEPHANT;
	event->flow.alerted = flow_cold_at(lcore->flows, ref)->alerted;
	event->flow.stream = flow_cold_at(lcore->flows, ref)->report;
	event->flow.tcp_state = flow->tcp_state;
	for (unsigned half = 0; half < 2; half++) {
		event->flow.pkts[half] = flow->pkts[half];
		event->flow.bytes[half] = flow->bytes[half];
		event->flow.tcp_flags[half] = flow->tcp_flags[half];
	}
	if (action_blocks(flow->action))
		event->flow.state = FLOW_STATE_BLOCKED;
	else if (flow->lru_class == FLOW_CLASS_TCP_CLOSING)
		event->flow.state = FLOW_STATE_CLOSED;
	else if (flow->pkts[HALF_C2S] && flow->pkts[HALF_S2C])
		event->flow.state = FLOW_STATE_ESTABLISHED;
}

void flow_event_transfer(struct lcore *lcore, uint32_t ref, const struct transfer_label *label)
{
	struct event event = {.type = EVENT_TRANSFER, .transfer = *label};

	flow_event_identify(lcore, ref, &event);
	event_send(lcore, &event, EVENT_ROOM_ANY);
}

void flow_event_end(struct lcore *lcore, uint32_t ref, enum flow_end reason,
	const struct scan_summary *scan, const struct content_summary *content)
{
	struct event event = {.type = EVENT_FLOW, .reason = (uint8_t)reason};

	if (ref & FLOW_REF_STUB) {
		const struct flow_stub *stub = flow_stub_at(lcore->flows, ref);

		// its flow record was written when it was blocked
		if (stub->lru_class == FLOW_CLASS_BLOCKED)
			return;
		event.action = stub->action;
		event.flow.start_ns = stub->start_ns;
		// a stub knows its last packet to 67 ms; never before the first
		uint64_t last =
			(lcore->now_ns >> STUB_TICK_SHIFT << STUB_TICK_SHIFT) -
			((uint64_t)((uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT) - stub->last_tick)
				<< STUB_TICK_SHIFT);
		event.flow.end_ns = last > stub->start_ns ? last : stub->start_ns;
		event.flow.v6 = stub->flags & FLOW_V6;
		event.flow.by_hand = operator_of(stub->flags, stub->action);
		event.flow.alerted = stub->flags & FLOW_MONITORED;
		for (unsigned half = 0; half < 2; half++) {
			event.flow.pkts[half] = stub->pkts[half];
			event.flow.bytes[half] = stub->bytes[half];
			event.flow.tcp_flags[half] = stub->tcp_flags[half];
		}
		event.flow.tcp_state = (uint8_t)tcp_state_of_flags(stub->tcp_flags);
		if (action_blocks(stub->action))
			event.flow.state = FLOW_STATE_BLOCKED;
		else if (stub->pkts[HALF_C2S] && stub->pkts[HALF_S2C])
			event.flow.state = FLOW_STATE_ESTABLISHED;
	} else {
		fill_flow_record(lcore, ref, scan, content, &event);
	}
	flow_event_identify(lcore, ref, &event);
	event_send(lcore, &event, room_of(&event, EVENT_ROOM_UNHEARD));
	// a stub without payload has no evidence, a blocked one stays
	if (!(ref & FLOW_REF_STUB) && !action_blocks(event.action))
		evidence_add(lcore, EVIDENCE_ENDED, event.flow_id)->detail = (uint8_t)reason;
}

void flow_event_elephant(struct lcore *lcore, uint32_t ref, const struct scan_summary *scan,
	const struct content_summary *content)
{
	struct event event = {.type = EVENT_ELEPHANT};

	fill_flow_record(lcore, ref, scan, content, &event);
	event.flow.rate_bytes_s = flow_rate_bytes_s(flow_at(lcore->flows, ref), event.flow.end_ns);
	flow_event_identify(lcore, ref, &event);
	event_send(lcore, &event, EVENT_ROOM_ANY);
}

void flow_event_alert(struct lcore *lcore, uint32_t ref, const struct rule *rule,
	enum action action, enum mode mode, unsigned half, const struct item_id *item)
{
	struct event event = {.type = EVENT_ALERT};

	if (item)
		event.alert.item = *item;
	flow_event_identify(lcore, ref, &event);
	event.half = (uint8_t)half;
	event.action = (uint8_t)action;
	event.mode = (uint8_t)mode;
	event.rule_uid = rule ? rule->uid : 0;
	event_send(lcore, &event, room_of(&event, EVENT_ROOM_LIMITED));
}

void flow_event_handshake_meta(
	struct lcore *lcore, uint32_t ref, const struct handshake_meta *meta, bool awaits)
{
	struct event parts[EVENT_HANDSHAKE_META_PARTS_MAX];
	unsigned n = 0, at = 0;
	bool heard = heard_by(lcore, ref) != EVENT_UNHEARD;

	if (!event_has_room(lcore, heard ? EVENT_ROOM_SPARE : EVENT_ROOM_UNHEARD)) {
		lcore->stats.greetings_lost++;
		return;
	}
	memset(&parts[0], 0, sizeof(parts[0]));
	flow_event_identify(lcore, ref, &parts[0]);
	do {
		struct event *part = &parts[n++];
		unsigned length =
			RTE_MIN((unsigned)EVENT_HANDSHAKE_META_BYTES, (unsigned)meta->length - at);

		if (n > 1)
			memset(part, 0, offsetof(struct event, meta.bytes));
		part->type = n > 1 ? EVENT_HANDSHAKE_META_MORE : EVENT_HANDSHAKE_META;
		part->meta.total = meta->length;
		part->meta.length = (uint8_t)length;
		part->meta.kind = meta->kind;
		part->meta.of_server = meta->of_server;
		part->meta.awaits = awaits;
		memcpy(part->meta.bytes, meta->bytes + at, length);
		at += length;
	} while (at < meta->length);
	for (unsigned i = 0; i < n; i++)
		event_send(lcore, &parts[i], EVENT_ROOM_ANY); // there is room for all
	lcore->stats.greetings_told++;
}

void flow_event_scan(
	struct lcore *lcore, uint32_t ref, unsigned half, const struct scan_verdict *verdict)
{
	flow_event_scan_of(lcore, ref, half, verdict,
		&(struct flow_event_rule){.uid = flow_at(lcore->flows, ref)->rule_uid,
			.action = ACTION_RESET,
			.mode = MODE_ENFORCE});
}

void flow_event_scan_of(struct lcore *lcore, uint32_t ref, unsigned half,
	const struct scan_verdict *verdict, const struct flow_event_rule *rule)
{
	struct event event = {.type = EVENT_ALERT};

	flow_event_identify(lcore, ref, &event);
	event.half = (uint8_t)half;
	event.action = rule->action;
	event.mode = rule->mode;
	event.rule_uid = rule->uid;
	event.alert.item = rule->item;
	event.alert.has_id = rule->id != NULL;
	if (rule->id)
		event.alert.id = *rule->id;
	event.alert.reason = verdict->reason;
	event.alert.scanned = true;
	event.alert.value = verdict->value;
	event.alert.held_ns = lcore->now_ns - verdict->job.submitted_ns;
	event.alert.from64 = verdict->job.from64;
	event.alert.to64 = verdict->job.to64;
	snprintf(event.alert.name, sizeof(event.alert.name), "%.*s",
		(int)sizeof(event.alert.name) - 1, verdict->name);
	event_send(lcore, &event, EVENT_ROOM_ANY);
}

static void fill_packet(struct rte_mbuf *m, struct event *event)
{
	const struct pkt *pkt = pkt_of(m);
	uint8_t buffer[40];

	event->tcp_flags = pkt->l4_proto == IPPROTO_TCP ? pkt->tcp_flags : 0;
	event->drop.frame_length = m->pkt_len;
	event->drop.ttl = pkt->ttl;
	if (pkt->class != PKT_IP)
		return;
	bool v6 = pkt->flags & PKT_V6;
	const uint8_t *ip = rte_pktmbuf_read(m, pkt->l3_off, v6 ? 40 : 20, buffer);

	if (ip && v6) {
		event->drop.tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
	} else if (ip) {
		event->drop.tos = ip[1];
		event->drop.ip_id = (uint16_t)(ip[4] << 8 | ip[5]);
	}
	if (!(pkt->flags & PKT_L4_OK))
		return;
	if (pkt->l4_proto == IPPROTO_TCP) {
		event->drop.tcp_seq = pkt->tcp_seq;
		event->drop.tcp_ack = pkt->tcp_ack;
		event->drop.tcp_win = pkt->tcp_win;
	} else if (pkt->l4_proto == IPPROTO_UDP) {
		event->drop.udp_length = (uint16_t)(pkt->payload_len + 8);
	}
}

static void identify_packet(const struct lcore *lcore, struct rte_mbuf *m, struct event *event)
{
	const struct pkt *pkt = pkt_of(m);

	event->heard = EVENT_UNHEARD;
	event->in_port = pkt->in_port;
	event->signature = UINT16_MAX;
	event->n_vlan = pkt->n_vlan;
	event->vlan[0] = pkt->vlan[0];
	event->vlan[1] = pkt->vlan[1];
	bool has_header = pkt->class == PKT_IP || (pkt->class == PKT_UNSUPPORTED && pkt->dport);

	if (!has_header)
		return;
	event->l4_proto = pkt->l4_proto;
	packet_ends(m, &event->ends);
	event->user_uid = flow_user_uid(lcore, &event->ends, pkt->flags & PKT_FROM_INSIDE);
}

void flow_event_drop(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m, enum drop_reason reason,
	uint32_t rule_uid)
{
	struct event event = {.type = EVENT_DROP};

	if (ref == FLOW_REF_NONE)
		identify_packet(lcore, m, &event);
	else
		flow_event_identify(lcore, ref, &event);
	fill_packet(m, &event);
	// the record speaks of the packet: its sender may be the responder
	if (ref != FLOW_REF_NONE) {
		struct flow_ends ends;

		packet_ends(m, &ends);
		event.half = memcmp(ends.address[0], event.ends.address[0], 16) == 0 &&
					     ends.port[0] == event.ends.port[0]
				     ? HALF_C2S
				     : HALF_S2C;
	}
	event.reason = (uint8_t)reason;
	event.rule_uid = rule_uid;
	event_send(lcore, &event, room_of(&event, EVENT_ROOM_LIMITED));
}

// A flood of refused packets must not push the records of flows out of the ring. It counts against
// who sent the packet; where there is none, against the initiator.
static bool within_limit(struct lcore *lcore, struct fair_window *window, unsigned limit,
	uint32_t ref, struct rte_mbuf *m)
{
	uint16_t flags = ref == FLOW_REF_NONE  ? 0
			 : ref & FLOW_REF_STUB ? flow_stub_at(lcore->flows, ref)->flags
					       : flow_at(lcore->flows, ref)->flags;
	bool inside = m ? pkt_of(m)->flags & PKT_FROM_INSIDE : flags & FLOW_C2S_INSIDE;
	struct event of = {.now_ns = 0};

	if (fair_window_is_full(window, inside, limit, lcore->now_ns))
		return false;
	if (m && ref != FLOW_REF_NONE)
		packet_ends(m, &of.ends);
	else if (m)
		identify_packet(lcore, m, &of);
	else if (ref != FLOW_REF_NONE)
		flow_event_identify(lcore, ref, &of);
	return fair_window_take(
		window, &lcore->parse.seed, of.ends.address[HALF_C2S], inside, limit);
}

static bool within_invalid(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m)
{
	return within_limit(lcore, &lcore->event_windows->invalid[heard_by(lcore, ref)],
		INVALID_EVENTS_PER_S, ref, m);
}

void flow_event_drop_limited(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m,
	enum drop_reason reason, uint32_t rule_uid)
{
	if (within_invalid(lcore, ref, m))
		flow_event_drop(lcore, ref, m, reason, rule_uid);
}

void flow_event_invalid(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason kind)
{
	if (!within_invalid(lcore, FLOW_REF_NONE, m))
		return;
	struct event event = {.type = EVENT_INVALID, .reason = (uint8_t)kind};

	identify_packet(lcore, m, &event);
	fill_packet(m, &event);
	event.drop.cause = pkt_of(m)->class == PKT_UNSUPPORTED ? (uint8_t)pkt_of(m)->sport
							       : UNSUPPORTED_FRAGMENTS;
	event_send(lcore, &event, EVENT_ROOM_LIMITED);
}

void flow_event_anomaly(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m, enum anomaly anomaly,
	uint64_t offset, uint32_t bytes, enum half half)
{
	lcore->stats.anomalies++;
	if (!within_limit(lcore, &lcore->event_windows->anomaly[heard_by(lcore, ref)][anomaly],
		    ANOMALY_EVENTS_PER_S, ref, m)) {
		lcore->stats.anomalies_limited++;
		return;
	}
	struct event event = {
		.type = EVENT_ANOMALY,
		.reason = (uint8_t)anomaly,
		.half = (uint8_t)half,
		.signature = UINT16_MAX,
		.anomaly = {.offset = offset, .bytes = bytes},
	};

	if (ref != FLOW_REF_NONE)
		flow_event_identify(lcore, ref, &event);
	else if (m)
		identify_packet(lcore, m, &event);
	if (m) { // the port is that of the packet, as its direction is
		event.in_port = pkt_of(m)->in_port;
		event.tcp_flags = pkt_of(m)->tcp_flags;
	}
	event_send(lcore, &event, room_of(&event, EVENT_ROOM_LIMITED));
	if (anomaly != ANOMALY_OVERLAP_CONFLICT || !event.flow_id)
		return;
	struct evidence *evidence = evidence_add(lcore, EVIDENCE_CONFLICT, event.flow_id);

	evidence->half = (uint8_t)half;
	evidence->offset = offset;
	evidence->length = bytes;
}
