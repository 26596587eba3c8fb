// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what a half, or a datagram, tells of its end. Pure; app/classify's own form
// of greeting.h, which the control core includes, too.
#ifndef SLUICE_GREETING_READ_H
#define SLUICE_GREETING_READ_H

#include "classify/handshake/greeting.h"
#include "classify/text.h"

// Adds a field: its first `max` bytes. An empty one, and one that does not fit, is left out.
void greeting_put(
	struct greeting *greeting, enum greeting_field field, struct text content, uint32_t max);

enum greeting_seen {
	GREETING_SEEN_NONE, // not of a kind that is read
	GREETING_SEEN_MORE, // a part; `greeting` holds what that part tells
	GREETING_SEEN_WHOLE,
};

// From what a half of a stream begins with.
enum greeting_seen greeting_of_client(struct text half, struct greeting *greeting);
enum greeting_seen greeting_of_server(struct text half, struct greeting *greeting);
// Whether a client's hello, or a part of it, tells a name.
bool greeting_has_name(const struct greeting *greeting);

struct datagram_asks;
// From what a client asks for over datagrams, whole or not.
void greeting_of_datagram(const struct datagram_asks *asks, bool whole, struct greeting *greeting);
struct tls_server_hello;
void greeting_put_server(struct greeting *greeting, const struct tls_server_hello *hello);
// From a datagram of a DTLS server. False: its hello is not in it.
bool greeting_of_dtls_server(struct text datagram, struct greeting *greeting);

#endif
