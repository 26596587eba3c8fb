// SPDX-License-Identifier: BSD-3-Clause
// The names that a client asks for over a TCP connection, beyond what classification reads: a
// ClientHello or a request's header of up to NAME_HEAD_BYTES, a second ClientHello while the server
// has not chosen (RFC 8446 4.1.4: HelloRetryRequest), and every request of a kept-alive
// connection (RFC 9112 9.3), behind the bodies of those before it (RFC 9112 6: Content-Length,
// chunked). Fed with the client's half in order, from its first octet.
//
// Where a request does not say clearly where its body ends (both fields, several lengths, chunks
// that are none), after a hole, and behind a header that is longer, each line is looked at as a
// request's first. After CONNECT and Upgrade the same, until the server agrees: then the connection
// is no HTTP any more.
//
// Most heads lie in one span and need no memory. Of the others the beginning is kept, each in a
// place of the pool. Owner: a data lcore. No heap but in *_new and *_free, no clock.
#ifndef SLUICE_NAMES_FOLLOW_H
#define SLUICE_NAMES_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include "span.h"

#define NAME_HEAD_BYTES 8192

struct name_heads;
struct host_name;

struct name_heads *name_heads_new(unsigned n, int socket); // NULL: no memory
void name_heads_free(struct name_heads *heads);
unsigned name_heads_left(const struct name_heads *heads);

enum names_phase {
	NAMES_BEGIN, // nothing was fed
	NAMES_TLS,
	NAMES_HEAD,
	NAMES_BODY,
	NAMES_CHUNK_SIZE,
	NAMES_CHUNK_LINE, // behind the size, to the end of its line
	NAMES_CHUNK_DATA,
	NAMES_CHUNK_END, // line behind a chunk's octets
	NAMES_TRAILER,
	NAMES_LOST, // somewhere in a line, of which nothing is wanted
	NAMES_OVER, // nothing more is to be seen
};

// Of a flow; zeroed when it begins.
struct names_follow {
	union {
		uint64_t left; // octets of the body or chunk
		struct {
			uint16_t record; // octets left of the record at hand, or its length so far
			uint16_t early;  // octets of application data so far
			uint32_t skipped : 24; // octets left of a message that is read as far as
					       // wanted
			uint32_t type : 8;     // of the record at hand
		} tls;
	};
	uint32_t head; // place in the pool, from 1; 0: none
	uint16_t kept; // octets in it
	uint16_t line; // octets of what is at hand: a chunk's size, a trailer, a record's header
	uint8_t phase; // enum names_phase
	uint8_t http;  // a request was seen
	uint8_t asks;  // the server's answer is awaited: to CONNECT, Upgrade, a ClientHello
	// the pipeline's: what the last request asks for, if its flow is not known as that yet
	uint8_t fresh;
	uint8_t by_name; // the flow is known by a request's name
	union {
		uint8_t hellos; // that were read, or passed over
		uint8_t open;   // requests without an answer, at least; UINT8_MAX: nobody knows
	};
	uint16_t app;
};

static inline bool names_follow_goes_on(const struct names_follow *follow)
{
	return follow->phase != NAMES_BEGIN && follow->phase != NAMES_OVER;
}

// A request, or a hello: `name` has no length where it names none.
typedef void names_found_fn(void *ctx, const struct host_name *name);

// `unheard`: anybody may have sent it; half of the places are not for such. False: no place is free
// for the beginning of a head. Nothing of the span was taken, but that names in it may be found
// again.
bool names_follow_feed(struct name_heads *heads, struct names_follow *follow,
	const struct span *span, bool unheard, names_found_fn *found, void *ctx);
// Gives back its place. It is over.
void names_follow_end(struct name_heads *heads, struct names_follow *follow);

#endif
