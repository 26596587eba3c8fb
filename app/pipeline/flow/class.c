// SPDX-License-Identifier: BSD-3-Clause
// Which time-out class an entry belongs to, by what is known of its ends.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "pipeline/vocab/fault.h"
#include "pipeline/flow/pool.h"
#include "reassembly/tcp_state.h"

#define R(symbol, word, rank) [FLOW_CLASS_##symbol] = (rank),
const uint8_t flow_class_rank[FLOW_CLASS_MAX] = {FLOW_CLASSES(R)};
#undef R

// Its handshake is complete: an established connection, whenever its first payload comes.
static bool stub_is_open(const struct flow_stub *stub)
{
	uint8_t flags = stub->tcp_flags[HALF_C2S] | stub->tcp_flags[HALF_S2C];

	return stub_both_heard(stub) && !(flags & (TH_FIN | TH_RST)) && !FAULT(SILENT);
}

enum flow_class flow_class_of_stub(const struct flow_stub *stub)
{
	if (stub->l4_proto != IPPROTO_TCP)
		return stub->lru_class;
	if (stub_is_open(stub))
		return FLOW_CLASS_OPEN;
	return stub->lru_class == FLOW_CLASS_OPEN ? FLOW_CLASS_EMBRYONIC : stub->lru_class;
}

enum flow_class flow_class_of(const struct flow *flow)
{
	bool tcp = flow->l4_proto == IPPROTO_TCP, settled = flow->flags & FLOW_APP_FINAL;
	// datagrams: what a table can tell, whatever their application; of a flow whose packets are
	// refused it says nothing (refuse.h)
	bool refused = action_blocks(flow->action);
	bool heard = refused ? false
		     : tcp   ? flow_both_heard(flow)
			     : flow->pkts[HALF_C2S] && flow->pkts[HALF_S2C];

	if (tcp && tcp_state_is_closing(flow->tcp_state))
		return FLOW_CLASS_TCP_CLOSING;
	if (!heard)
		return flow->lru_class < FLOW_CLASS_TCP_CLOSING ? flow->lru_class
								: FLOW_CLASS_TCP_UNHEARD;
	if (!tcp)
		return settled ? FLOW_CLASS_UDP : FLOW_CLASS_UDP_UNDECIDED;
	return settled ? FLOW_CLASS_TCP : FLOW_CLASS_TCP_UNDECIDED;
}
