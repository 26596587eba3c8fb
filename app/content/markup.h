// SPDX-License-Identifier: BSD-3-Clause
// Text of messengers as who reads it sees it: without tags that say how it looks. Pure; any core.
#ifndef SLUICE_CONTENT_MARKUP_H
#define SLUICE_CONTENT_MARKUP_H

#include <stdint.h>

enum markup_kind {
	MARKUP_HTML,  // AIM's part of HTML, with its entities and comments
	MARKUP_YAHOO, // tags for fonts and colours, and ESC [ ... m
};

// Tags that clients of that kind know are left out; br, hr, p and div are a blank; any other '<' is
// text. `out` has room for all of it. Returns how many bytes it holds: `length` if nothing was left
// out or decoded.
uint32_t markup_plain(enum markup_kind kind, const uint8_t *bytes, uint32_t length, uint8_t *out);

#endif
