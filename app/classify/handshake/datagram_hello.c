// SPDX-License-Identifier: BSD-3-Clause
// Reads the client's hello over UDP, as QUIC, DTLS and Google's QUIC carry it.
#include "classify/handshake/datagram_hello.h"
#include <assert.h>
#include <stddef.h>
#include "classify/classify.h"
#include "classify/handshake/metadata_read.h"
#include "classify/handshake/tls_server.h"

static_assert(sizeof(struct datagram_hello) <= 2 * CLASSIFY_PREFIX_BYTES,
	"it lies where a stream flow has its prefixes");

#define DTLS_RECORD_BYTES    13 // RFC 6347 4.1: type, version, epoch, sequence number, length
#define DTLS_MESSAGE_BYTES   12 // RFC 6347 4.2.2
#define DTLS_HELLO_BYTES     25 // both
#define DTLS_CHANGE_CIPHER   20
#define DTLS_HANDSHAKE       22
#define DTLS_REFUSED_MAX     16 // then the newest message is that of the flow
#define CLIENT_HELLO         1
#define SERVER_HELLO         2
#define MESSAGE_HEADER_BYTES 4  // of TLS: type and length
#define CHLO_AT_MOST         80 // no public header of Google's with its first frame is longer
#define CHLO_BYTES           8  // "CHLO", number of tags, two of nothing
#define CHLO_TAG_BYTES       8  // tag, end of its value
#define CHLO_TAGS_MAX        128

void datagram_hello_clear(struct datagram_hello *hello)
{
	memset(hello, 0, offsetof(struct datagram_hello, parts));
	hello_parts_clear(&hello->parts);
}

// The next record that is not encrypted, of whatever version: GnuTLS 3.7 takes any, OpenSSL 3.0
// those that begin with 0xfe. False: none.
static bool take_record(struct text *datagram, uint8_t *type, struct text *body)
{
	while (datagram->length >= DTLS_RECORD_BYTES) {
		const uint8_t *at = datagram->at;
		uint32_t length = octets_be16(at + 11);

		if (length > datagram->length - DTLS_RECORD_BYTES)
			return false;
		*datagram = text_from(*datagram, DTLS_RECORD_BYTES);
		*type = at[0];
		*body = (struct text){datagram->at, length};
		*datagram = text_from(*datagram, length);
		if (!octets_be16(at + 3)) // epoch
			return true;
	}
	return false;
}

// The next fragment of a handshake message. RFC 6347 4.2.2.
static bool take_fragment(struct text *record, struct text *fragment)
{
	if (record->length < DTLS_MESSAGE_BYTES)
		return false;
	uint32_t length = text_be24(record->at + 1), offset = text_be24(record->at + 6);
	uint32_t part = text_be24(record->at + 9);

	if (part > record->length - DTLS_MESSAGE_BYTES || offset + part > length)
		return false;
	*fragment = (struct text){record->at, DTLS_MESSAGE_BYTES + part};
	*record = text_from(*record, fragment->length);
	return true;
}

// The next fragment of a hello: behind whatever a server passes over.
static bool take_hello(
	struct text *datagram, struct text *record, uint8_t message, struct text *fragment)
{
	uint8_t type;

	for (;;) {
		while (take_fragment(record, fragment))
			if (fragment->at[0] == message)
				return true;
		do
			if (!take_record(datagram, &type, record))
				return false;
		while (type != DTLS_HANDSHAKE);
	}
}

static bool has_dtls(struct text datagram, uint8_t message)
{
	struct text record = {NULL, 0}, fragment;

	return datagram.length >= DTLS_RECORD_BYTES + DTLS_MESSAGE_BYTES &&
	       datagram.at[0] >= DTLS_CHANGE_CIPHER && datagram.at[0] <= DTLS_HANDSHAKE &&
	       !octets_be16(datagram.at + 3) && take_hello(&datagram, &record, message, &fragment);
}

// Up to Q043: flags with the version's bit, an id of eight bytes, the version. Q046: a long header.
static const uint8_t *google_version(struct text datagram)
{
	return datagram.at + ((datagram.at[0] & 0x80) ? 1 : 9);
}

static bool is_clear_google(struct text datagram)
{
	if (datagram.length < 13)
		return false;
	const uint8_t *version = google_version(datagram);

	return version[0] == 'Q' && version[1] == '0' && octets_be32(version) < QUIC_VERSION_Q050;
}

static bool is_quic(struct text datagram)
{
	return datagram.length >= 7 && datagram.at[0] & 0x80 &&
	       quic_version_known(octets_be32(datagram.at + 1));
}

bool datagram_hello_may_be(struct text datagram)
{
	return is_quic(datagram) || is_clear_google(datagram) || has_dtls(datagram, CLIENT_HELLO) ||
	       has_dtls(datagram, SERVER_HELLO);
}

static struct text parts_of(const struct datagram_hello *hello)
{
	return (struct text){hello->parts.bytes, hello_parts_length(&hello->parts)};
}

static enum tls_hello_seen read_tls(
	struct text message, enum tls_carrier carrier, struct datagram_asks *asks)
{
	enum tls_hello_seen seen = tls_hello_read(message, carrier, &asks->tls);

	if (seen == TLS_HELLO_NONE)
		memset(&asks->tls, 0, sizeof(asks->tls));
	asks->name = asks->tls.name;
	return seen;
}

// "CHLO", then tags in rising order, each with the end of its value behind the table (QUIC Crypto,
// Langley and Chang: "Handshake messages"). SNI is "SNI\0".
static enum tls_hello_seen read_chlo(struct text message, struct datagram_asks *asks)
{
	if (message.length < CHLO_BYTES || memcmp(message.at, "CHLO", 4))
		return TLS_HELLO_NONE;
	uint32_t n = octets_le16(message.at + 4), begin = 0;

	if (n > CHLO_TAGS_MAX)
		return TLS_HELLO_NONE;
	if (message.length < CHLO_BYTES + n * CHLO_TAG_BYTES)
		return TLS_HELLO_MORE;
	struct text values = text_from(message, CHLO_BYTES + n * CHLO_TAG_BYTES);

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *tag = message.at + CHLO_BYTES + i * CHLO_TAG_BYTES;
		uint32_t end = octets_le32(tag + 4);

		if (end < begin)
			return TLS_HELLO_NONE;
		if (!memcmp(tag, "SNI", 4)) {
			if (end > values.length)
				return TLS_HELLO_MORE;
			asks->name = (struct text){values.at + begin, end - begin};
			return TLS_HELLO_WHOLE;
		}
		begin = end;
	}
	return TLS_HELLO_WHOLE;
}

// The place of the CHLO depends on the version and on the flags before it (lengths of ids and
// numbers, a nonce, a hash); its own word is found sooner.
static enum tls_hello_seen read_clear_google(struct text datagram, struct datagram_asks *asks)
{
	uint32_t room = datagram.length < CHLO_AT_MOST ? datagram.length : CHLO_AT_MOST;
	const uint8_t *at = memmem(datagram.at, room, "CHLO", 4);

	if (!at)
		return TLS_HELLO_NONE;
	asks->version = octets_be32(google_version(datagram));
	enum tls_hello_seen seen =
		read_chlo(text_from(datagram, (uint32_t)(at - datagram.at)), asks);

	return seen == TLS_HELLO_MORE ? TLS_HELLO_NONE : seen; // parts in clear are not kept
}

static bool is_whole(const struct datagram_hello *hello)
{
	const struct hello_parts *parts = &hello->parts;
	uint32_t length = hello_parts_length(parts);

	return length >= MESSAGE_HEADER_BYTES &&
	       length - MESSAGE_HEADER_BYTES >= text_be24(parts->bytes + 1);
}

// It says another thing than the message at hand. `alike`: of the same number and length, so that
// the server may put it together with what left of that one; else another hello has begun.
static bool is_out_of_place(
	const struct datagram_hello *hello, bool alike, const struct text *fragment)
{
	bool alone = text_be24(fragment->at + 9) == text_be24(fragment->at + 1);

	if (alike)
		return !alone || !is_whole(hello);
	return !is_whole(hello) && hello->n_refused < DTLS_REFUSED_MAX;
}

// Only a hello that begins the connection is of interest, and of several the last: behind a cookie
// the client repeats it. False: it is not that of which parts are here, and that one is not whole;
// or says another thing in the same place.
static bool put_fragment(struct datagram_hello *hello, struct text fragment)
{
	uint32_t offset = text_be24(fragment.at + 6), part = fragment.length - DTLS_MESSAGE_BYTES;
	const uint8_t *body = fragment.at + DTLS_MESSAGE_BYTES;
	uint16_t message = octets_be16(fragment.at + 4);
	bool alike = hello->message_known && hello->message == message &&
		     hello_parts_agree(&hello->parts, 0, fragment.at, MESSAGE_HEADER_BYTES);
	bool same = alike &&
		    hello_parts_agree(&hello->parts, MESSAGE_HEADER_BYTES + offset, body, part);

	if (!same && hello->message_known && is_out_of_place(hello, alike, &fragment)) {
		if (hello->n_refused < DTLS_REFUSED_MAX)
			hello->n_refused++;
		return false;
	}
	if (!same) {
		hello_parts_clear(&hello->parts);
		hello->named = false;
		hello->n_refused = 0;
	}
	hello->message = message;
	hello->message_known = true;
	hello_parts_add(&hello->parts, 0, fragment.at, MESSAGE_HEADER_BYTES);
	hello_parts_add(&hello->parts, MESSAGE_HEADER_BYTES + offset, body, part);
	return true;
}

static void note_name(
	struct datagram_hello *hello, enum tls_hello_seen seen, struct datagram_asks *asks)
{
	asks->reported = asks->name.length && !hello->named;
	asks->settled = asks->reported || (seen == TLS_HELLO_WHOLE && !hello->named);
	hello->named |= asks->reported;
}

static void answer_dtls(
	const struct datagram_hello *other, struct text datagram, struct datagram_asks *asks)
{
	bool answer = other->message_known && has_dtls(datagram, SERVER_HELLO);

	asks->answered = answer && (is_whole(other) || other->named);
	asks->refused = answer && !asks->answered;
}

static enum tls_hello_seen feed_dtls(struct datagram_hello *hello,
	const struct datagram_hello *other, struct text datagram, struct datagram_asks *asks)
{
	struct text record = {NULL, 0}, fragment, rest = datagram;

	if (other)
		answer_dtls(other, datagram, asks);
	while (take_hello(&rest, &record, CLIENT_HELLO, &fragment)) {
		if (!put_fragment(hello, fragment)) {
			asks->refused = true;
			return TLS_HELLO_NONE;
		}
		asks->taken = true;
	}
	if (!asks->taken)
		return TLS_HELLO_NONE;
	enum tls_hello_seen seen = read_tls(parts_of(hello), TLS_OVER_DATAGRAMS, asks);

	note_name(hello, seen, asks);
	return seen;
}

// RFC 9000 17.2.3: what a client sends early; its hello was sent before, and overtaken or lost.
static bool is_zero_rtt(struct text datagram)
{
	uint32_t version = octets_be32(datagram.at + 1);

	return !quic_is_google(version) && quic_type_of(datagram.at[0], version) == QUIC_ZERO_RTT;
}

// True: there is nothing else in the datagram.
static bool answer_quic(struct quic_crypto *crypto, struct datagram_hello *other,
	struct text datagram, struct datagram_asks *asks)
{
	enum quic_answer answer =
		quic_initial_answer(crypto, &other->quic, &other->parts, datagram);

	if (answer == QUIC_ASKED_AGAIN)
		other->named = false;
	asks->answered = answer == QUIC_ANSWERED || (answer == QUIC_ANSWER_REFUSED && other->named);
	asks->refused = answer == QUIC_ANSWER_REFUSED && !other->named;
	asks->serves = other->quic.n_opened;
	return asks->serves && other->quic.n_opened == other->quic.n_tries;
}

static enum tls_hello_seen feed_quic(struct quic_crypto *crypto, struct datagram_hello *hello,
	struct datagram_hello *other, bool serves, struct text datagram, struct datagram_asks *asks)
{
	enum tls_hello_seen seen;

	if (other && other->quic.version && answer_quic(crypto, other, datagram, asks))
		return TLS_HELLO_NONE;
	enum quic_seen fed = quic_initial_feed(
		crypto, &hello->quic, &hello->parts, serves || asks->serves, datagram);

	asks->taken = fed == QUIC_TAKEN || fed == QUIC_BEGUN;
	asks->refused |= fed == QUIC_REFUSED;
	if (fed == QUIC_NOTHING && !hello->quic.version && is_zero_rtt(datagram))
		return TLS_HELLO_MORE;
	if (!asks->taken)
		return TLS_HELLO_NONE;
	if (fed == QUIC_BEGUN)
		hello->named = false;
	asks->version = hello->quic.version;
	seen = hello->quic.version == QUIC_VERSION_Q050
		       ? read_chlo(parts_of(hello), asks)
		       : read_tls(parts_of(hello), TLS_OVER_QUIC, asks);
	hello->quic.whole = seen == TLS_HELLO_WHOLE;
	note_name(hello, seen, asks);
	return seen;
}

enum tls_hello_seen datagram_hello_feed(struct quic_crypto *crypto, struct datagram_hello *hello,
	struct datagram_hello *other, bool serves, struct text datagram, struct datagram_asks *asks)
{
	enum tls_hello_seen seen = TLS_HELLO_NONE;

	memset(asks, 0, sizeof(*asks));
	hello->quic.n_tries = hello->quic.n_opened = 0;
	if (other)
		other->quic.n_tries = other->quic.n_opened = 0;
	if (is_quic(datagram))
		return feed_quic(crypto, hello, other, serves, datagram, asks);
	if (is_clear_google(datagram)) {
		seen = read_clear_google(datagram, asks);
		asks->taken = seen != TLS_HELLO_NONE;
		asks->reported = asks->settled = asks->name.length;
		return seen;
	}
	return feed_dtls(hello, other, datagram, asks);
}

// The first message of a flight is the hello; what its client asks for once more (a request for a
// cookie) is none.
bool handshake_meta_of_dtls_server(struct text datagram, struct handshake_meta *meta)
{
	struct tls_server_hello hello;

	if (datagram.length < DTLS_RECORD_BYTES + DTLS_MESSAGE_BYTES ||
		datagram.at[0] != DTLS_HANDSHAKE || datagram.at[1] != 0xfe ||
		datagram.at[DTLS_RECORD_BYTES] != SERVER_HELLO)
		return false;
	struct text body = text_from(datagram, DTLS_RECORD_BYTES + DTLS_MESSAGE_BYTES);
	const uint8_t *message = datagram.at + DTLS_RECORD_BYTES;
	uint32_t length = text_be24(message + 1);

	if (text_be24(message + 6) || text_be24(message + 9) != length || length > body.length)
		return false; // in parts
	if (!tls_server_hello_read((struct text){body.at, length}, &hello))
		return false;
	handshake_meta_begin(meta, HANDSHAKE_META_TLS, true);
	handshake_meta_put_server(meta, &hello);
	return true;
}

static uint32_t mix_of(const uint8_t *at, unsigned length)
{
	uint32_t mix = 0x811c9dc5; // FNV-1a

	for (unsigned i = 0; i < length; i++)
		mix = (mix ^ at[i]) * 0x01000193;
	return mix | 1;
}

static bool is_dtls_hello(struct text datagram)
{
	const uint8_t *at = datagram.at;

	return datagram.length >= DTLS_HELLO_BYTES && at[0] == DTLS_HANDSHAKE && at[1] == 0xfe &&
	       !at[3] && !at[4] && at[13] == CLIENT_HELLO;
}

// RFC 8999 5.1; RFC 6347 4.1 and 4.2.2: a record of epoch 0 with a fragment of a ClientHello.
uint32_t datagram_hello_connection(struct text datagram, uint32_t *random)
{
	const uint8_t *at = datagram.at;

	*random = 0;
	if (is_dtls_hello(datagram)) {
		if (datagram.length >= DATAGRAM_HELLO_TELLS && !text_be24(at + 19) &&
			text_be24(at + 22) >= DATAGRAM_HELLO_TELLS - DTLS_HELLO_BYTES)
			*random = mix_of(at + DTLS_HELLO_BYTES + 2, 32);
		return 1u << 31 | text_be24(at + 14);
	}
	if (!is_quic(datagram) || at[5] > QUIC_CID_MAX || datagram.length < 6u + at[5])
		return 0;
	return mix_of(at + 6, at[5]);
}

bool datagram_hello_is_dtls_alone(struct text datagram)
{
	return is_dtls_hello(datagram) &&
	       datagram.length == DTLS_HELLO_BYTES + text_be24(datagram.at + 22);
}
