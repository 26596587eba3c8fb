// SPDX-License-Identifier: BSD-3-Clause
// What the scenarios' files share; nobody else includes it.
#ifndef SLUICE_BENCH_SCENARIO_WORK_H
#define SLUICE_BENCH_SCENARIO_WORK_H

#include "scenario.h"

#define SCENARIO_BANNER "SSH-2.0-OpenSSH_9.2p1\r\n"
// What is next of a flow that scenario_decide_tcp has made.
#define SCENARIO_C2S_SEQ ((uint32_t)(1001 + sizeof(SCENARIO_BANNER) - 1))
#define SCENARIO_S2C_SEQ ((uint32_t)(5001 + sizeof(SCENARIO_BANNER) - 1))

struct scenario_state {
	uint32_t flows;
	uint32_t next_flow; // tuples that were never used begin here
	uint16_t length;
	uint8_t l4_proto;
	uint16_t dport; // of flows that start
	uint32_t sent,
		next_sent; // bytes of each flow, at this round's beginning and the next one's
	struct stats before;
};
extern struct scenario_state at; // of the scenario in work; the program measures one at a time

// As one frame that nobody measures.
void scenario_send(struct rig *rig, const struct rig_packet *packet);
// The wire delivers from the first frame on, from the outside or not.
void scenario_direction(struct rig *rig, bool from_outside);
// What the i'th packet of a round that starts flows has in common.
struct rig_packet scenario_start(uint32_t i);
// Of an application that no decoder follows: both ends say what they say, and it is final.
void scenario_decide_udp(struct rig *rig, uint32_t flow);
void scenario_begin(struct rig *rig, uint32_t flows, uint16_t length, uint8_t l4_proto);
// Room for n frames.
void scenario_wire(struct rig *rig, uint32_t n, uint16_t length);
// A connection of SSH, both banners said: what the server says first decides its flow for good.
void scenario_decide_tcp(struct rig *rig, uint32_t flow);
// A connection: what its client says first, and what it is answered.
struct scenario_talk {
	uint16_t dport;
	const uint8_t *asks, *answers;
	uint16_t asks_length, answers_length;
};
// `flows` is of the table; `n` connections are opened, and asked and answered so.
void scenario_open_talks(struct rig *rig, uint32_t flows, uint16_t length,
	const struct scenario_talk *talk, uint32_t n);
// The n'th flow in an order that no cache foresees: a walk over a power of two.
uint32_t scenario_scattered(uint32_t i, uint32_t n);

// scenario_segments.c
void setup_segments(struct rig *rig, uint32_t flows, uint16_t length);
void setup_tapped(struct rig *rig, uint32_t flows, uint16_t length);
void setup_untracked(struct rig *rig, uint32_t flows, uint16_t length);
void before_in_order(struct rig *rig, unsigned round);
void lay_out_in_order(struct rig *rig, unsigned round, unsigned step);
void setup_requests(struct rig *rig, uint32_t flows, uint16_t length);
void before_requests(struct rig *rig, unsigned round);
void lay_out_requests(struct rig *rig, unsigned round, unsigned step);
void check_requests(struct rig *rig, uint64_t pkts);
void before_hole(struct rig *rig, unsigned round);
void lay_out_hole(struct rig *rig, unsigned round, unsigned step);
void check_segments(struct rig *rig, uint64_t pkts);
void check_tapped(struct rig *rig, uint64_t pkts);
void check_untracked(struct rig *rig, uint64_t pkts);
// A tap that looks at nothing keeps flows under inspection.
void scenario_tap(struct rig *rig);

// scenario_followed.c
#define DNS_FRAME (42 + 32)
#define DHT_FRAME (42 + 92)
void setup_dns(struct rig *rig, uint32_t flows, uint16_t length);
void lay_out_dns(struct rig *rig, unsigned round, unsigned step);
void check_dns(struct rig *rig, uint64_t pkts);
void setup_dht(struct rig *rig, uint32_t flows, uint16_t length);
void lay_out_dht(struct rig *rig, unsigned round, unsigned step);
void check_followed(struct rig *rig, uint64_t pkts);

// scenario_starts.c
#define GIVE_UP_PKTS CLASSIFY_BUDGET_PKTS
void setup_giveup_tcp(struct rig *rig, uint32_t flows, uint16_t length);
void setup_giveup_udp(struct rig *rig, uint32_t flows, uint16_t length);
void before_giveup(struct rig *rig, unsigned round);
void lay_out_giveup(struct rig *rig, unsigned round, unsigned step);
void after_giveup(struct rig *rig, unsigned round);
void check_giveup(struct rig *rig, uint64_t pkts);
void setup_quic(struct rig *rig, uint32_t flows, uint16_t length);
void lay_out_rtp(struct rig *rig, unsigned round, unsigned step);
void lay_out_quic(struct rig *rig, unsigned round, unsigned step);
// That all left, whatever was found.
void check_starts(struct rig *rig, uint64_t pkts);

// scenario_content.c
void setup_inspected(struct rig *rig, uint32_t flows, uint16_t length);
void setup_identity(struct rig *rig, uint32_t flows, uint16_t length);
void before_downloads(struct rig *rig, unsigned round);
void lay_out_downloads(struct rig *rig, unsigned round, unsigned step);
// That the flows' bytes were put in order, and that nobody decoded them.
void check_inspected(struct rig *rig, uint64_t pkts);
void check_decoded(struct rig *rig, uint64_t pkts);
// The control core's part, where nobody counts: what was recorded and reported is thrown away.
void scenario_drain_records(struct rig *rig);

// scenario_chat.c
#define CHAT_FRAME 124 // a message of 70 bytes
void setup_chat_inspected(struct rig *rig, uint32_t flows, uint16_t length);
void setup_keyword(struct rig *rig, uint32_t flows, uint16_t length);
void setup_keywords(struct rig *rig, uint32_t flows, uint16_t length);
void before_messages(struct rig *rig, unsigned round);
void lay_out_messages(struct rig *rig, unsigned round, unsigned step);
void check_messages(struct rig *rig, uint64_t pkts);

#endif
