// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the XMPP decoder share: the state of a flow and of its halves, what is kept
// while a stanza goes on, and who is called for what. Inside app/content/xmpp.
#ifndef SLUICE_CONTENT_XMPP_STREAM_H
#define SLUICE_CONTENT_XMPP_STREAM_H

#include <assert.h>
#include "content/content.h"
#include "content/xmpp/bytestream.h"
#include "content/xmpp/transfers.h"
#include "content/xmpp/xml.h"

#define XMPP_TEXT_BYTES   2048 // of chat that is reported at once
#define XMPP_FIELD_BYTES  512
#define XMPP_DOMAIN_BYTES 64
#define XMPP_SEEN_BYTES   16 // of a tag's name, where a stanza is looked for
#define XMPP_LEVELS       4  // messages inside messages

// Elements that mean something, by their local name. X(symbol, name).
#define XMPP_KINDS(X)                                      \
	X(OTHER, "")                                       \
	X(STREAM, "stream")                                \
	X(MESSAGE, "message")                              \
	X(IQ, "iq")                                        \
	X(PRESENCE, "presence")                            \
	X(BODY, "body") /* RFC 6121 section 5 */           \
	X(SUBJECT, "subject")                              \
	X(HTML, "html") /* XEP-0071 */                     \
	X(X, "x")       /* XEP-0066: with url and desc */  \
	X(URL, "url")                                      \
	X(DESC, "desc")                                    \
	X(RTT, "rtt") /* XEP-0301: with t */               \
	X(T, "t")                                          \
	X(INVITE, "invite") /* XEP-0045: with reason */    \
	X(DECLINE, "decline")                              \
	X(REASON, "reason")                                \
	X(P, "p") /* ends a line of XHTML-IM */            \
	X(BR, "br")                                        \
	X(LI, "li")                                        \
	X(DIV, "div")                                      \
	X(SI, "si")         /* XEP-0096 */                 \
	X(JINGLE, "jingle") /* XEP-0166, XEP-0234 */       \
	X(CONTENT, "content")                              \
	X(SHARING, "file-sharing") /* XEP-0447 */          \
	X(FILE, "file")                                    \
	X(NAME, "name")                                    \
	X(SIZE, "size")                                    \
	X(RANGE, "range") /* the part that is asked for */ \
	X(QUERY, "query") /* XEP-0065 */                   \
	X(STREAMHOST, "streamhost")                        \
	X(CANDIDATE, "candidate") /* XEP-0260 */           \
	X(TRANSPORT, "transport") /* XEP-0260, XEP-0261 */ \
	X(OPEN, "open")           /* XEP-0047 */           \
	X(BLOCK, "data")                                   \
	X(CLOSE, "close")                                  \
	X(REQUEST, "request") /* XEP-0363; XEP-0234 */     \
	X(FILENAME, "filename")                            \
	X(BIND, "bind") /* RFC 6120 section 7 */           \
	X(JID, "jid")                                      \
	X(AUTH, "auth")             /* ... section 6 */    \
	X(PROCEED, "proceed")       /* ... section 5 */    \
	X(COMPRESSED, "compressed") /* XEP-0138 */

enum xmpp_kind {
#define X(symbol, name) XMPP_##symbol,
	XMPP_KINDS(X)
#undef X
		XMPP_KINDS_MAX
};

enum xmpp_attribute {
	XMPP_ATTRIBUTE_FROM,
	XMPP_ATTRIBUTE_TO,
	XMPP_ATTRIBUTE_XMLNS,
	XMPP_ATTRIBUTE_ID,
	XMPP_ATTRIBUTE_SID,
	XMPP_ATTRIBUTE_NAME,
	XMPP_ATTRIBUTE_FILENAME,
	XMPP_ATTRIBUTE_SIZE,
	XMPP_ATTRIBUTE_ACTION,
	XMPP_ATTRIBUTE_SENDERS,
	XMPP_ATTRIBUTE_HOST,
	XMPP_ATTRIBUTE_PORT,
	XMPP_ATTRIBUTE_MECHANISM,
	XMPP_ATTRIBUTE_ENCODING,
	XMPP_ATTRIBUTE_TYPE,
	XMPP_ATTRIBUTE_SEQ,
	XMPP_ATTRIBUTE_BLOCK_SIZE,
	XMPP_ATTRIBUTE_OFFSET,
	XMPP_ATTRIBUTE_LENGTH,
};

// What the text of an element is.
enum xmpp_role {
	XMPP_ROLE_NONE,
	XMPP_ROLE_TEXT,   // chat, and no element belongs inside
	XMPP_ROLE_MARKUP, // chat with elements inside
	XMPP_ROLE_FIELD,  // kept until its end
	XMPP_ROLE_BLOCK,  // base64 of a stream in band
};

struct xmpp_party {
	uint8_t length;
	uint8_t bytes[CONTENT_PARTY_BYTES];
};

// Text of a message that was not reported yet.
struct xmpp_chat {
	uint64_t begins64, ends64;
	uint32_t length;
	uint8_t level;  // of the message that it belongs to
	bool told;      // a part was reported, and the message's end was not
	bool in_pieces; // markup lies between its bytes
	bool decoded;   // they are not as they were sent
	bool separated; // the next text is of another element: a line of its own
	uint8_t text[XMPP_TEXT_BYTES];
};

struct xmpp_file {
	uint64_t size;
	uint16_t length;
	bool cut;
	bool answered; // the other end sends it
	uint8_t name[CONTENT_NAME_BYTES];
};

// What is kept of a half while a stanza, or a stream's opening, goes on. A block of its own.
struct xmpp_work {
	struct xml_reader reader;
	uint64_t unit64; // where the stanza begins
	uint8_t kinds[XML_DEPTH], roles[XML_DEPTH];
	uint8_t messages; // that are open
	bool offers;      // what is said of a file is an offer
	bool answers;     // ... of an <iq/> that is a result
	bool fails;       // ... or an error, which has what it refuses in it
	bool jingle;
	bool in_file;
	bool field_cut; // it was longer than there is room
	uint16_t field_length;
	uint64_t id, session;           // hashes: the stanza's, and that of the session at hand
	struct xmpp_transfer *transfer; // at hand; NULL: none
	struct xmpp_party from[XMPP_LEVELS], to[XMPP_LEVELS];
	uint8_t field[XMPP_FIELD_BYTES];
	struct xmpp_file file;
	struct xmpp_chat chat;
};
static_assert(sizeof(struct xmpp_work) <= 8192, "a block of its size class");

struct xmpp_half {
	struct xmpp_work *work; // NULL: between stanzas
	uint64_t at64;          // of the next byte
	uint64_t noted;         // a bit for each note that was reported
	bool started;
	bool lost;     // a stanza is looked for
	bool was_lost; // end tags may belong to what was not read
	bool pending;  // a start tag is read, and there was no memory for what it means
	uint8_t first; // the first byte, where it is none of XML
	bool has_first;
	uint8_t n_seen; // of a tag that may begin a stanza
	uint8_t seen[XMPP_SEEN_BYTES];
	uint8_t n_held; // decoded bytes that the budget did not reach
	uint8_t held[XMPP_HELD_BYTES];
};

enum xmpp_mode {
	XMPP_NEW,
	XMPP_TALK,
	XMPP_BYTESTREAM,
};

struct xmpp_talk {
	struct xmpp_half halves[2];
	struct xmpp_party own; // who the client is
	bool bound;            // ... by the server's word
	bool opaque;           // what follows may be no XML
	uint8_t domain_length;
	uint8_t domain[XMPP_DOMAIN_BYTES]; // of the client's stream
	uint32_t files;
	struct xmpp_transfers transfers;
};

struct xmpp_state {
	uint8_t mode; // enum xmpp_mode
	bool over;
	union {
		struct xmpp_talk talk;
		struct bytestream bytestream;
	};
};
static_assert(sizeof(struct xmpp_state) <= 1024, "a connection that is idle costs little");

// A call.
struct xmpp_turn {
	struct xmpp_talk *state;
	struct xmpp_half *half;
	struct content_turn *turn;
	uint8_t side;
};

static inline bool xmpp_is_chat(unsigned role)
{
	return role == XMPP_ROLE_TEXT || role == XMPP_ROLE_MARKUP;
}

static inline struct content_text xmpp_party_text(const struct xmpp_party *party)
{
	return (struct content_text){party->bytes, party->length};
}

// Who sends the stanza at hand, as far as its stream says.
static inline struct content_text xmpp_sender(const struct xmpp_turn *to)
{
	struct content_text from = xmpp_party_text(&to->half->work->from[0]);

	return from.length || to->side == HALF_S2C ? from : xmpp_party_text(&to->state->own);
}

// Once for each half.
void xmpp_note(const struct xmpp_turn *to, enum content_note note, uint64_t at64);
// The beginning of a JID that is too long; who it is must fit, else that is noted.
void xmpp_party_set(const struct xmpp_turn *to, struct xmpp_party *party, struct content_text jid);

enum xmpp_kind xmpp_kind_of(struct content_text name);
static inline struct content_text xmpp_value(
	const struct xmpp_turn *to, enum xmpp_attribute attribute)
{
	return xml_value_of(&to->half->work->reader, attribute);
}
// Hash of the whole value; 0: there is none.
static inline uint64_t xmpp_value_hash(const struct xmpp_turn *to, enum xmpp_attribute attribute)
{
	const struct xml_value *value = &to->half->work->reader.values[attribute];

	return value->given ? value->hash | 1 : 0;
}

// stanza.c: what the tag means that was read last, and text. An end tag is that of the element at
// the reader's depth.
void xmpp_start(const struct xmpp_turn *to);
void xmpp_end(const struct xmpp_turn *to);
void xmpp_text(const struct xmpp_turn *to, const struct xml_token *token);

// chat.c. Text of the innermost message; the token's bytes have been taken.
void xmpp_chat_put(const struct xmpp_turn *to, const struct xml_token *token);
// Reports what is here of a message that goes on.
void xmpp_chat_flush(const struct xmpp_turn *to);
// The message has ended, or nothing more comes of it.
void xmpp_chat_finish(const struct xmpp_turn *to);

// offers.c: files that are offered, and where their bytes will go.
// False: there is no memory for what the start tag means that was read last.
bool xmpp_offers_room(const struct xmpp_turn *to);
// Whether the tag is of a transfer, that begins with it if it is not known.
bool xmpp_offers_begins(const struct xmpp_turn *to, enum xmpp_kind kind);
void xmpp_offers_start(const struct xmpp_turn *to, enum xmpp_kind kind);
void xmpp_offers_field(const struct xmpp_turn *to, enum xmpp_kind kind);
void xmpp_offers_end(const struct xmpp_turn *to, enum xmpp_kind kind);

// transfers.c. Functions that look for one return NULL where there is none.
enum xmpp_ends {
	XMPP_ENDS_CLOSED, // by the sender of the half at hand
	XMPP_ENDS_OVER,   // nothing more is read of it
};
struct xmpp_transfer *xmpp_transfer_of_sid(const struct xmpp_turn *to, uint64_t sid);
struct xmpp_transfer *xmpp_transfer_of_content(
	const struct xmpp_turn *to, uint64_t session, uint64_t content);
// Of several the one that began last.
struct xmpp_transfer *xmpp_transfer_of_session(const struct xmpp_turn *to, uint64_t session);
// That the stanza at hand answers an offer of.
struct xmpp_transfer *xmpp_transfer_answered(const struct xmpp_turn *to);
// False: there is no memory for another one.
bool xmpp_transfers_take_spare(const struct xmpp_turn *to);
// Another one, in the spare block; or in the place of one that begins again.
struct xmpp_transfer *xmpp_transfer_begin(const struct xmpp_turn *to);
struct xmpp_transfer *xmpp_transfer_begin_anew(
	const struct xmpp_turn *to, struct xmpp_transfer *transfer);
void xmpp_transfer_end(
	const struct xmpp_turn *to, const struct xmpp_transfer *transfer, enum xmpp_ends why);
void xmpp_transfers_over(const struct xmpp_turn *to);

// inband.c: what is sent in band. A start tag may lack memory (xmpp_offers_room).
void xmpp_inband_start(const struct xmpp_turn *to, enum xmpp_kind kind);
// How many of `length` bytes may be read without more being told than the budget has; 0: it is used
// up.
uint32_t xmpp_inband_may_read(const struct xmpp_turn *to, uint32_t length);
void xmpp_inband_put(const struct xmpp_turn *to, const struct xml_token *token);
// The end of a block.
void xmpp_inband_end(const struct xmpp_turn *to);
// Bytes of this half were lost.
void xmpp_inband_lose(const struct xmpp_turn *to);
// False: the budget is used up, and there is more.
bool xmpp_inband_flush(const struct xmpp_turn *to);

// identity.c: who the client is, as far as its stream says.
void xmpp_identity_stream(const struct xmpp_turn *to);
void xmpp_identity_stanza(const struct xmpp_turn *to);
// The text of <jid/> in a bind result, and of <auth mechanism='PLAIN'/>.
void xmpp_identity_bound(const struct xmpp_turn *to);
void xmpp_identity_plain(const struct xmpp_turn *to);

#endif
