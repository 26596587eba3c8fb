// SPDX-License-Identifier: BSD-3-Clause
#include "datagram_hello.h"
#include <assert.h>
#include <stddef.h>
#include "classify.h"
#include "greeting_read.h"
#include "tls_server.h"

static_assert(sizeof(struct datagram_hello) <= 2 * CLASSIFY_PREFIX_BYTES,
	"it lies where a stream flow has its prefixes");

#define DTLS_RECORD_BYTES    13 // RFC 6347 4.1: type, version, epoch, sequence number, length
#define DTLS_MESSAGE_BYTES   12 // RFC 6347 4.2.2
#define DTLS_HANDSHAKE       22
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

static bool is_dtls(struct text datagram)
{
	return datagram.length >= DTLS_RECORD_BYTES + DTLS_MESSAGE_BYTES &&
	       datagram.at[0] == DTLS_HANDSHAKE &&
	       (datagram.at[1] == 0xfe || octets_be16(datagram.at + 1) == 0x0100) &&
	       datagram.at[DTLS_RECORD_BYTES] == CLIENT_HELLO;
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
	return datagram.length >= 7 && (datagram.at[0] & 0xc0) == 0xc0 &&
	       quic_version_known(octets_be32(datagram.at + 1));
}

bool datagram_hello_may_be(struct text datagram)
{
	return is_dtls(datagram) || is_clear_google(datagram) || is_quic(datagram);
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

// A fragment of a handshake message. Only one that begins the connection is of interest, and of
// several the last: behind a cookie the client repeats it.
static void take_fragment(struct datagram_hello *hello, struct text fragment)
{
	uint32_t length = text_be24(fragment.at + 1), offset = text_be24(fragment.at + 6);
	uint32_t part = text_be24(fragment.at + 9);
	uint16_t message = octets_be16(fragment.at + 4);

	if (fragment.at[0] != CLIENT_HELLO || part > fragment.length - DTLS_MESSAGE_BYTES ||
		offset + part > length)
		return;
	if (hello->message_known && hello->message != message)
		hello_parts_clear(&hello->parts);
	hello->message = message;
	hello->message_known = true;
	hello_parts_add(&hello->parts, 0, fragment.at, MESSAGE_HEADER_BYTES);
	hello_parts_add(&hello->parts, MESSAGE_HEADER_BYTES + offset,
		fragment.at + DTLS_MESSAGE_BYTES, part);
}

static enum tls_hello_seen feed_dtls(
	struct datagram_hello *hello, struct text datagram, struct datagram_asks *asks)
{
	while (is_dtls(datagram)) {
		uint32_t length = octets_be16(datagram.at + 11);
		struct text record = text_from(datagram, DTLS_RECORD_BYTES);

		if (length < DTLS_MESSAGE_BYTES || length > record.length ||
			octets_be16(datagram.at + 3)) // encrypted, but for epoch 0
			break;
		take_fragment(hello, (struct text){record.at, length});
		datagram = text_from(record, length);
	}
	return read_tls(parts_of(hello), TLS_OVER_DATAGRAMS, asks);
}

// RFC 9000 17.2.3: what a client sends early; its hello was sent before, and overtaken or lost.
static bool is_zero_rtt(struct text datagram)
{
	uint32_t version = octets_be32(datagram.at + 1);

	return !quic_is_google(version) && quic_type_of(datagram.at[0], version) == QUIC_ZERO_RTT;
}

static enum tls_hello_seen feed_quic(struct quic_crypto *crypto, struct datagram_hello *hello,
	struct text datagram, struct datagram_asks *asks)
{
	enum tls_hello_seen seen;

	quic_initial_feed(crypto, &hello->quic, &hello->parts, datagram);
	if (!hello->quic.version)
		return is_zero_rtt(datagram) ? TLS_HELLO_MORE : TLS_HELLO_NONE;
	asks->version = hello->quic.version;
	seen = hello->quic.version == QUIC_VERSION_Q050
		       ? read_chlo(parts_of(hello), asks)
		       : read_tls(parts_of(hello), TLS_OVER_QUIC, asks);
	// what is missing will not be opened any more
	return seen == TLS_HELLO_MORE && hello->quic.n_tries >= QUIC_TRIES_MAX ? TLS_HELLO_NONE
									       : seen;
}

enum tls_hello_seen datagram_hello_feed(struct quic_crypto *crypto, struct datagram_hello *hello,
	struct text datagram, struct datagram_asks *asks)
{
	memset(asks, 0, sizeof(*asks));
	if (is_dtls(datagram))
		return feed_dtls(hello, datagram, asks);
	if (is_clear_google(datagram))
		return read_clear_google(datagram, asks);
	return is_quic(datagram) ? feed_quic(crypto, hello, datagram, asks) : TLS_HELLO_NONE;
}

// The first message of a flight is the hello; what its client asks for once more (a request for a
// cookie) is none.
bool greeting_of_dtls_server(struct text datagram, struct greeting *greeting)
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
	greeting_begin(greeting, GREETING_TLS, true);
	greeting_put_server(greeting, &hello);
	return true;
}
