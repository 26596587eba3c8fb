// SPDX-License-Identifier: BSD-3-Clause
// Offers of files in stanzas of XMPP: which session one is of, and where its bytes may be said to
// go (XEP-0065 and XEP-0260, SOCKS5 bytestreams). For the decoders of app/classify and app/content.
// Any core.
#ifndef SLUICE_XMPP_OFFER_H
#define SLUICE_XMPP_OFFER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include "pipeline/vocab/decoder_sink.h"
#include "pipeline/vocab/span.h"

#define XMPP_OFFER_TTL_S 120
#define XMPP_PORT_MIN    1024 // nobody receives a file on a port below

// FNV-1a of a session's id: tells two sessions of a stream apart, no more. Never 0.
static inline uint32_t xmpp_session_of(const uint8_t *bytes, uint32_t length)
{
	uint32_t hash = 0x811c9dc5;

	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 0x01000193;
	return hash ? hash : 1;
}

// The label says nothing of a file: a session begins to offer one, or the flow is of another.
static inline void xmpp_label_clear_file(struct transfer_label *label)
{
	memset(label->file, 0, sizeof(label->file));
	label->begins_cut = false;
	label->size = 0;
}

// An address as the attribute `host` has it; a name is none. IPv4 becomes v4-mapped.
static inline bool xmpp_host_address(const uint8_t *bytes, uint32_t length, uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];

	if (!length || length >= sizeof(text))
		return false;
	memcpy(text, bytes, length);
	text[length] = '\0';
	if (inet_pton(AF_INET6, text, address) == 1)
		return true;
	memset(address, 0, 10);
	memset(address + 10, 0xff, 2);
	return inet_pton(AF_INET, text, address + 12) == 1;
}

// The sender of `half` names a host and port of a bytestream. Of a host that is not the client's
// own, it is said that the client will connect there: `peer` is the client. False: it may not be
// said (expectation.h), or is no place. Application and label are left to the caller.
static inline bool xmpp_expect(struct expectation *expect, const struct flow_ends *ends,
	unsigned half, const uint8_t *host, uint32_t length, uint64_t port)
{
	const uint8_t *client = ends->address[HALF_C2S];

	if (!xmpp_host_address(host, length, expect->address) || port < XMPP_PORT_MIN ||
		port > UINT16_MAX)
		return false;
	if (half == HALF_S2C || memcmp(expect->address, client, 16) != 0)
		memcpy(expect->peer, client, 16);
	expect->port = (uint16_t)port;
	expect->l4_proto = IPPROTO_TCP;
	expect->as = EXPECTED_BYTESTREAM;
	expect->ttl_s = XMPP_OFFER_TTL_S;
	return memcmp(expect->address, expect->peer, 16) != 0;
}

#endif
