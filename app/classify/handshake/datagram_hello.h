// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what a client asks for over datagrams. QUIC with TLS (quic_initial.h), DTLS
// (RFC 6347 4.2, RFC 9147 5: a ClientHello in fragments, once more with a cookie), Google's QUIC
// before TLS (a CHLO with tags: in clear up to Q046, in Initial packets of Q050). One for each half
// that asks, in the flow's classification state (hello_halves.c), or the classifier's own while one
// datagram may be all.
//
// A flow of datagrams may carry any number of connections, one after the other or beside each
// other, and either half may be the client of them: what is said in one half's name, by whomever,
// changes nothing of what the other half's hello is read by. Each hello is read; it stands, and its
// connection's parts and keys can be forgotten, when the server has answered it.
#ifndef SLUICE_DATAGRAM_HELLO_H
#define SLUICE_DATAGRAM_HELLO_H

#include "classify/handshake/quic_initial.h"
#include "classify/handshake/tls_hello.h"

struct datagram_hello {
	struct quic_flow quic;
	uint16_t message;   // DTLS: the number of the message whose parts are here
	bool message_known; // it has one
	bool named;         // the name in the message at hand has been reported
	uint8_t half;       // the half that the client speaks on
	uint8_t n_refused;  // DTLS: parts of other messages than the one that is not whole yet
	struct hello_parts parts; // last: a clear one's bytes are not written
};

struct datagram_asks {
	struct text name;     // empty: none (yet); points into the datagram or the parts
	struct tls_hello tls; // `carrier` 0: it is no TLS
	uint32_t version;     // of QUIC; 0: it is none
	bool taken;           // the datagram has a part of a hello
	bool reported;        // and with it a name, for the first time
	bool settled;         // with it the name is known, or that there is none
	bool answered;        // the other half's hello is taken: nothing more of it is to come
	bool serves;          // it opens as what only the other half's server can have sent
	bool refused;         // no client or server that means well sends this (quic_initial.h)
};

void datagram_hello_clear(struct datagram_hello *hello); // also before first use
// A part of a hello is in it.
static inline bool datagram_hello_begun(const struct datagram_hello *hello)
{
	return hello->quic.version || hello->message_known;
}
// A few compares: may this datagram be of a client that asks?
bool datagram_hello_may_be(struct text datagram);
// Which connection a datagram with a part of a hello is of: a number made of what all parts repeat
// (QUIC: the destination's connection id, which nobody else knows; DTLS: the length of the whole
// ClientHello), and one made of the client's random (DTLS, of the first part; else 0). 0: it has no
// such part. The first DATAGRAM_HELLO_TELLS bytes are enough.
#define DATAGRAM_HELLO_TELLS 59
uint32_t datagram_hello_connection(struct text datagram, uint32_t *random);
// Its hello of DTLS has no other part of one behind it.
bool datagram_hello_is_dtls_alone(struct text datagram);
// Feeds a datagram of a half, whose own hello is `hello`; `other`: the other half's, which it may
// answer, or NULL. `serves`: the half has answered a hello of the other one before. TLS_HELLO_NONE:
// it says nothing that is understood; `asks` holds what there is.
enum tls_hello_seen datagram_hello_feed(struct quic_crypto *crypto, struct datagram_hello *hello,
	struct datagram_hello *other, bool serves, struct text datagram,
	struct datagram_asks *asks);

#endif
