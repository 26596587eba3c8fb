// SPDX-License-Identifier: BSD-3-Clause
// What the ends of a flow say of themselves where it begins, for its records: the ClientHello over
// TCP, DTLS and QUIC with its fingerprints JA3 and JA4, the server's hello and its certificate
// where they are in clear, an HTTP client's first request and its response. A data lcore reads it
// once per flow, packs it and sends it away (event.h); the control core keeps it for the flow's
// records. Any core; no heap.
//
// Everything in it comes from the wire: bounded here, escaped by whoever prints it.
#ifndef SLUICE_GREETING_H
#define SLUICE_GREETING_H

#include <stdbool.h>
#include <stdint.h>

#define GREETING_BYTES 1536 // with all of its fields at their longest

enum greeting_kind {
	GREETING_TLS, // DTLS, too
	GREETING_QUIC,
	GREETING_HTTP,
	GREETING_KINDS_MAX
};

// What is kept of a longer one are its first bytes; of lists, the entries that fit.
enum greeting_field {
	// of a client's hello
	GREETING_NAME,         // of the host that is asked for
	GREETING_OFFERED,      // ALPN: names, each behind a byte of its length
	GREETING_HIGHEST,      // the highest version that is offered: two bytes
	GREETING_JA3,          // 16 bytes of MD5
	GREETING_JA3_TEXT,     // what they are of; left out when it is longer than fits
	GREETING_JA4,          // as text
	GREETING_QUIC_VERSION, // four bytes
	// of a server's hello
	GREETING_VERSION,  // that it has chosen: two bytes
	GREETING_SELECTED, // ALPN: a name
	// of HTTP; the name is the host that is asked for
	GREETING_METHOD,
	GREETING_URL,
	GREETING_PROTOCOL,
	GREETING_USER_AGENT,
	GREETING_STATUS, // two bytes
	GREETING_CONTENT_TYPE,
	GREETING_FIELDS_MAX
};

struct greeting {
	uint16_t length;               // in `bytes`
	uint8_t kind;                  // enum greeting_kind
	uint8_t of_server;             // not 0: of the server, else of the client
	uint8_t bytes[GREETING_BYTES]; // fields: number, length in two bytes (low first), content
};

static inline void greeting_begin(struct greeting *greeting, enum greeting_kind kind, bool server)
{
	greeting->length = 0;
	greeting->kind = (uint8_t)kind;
	greeting->of_server = server;
}

// A field as it is taken out again; its content lies in the bytes that it was taken from.
struct greeting_part {
	enum greeting_field field;
	uint32_t length;
	const uint8_t *content;
};
#define GREETING_FIELD_BYTES 3 // before a field's content
// Takes the next field off `*left` bytes at `*at`, at first all of a greeting's. False: no more.
static inline bool greeting_take(const uint8_t **at, uint32_t *left, struct greeting_part *part)
{
	if (*left < GREETING_FIELD_BYTES || (*at)[0] >= GREETING_FIELDS_MAX)
		return false;
	part->field = (*at)[0];
	part->length = (uint32_t)((*at)[1] | (*at)[2] << 8);
	part->content = *at + GREETING_FIELD_BYTES;
	*left -= GREETING_FIELD_BYTES;
	if (part->length > *left)
		return false;
	*at = part->content + part->length;
	*left -= part->length;
	return true;
}

// How far the reading of a flow's greeting is.
enum greeting_phase {
	GREETING_AWAITED, // nothing read yet
	GREETING_BEGUN,   // the client's, not whole
	GREETING_NAMED,   // the same, and its name has been told
	GREETING_ANSWER,  // the client's has been told, the server's is awaited
	GREETING_OVER,
};

static inline bool greeting_pending(uint8_t phase)
{
	return phase != GREETING_AWAITED && phase != GREETING_OVER;
}

#endif
