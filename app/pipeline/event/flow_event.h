// SPDX-License-Identifier: BSD-3-Clause
// Builds and sends the records of event.h; and names flows. The owning lcore only.
#ifndef SLUICE_FLOW_EVENT_H
#define SLUICE_FLOW_EVENT_H

#include "pipeline/event/event.h"
#include "pipeline/flow/table.h"
#include "scan/job.h"

// Such a record has room on the lcore's ring now.
bool event_has_room(const struct lcore *lcore, enum event_room room);
// Fills now_ns, lcore, pcap_cnt and the policy's generation.
void event_stamp(const struct lcore *lcore, struct event *event);
// Stamps the record and puts it on the lcore's ring; no room: counted and lost.
void event_send(struct lcore *lcore, struct event *event, enum event_room room);

// What the engine said of a flow (stage/hold.h); of a stub, NULL.
struct scan_summary {
	uint32_t jobs;
	uint64_t longest_ns; // that a half of it was held
	uint8_t worst;       // enum scan_value of all its verdicts; the highest is the worst
	bool has_verdict;
	bool has_place; // among the flows under scan
};
void flow_event_end(struct lcore *lcore, uint32_t ref, enum flow_end reason,
	const struct scan_summary *scan, const struct content_summary *content);
// The flow has just become an elephant: its record so far.
void flow_event_elephant(struct lcore *lcore, uint32_t ref, const struct scan_summary *scan,
	const struct content_summary *content);
// The flow carries this: as the one said that announced it, or as it says itself.
void flow_event_transfer(struct lcore *lcore, uint32_t ref, const struct transfer_label *label);
// A rule (or the default: rule == NULL) blocked the flow, or would have (mode monitor). `item`: for
// that file or message, or NULL.
void flow_event_alert(struct lcore *lcore, uint32_t ref, const struct rule *rule,
	enum action action, enum mode mode, unsigned half, const struct item_id *item);
// What an end of the flow says of itself. While the ring is half full (of a flow that is not heard:
// a quarter) it is left out, and counted (stats.greetings_lost): other records stand above it.
void flow_event_handshake_meta(
	struct lcore *lcore, uint32_t ref, const struct handshake_meta *meta, bool awaits);
// A verdict of the scan engine blocked the flow: an alert of the rule that had it scanned.
void flow_event_scan(
	struct lcore *lcore, uint32_t ref, unsigned half, const struct scan_verdict *verdict);
// What a verdict means for a file of the flow, by that rule.
struct flow_event_rule {
	uint32_t uid;
	struct item_id item;         // the file in records
	uint8_t action;              // enum action: that the rule has for it
	uint8_t mode;                // MODE_MONITOR: it was not done
	const struct content_id *id; // by which it is named, or NULL
};
void flow_event_scan_of(struct lcore *lcore, uint32_t ref, unsigned half,
	const struct scan_verdict *verdict, const struct flow_event_rule *rule);
// First packet of a flow that is dropped. `ref` may be FLOW_REF_NONE: the ends are the packet's.
void flow_event_drop(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m, enum drop_reason reason,
	uint32_t rule_uid);
// The same for drops that one packet after the other may suffer; at most 20 a second, lcore and
// side of the gateway (fair_window.h), together with those below.
void flow_event_drop_limited(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m,
	enum drop_reason reason, uint32_t rule_uid);
// What a stream or fragments should not do. Of each kind at most ANOMALY_EVENTS_PER_S a second,
// lcore and side get a record; all are counted (stats.anomalies, anomalies_limited). `ref` may be
// FLOW_REF_NONE: the ends are the packet's, and `half` is HALF_C2S. `m` may be NULL with a flow.
// A conflict is evidence, too.
#define ANOMALY_EVENTS_PER_S 40
void flow_event_anomaly(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m, enum anomaly anomaly,
	uint64_t offset, uint32_t bytes, enum half half);
// Malformed, unsupported or bad checksum; at most 20 a second, lcore and side.
void flow_event_invalid(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason kind);

// Fills flow_id, ends, app, addresses and the like from a flow or stub.
void flow_event_identify(const struct lcore *lcore, uint32_t ref, struct event *event);

#endif
