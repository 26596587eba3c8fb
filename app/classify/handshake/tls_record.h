// SPDX-License-Identifier: BSD-3-Clause
// The header of a TLS record: type, version, length (RFC 8446 5.1, RFC 5246 6.2.1). Any core.
#ifndef SLUICE_TLS_RECORD_H
#define SLUICE_TLS_RECORD_H

#include "classify/text.h"

#define TLS_RECORD_BYTES     5
#define TLS_CLIENT_HELLO     1
#define TLS_SERVER_HELLO     2
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

#define TLS_HELLO_HEAD 6 // type, length, version

// A ClientHello or ServerHello begins: its type, a length, a version, of which servers take more
// than there are: then the length has to be that of its one record. Less of it is a hint.
static inline enum verify tls_hello_begins(const uint8_t *head, uint32_t n, uint32_t record)
{
	if (!n)
		return VERIFY_MORE;
	if ((head[0] != TLS_CLIENT_HELLO && head[0] != TLS_SERVER_HELLO) || (n > 1 && head[1] > 1))
		return VERIFY_NO;
	if (n < TLS_HELLO_HEAD)
		return VERIFY_PARTIAL;
	return head[4] == 3 || octets_be32(head) % (1u << 24) + 4 == record ? VERIFY_DPI
									    : VERIFY_PARTIAL;
}

// The first records of a connection: a hello, perhaps in pieces, or an alert; around a ClientHello
// servers take more than a specification has.
static inline enum verify tls_begins(struct text text)
{
	uint8_t head[TLS_HELLO_HEAD];
	uint32_t n = 0, record = 0;

	if (tls_is_record(text) && text.at[0] == TLS_ALERT && text.length > TLS_RECORD_BYTES + 1)
		return octets_be16(text.at + 3) == 2 && text.at[5] && text.at[5] <= 2 ? VERIFY_DPI
										      : VERIFY_NO;
	while (n < TLS_HELLO_HEAD && text.length >= TLS_RECORD_BYTES) {
		bool hello = text.at[0] == TLS_HANDSHAKE;

		if (!tls_may_be_record(text))
			return VERIFY_NO;
		record = octets_be16(text.at + 3);
		text = text_from(text, TLS_RECORD_BYTES);
		uint32_t here = record < text.length ? record : text.length;

		for (uint32_t i = 0; hello && i < here && n < TLS_HELLO_HEAD; i++)
			head[n++] = text.at[i];
		text = text_from(text, here);
	}
	return tls_hello_begins(head, n, record);
}

// Where the beginning was not seen: a record and the head of another, or one that ends with what is
// here, hold 36 bits; one that goes on is a hint.
static inline enum verify tls_continues(struct text text)
{
	uint32_t length = TLS_RECORD_BYTES + octets_be16(text.at + 3);

	if (text.at[0] == TLS_HANDSHAKE && tls_begins(text) == VERIFY_DPI)
		return VERIFY_DPI;
	if (length == text.length)
		return VERIFY_DPI;
	return length < text.length && tls_is_record(text_from(text, length)) ? VERIFY_DPI
									      : VERIFY_PARTIAL;
}

static inline enum verify tls_wrapped(const struct probe *probe, uint16_t port)
{
	const struct text half = probe_text(probe);

	if (probe->dport != port && probe->sport != port)
		return VERIFY_NO;
	return probe->midstream ? tls_continues(half) : tls_begins(half);
}

#endif
