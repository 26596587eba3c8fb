// SPDX-License-Identifier: BSD-3-Clause
// The linker puts this before inspect_tcp (--wrap): with the switch off a segment's payload goes
// to whoever looks at the flow as it comes, as if there were no tracker. Everything else of the
// path stays: what a flow under inspection costs beyond that is reassembly's. Of the rig alone:
// the product has no such way.
#include "pipeline/stage/inspect_payload.h"
#include "pipeline/stage/inspect_tcp.h"
#include "rig.h"

bool reassembly_off;

enum verdict __real_inspect_tcp(struct lcore *lcore, struct packet_ctx *ctx);
enum verdict __wrap_inspect_tcp(struct lcore *lcore, struct packet_ctx *ctx);

enum verdict __wrap_inspect_tcp(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (!reassembly_off)
		return __real_inspect_tcp(lcore, ctx);
	struct inspection in = {
		.lcore = lcore,
		.ctx = ctx,
		.flow = flow_at(lcore->flows, ctx->ref),
		.cold = flow_cold_at(lcore->flows, ctx->ref),
	};
	const struct span span = {
		.extent = ctx->pkt->payload_len,
		.offset64 = ctx->pkt->tcp_seq,
		.half = (uint8_t)ctx->half,
	};

	if (span.extent)
		inspect_payload(&in, span, ctx->pkt->payload_off);
	return VERDICT_PASS;
}
