// SPDX-License-Identifier: BSD-3-Clause
// Configuration: sections of keys, from JSON. A value that is wrong is refused as a whole, with its
// place; a key that nobody knows is wrong too.
//
//   { "transports": ["udp", "tcp"],
//     "core": { "identity": "/var/lib/sluice/identity", "selection": "measured" },
//     "udp":  { "port": 2086, "advertise": ["192.0.2.1"] } }
#ifndef TRANSPORTAPI_CONF_H
#define TRANSPORTAPI_CONF_H

#include "transportapi/base/identity.h"

struct tapi_conf;

enum tapi_conf_kind {
	TAPI_CONF_UINT, // from min to max
	TAPI_CONF_BOOL,
	TAPI_CONF_TEXT,   // at most max octets
	TAPI_CONF_TEXTS,  // a list of at most max texts
	TAPI_CONF_CHOICE, // one of the words in `text_default`
	TAPI_CONF_UINTS,  // a list of at most TAPI_CONF_UINTS_MAX numbers from min to max
};
#define TAPI_CONF_UINTS_MAX 65536u

// One key of one section. Every transport and every part of the core has a table of these, ended
// by a NULL name; docs/transports.md is held against them.
struct tapi_conf_key {
	const char *name; // with its unit: "stale_s"
	enum tapi_conf_kind kind;
	uint64_t min, max, number_default;
	const char *text_default; // CHOICE: the words, the default first: "seed|measured"
	bool live;                // a reload may change it
	const char *help;
};

// From text (a whole document) or file. NULL with *error: "FILE:LINE: ...". Shape only.
TAPI_EXPORT struct tapi_conf *tapi_conf_parse(const char *text, struct tapi_error *error);
TAPI_EXPORT struct tapi_conf *tapi_conf_load(const char *path, struct tapi_error *error);
TAPI_EXPORT void tapi_conf_free(struct tapi_conf *conf);

// Holds a section against its keys: unknown key, wrong kind, out of bounds. A section that is
// absent is all defaults. Texts are of `min` to `max` octets.
TAPI_EXPORT enum tapi_result tapi_conf_check(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, struct tapi_error *error);
// TAPI_ECONF if a key that is not live differs (a reload).
TAPI_EXPORT enum tapi_result tapi_conf_compare(const struct tapi_conf *old,
	const struct tapi_conf *fresh, const char *section, const struct tapi_conf_key *keys,
	struct tapi_error *error);

// After check: the value or its default. `keys` is the table that the name is in.
TAPI_EXPORT uint64_t tapi_conf_uint(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name);
TAPI_EXPORT bool tapi_conf_bool(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name);
TAPI_EXPORT const char *tapi_conf_text(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name); // NULL: neither value nor default
// The index-th text of a list, NULL at its end. section NULL: of the document ("transports").
TAPI_EXPORT const char *tapi_conf_item(
	const struct tapi_conf *conf, const char *section, const char *name, unsigned index);
// The index-th number of a list; false at its end.
TAPI_EXPORT bool tapi_conf_number(const struct tapi_conf *conf, const char *section,
	const char *name, unsigned index, uint64_t *out);
// What is wrong with a value that check() could not know: "FILE:LINE: section.name[index]: ...".
// name NULL: the section; index < 0: the value as a whole. Always TAPI_ECONF.
TAPI_EXPORT enum tapi_result tapi_conf_wrong(const struct tapi_conf *conf, const char *section,
	const char *name, int index, struct tapi_error *error, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
// The index-th section, NULL at the end.
TAPI_EXPORT const char *tapi_conf_section(const struct tapi_conf *conf, unsigned index);

#endif
