// SPDX-License-Identifier: BSD-3-Clause
// What an XMPP stream in clear says of file transfers: the offer (XEP-0096 stream initiation,
// XEP-0234 Jingle) with name and size, and where its bytes will go (XEP-0065 and XEP-0260, SOCKS5
// bytestreams). In-band bytes (XEP-0047) need no other flow. Reads up to STARTTLS or compression.
#ifndef SLUICE_XMPP_OFFERS_H
#define SLUICE_XMPP_OFFERS_H

#include "classify/app_proto.h"

void xmpp_offers_decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink);

// XEP-0065 5.3.2: CONNECT to a domain of 40 hexadecimal digits, the SHA-1 of stream and users, port
// 0. The client's half from its first byte.
#define XMPP_BYTESTREAM_NAME    40
#define XMPP_BYTESTREAM_REQUEST 47 // version, command, 0, kind, length, name, port
enum verify xmpp_bytestream(const struct probe *probe);

#endif
