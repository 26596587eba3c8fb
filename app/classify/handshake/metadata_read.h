// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what a half, or a datagram, tells of its end. Pure; app/classify's own form
// of metadata.h, which the control core includes, too.
#ifndef SLUICE_HANDSHAKE_META_READ_H
#define SLUICE_HANDSHAKE_META_READ_H

#include "classify/handshake/metadata.h"
#include "classify/text.h"

// Adds a field: its first `max` bytes. An empty one, and one that does not fit, is left out.
void handshake_meta_put(struct handshake_meta *meta, enum handshake_meta_field field,
	struct text content, uint32_t max);

enum handshake_meta_seen {
	HANDSHAKE_META_SEEN_NONE, // not of a kind that is read
	HANDSHAKE_META_SEEN_MORE, // a part; `greeting` holds what that part tells
	HANDSHAKE_META_SEEN_WHOLE,
};

// From what a half of a stream begins with.
enum handshake_meta_seen handshake_meta_of_client(struct text half, struct handshake_meta *meta);
enum handshake_meta_seen handshake_meta_of_server(struct text half, struct handshake_meta *meta);
// Whether a client's hello, or a part of it, tells a name.
bool handshake_meta_has_name(const struct handshake_meta *meta);

struct datagram_asks;
// From what a client asks for over datagrams, whole or not.
void handshake_meta_of_datagram(
	const struct datagram_asks *asks, bool whole, struct handshake_meta *meta);
struct tls_server_hello;
void handshake_meta_put_server(struct handshake_meta *meta, const struct tls_server_hello *hello);
// From a datagram of a DTLS server. False: its hello is not in it.
bool handshake_meta_of_dtls_server(struct text datagram, struct handshake_meta *meta);

#endif
