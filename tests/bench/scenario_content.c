// SPDX-License-Identifier: BSD-3-Clause
// Scenario (g): segments of HTTP downloads, of flows under inspection whose content nobody asks
// for, and of flows whose files are decoded and recorded.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/content/flow_content.h"
#include "pipeline/flow/table.h"
#include "scenario_work.h"

#define DOWNLOADS 512u // flows; each sends ROUND_PKTS / DOWNLOADS segments in a round
#define ASKS      "GET /file.bin HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define ANSWERS   "HTTP/1.1 200 OK\r\nContent-Length: 4000000000000\r\n"

static uint8_t segment[1460]; // what every segment carries
static uint8_t head[160];     // of the answer
static uint32_t head_bytes;

static struct rig_packet packet_of(uint32_t flow, bool answers, uint32_t number)
{
	uint32_t begin = 5001 + head_bytes + at.sent;

	return (struct rig_packet){
		.flow = flow,
		.l4_proto = IPPROTO_TCP,
		.dport = 80,
		.from_responder = answers,
		.seq = answers ? begin + number * (uint32_t)sizeof(segment)
			       : 1001 + (uint32_t)sizeof(ASKS) - 1,
		.ack = answers ? 1001 + (uint32_t)sizeof(ASKS) - 1
			       : begin + (number + 1) * (uint32_t)sizeof(segment),
		.tcp_flags = TH_ACK,
		.length = answers ? 1514 : RIG_FRAME_MIN,
		.payload = answers ? segment : NULL,
		.payload_length = answers ? RIG_HEAD - 54 : 0,
		.bare = !answers,
	};
}

void scenario_drain_records(struct rig *rig)
{
	struct content_channel *channel = content_channel_of(rig->lcore);
	const struct content_record *record;

	while ((record = content_channel_next(channel)))
		content_channel_done(channel, record);
	rig_drain_events(rig);
}

static void setup_downloads(struct rig *rig, uint32_t flows, uint16_t length)
{
	head_bytes = (uint32_t)snprintf((char *)head, sizeof(head), ANSWERS "\r\n");
	memset(segment, 'x', sizeof(segment));
	// the rest of a segment is what frames have in common
	for (uint32_t i = 0; i < RIG_TAILS; i++)
		memcpy(rig->tails[i], segment + RIG_HEAD - 54, sizeof(segment) - (RIG_HEAD - 54));
	const struct scenario_talk talk = {
		.dport = 80,
		.asks = (const uint8_t *)ASKS,
		.asks_length = sizeof(ASKS) - 1,
		.answers = head,
		.answers_length = (uint16_t)head_bytes,
	};

	scenario_open_talks(rig, flows, length, &talk, DOWNLOADS);
}

void setup_inspected(struct rig *rig, uint32_t flows, uint16_t length)
{
	scenario_tap(rig);
	setup_downloads(rig, flows, length);
}

#define AUDIT                                                                   \
	"{\"schema_version\": 1, \"rules\": [{\"id\": \"log\", \"match\": {}, " \
	"\"audit\": {\"transfers\": true, \"files\": true}}]}"

void setup_identity(struct rig *rig, uint32_t flows, uint16_t length)
{
	rig_policy(rig, AUDIT);
	setup_downloads(rig, flows, length);
}

void before_downloads(struct rig *rig, unsigned round)
{
	(void)rig;
	(void)round;
	at.sent = at.next_sent;
	at.next_sent += ROUND_PKTS / DOWNLOADS * (uint32_t)sizeof(segment);
}

void lay_out_downloads(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	rig->wire.cursor = 0;
	rig->wire.advanced = 0;
	rig->wire.port = step ? RIG_INSIDE : RIG_OUTSIDE;
	rig->wire.length = step ? RIG_FRAME_MIN : 1514;
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet = packet_of(
			scenario_scattered(i % DOWNLOADS, DOWNLOADS), !step, i / DOWNLOADS);

		packet.tail = rig_tail_of(i);
		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
	scenario_drain_records(rig);
}

void check_inspected(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->sent_pkts - at.before.sent_pkts != pkts || stats->content_flows ||
		stats->checksum_verified_pkts == at.before.checksum_verified_pkts)
		rig_die("the downloads were not inspected alone");
}

void check_decoded(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->sent_pkts - at.before.sent_pkts != pkts || stats->content_files != DOWNLOADS ||
		stats->content_lost || stats->content_nomem || stats->content_ambiguous)
		rig_die("the downloads were not decoded");
}
