// SPDX-License-Identifier: BSD-3-Clause
// Whether both ends of a flow take part in it. Anybody can send packets in the name of an end that
// is on his own side of the gateway; he does not see what the other end answers. So an end is heard
// when it shows that it has received what the other one sent:
//
//   TCP  it acknowledges a SYN or payload of the other half that passed here
//   UDP  a datagram of its own is of the flow's application, or completes what the other half began
//        (a transaction id, a connection id), and so is one of the other half's
//
// That a packet comes in on the side where its sender belongs is a matter of the flow's key
// (parse_key_zones): on the other side it is of another flow. Replay without --inside knows no
// sides; there the direction counts. Flows that come in on a port which is `one_way` (gateway.json)
// are heard at once: their other direction does not pass here.
//
// Until both are heard (flow_both_heard in flow.h), what is seen costs the packet at hand at most.
// The owning lcore only.
#ifndef SLUICE_BOTH_ENDS_H
#define SLUICE_BOTH_ENDS_H

#include "pipeline/flow/table.h"
#include "pipeline/lcore/lcore.h"

// A TCP packet of `half`, before anything else of the stub is changed by it.
void both_ends_stub(
	const struct lcore *lcore, struct flow_stub *stub, const struct pkt *pkt, unsigned half);
// The number at which a half of the stub begins; `own`: said by its own SYN, else by what the other
// half acknowledges.
void both_ends_stub_begins(struct flow_stub *stub, unsigned half, uint32_t isn, bool own);
// What the stub knows goes over to its flow.
void both_ends_promote(struct flow *flow, struct flow_cold *cold, const struct flow_stub *stub);

// A TCP packet of `half`, before the flow's edges are moved by it. To be called while not both ends
// are heard.
void both_ends_tcp(struct lcore *lcore, uint32_t ref, const struct pkt *pkt, unsigned half);

// A datagram was found to be of `app`, by what the halves in `halves` (1 << half) have said. An end
// is heard as speaking one application; of another one it says nothing.
void both_ends_datagram(const struct lcore *lcore, struct flow *flow, struct flow_cold *cold,
	const struct pkt *pkt, uint16_t app, unsigned halves);
// The flow is taken for another application now: whoever was heard spoke of the one before.
void both_ends_other_app(struct flow *flow);

#endif
