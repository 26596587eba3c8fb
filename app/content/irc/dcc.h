// SPDX-License-Identifier: BSD-3-Clause
// DCC: what users offer each other by CTCP, and the connections that they make for it. By "The
// Client-To-Client Protocol" (1994), mIRC's RESUME and ACCEPT, reverse DCC (port 0 and a token),
// and KVIrc's RSEND, RECV and prefixes (T: no acknowledgements, S: inside TLS).
//
//   SEND name address port [size [token]]   the sender listens there; port 0: whoever is asked
//   does,
//                                           and answers with SEND, its own port, and the token
//   RESUME name port offset [token]         the receiver has that much of it; ACCEPT is the same by
//                                           the sender, who then begins there
//   RSEND name size                         answered with RECV name address port offset
//   CHAT word address port [token]          port 0 as above
#ifndef SLUICE_CONTENT_IRC_DCC_H
#define SLUICE_CONTENT_IRC_DCC_H

#include <assert.h>

#include "content/content.h"
#include "content/transfer.h"

#define DCC_OFFERS \
	4              // of a session that are remembered; the oldest is forgotten, and what
		       // may answer it is noted
#define DCC_IN_LINE  8 // requests of a line that are read
#define DCC_PORT_MIN 1024

struct irc_turn;

// A file that was offered, and not come yet as far as the session's lines say.
struct dcc_offer {
	struct expectation expect; // as it was reported; port 0: it was not
	uint64_t resume;           // offset that the receiver has asked for
	uint32_t name;             // hashes: of the name, of the token
	uint32_t token;
	uint16_t port; // as it was said
	uint8_t half;  // whose sender offers
	bool used;
	bool asked;   // `resume` was
	bool awaited; // who was asked will listen
};

struct dcc_offers {
	struct dcc_offer offers[DCC_OFFERS];
	uint8_t next;
	bool forgot[2]; // one of that half's sender, so that what is of no offer may be of it
};

// Whether a word is the verb of a request, or as much as is here of one.
enum dcc_verb_is {
	DCC_NO_VERB,
	DCC_VERB_BEGINS,
	DCC_VERB,
};
enum dcc_verb_is dcc_verb(struct content_text word);
// Requests in a text, wherever they stand in it. `from`: who writes.
void dcc_take(const struct irc_turn *turn, struct dcc_offers *offers, struct content_text text,
	struct content_text from);

// A connection that carries a file, raw. The other way come acknowledgements: words of four octets
// (eight, by some), each the number of bytes that have come, which are not told. What is none is a
// file without a name.
struct dcc_file_half {
	struct content_raw raw;
	uint64_t at64;
	uint8_t word[4]; // of an acknowledgement
	uint8_t n_word;
	uint8_t n_put; // of a word that is of a file, and was put
	bool started;
	bool carries; // a file
	bool blind;   // where words begin is not known
	bool over;
};

struct dcc_file {
	struct dcc_file_half halves[2];
	uint64_t size; // as was announced, 0: it was not; and where in the file it begins
	uint64_t from;
	uint32_t files;
	bool known; // which half carries the file that was announced
};

static_assert(sizeof(struct dcc_offers) <= 1280, "a session that is idle costs little");

enum content_fed dcc_file_feed(
	struct dcc_file *file, const struct span *span, struct content_turn *turn);
void dcc_file_over(struct dcc_file *file, struct content_turn *turn);

#endif
