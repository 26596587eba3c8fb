// SPDX-License-Identifier: BSD-3-Clause
// The header of a TLS record: type, version, length (RFC 8446 5.1, RFC 5246 6.2.1). Any core.
#ifndef SLUICE_TLS_RECORD_H
#define SLUICE_TLS_RECORD_H

#include "text.h"

#define TLS_RECORD_BYTES     5
#define TLS_RECORD_MAX_BYTES (16384 + 2048) // RFC 5246 6.2.3; TLS 1.3 has less

enum tls_type {
	TLS_CHANGE_CIPHER = 0x14,
	TLS_ALERT = 0x15,
	TLS_HANDSHAKE = 0x16,
	TLS_DATA = 0x17,
	TLS_HEARTBEAT = 0x18,
};

static inline bool tls_is_record(struct text text)
{
	if (text.length < TLS_RECORD_BYTES)
		return false;
	uint16_t length = octets_be16(text.at + 3);

	return text.at[0] >= TLS_CHANGE_CIPHER && text.at[0] <= TLS_HEARTBEAT && text.at[1] == 3 &&
	       text.at[2] <= 4 && length && length <= TLS_RECORD_MAX_BYTES;
}

// A mail protocol on the port where it runs inside TLS from the first byte (RFC 8314 7). The
// content is not seen, the port is the registered one: CONFIDENCE_DPI is as far as this goes.
static inline bool tls_wraps(const struct probe *probe)
{
	return tls_is_record((struct text){probe->bytes, probe->length});
}

static inline enum verify tls_wrapped(const struct probe *probe, uint16_t port)
{
	return probe->dport == port || probe->sport == port ? VERIFY_DPI : VERIFY_NO;
}

#endif
