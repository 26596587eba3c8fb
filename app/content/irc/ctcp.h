// SPDX-License-Identifier: BSD-3-Clause
// CTCP in a message: what stands between two bytes \1, or behind one. Its text is for people, but
// for what programs ask and tell each other unseen: requests without a text (VERSION, TIME ...),
// PING with numbers, and DCC (dcc.h). "ACTION " is no part of the text.
#ifndef SLUICE_CONTENT_IRC_CTCP_H
#define SLUICE_CONTENT_IRC_CTCP_H

#include "content/content.h"

#define CTCP 0x01

// Bytes of what begins with \1 that are no text; *part (enum irc_part) is that before it, and then
// that behind. *open: it cannot be known yet, and nothing but the \1 was looked at; never of the
// `last` bytes of a text.
uint32_t ctcp_length(struct content_text bytes, bool last, uint8_t *part, bool *open);

#endif
