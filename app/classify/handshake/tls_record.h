// SPDX-License-Identifier: BSD-3-Clause
// The header of a TLS record: type, version, length (RFC 8446 5.1, RFC 5246 6.2.1). Any core.
#ifndef SLUICE_TLS_RECORD_H
#define SLUICE_TLS_RECORD_H

#include "classify/text.h"

#define TLS_RECORD_BYTES     5
#define TLS_CLIENT_HELLO     1
#define TLS_RECORD_MAX_BYTES (16384 + 2048) // RFC 5246 6.2.3; TLS 1.3 has less

enum tls_type {
	TLS_CHANGE_CIPHER = 0x14,
	TLS_ALERT = 0x15,
	TLS_HANDSHAKE = 0x16,
	TLS_DATA = 0x17,
	TLS_HEARTBEAT = 0x18,
};

// As a specification has it. Evidence where a connection is picked up in its midst.
static inline bool tls_is_record(struct text text)
{
	if (text.length < TLS_RECORD_BYTES)
		return false;
	uint16_t length = octets_be16(text.at + 3);

	return text.at[0] >= TLS_CHANGE_CIPHER && text.at[0] <= TLS_HEARTBEAT && text.at[1] == 3 &&
	       text.at[2] <= 4 && length && length <= TLS_RECORD_MAX_BYTES;
}

// As servers take them before and around a ClientHello. The version is that of the client's choice:
// OpenSSL 3.0 and GnuTLS 3.7 want 3 in its first byte, Go less than 0x10. A record may be empty
// (OpenSSL: 32 in a row).
static inline bool tls_may_be_record(struct text text)
{
	return text.length >= TLS_RECORD_BYTES && text.at[0] >= TLS_CHANGE_CIPHER &&
	       text.at[0] <= TLS_HEARTBEAT && text.at[1] < 0x10 &&
	       octets_be16(text.at + 3) <= TLS_RECORD_MAX_BYTES;
}

// The first byte of a client that speaks TLS: a handshake, or what a server passes over.
static inline bool tls_may_begin(uint8_t first)
{
	return first >= TLS_CHANGE_CIPHER && first <= TLS_HEARTBEAT;
}

// A mail protocol on the port where it runs inside TLS from the first byte (RFC 8314 7). The
// content is not seen, the port is the registered one: CONFIDENCE_DPI is as far as this goes.
static inline bool tls_wraps(const struct probe *probe)
{
	const struct text half = probe_text(probe);

	return tls_is_record(half) || (!probe->midstream && tls_may_be_record(half));
}

// A record as only servers take them is no evidence by itself: a ClientHello has to follow.
static inline enum verify tls_begins_lenient(struct text text)
{
	while (text.length > TLS_RECORD_BYTES && tls_may_be_record(text)) {
		uint32_t length = TLS_RECORD_BYTES + octets_be16(text.at + 3);

		if (text.at[0] == TLS_HANDSHAKE && length > TLS_RECORD_BYTES)
			return text.at[TLS_RECORD_BYTES] == TLS_CLIENT_HELLO ? VERIFY_DPI
									     : VERIFY_NO;
		text = text_from(text, length < text.length ? length : text.length);
	}
	return !text.length || text.length <= TLS_RECORD_BYTES ? VERIFY_MORE : VERIFY_NO;
}

static inline enum verify tls_wrapped(const struct probe *probe, uint16_t port)
{
	const struct text half = probe_text(probe);

	if (probe->dport != port && probe->sport != port)
		return VERIFY_NO;
	return tls_is_record(half) ? VERIFY_DPI : tls_begins_lenient(half);
}

#endif
