// SPDX-License-Identifier: BSD-3-Clause
// What the first bytes of a flow say of HTTP, whatever its application is taken for. Pure.
#ifndef SLUICE_CONTENT_SPEAKS_HTTP_H
#define SLUICE_CONTENT_SPEAKS_HTTP_H

#include "pipeline/content/flow_content.h"

// HTTP carries what is known by another name: a host's, Gnutella's, XMPP's (BOSH).
bool content_speaks_http(const struct content_prefix *prefix);
// The client's first line is a method and a path, or an absolute target, without a version
// (HTTP/0.9): what answers may be a file at once, and the application is not final by then.
bool content_asks_simply(const struct content_prefix *prefix);
// ... or the beginning of a request of any version.
bool content_begins_request(const struct content_prefix *prefix);

#endif
