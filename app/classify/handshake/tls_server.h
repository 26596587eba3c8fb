// SPDX-License-Identifier: BSD-3-Clause
// A ServerHello (RFC 8446 4.1.3, RFC 5246 7.4.1.3; RFC 6347 4.2.1 of DTLS): what the server has
// chosen of what its client offered. Pure, any core.
#ifndef SLUICE_TLS_SERVER_H
#define SLUICE_TLS_SERVER_H

#include "classify/text.h"

struct tls_server_hello {
	uint16_t version; // by supported_versions (RFC 8446 4.2.1), else of the message
	uint16_t cipher;
	struct text protocol; // ALPN; empty: none is selected, or it is encrypted (TLS 1.3)
};

// `body` is what is behind the message's header, all of it. False: it is broken.
bool tls_server_hello_read(struct text body, struct tls_server_hello *out);

#endif
