// SPDX-License-Identifier: BSD-3-Clause
// A command of MSN: its words, the payload that follows it, and what it changes.
#ifndef SLUICE_CONTENT_MSN_COMMAND_H
#define SLUICE_CONTENT_MSN_COMMAND_H

#include "content/msn/msn.h"

#define MSN_WORDS 8 // of a line that are looked at, and the last one

struct msn_command {
	struct content_text name;
	struct content_text words[MSN_WORDS];
	struct content_text last;
	unsigned n;
	uint32_t payload;
	uint8_t sections; // heads before the payload's body; 0: it is of no interest
	bool is;          // it has the form of a command
	bool known;       // ... and is one of those that are known
	bool names;       // somebody who takes part
	bool bad_length;
};

void msn_command_read(struct content_text line, struct msn_command *command);
void msn_command_obey(const struct msn_turn *to, const struct msn_command *command);

// Who sends the payload, and to whom, by the line that announced it.
struct msn_parties {
	struct content_text from, to;
	bool to_is_list;
};
struct msn_parties msn_parties_of(const struct msn_turn *to);

enum msn_mime {
	MSN_MIME_OTHER,
	MSN_MIME_TEXT,
	MSN_MIME_INVITE,
	MSN_MIME_P2P,
};
// By the fields of a payload's head.
enum msn_mime msn_mime_of(const struct msn_turn *to, struct content_text head);
// The first field of that name (lower case); empty: there is none.
struct content_text msn_head_field(struct content_text head, const char *name);

#endif
