// SPDX-License-Identifier: BSD-3-Clause
// The names that a client asks for over a TCP connection, beyond what classification reads: a
// ClientHello of up to NAME_HEAD_BYTES, a second ClientHello while the server has not chosen
// (RFC 8446 4.1.4: HelloRetryRequest), and every request of a kept-alive connection
// (RFC 9112 9.3), behind the bodies of those before it (RFC 9112 6: Content-Length, chunked). Fed
// with the client's half in order, from its first octet.
//
// A request is read line by line, as soon as a line is whole; each of its names is reported: of the
// target, of every Host. Servers differ. Where they may read a request in different ways (where a
// line, a header or a body ends, whether there is a body), each line from there on is looked at as
// a request's first and as a Host field, to the end of the connection: that is called unclear. So
// is what follows a hole, or a line of more than NAME_HEAD_BYTES, of which the first ones are
// looked at (blanks in a row count as one). Where a body ends within a line, and a request for a
// host by its target begins there, it is found at any place of the line. A connection is no HTTP
// any more when the server agrees to Upgrade; behind a CONNECT that it agrees to a hello or a
// request may begin.
//
// Work is bounded by what comes and what is kept: no octet of a span is looked at more than a few
// times, nor is what is kept more than a few times for a span (test_work).
//
// Most lines lie in one span and need no memory. Of the others the beginning is kept, each in a
// place of the pool (classify/names/heads.h). Owner: a data lcore. No heap but in *_new and *_free,
// no clock.
#ifndef SLUICE_NAMES_FOLLOW_H
#define SLUICE_NAMES_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/span.h"

#define NAME_HEAD_BYTES 8192

struct name_heads;
struct host_name;
struct hash_seed;
struct flow_ends;

// A page of it is taken where its lcore touches it first. NULL: no memory.
struct name_heads *name_heads_new(unsigned n, const struct hash_seed *seed);
void name_heads_free(struct name_heads *heads);
unsigned name_heads_left(const struct name_heads *heads);
uint64_t name_heads_displaced(const struct name_heads *heads); // flows, so far

// For whom a place is wanted.
struct name_user {
	const struct flow_ends *ends;
	uint64_t now_ns;
	bool unheard; // anybody may have sent it
	bool inside;  // the flow was begun there
};

enum names_phase {
	NAMES_BEGIN, // nothing was fed
	NAMES_TLS,
	NAMES_HEAD, // at the lines of a request, or of a trailer, or between requests
	NAMES_BODY,
	NAMES_CHUNK_SIZE,
	NAMES_CHUNK_LINE, // behind the size, to the end of its line
	NAMES_CHUNK_LF,   // its last octet
	NAMES_CHUNK_DATA,
	NAMES_CHUNK_END, // line behind a chunk's octets
	NAMES_LOST,      // somewhere in a line, of which nothing is wanted
	NAMES_TUNNEL,    // the server has agreed to CONNECT: whatever begins now
	NAMES_DISPLACED, // its place went to another flow: nothing more of the client is taken
	NAMES_OVER,      // nothing more is to be seen
};

enum names_http {
	NAMES_NO_HTTP, // no request was seen
	NAMES_CLEAR,
	NAMES_UNCLEAR,
};

// Of a flow; zeroed when it begins.
struct names_follow {
	uint32_t answer; // octets left of the body of the server's answer; UINT32_MAX: nobody knows
	uint8_t begins;  // of the line that is kept: enum http_begins
	uint8_t inner;   // of what is not kept (http_inner_step)
	union {
		uint64_t left; // octets of the body or chunk; in a header: its Content-Length
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
	union {
		uint16_t line; // octets of what is at hand: a chunk's size, a record's header
		uint16_t bits; // of the request at hand
	};
	uint8_t phase; // enum names_phase
	uint8_t http;  // enum names_http
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

// A request, or a hello: `name` has no length where it names none. `also`: another name of the same
// request, which some servers take.
typedef void names_found_fn(void *ctx, const struct host_name *name, bool also);

// False: no place is to be had for the beginning of a head, or the beginning was lost. Nothing of
// the span was taken, but that names in it may be found again.
bool names_follow_feed(struct name_heads *heads, struct names_follow *follow,
	const struct span *span, const struct name_user *user, names_found_fn *found, void *ctx);
// Gives back its place. It is over.
void names_follow_end(struct name_heads *heads, struct names_follow *follow);

#endif
