// SPDX-License-Identifier: BSD-3-Clause
// What a content decoder is given, and what it reports: files with their names before their first
// byte, chat messages, and where it could not follow.
//
// A decoder is a struct, one per protocol. It gets the bytes of a flow's halves in
// order, as reassembly gives them to the classifier, with gaps and ends; it keeps its state in a
// block that the caller owns, asks for more memory only from `struct content_memory`, and reports
// what it finds through a sink, in the order of the bytes. It knows nothing of policies, packets or
// clocks. One data lcore calls it; nothing here blocks, logs or uses the heap.
#ifndef SLUICE_CONTENT_H
#define SLUICE_CONTENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/content_id.h"
#include "pipeline/vocab/decoder_sink.h"
#include "pipeline/vocab/span.h"

struct content_memory;
struct content_torrents;

#define CONTENT_NAME_BYTES   1024 // longer names keep their end, where the extension is
#define CONTENT_ALIASES_MAX  8    // other names of a file
#define CONTENT_PATH_BYTES   8192 // a path of a request that names torrents; others: as names
#define CONTENT_PARTY_BYTES  128  // who sends or receives: a nick, a JID, a login
#define CONTENT_PARTIES_MAX  32   // of a list of receivers that are looked at
#define CONTENT_TYPE_BYTES   96   // a media type, as it was declared
#define CONTENT_METHOD_BYTES 16   // of a request of HTTP
#define CONTENT_AGENT_BYTES  256  // who sent it, as it calls itself
#define CONTENT_TEXT_BYTES   8192 // of one message; what is longer comes in parts
#define CONTENT_SIZE_UNKNOWN UINT64_MAX

// Bytes as they were sent, never terminated.
struct content_text {
	const uint8_t *bytes; // borrowed: valid during the call
	uint32_t length;
};

// Where a file's name comes from. X(symbol, word in events).
#define CONTENT_NAME_SOURCES(X)                                              \
	X(NONE, "none")               /* it has no name */                   \
	X(HEADER, "header")           /* Content-Disposition filename */     \
	X(HEADER_EXTENDED, "header*") /* ... filename*, RFC 8187 */          \
	X(PATH, "path")               /* last segment of the request path */ \
	X(COMMAND, "command")         /* RETR, STOR, DCC SEND, RRQ */        \
	X(OFFER, "offer")             /* what a peer announced */

enum content_name_source {
#define X(symbol, word) CONTENT_NAME_##symbol,
	CONTENT_NAME_SOURCES(X)
#undef X
		CONTENT_NAME_SOURCES_MAX
};

// Another name that some programs store a file under.
struct content_alias {
	struct content_text name;
	uint8_t source; // enum content_name_source
};

// What several transfers, on whatever flows, bring parts of: a file that an id names whoever sends
// it, or the payload of a torrent, whose files lie behind each other in it. Their bytes are put
// together by that id. An id is a claim of those who name it until digests prove the bytes.
struct content_whole {
	struct content_id id;
	uint64_t size;      // of all of it; CONTENT_SIZE_UNKNOWN
	uint64_t file_from; // where the file begins in it: 0 but in a torrent
	uint64_t padding;   // bytes of 0 behind the file, which nobody sends (BEP 47)
	// Digests of its pieces in order, the last piece shorter: the id proves them. n_pieces 0:
	// they are not known.
	uint64_t piece_bytes;
	const uint8_t *pieces; // borrowed for the call, but those of a torrent (torrents.h)
	uint32_t n_pieces;
	uint8_t digest; // enum content_digest
};

// X(symbol, bytes)
#define CONTENT_DIGESTS(X)                                                \
	X(SHA1, 20)   /* pieces of a torrent, version 1 */                \
	X(SHA256, 32) /* roots of pieces of a file, version 2 (BEP 52) */ \
	X(MD4, 16)    /* parts of eDonkey; the id is the digest of them */

enum content_digest {
#define X(symbol, bytes) CONTENT_DIGEST_##symbol,
	CONTENT_DIGESTS(X)
#undef X
		CONTENT_DIGESTS_MAX
};

// A file that is about to be transferred, or is. `id` counts the files of a flow from 1.
struct content_file {
	uint32_t id;
	uint8_t half;        // that carries its bytes (enum half)
	uint8_t name_source; // enum content_name_source
	bool name_cut;       // the name was longer: its beginning is missing
	bool partial;        // a range of the file, not all of it: see `range_from`
	bool elsewhere; // its bytes come on another flow: no bytes and no end are reported here
	bool fields;    // the fields of a form, which may hold passwords: nobody's file
	bool by_path;   // who asks for its path again asks for it again (GET, PUT)
	bool scattered; // its bytes come in any order, and some of them perhaps never
	struct content_text name; // as it was sent, quotes and percent signs undone, not normalised
	struct content_text path; // of the request that asks for it, or the folder; may be empty
	struct content_text host; // the server's name, as the client gave it; may be empty
	struct content_text type; // declared, not found
	struct content_text user; // who asks or offers, as far as the protocol says
	struct content_text validator;     // ETag or Last-Modified, to know the file again
	const struct content_whole *whole; // NULL: nothing names it beyond this transfer. Borrowed
	// Of HTTP: the request (may be empty: it was not heard), and the status of the response
	// that brings the file; 0: a request brings it.
	struct content_text method, agent;
	uint16_t status;
	bool is_http;
	uint64_t size;       // of the whole file: CONTENT_SIZE_UNKNOWN where nobody says
	uint64_t range_from; // offset in the file of the first byte that this transfer brings
	uint64_t begins64;   // offset in the half of the first byte of its body
	// What a data connection brings as the file of its announcement (struct expectation).
	bool announced;
	// Where its number in records goes, so that other reports of it can have the same: the
	// announcement of the flow that carries it, or this field. Not 0 already: that is its
	// number, by which it was told before in this flow. NULL: nobody asks.
	uint32_t *item;
	uint8_t n_aliases; // where programs disagree on the name
	struct content_alias aliases[CONTENT_ALIASES_MAX];
};

// What is wanted of a file.
enum content_want {
	CONTENT_WANT_NAME, // nothing but its name: its bytes are not decoded
	CONTENT_WANT_DATA, // its bytes, decoded
};

// How a file ended. X(symbol, word as in Suricata's fileinfo.state).
#define CONTENT_ENDS(X)                                                        \
	X(CLOSED, "CLOSED")       /* whole, by its protocol's own end */       \
	X(TRUNCATED, "TRUNCATED") /* the stream ended, or has a gap, before */ \
	X(ERROR, "ERROR")         /* its encoding is broken */

enum content_end {
#define X(symbol, word) CONTENT_END_##symbol,
	CONTENT_ENDS(X)
#undef X
		CONTENT_ENDS_MAX
};

// A chat message, or a part of one that is longer than CONTENT_TEXT_BYTES.
struct content_message {
	uint8_t half;     // its sender's
	bool goes_on;     // more of it follows
	bool continued;   // not its beginning
	bool to_is_list;  // `to` may be several, separated by commas, and is longer then
	bool verbatim;    // its text is the bytes [begins64, ends64) as they were sent
	bool in_pieces;   // other things lie between its bytes: only the unit may be blanked
	bool keeps_lines; // blanks take the place of all but CR and LF
	// The byte that may stand for each byte of the text, and of its unit, in the stream, so
	// that a receiver goes on behind it; 0: there is none.
	uint8_t blank;
	struct content_text from;  // may be empty: not said
	struct content_text to;    // a user or a room; may be empty
	struct content_text text;  // decoded: entities, base64, codings
	uint64_t begins64, ends64; // where its text lies in the half: [begins64, ends64)
	// ... and the line, without its end, or stanza that carries it
	uint64_t unit64, unit_ends64;
};

// Where hosts may disagree with each other on what is meant, or we cannot follow.
// X(symbol, word in events).
#define CONTENT_NOTES(X)                                                                           \
	/* ambiguous: a sender that means well writes none of these */                             \
	X(LENGTH_AND_CHUNKED, "length_and_chunked") /* Content-Length with Transfer-Encoding */    \
	X(TWO_LENGTHS, "two_lengths")               /* Content-Lengths that differ */              \
	X(BAD_LENGTH, "bad_length")       /* not a number, beyond 2^63 - 1; no end can be known */ \
	X(BAD_CHUNK, "bad_chunk")         /* no size, or no CRLF behind it or its data */          \
	X(FOLDED_HEADER, "folded_header") /* obs-fold, RFC 9112 section 5.2 */                     \
	X(SPACE_BEFORE_COLON, "space_before_colon") /* RFC 9112 section 5.1 */                     \
	X(BARE_CR, "bare_cr")                       /* in a line of the head */                    \
	X(BARE_LF, "bare_lf")                       /* in a head that has CRLF, too */             \
	X(NUL_IN_HEAD, "nul_in_head")                                                              \
	X(BAD_LINE, "bad_line")             /* a request, status or field line that is none */     \
	X(CODING_LIES, "coding_lies")       /* gzip that is not gzip, ... */                       \
	X(CODING_UNKNOWN, "coding_unknown") /* one that we do not decode */                        \
	X(TWO_NAMES, "two_names")           /* of one file, and not all of them are compared */    \
	X(BAD_MULTIPART, "bad_multipart")   /* no boundary, or one that is too long */             \
	X(BAD_XML, "bad_xml")               /* not well-formed, or not what XMPP allows of it */   \
	X(TWO_TYPES, "two_types")           /* Content-Types of one part that differ */            \
	X(TWO_ENCODINGS, "two_encodings")   /* Content-Transfer-Encodings that differ */           \
	X(TWO_BOUNDARIES, "two_boundaries") /* of one multipart, or in a form that few know */     \
	X(BAD_ENCODING, "bad_encoding")     /* base64, quoted-printable, uuencode, yEnc */         \
	X(MAIL_IN_PARTS, "mail_in_parts")   /* a file in several mails, message/partial */         \
	X(END_OF_MAIL, "end_of_mail")       /* a dot that only some take for the end of a mail */  \
	X(RESENT_DIFFERS, "resent_differs") /* what was not taken comes again as something else */ \
	/* limits */                                                                               \
	X(HEAD_TOO_LONG, "head_too_long")                                                          \
	X(TOO_MANY_REQUESTS, "too_many_requests") /* pipelined, or offers: not answered */         \
	X(TOO_DEEP, "too_deep")                   /* parts inside of parts */                      \
	X(BOMB, "bomb")                           /* decodes to too much */                        \
	X(NO_MEMORY, "no_memory")                                                                  \
	/* opaque from here on */                                                                  \
	X(OPAQUE_TLS, "tls")                                                                       \
	X(OPAQUE_CONNECT, "connect")                                                               \
	X(OPAQUE_H2C, "h2c")                                                                       \
	X(OPAQUE_WEBSOCKET, "websocket")                                                           \
	X(OPAQUE_UPGRADE, "upgrade")       /* to anything else */                                  \
	X(OPAQUE_ENCRYPTED, "encrypted")   /* by the protocol itself: MSE, eMule's disguise */     \
	X(OPAQUE_SMB1, "smb1")             /* SMB 1: not decoded */                                \
	X(OPAQUE_UTP, "utp")               /* BitTorrent over uTP: files are not read there */     \
	X(OPAQUE_COMPRESSED, "compressed") /* XEP-0138 and the like */                             \
	/* by loss */                                                                              \
	X(LOST, "lost") /* a gap that it cannot go on behind */                                    \
	/* of no decoder */                                                                        \
	X(PART_ASKED, "part_asked") /* a request for a part that could not be changed */           \
	X(UNRECORDED, "unrecorded") /* a record of it cannot be taken */

enum content_note {
#define X(symbol, word) CONTENT_NOTE_##symbol,
	CONTENT_NOTES(X)
#undef X
		CONTENT_NOTES_MAX
};

// Of sets of notes: those that were told of a half, ...
#define CONTENT_NOTE_BIT(note) (UINT64_C(1) << (note))
static_assert(CONTENT_NOTES_MAX <= 64, "each note has a bit");

static inline bool content_note_is_ambiguous(enum content_note note)
{
	return note <= CONTENT_NOTE_RESENT_DIFFERS;
}
// A limit of ours behind which it goes on no longer, or not with all: nobody who means well gets so
// far.
static inline bool content_note_is_limit(enum content_note note)
{
	return note >= CONTENT_NOTE_HEAD_TOO_LONG && note <= CONTENT_NOTE_BOMB;
}
static inline bool content_note_is_opaque(enum content_note note)
{
	return note >= CONTENT_NOTE_OPAQUE_TLS && note <= CONTENT_NOTE_OPAQUE_COMPRESSED;
}

// A word of a request that has its receiver answer with less than the file, or in a coding that is
// not decoded here. Where its last byte is another one it is a word that nobody knows, as long as
// it was. That byte is the one that a stream has brought last: it is there whenever the word is
// known, however the request was cut. At the end of a span what may be such a word is reported
// before it is known to be over: what is reported may depend on how the bytes were cut here.
enum content_word_kind {
	CONTENT_WORD_PART,   // the name of a field that asks for a part: Range
	CONTENT_WORD_CODING, // a coding in Accept-Encoding or TE
};
struct content_word {
	uint8_t half;
	uint8_t kind;    // enum content_word_kind
	uint8_t other;   // that the last byte may become
	bool unsure;     // its message was looked for: it may be a part of a body
	uint64_t last64; // offset in the half of that byte
};

// All pointers of arguments are borrowed for the call. Every function is there.
struct content_sink {
	// A file is asked for by its path, before anything comes of it: path, host and name are
	// set, `half` is the one that will carry it, and whether a part of it is asked for.
	void (*asked)(void *ctx, const struct content_file *file);
	// A file is known, and none of its bytes has been reported. Its texts are reported once,
	// here.
	enum content_want (*file)(void *ctx, const struct content_file *file);
	// The sender of that half names a file or torrent that it has, or wants.
	void (*id)(void *ctx, const struct content_id *id, unsigned half);
	// Decoded bytes of a wanted file. `at`: offset in what this transfer brings (in the file:
	// range_from + at). They need not be in order; what a gap took is left out.
	void (*bytes)(void *ctx, uint32_t id, uint64_t at, const uint8_t *bytes, uint32_t length);
	// `ends64`: offset in the half behind the last byte of its body. It is begins64 of the body
	// where that is not known: of a part in a coded body, or where the coding breaks.
	void (*end)(void *ctx, uint32_t id, enum content_end end, uint64_t ends64);
	void (*message)(void *ctx, const struct content_message *message);
	// True: the word is changed on its way. The decoder goes on as its receiver does, to whom
	// it says nothing.
	bool (*word)(void *ctx, const struct content_word *word);
	// `at64`: offset in that half.
	void (*note)(void *ctx, enum content_note note, unsigned half, uint64_t at64);
	void *ctx;
};

enum content_fed {
	CONTENT_FED,  // all was taken
	CONTENT_MORE, // the budget ended: call again with what was not taken, even if nothing
	// At `taken`: what follows (of a span of no bytes: its SPAN_FIN) can be fed again later.
	// What was reported until then stays so, and the sequence of calls is as if memory had been
	// there.
	CONTENT_NO_MEMORY,
	// Nothing of this flow is wanted any more: ends are reported, memory is given back.
	CONTENT_OVER,
};

// One call of a decoder.
struct content_turn {
	const struct content_sink *sink;
	struct content_memory *memory;
	uint32_t output; // bytes that may still be reported in this turn: counts down to 0
	// Bytes of the span that are done with: the decoder goes on behind them. 0 for a new span;
	// of one that is fed again it stays as it was left.
	uint32_t taken;
	// Who learns of other flows: secondary ones that are to be expected, endpoints. NULL:
	// nobody wants to know. Its `transfer` is not called.
	const struct decoder_sink *others;
	const struct flow_ends *ends; // the flow's
	uint16_t app;                 // the flow's, for what is said of others
	uint16_t data_app;            // ... of those that it announces: see `data_app` below
	// What announced this flow (an expectation) said of it; NULL: it was not announced. It may
	// become known, or be amended, while the flow goes on.
	const struct transfer_label *announced;
	// What opens what is sent to the responder, as far as it is known (decoder_sink.h), until
	// a byte of HALF_C2S is taken, to decoders with `opens`. NULL: nothing.
	const struct endpoint_secret *secret;
	bool asks_opaque; // what becomes unreadable is refused
	// What is known of torrents (torrents.h); NULL: nothing is kept.
	const struct content_torrents *torrents;
};

// Of the turn's output: what is told of a file that is listed costs as much as so many bytes, where
// few bytes may unpack to thousands of them.
#define CONTENT_TOLD_BYTES 64u
static inline void content_charge(struct content_turn *turn, uint32_t bytes)
{
	turn->output -= bytes < turn->output ? bytes : turn->output;
}

// What a decoder finds in flows of its application.
enum content_find {
	CONTENT_FINDS_FILES = 1,
	CONTENT_FINDS_CHAT = 2,
	CONTENT_FINDS_IDS = 4,
	CONTENT_FINDS_OPAQUE = 8, // that the flow goes over to a form that is not decoded
};

// Where the server's half goes on with the answer that a file belongs to.
struct content_answer {
	uint64_t from64; // its first byte
	bool no_body;    // whoever waits for it expects a head alone
	bool reply;      // it is a line of SMTP
	bool known;
};

struct content_decoder {
	const char *app;      // name of the application in app/classify
	const char *data_app; // ... of the flows that it announces; NULL: the same
	bool rides_http;      // its application may speak inside of HTTP, which is decoded then
	uint32_t state_bytes; // of a block that is aligned to 16 and zeroed at first
	uint8_t finds;        // bits of enum content_find: what policies may ask of it
	uint8_t words;        // halves (bits by enum half) of whose requests it reports words
	bool opens;           // it opens a disguise by a secret of the responder
	// Spans of either half, in order. A gap takes its extent, and so does a span whose bytes
	// are not here; SPAN_FIN (on the last bytes, or alone) says that nothing follows. Never
	// reads behind span_length().
	enum content_fed (*feed)(void *state, const struct span *span, struct content_turn *turn);
	// The flow ends: reports the ends of open files, and gives back what it took from `memory`.
	void (*over)(void *state, struct content_turn *turn);
	// The answer that brings the file at hand of HALF_S2C, or, of HALF_C2S, that the client
	// waits for: one whose request has come and of which nothing has. False: another answer
	// comes first, or which it is is not known. NULL: its protocol has no answers with a head.
	bool (*answer)(const void *state, unsigned half, struct content_answer *answer);
};

static inline const char *content_note_word(unsigned note)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		CONTENT_NOTES(X)
#undef X
	};
	return note < CONTENT_NOTES_MAX ? words[note] : "?";
}

static inline const char *content_end_word(unsigned end)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		CONTENT_ENDS(X)
#undef X
	};
	return end < CONTENT_ENDS_MAX ? words[end] : "?";
}

static inline const char *content_name_source_word(unsigned source)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		CONTENT_NAME_SOURCES(X)
#undef X
	};
	return source < CONTENT_NAME_SOURCES_MAX ? words[source] : "?";
}

#endif
