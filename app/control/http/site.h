// SPDX-License-Identifier: BSD-3-Clause
// What the documents of the HTTP server speak of. Control core only.
#ifndef SLUICE_HTTP_SITE_H
#define SLUICE_HTTP_SITE_H

#include "control/ctl/socket.h"
#include "base/text.h"

struct http_counts { // of the server itself
	uint64_t connections;
	uint64_t requests;  // answered with what they asked for
	uint64_t malformed; // refused: no HTTP, too long, another method, a body, another host
	uint64_t not_found;
	uint64_t timed_out; // slow to ask or to read; commands that took too long
	uint64_t refused;   // connections and commands: too many at a time, or no memory
	uint64_t commands;  // of the page, that were run
	uint64_t no_token;  // commands without a token, or of another page
	uint64_t bad_token; // with a wrong one
	uint64_t throttled; // with a wrong one, after too many others
	unsigned open;
};

struct census;
struct rates;
struct recent_verdicts;

struct http_site { // borrowed
	struct control_context *context;
	const struct rates *rates;
	const struct recent_verdicts *recent_verdicts;
	const struct http_counts *counts;
	struct census *census;
	bool actions; // a token is set
	bool names;   // http.names: documents may have what senders wrote
};

// The documents. 0 or -ENOMEM.
int metrics_openmetrics(const struct http_site *site, struct text *out);
int metrics_classic(const struct http_site *site, struct text *out);
int api_summary(const struct http_site *site, struct text *out);
int api_apps(const struct http_site *site, struct text *out);
int api_verdicts(const struct http_site *site, struct text *out);
int api_cache(const struct http_site *site, struct text *out);
int api_health(const struct http_site *site, struct text *out);
int api_hosts(const struct http_site *site, struct text *out);
int api_users(const struct http_site *site, struct text *out);
int api_content(const struct http_site *site, struct text *out);
int api_scan(const struct http_site *site, struct text *out);
int api_content_names(const struct http_site *site, struct text *out);

#endif
