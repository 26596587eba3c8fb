// SPDX-License-Identifier: BSD-3-Clause
// What decoders tell of what is to come and of who is who: secondary flows, endpoints, names. They
// are in app/classify and app/content; the pipeline is the sink. The lcore that owns the flow.
#ifndef SLUICE_DECODER_SINK_H
#define SLUICE_DECODER_SINK_H

#include <stdint.h>
#include "pipeline/vocab/asked.h"
#include "pipeline/vocab/expectation.h"

// What a decoder tells: a secondary flow that is to be expected (expectation.h); where somebody
// said that a node of the flow's application is ... X(symbol, word): how it became known.
#define LEARNED_FROM(X)                                                                  \
	X(DHT, "dht")         /* nodes and peers that a reply lists, or who announces */ \
	X(TRACKER, "tracker") /* peers that a tracker lists, or who announces */         \
	X(PEX, "pex")         /* peers that a peer lists */                              \
	X(PEER, "peer")       /* a peer's own word for the port that it listens on */    \
	X(LSD, "lsd")         /* the same, to its local network */                       \
	X(DNS, "dns")         /* the address of a name */

enum learned_from {
#define X(symbol, word) LEARNED_##symbol,
	LEARNED_FROM(X)
#undef X
		LEARNED_FROM_MAX
};

static inline const char *learned_from_word(unsigned from)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		LEARNED_FROM(X)
#undef X
	};
	return from < LEARNED_FROM_MAX ? words[from] : "?";
}

// What an endpoint said of itself in clear, or others of it, that opens what is sent to it later.
struct endpoint_secret {
	uint8_t node[16]; // its id in Kad
	uint8_t user[16]; // the client's user hash of eDonkey
	uint8_t has_node, has_user;
};

struct learned_endpoint {
	uint8_t address[16]; // v4-mapped for IPv4
	uint16_t port;       // host order, never 0
	uint8_t l4_proto;    // 0: TCP and UDP
	uint8_t from;        // enum learned_from
	uint8_t half;        // who said so: the sender of this half
	struct endpoint_secret secret;
};

// ... and the address of a name, as its client was reported (whose half is HALF_C2S).
struct learned_name {
	uint8_t address[16];
	const uint8_t *name; // that was asked for: lower case, no dot at its end. Borrowed
	uint32_t length;
	const uint8_t *alias; // of it, whose address this is (CNAME); NULL: none. Borrowed
	uint32_t alias_length;
	uint32_t ttl_s;
};

// Functions may be NULL: nobody wants to know.
// A decoder tells of answers only where it has seen what they answer. What an end of a TCP
// connection says of itself, or offers to its peer, needs no question: that both ends of the
// connection have been heard is the receiver's to ask.
struct decoder_sink {
	void (*expect)(void *ctx, const struct expectation *expectation);
	void (*endpoint)(void *ctx, const struct learned_endpoint *endpoint);
	void (*name)(void *ctx, const struct learned_name *name);
	void (*transfer)(void *ctx, const struct transfer_label *label); // that this flow carries
	void *ctx;
	struct asked *asked; // the flow's; NULL: no answer is one to a request
};

// Who a decoder's flow is between; addresses are v4-mapped for IPv4.
struct flow_ends {
	uint8_t address[2][16]; // by half: [HALF_C2S] is the initiator's
	uint16_t port[2];
};

#endif
