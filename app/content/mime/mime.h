// SPDX-License-Identifier: BSD-3-Clause
// Mail and news as a stream: a message of RFC 5322 with MIME (RFC 2045 to 2047, 2231), uuencode and
// yEnc. Its attachments are files, its texts (subject, bodies) messages, told through the sink of
// the turn. Who uses it (SMTP, NNTP, POP3, IMAP) takes off what its protocol puts around a mail
// (dots, literals, compression), and says where in the half each run of bytes stands.
//
//   mime_open()   a mail begins
//   mime_feed()   its next bytes, again and again
//   mime_flush()  before each return of the decoder's feed(): texts are told as far as they are
//   here mime_lose()   bytes of it will never come mime_end()    it ends mime_close()  always, at
//   last; the flow may be over in the middle
//
// What is told does not depend on how the bytes were cut, on the budget of the turn (`output`
// counts bytes of files), nor on memory that was refused meanwhile: as with content_decoder.feed().
#ifndef SLUICE_CONTENT_MIME_H
#define SLUICE_CONTENT_MIME_H

#include "content/content.h"
#include "content/placed.h"

// One mail. A block of less than MIME_BYTES from the turn's memory; it asks for no other.
struct mime;
#define MIME_BYTES (32u << 10)

// A file that several mails of a flow bring in parts of yEnc, one after the other. The flow's
// decoder keeps it, zeroed at first, and ends what is open (content_placed_end) when the flow does.
struct mime_posting {
	struct content_placed placed;
	uint64_t size;
	uint32_t name; // a hash of it
};

// What the protocol around a mail says of it. Given to each call, as texts are borrowed for that
// call alone; the same each time.
struct mime_about {
	uint8_t half;
	// The bytes do not stand in the half as they are fed (compression of the stream): `at64` of
	// all of them is where the coded bytes end. Texts cannot be blanked then.
	bool coded;
	bool news; // Newsgroups say who receives it
	// It begins behind its head (BODY of NNTP, a part that IMAP fetches): a text.
	bool headless;
	struct content_text from; // empty: as the mail's own From says
	struct content_text to;   // empty: as its own To, or Newsgroups, say
	bool to_is_list;          // separated by commas
	uint32_t *files;          // of the flow so far: counts up (content_file.id)
	// Where parts of yEnc are put together; NULL: each is a part of a file for itself.
	struct mime_posting *posting;
};

// NULL: no memory.
struct mime *mime_open(struct content_turn *turn, const struct mime_about *about);

// The next bytes of the mail, of which the first stands at `at64` in the half. Lines end in CR LF,
// as on the wire, or in LF. Where the protocol has taken something out before them `at64` is higher
// than where the bytes before ended: nothing is missing then. It is a dot where it is one byte,
// which may be blanked with the text around it; a text around more is never blanked. *taken, 0 at
// first: how many are done with. CONTENT_FED: all. CONTENT_MORE: the turn's budget ended; what was
// not taken comes again, even if it is nothing. Never CONTENT_NO_MEMORY or CONTENT_OVER.
enum content_fed mime_feed(struct mime *mime, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64, const uint8_t *bytes, uint32_t length,
	uint32_t *taken);

// Before the decoder returns from feed(), whatever it returns, while a mail is open: the bytes of
// the span leave then. A text that is told whole until its mail ends is one message, which can be
// masked; one that was flushed comes in parts.
void mime_flush(struct mime *mime, struct content_turn *turn, const struct mime_about *about);

// A gap. The file at hand has ended (TRUNCATED), the next part of the mail is looked for. Not
// while CONTENT_MORE is to be followed: what was not told is lost then, too.
void mime_lose(struct mime *mime, struct content_turn *turn, const struct mime_about *about,
	uint64_t at64);

// Nothing follows of it; `whole`: by its protocol's own end. `at64`: where its last byte ended.
// CONTENT_FED, or CONTENT_MORE: call it again. Its texts and files have ended with CONTENT_FED.
enum content_fed mime_end(struct mime *mime, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64, bool whole);

// Gives its memory back. Files that have not ended end here (TRUNCATED), without the budget. NULL
// is allowed.
void mime_close(struct mime *mime, struct content_turn *turn, const struct mime_about *about);

#endif
