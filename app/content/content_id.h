// SPDX-License-Identifier: BSD-3-Clause
// Content ids as text: what people paste, and one form to write them in. Pure; any core.
//
//   btih:40 hex digits, or 32 of base32      urn:btih:..., magnet:?xt=urn:btih:...&xt=urn:btmh:...
//   btmh:1220 and 64 hex digits (multihash)  urn:btmh:...
//   ed2k:32 hex digits                       urn:ed2k:..., urn:ed2khash:...,
//   ed2k://|file|NAME|SIZE|HASH|/ sha1:32 of base32, or 40 hex digits      urn:sha1:... tth:39 of
//   base32                         urn:tree:tiger:..., tree:tiger:... sha256:64 hex digits
//   urn:sha256:...      kzhash:40 hex digits      urn:kzhash:...
#ifndef SLUICE_CONTENT_ID_TEXT_H
#define SLUICE_CONTENT_ID_TEXT_H

#include "pipeline/vocab/content_id.h"

#define CONTENT_ID_TEXT     80   // of one, with its NUL
#define CONTENT_ID_LINK_MAX 4096 // bytes of a link that is read
#define CONTENT_ID_LINK_IDS 8    // ids of one link; a magnet link may name several

// The ids that a text names: 1 of an id, more of a magnet link. 0: it is none, *why says what is
// wrong, to go behind the text ("is ...").
unsigned content_id_parse(const char *text, uint32_t length,
	struct content_id ids[CONTENT_ID_LINK_IDS], const char **why);
// Returns `text`.
const char *content_id_print(const struct content_id *id, char text[CONTENT_ID_TEXT]);

#endif
