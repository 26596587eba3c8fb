// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what a client asks for over datagrams. QUIC with TLS (quic_initial.h), DTLS
// (RFC 6347 4.2, RFC 9147 5: a ClientHello in fragments, once more with a cookie), Google's QUIC
// before TLS (a CHLO with tags: in clear up to Q046, in Initial packets of Q050). One per flow, in
// its classification state, or the classifier's own while one datagram may be all.
#ifndef SLUICE_DATAGRAM_HELLO_H
#define SLUICE_DATAGRAM_HELLO_H

#include "quic_initial.h"
#include "tls_hello.h"

struct datagram_hello {
	struct quic_flow quic;
	uint16_t message;         // DTLS: the number of the message whose parts are here
	bool message_known;       // it has one
	struct hello_parts parts; // last: a clear one's bytes are not written
};

struct datagram_asks {
	struct text name;     // empty: none (yet); points into the datagram or the parts
	struct tls_hello tls; // `carrier` 0: it is no TLS
	uint32_t version;     // of QUIC; 0: it is none
};

void datagram_hello_clear(struct datagram_hello *hello); // also before first use
// A few compares: may this datagram be of a client that asks?
bool datagram_hello_may_be(struct text datagram);
// Feeds a datagram of the client's. TLS_HELLO_NONE: it says nothing that is understood, or nothing
// more will be; `asks` holds what there is.
enum tls_hello_seen datagram_hello_feed(struct quic_crypto *crypto, struct datagram_hello *hello,
	struct text datagram, struct datagram_asks *asks);

#endif
