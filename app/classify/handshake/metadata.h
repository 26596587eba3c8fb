// SPDX-License-Identifier: BSD-3-Clause
// What the ends of a flow say of themselves where it begins, for its records: the ClientHello over
// TCP, DTLS and QUIC with its fingerprints JA3 and JA4, the server's hello and its certificate
// where they are in clear, an HTTP client's first request and its response. A data lcore reads it
// once per flow, packs it and sends it away (event.h); the control core keeps it for the flow's
// records. Any core; no heap.
//
// Everything in it comes from the wire: bounded here, escaped by whoever prints it.
#ifndef SLUICE_HANDSHAKE_META_H
#define SLUICE_HANDSHAKE_META_H

#include <stdbool.h>
#include <stdint.h>

#define HANDSHAKE_META_BYTES 1536 // with all of its fields at their longest

enum handshake_meta_kind {
	HANDSHAKE_META_TLS, // DTLS, too
	HANDSHAKE_META_QUIC,
	HANDSHAKE_META_HTTP,
	HANDSHAKE_META_KINDS_MAX
};

// What is kept of a longer one are its first bytes; of lists, the entries that fit.
enum handshake_meta_field {
	// of a client's hello
	HANDSHAKE_META_NAME,         // of the host that is asked for
	HANDSHAKE_META_OFFERED,      // ALPN: names, each behind a byte of its length
	HANDSHAKE_META_HIGHEST,      // the highest version that is offered: two bytes
	HANDSHAKE_META_JA3,          // 16 bytes of MD5
	HANDSHAKE_META_JA3_TEXT,     // what they are of; left out when it is longer than fits
	HANDSHAKE_META_JA4,          // as text
	HANDSHAKE_META_QUIC_VERSION, // four bytes
	// of a server's hello
	HANDSHAKE_META_VERSION,  // that it has chosen: two bytes
	HANDSHAKE_META_SELECTED, // ALPN: a name
	// of HTTP; the name is the host that is asked for
	HANDSHAKE_META_METHOD,
	HANDSHAKE_META_URL,
	HANDSHAKE_META_PROTOCOL,
	HANDSHAKE_META_USER_AGENT,
	HANDSHAKE_META_STATUS, // two bytes
	HANDSHAKE_META_CONTENT_TYPE,
	HANDSHAKE_META_FIELDS_MAX
};

struct handshake_meta {
	uint16_t length;                     // in `bytes`
	uint8_t kind;                        // enum handshake_meta_kind
	uint8_t of_server;                   // not 0: of the server, else of the client
	uint8_t bytes[HANDSHAKE_META_BYTES]; // fields: number, length in two bytes (low first),
					     // content
};

static inline void handshake_meta_begin(
	struct handshake_meta *meta, enum handshake_meta_kind kind, bool server)
{
	meta->length = 0;
	meta->kind = (uint8_t)kind;
	meta->of_server = server;
}

// A field as it is taken out again; its content lies in the bytes that it was taken from.
struct handshake_meta_part {
	enum handshake_meta_field field;
	uint32_t length;
	const uint8_t *content;
};
#define HANDSHAKE_META_FIELD_BYTES 3 // before a field's content
// Takes the next field off `*left` bytes at `*at`, at first all of a greeting's. False: no more.
static inline bool handshake_meta_next(
	const uint8_t **at, uint32_t *left, struct handshake_meta_part *part)
{
	if (*left < HANDSHAKE_META_FIELD_BYTES || (*at)[0] >= HANDSHAKE_META_FIELDS_MAX)
		return false;
	part->field = (*at)[0];
	part->length = (uint32_t)((*at)[1] | (*at)[2] << 8);
	part->content = *at + HANDSHAKE_META_FIELD_BYTES;
	*left -= HANDSHAKE_META_FIELD_BYTES;
	if (part->length > *left)
		return false;
	*at = part->content + part->length;
	*left -= part->length;
	return true;
}

// How far the reading of a flow's greeting is.
enum handshake_meta_phase {
	HANDSHAKE_META_AWAITED, // nothing read yet
	HANDSHAKE_META_BEGUN,   // the client's, not whole
	HANDSHAKE_META_NAMED,   // the same, and its name has been reported
	HANDSHAKE_META_ANSWER,  // the client's has been reported, the server's is awaited
	HANDSHAKE_META_OVER,
};

static inline bool handshake_meta_pending(uint8_t phase)
{
	return phase != HANDSHAKE_META_AWAITED && phase != HANDSHAKE_META_OVER;
}

#endif
