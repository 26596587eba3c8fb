// SPDX-License-Identifier: BSD-3-Clause
// A session of IRC: what lines change of it, and what is told of them.
//
// Messages. Told are PRIVMSG, NOTICE, SQUERY, CPRIVMSG and CNOTICE, and what else brings a person's
// words to others: TOPIC and 332, AWAY and 301, WALLOPS, the reasons of PART, QUIT and KICK. CTCP
// is text, too, but for what programs ask each other (ctcp.h). `to` is as the line has it: a list,
// where there are several targets.
//
// Cut-through: text is told when its bytes come, in parts where a line comes in pieces, before the
// piece leaves. What is held back of a part are codes of colours, and words of CTCP, that are not
// whole. Where clients read codes differently (text.h) a text is told a second time, at the line's
// end, as a message of its own, in their other reading.
//
// What blanks would do. begins64 to ends64 is the text alone. Where it is blanked, ngircd (which
// trims lines at both ends) answers 412, no text to send, and nobody gets a message; a client that
// receives it shows a message of blanks from that nick, as irssi does. unit64 to unit_ends64 is the
// line with its tags and without its line end, which must stay: blanks in its place would become
// the beginning of the next line. A line of blanks is nothing to no server or client: ngircd
// answers 421, unknown command, irssi prints an empty row in its status window. Of a line that goes
// on unit_ends64 is where its bytes end that are here.
#ifndef SLUICE_CONTENT_IRC_SESSION_H
#define SLUICE_CONTENT_IRC_SESSION_H

#include "content/content.h"
#include "content/irc/dcc.h"
#include "content/irc/line.h"

struct irc_session {
	uint32_t files;
	uint64_t noted[2]; // by half: a bit for each note that was told
	bool welcomed;     // the server has said what the client's nick is
	bool starttls;     // asked for, not answered
	uint8_t own_length;
	uint8_t own[CONTENT_PARTY_BYTES]; // the client's nick; of DCC CHAT, that of who listens
	struct dcc_offers dcc;
};

// What was told of a line's text.
struct irc_told {
	uint16_t to;  // offset in the line up to which it was looked at; 0: nothing
	uint16_t end; // ... and behind the last byte that was told
	uint8_t part; // enum irc_part
	bool open;    // a part was told: its end is to be
};

// A line, or as much as is here of one, without tags and line end. Offsets are those of the half.
struct irc_turn {
	struct irc_session *session;
	const struct content_turn *turn;
	uint64_t begin64; // of the line, with its tags
	uint64_t line64;  // of `bytes`
	struct content_text bytes;
	uint8_t half;
	bool chat;  // DCC CHAT: the line is text
	bool whole; // nothing more comes of it
};

void irc_set_own(struct irc_session *session, struct content_text nick);
// Notes are told once of a half.
void irc_note(const struct irc_turn *turn, enum content_note note);
// Tells what is new of the line's text.
void irc_tell(const struct irc_turn *turn, struct irc_told *told);
// What a line that has ended changes. False: what follows is opaque, which was told.
bool irc_take_line(const struct irc_turn *turn);

#endif
