// SPDX-License-Identifier: BSD-3-Clause
// The text of a message of IRC as its reader sees it. Any core.
#ifndef SLUICE_CONTENT_IRC_TEXT_H
#define SLUICE_CONTENT_IRC_TEXT_H

#include "content/content.h"

// Codes for colours and styles are taken out: \2 \x0f \x11 \x16 \x1d \x1e \x1f, \3 with up to two
// numbers of two digits, \4 with up to two of six hexadecimal ones. `out` has room for all of
// `bytes`. Returns how many bytes it holds. *taken: how many of `bytes` that accounts for; fewer
// than all where it is not the `last` piece of the text and ends in a code that may go on.
uint32_t irc_text_plain(struct content_text bytes, bool last, uint8_t *out, uint32_t *taken);

// Whether there is any such code: without one the bytes are the text.
bool irc_text_has_codes(struct content_text bytes);

#endif
