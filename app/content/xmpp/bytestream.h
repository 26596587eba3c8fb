// SPDX-License-Identifier: BSD-3-Clause
// SOCKS5 bytestreams (XEP-0065, XEP-0260): a handshake (RFC 1928), behind which bytes are as they
// are. What an end sends there up to its FIN is one file; the announcement, if there was one, says
// which end's. The address in the request is a hash, and names nothing.
#ifndef SLUICE_CONTENT_XMPP_BYTESTREAM_H
#define SLUICE_CONTENT_XMPP_BYTESTREAM_H

#include "content/stream.h"
#include "content/transfer.h"

struct bytestream_half {
	struct content_raw raw;
	uint16_t skip; // bytes of the handshake that say nothing more
	uint8_t step;  // enum step (bytestream.c)
	uint8_t then;  // ... behind what is skipped
	bool blind;    // a part of the handshake was lost, and nothing has come since
	bool over;
};

struct bytestream {
	struct content_stream streams[2];
	struct bytestream_half halves[2];
	uint64_t size; // as was announced; 0: it was not
	uint64_t from; // where in the file it begins
	uint32_t files;
};

// Whether a connection that was announced, or whose first span this is, is one.
bool bytestream_begins(const struct span *span, const struct content_turn *turn);
enum content_fed bytestream_feed(
	struct bytestream *stream, const struct span *span, struct content_turn *turn);
void bytestream_over(struct bytestream *stream, struct content_turn *turn);

#endif
