// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the parser. Nothing is read that cursor_need() or cursor_has() did not
// grant: a header must lie before `end` (what the layers above promise) and inside the window (what
// can be read).
#ifndef SLUICE_PARSE_LAYERS_H
#define SLUICE_PARSE_LAYERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include "pipeline/wire/parse.h"

// What parse leaves of struct pkt.flags.
#define PARSE_KEPT_FLAGS                                                             \
	(PKT_FROM_INSIDE | PKT_TRACE | PKT_INJECTED | PKT_CSUM_GOOD | PKT_CSUM_BAD | \
		PKT_CSUM_IGNORE | PKT_CAPTURED)

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd

struct cursor {
	const uint8_t *bytes; // the frame
	uint32_t window;      // readable bytes, at most PARSE_WINDOW
	uint32_t frame_end;   // length of the frame
	uint32_t end;         // of the layer at hand, never beyond frame_end
	uint32_t at;          // where the next header starts
	const struct parse_settings *settings;
	uint8_t cause;        // of PKT_UNSUPPORTED: enum unsupported_cause; HEADERS unless set
	bool has_ip;          // the outermost IP header holds, and struct pkt speaks of it
	bool fragment_header; // the IPv6 header at hand has one
	bool captured;        // PKT_CAPTURED
	bool cut;             // the frame ends before the IP packet does; captures only
};

// PKT_IP: the n bytes at c->at may be read.
static inline enum pkt_class cursor_need(const struct cursor *c, uint32_t n)
{
	if (c->at + n > c->end)
		return PKT_MALFORMED;
	return c->at + n > c->window ? PKT_UNSUPPORTED : PKT_IP;
}

static inline bool cursor_has(const struct cursor *c, uint32_t n)
{
	return cursor_need(c, n) == PKT_IP;
}

static inline const uint8_t *cursor_here(const struct cursor *c)
{
	return c->bytes + c->at;
}

static inline uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

// Extension headers of IPv6 that are walked over (RFC 8200 section 4; AH: RFC 4302).
static inline bool parse_is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS ||
	       proto == IPPROTO_FRAGMENT || proto == IPPROTO_AH;
}
// Length of the one at p, of which 8 bytes may be read.
static inline uint32_t parse_extension_length(uint8_t proto, const uint8_t *p)
{
	switch (proto) {
	case IPPROTO_FRAGMENT: return 8;
	case IPPROTO_AH: return (uint32_t)(p[1] + 2) * 4;
	default: return (uint32_t)(p[1] + 1) * 8;
	}
}

// A frame of the plainest kind, wholly parsed, and its key; false: the parser has to look.
bool parse_plain(struct rte_mbuf *m, const struct parse_settings *settings, union flow_key *key);

// Moves to the network layer; PKT_IP when it is there, with pkt->ethertype set.
enum pkt_class parse_link(struct pkt *pkt, struct cursor *c);
// From an IP header of pkt->ethertype's family on, through tunnels.
enum pkt_class parse_network(struct pkt *pkt, struct cursor *c);
// The L4 header at c->at, of pkt->l4_proto; sets l4_off and what is behind it.
enum pkt_class parse_transport(struct pkt *pkt, const struct cursor *c);

#endif
