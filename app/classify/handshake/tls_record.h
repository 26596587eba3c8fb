// SPDX-License-Identifier: BSD-3-Clause
// The header of a TLS record: type, version, length (RFC 8446 5.1, RFC 5246 6.2.1). Any core.
#ifndef SLUICE_TLS_RECORD_H
#define SLUICE_TLS_RECORD_H

#include "classify/text.h"

#define TLS_RECORD_BYTES     5
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

static inline enum verify tls_wrapped(const struct probe *probe, uint16_t port)
{
	return probe->dport == port || probe->sport == port ? VERIFY_DPI : VERIFY_NO;
}

#endif
