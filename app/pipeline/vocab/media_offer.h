// SPDX-License-Identifier: BSD-3-Clause
// Where media of a call may be said to go: in SDP (RFC 8866, RFC 3264), and in Jingle's candidates
// (XEP-0176, XEP-0177). Any core.
#ifndef SLUICE_MEDIA_OFFER_H
#define SLUICE_MEDIA_OFFER_H

#include <netinet/in.h>
#include <string.h>
#include "pipeline/vocab/decoder_sink.h"
#include "pipeline/vocab/span.h"

#define MEDIA_OFFER_TTL_S 180  // RFC 3261 16.6: for as long as it may ring
#define MEDIA_PORT_MIN    1024 // nobody hears a call on a port below

// The sender of `half` says that media are heard there. Of an address that is not its own it may
// only say that who hears it will send there: `peer` is that end. Zeroes the label. False: it may
// not be said (expectation.h), or is no place. The application is left to the caller.
static inline bool media_expect(struct expectation *expect, const struct flow_ends *ends,
	unsigned half, const uint8_t address[static 16], uint64_t port)
{
	memset(expect, 0, sizeof(*expect));
	if (port < MEDIA_PORT_MIN || port > UINT16_MAX)
		return false;
	memcpy(expect->address, address, 16);
	if (memcmp(address, ends->address[half & 1], 16) != 0)
		memcpy(expect->peer, ends->address[!(half & 1)], 16);
	expect->port = (uint16_t)port;
	expect->l4_proto = IPPROTO_UDP;
	expect->as = EXPECTED_MEDIA;
	expect->ttl_s = MEDIA_OFFER_TTL_S;
	return memcmp(expect->address, expect->peer, 16) != 0;
}

#endif
