// SPDX-License-Identifier: BSD-3-Clause
// Sends an event for each step of a traced packet.
#include <netinet/in.h>
#include <stdio.h>
#include "pipeline/event/flow_event.h"
#include "pipeline/stage/trace.h"

static void describe_packet(struct event *event, const struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;

	event->trace.packet = ctx->traced;
	event->trace.frame_length = ctx->m->pkt_len;
	event->half = (uint8_t)ctx->half;
	if (!(pkt->flags & PKT_L4_OK))
		return;
	event->trace.payload_len = pkt->payload_len;
	if (pkt->l4_proto != IPPROTO_TCP)
		return;
	event->trace.tcp_seq = pkt->tcp_seq;
	event->tcp_flags = pkt->tcp_flags;
}

void trace_stage(
	struct lcore *lcore, struct packet_ctx *ctx, const char *stage, enum verdict verdict)
{
	static const char *const words[] = {"next", "send", "drop", "consumed", "taken"};
	struct event event = {.type = EVENT_TRACE};

	if (!ctx->traced)
		ctx->traced = ++lcore->traced_pkts;
	if (!event_has_room(lcore, EVENT_ROOM_SPARE)) {
		lcore->stats.trace_lost++;
		return;
	}
	if (ctx->ref != FLOW_REF_NONE)
		flow_event_identify(lcore, ctx->ref, &event);
	describe_packet(&event, ctx);
	snprintf(event.trace.text, sizeof(event.trace.text), "%s: %s%s%s", stage, words[verdict],
		verdict == VERDICT_DROP ? " " : "",
		verdict == VERDICT_DROP ? drop_reason_word(ctx->reason) : "");
	event_send(lcore, &event, EVENT_ROOM_ANY);
}
