// SPDX-License-Identifier: BSD-3-Clause
// Reads config/signatures/*.json (in name order) into signatures for sigdb_new().
// Format of a file (schema: config/schema/signatures.schema.json):
// {"schema_version":1,"signatures":[{"id":"bittorrent-handshake","app":"bittorrent","l4":"tcp",
//   "direction":"any|c2s|s2c","pattern":"^\\x13BitTorrent protocol","flags":"si",
//   "min_length":20,"confidence":"dpi|partial","verify":true,"midstream":false,
//   "why":"BEP 3, peer wire protocol: handshake"}],
//  "applications":[{"app":"whatsapp","hosts":["whatsapp.net"],"networks":["192.0.2.0/24"],
//   "source":"...","date":"2026-11","why":"..."}]}
// One of both lists may be absent. `flags`: i caseless, s dot matches newline. `why` says where the
// fact is from and is required. "applications": app_tables.h.
#ifndef SLUICE_SIGNATURE_LOAD_H
#define SLUICE_SIGNATURE_LOAD_H

#include "classify/classify.h"

struct app_tables;
struct config_errors;
struct json_at;

// Appends every problem to `errors` (file and JSON path). `*out` is an array of `*n` to free();
// `*tables` is the caller's, too (NULL: they are checked and forgotten).
int signature_load_dir(const char *dir, struct signature **out, unsigned *n,
	struct app_tables **tables, struct config_errors *errors);

// A pattern as text: printable ASCII, not too long. False: reported.
bool signature_want_pattern(const struct json_at *at, const char **out);

#endif
