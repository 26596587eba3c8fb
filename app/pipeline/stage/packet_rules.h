// SPDX-License-Identifier: BSD-3-Clause
// What the policy says of a packet by itself, of the outermost header of one in a tunnel, of a
// flow as if it were another application's, and of an address. Asked outside of the decide stage,
// and without a change to any flow. The owning lcore only.
#ifndef SLUICE_PACKET_RULES_H
#define SLUICE_PACKET_RULES_H

#include "pipeline/policy/decide.h"
#include "pipeline/stage/packet_ctx.h"

// The question about a packet between these ends; the ports are not known yet. `mac`: room for one.
struct decide_input packet_decide_input(const struct lcore *lcore, const struct packet_ctx *ctx,
	const struct flow_ends *ends, uint8_t mac[MAC_BYTES]);
// VERDICT_DROP, by this rule (an index, or RULE_DEFAULT).
enum verdict packet_drop_by_rule(struct lcore *lcore, struct packet_ctx *ctx, uint32_t rule);

// Rules that need neither application nor state, on the packet's own addresses: VERDICT_DROP or
// VERDICT_SEND.
enum verdict packet_decide_addresses(struct lcore *lcore, struct packet_ctx *ctx);

// The rules on addresses, of the outermost header of a packet in a tunnel: a host that may send
// nothing may not send it in a tunnel, either. `initiator`: the packet's sender began the flow.
// Sets the drop's rule. Asked for each new flow, and again for a flow after a reload.
bool packet_outer_refused(struct lcore *lcore, struct packet_ctx *ctx, bool initiator);
// A fragment or an ICMP error in a tunnel: who began the flow is not known, or is not asked.
// Refused, if a rule names its sender, or if no flow between those ends could pass.
bool packet_tunnel_refused(struct lcore *lcore, struct packet_ctx *ctx);

// Whether the packet's flow would be blocked as this application's.
bool packet_app_is_blocked(struct lcore *lcore, const struct packet_ctx *ctx, uint16_t app,
	enum confidence confidence);

// The user-defined application that has the responder's address; APP_NONE: none has.
uint16_t packet_app_by_network(const struct lcore *lcore, const struct flow_ends *ends);

#endif
