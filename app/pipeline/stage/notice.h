// SPDX-License-Identifier: BSD-3-Clause
// Pages for clients whose answer was refused (content/notice.h): sent in place of the answer, with
// the FIN of its server, in one segment. There is no TCP here, so what is kept of it is little and
// for a short time: the page, to send it again where it was lost; what the client has sent, to
// acknowledge it and throw it away until it has read the page and closed (RFC 9112 section 9.6).
// Then, or when it takes too long or sends too much, the client is as any other of a blocked flow.
// The owning lcore only, but for notices_new and notices_free.
#ifndef SLUICE_NOTICE_H
#define SLUICE_NOTICE_H

#include "pipeline/stage/packet_ctx.h"

#define NOTICES_MAX        256               // at a time, of an lcore; beyond them flows are reset
#define NOTICE_PAGES_MAX   4                 // times that a page is sent: after 1, 2 and 4 s again
#define NOTICE_ANSWERS_MAX 1024              // segments of a client that are answered
#define NOTICE_GIVE_UP_NS  (8 * NS_PER_S)    // after the last page
#define NOTICE_LINGER_NS   (5 * NS_PER_S)    // since a client has it, until it has closed
#define NOTICE_CLOSED_NS   (1 * NS_PER_S)    // since then: its FIN may come again
#define NOTICE_AGAIN_NS    (200 * NS_PER_MS) // between two pages for what a client says again
#define NOTICE_BEHIND_MAX  (1u << 20)        // bytes that a client sends at once

struct notice;

bool notices_new(struct lcore *lcore); // False: no memory
void notices_free(struct lcore *lcore);
// A flow that is about to be blocked: its client has been sent the page that is due, if one is.
// `m`: of the client, that will not leave; NULL: none is at hand. NULL: no page is due, or none can
// be sent: both ends are to be reset.
struct notice *notice_show(struct lcore *lcore, uint32_t ref, struct rte_mbuf *m);
// Its flow is this blocked stub now (FLOW_REF_NONE: none). NULL is allowed.
void notice_keep(struct lcore *lcore, struct notice *notice, uint32_t stub);
// A packet of a blocked stub. True: of a client that is shown a page; it was answered as is due,
// and is to be dropped.
bool notice_takes(struct lcore *lcore, const struct packet_ctx *ctx);
// Once a turn: what was not acknowledged in time, and clients that do not close.
void notices_turn(struct lcore *lcore);

#endif
