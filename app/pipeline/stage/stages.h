// SPDX-License-Identifier: BSD-3-Clause
// The stages in their order, and what the fast path makes of each: stages.c runs these rows,
// account.c has the fast path. The lcore.
#ifndef SLUICE_STAGES_H
#define SLUICE_STAGES_H

#include <netinet/tcp.h>
#include "pipeline/stage/packet_ctx.h"

// A packet of a flow that is decided for good takes the fast path: no stage but for those below.
// STAGE(name, label, final): `label` as operators see it; `final` is one of
//   SKIP             the stage does nothing for such a packet
//   RUN              the fast path runs stage_<name>_final(lcore, ref, m, half) in its place,
//                    which account.c has, or is declared here
//   VERIFY_SYN_FIN   the stage does nothing, but for what may open or end a connection: a packet
//                    with SYN, FIN or RST passes all stages
// `sluice replay --all-stages` takes no fast path; its output is the same (golden/replay).
#define STAGES(STAGE)                                                                       \
	STAGE(link, "link", SKIP)                     /* by EtherType; malformed packets */ \
	STAGE(stateless, "stateless", SKIP)           /* fragments are held; ICMP errors */ \
	STAGE(blocked, "condemned", SKIP)             /* flows that were torn down */       \
	STAGE(checksum, "checksum", VERIFY_SYN_FIN)   /* drops what no host accepts */      \
	STAGE(admit, "admit", SKIP)                   /* connection cache, new entry */     \
	STAGE(account, "account", RUN)                /* direction, counters, edges */      \
	STAGE(reload, "reload", SKIP)                 /* first packet under a new policy */ \
	STAGE(normalize, "normalize", VERIFY_SYN_FIN) /* removes MPTCP and URG */           \
	STAGE(final, "final", SKIP)                   /* decided for good: nothing more */  \
	STAGE(inspect, "inspect", SKIP)               /* stream, classifier, decoder */     \
	STAGE(decide, "decide", SKIP)                 /* policy; teardown */

// Every stage: may change the context and the packet's flow, never frees the packet.
#define STAGE_DECLARE(name, label, final) \
	enum verdict stage_##name(struct lcore *lcore, struct packet_ctx *ctx);
STAGES(STAGE_DECLARE)
#undef STAGE_DECLARE

#define STAGE_FLAGS_SKIP                0
#define STAGE_FLAGS_RUN                 0
#define STAGE_FLAGS_VERIFY_SYN_FIN      (TH_SYN | TH_FIN | TH_RST)
#define STAGE_FLAGS(name, label, final) | STAGE_FLAGS_##final

// What the fast path runs, in its function.
#define STAGE_FINAL_SKIP(name)
#define STAGE_FINAL_RUN(name) stage_##name##_final(lcore, ref, m, half);
#define STAGE_FINAL_VERIFY_SYN_FIN(name)
#define STAGE_FINAL(name, label, final) STAGE_FINAL_##final(name)

// TCP flags of packets that do not take the fast path.
enum { FAST_PATH_NOT = 0 STAGES(STAGE_FLAGS) };

// Runs the stages from the row `first` on, until one says where the packet ends, and ends it there.
// Takes the packet.
void stages_run(struct lcore *lcore, struct packet_ctx *ctx, unsigned first);
// Of a packet that was held: from `reload` on, as it was admitted and counted when it came.
void stages_resume(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref, unsigned half);
// From `decide` on: of a packet that was inspected apart from the stages (packet_followed).
void stages_decide(struct lcore *lcore, struct packet_ctx *ctx);
// Of a step of the stage meter (lcore/stage_meter.h); NULL: there is no such step. Any core.
const char *stage_meter_name(unsigned step);

#endif
