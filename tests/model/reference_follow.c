// SPDX-License-Identifier: BSD-3-Clause
// Follows each connection of the pipeline model as the gateway has to: its handshakes, and the
// bytes that it is classified by.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "reference_world.h"

#define PATTERN 20 // octets of the handshake that the signature wants

// A SYN, a SYN-ACK and its acknowledgement, all of them again: on numbers that are the same, too,
// the gateway takes that for another connection (reuse.c), of which nothing was said yet.
void reference_follow_handshake(struct conn_view *view, const struct op *op)
{
	static const uint8_t steps[] = {TH_SYN, TH_SYN | TH_ACK, TH_ACK};

	if (op->bad_checksum)
		return;
	if (!op->half && op->tcp_flags & TH_SYN)
		view->shaken = 0;
	if ((op->tcp_flags & (TH_SYN | TH_ACK | TH_RST)) != steps[view->shaken] ||
		op->half != (view->shaken == 1) || op->ack != !!view->shaken)
		return;
	if (++view->shaken < RTE_DIM(steps))
		return;
	view->shaken = 0;
	for (unsigned half = 0; half < 2; half++) {
		view->odd |= view->said[half] > 1;
		view->said[half] = RTE_MIN(view->said[half], 1u);
		view->settled[half] = RTE_MIN(view->settled[half], 1u);
	}
}

// The reference of classification: the client's bytes in order, within the budget.
void reference_follow(struct world *w, const struct op *op)
{
	struct conn_view *view = &w->conns[op->conn];
	const struct conn *conn = &w->s->conns[op->conn];

	if (op->bad_checksum || conn->proto == IPPROTO_ICMP || op->fragment)
		return;
	if (conn->proto == IPPROTO_UDP) {
		if (op->length && !view->data_pkts++ && !op->half && op->length >= 56)
			view->due = true;
		return;
	}
	if (op->tcp_flags & TH_FIN && !view->payload_seen)
		view->early_fin = true;
	view->payload_seen |= op->length > 0;
	if (op->tcp_flags & TH_SYN && !op->half)
		view->syn_seen = true;
	if (op->tcp_flags & TH_ACK && op->ack > view->acked[!op->half])
		view->acked[!op->half] = op->ack;
	// the server has more than was seen here: what it got meanwhile is never looked at
	if (op->half && op->tcp_flags & TH_ACK && op->ack > view->next + 1)
		view->odd = true;
	if (!op->length)
		return;
	if (!view->syn_seen || ++view->data_pkts > 10)
		view->odd = true;
	if (op->half)
		return;
	if (op->at <= view->next && op->at + op->length > view->next) {
		view->next = (uint32_t)op->at + op->length;
		if (view->next >= PATTERN && !view->odd)
			view->due = true;
	}
}
