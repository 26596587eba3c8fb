// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: whom a server says that it is, for clients that ask for no name. Up to TLS
// 1.2 its certificate comes in clear (RFC 5246 7.4.2); the first one of the chain is its own. Of
// its names (RFC 6125 6.4.4) the subject's common name counts if it is a host's, else the first
// dNSName (RFC 5280 4.2.1.6): a certificate that many share names its owner there. Pure.
#ifndef SLUICE_TLS_CERTIFICATE_H
#define SLUICE_TLS_CERTIFICATE_H

#include "classify/names/host_name.h"
#include "classify/text.h"

// `half` is what the server's half begins with; a wildcard is left out, with its dot.
enum host_seen tls_certificate_name(struct text half, struct host_name *name);

#endif
