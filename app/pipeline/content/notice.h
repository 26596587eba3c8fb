// SPDX-License-Identifier: BSD-3-Clause
// What a client gets instead of an answer that a rule with "notice" has refused: of HTTP/1 a page,
// 403, of SMTP a reply, 554, with the rule's id and why. It may stand for the answer only where
// nothing of that has left towards the client, and all before it has; else the connection is reset.
// The owning lcore only.
#ifndef SLUICE_CONTENT_NOTICE_H
#define SLUICE_CONTENT_NOTICE_H

#include "pipeline/lcore/lcore.h"

// With the options of TCP it fits into one segment of 536 bytes, which every host takes (RFC 9293
// section 3.7.1).
#define CONTENT_NOTICE_BYTES 520

// Why a file was refused. X(symbol, words for who asked for it).
#define CONTENT_NOTICES(X)                                          \
	X(TRANSFER, "files of this kind may not be transferred")    \
	X(AGAIN, "it was refused before")                           \
	X(INFECTED, "a scan for viruses has found something in it") \
	X(UNSCANNED, "it could not be scanned for viruses")

enum content_notice_why {
	CONTENT_NOTICE_NONE,
#define X(symbol, words) CONTENT_NOTICE_##symbol,
	CONTENT_NOTICES(X)
#undef X
};

struct content_notice {
	uint64_t from64; // where the answer begins that it stands for, in the server's half
	uint16_t length;
	uint8_t bytes[CONTENT_NOTICE_BYTES];
};

// Of a flow that is refused: what its client is to be told, instead of what was refused; as things
// stood when that was. False: nothing, it is reset.
bool flow_content_notice(const struct lcore *lcore, uint32_t ref, struct content_notice *notice);
// The reply of SMTP. `id`: any text. Returns its length.
unsigned content_notice_reply(
	uint8_t bytes[CONTENT_NOTICE_BYTES], const char *id, enum content_notice_why why);
// The page itself. `id`: any text. Returns its length.
unsigned content_notice_page(uint8_t bytes[CONTENT_NOTICE_BYTES], const char *id,
	enum content_notice_why why, bool head_alone);

#endif
