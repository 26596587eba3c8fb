// SPDX-License-Identifier: BSD-3-Clause
// The packing of fields, and the reading of what they hold. Where in a flow, and when: see
// metadata_look.c.
#include "classify/handshake/metadata_read.h"
#include <assert.h>
#include "classify/classify.h"
#include "classify/handshake/datagram_hello.h"
#include "classify/digest.h"
#include "classify/handshake/http_head.h"
#include "classify/handshake/tls_record.h"
#include "classify/handshake/tls_server.h"

#define NAME_MAX        255
#define OFFERED_MAX     256
#define JA3_TEXT_MAX    512
#define DN_MAX          256
#define URL_MAX         512
#define USER_AGENT_MAX  448
#define WORD_MAX        32
#define CONTENT_MAX     128
#define JA4_BYTES       36
#define JA4_HASH_DIGITS 12

static_assert(
	9 * HANDSHAKE_META_FIELD_BYTES + NAME_MAX + OFFERED_MAX + JA3_TEXT_MAX + JA4_BYTES + 32 <=
		HANDSHAKE_META_BYTES,
	"a client's hello fits");
static_assert(6 * HANDSHAKE_META_FIELD_BYTES + NAME_MAX + URL_MAX + USER_AGENT_MAX + 2 * WORD_MAX <=
		      HANDSHAKE_META_BYTES,
	"a request fits");

enum message {
	SERVER_HELLO = 2,
	CERTIFICATE = 11,
	CERTIFICATE_STATUS = 22, // may come before, if not by the RFC
	SUPPLEMENTAL = 23,       // RFC 4680
};

void handshake_meta_put(struct handshake_meta *meta, enum handshake_meta_field field,
	struct text content, uint32_t max)
{
	uint32_t length = content.length < max ? content.length : max;
	uint8_t *at = meta->bytes + meta->length;

	if (!length || sizeof(meta->bytes) - meta->length < HANDSHAKE_META_FIELD_BYTES + length)
		return;
	at[0] = (uint8_t)field;
	at[1] = (uint8_t)length;
	at[2] = (uint8_t)(length >> 8);
	memcpy(at + HANDSHAKE_META_FIELD_BYTES, content.at, length);
	meta->length = (uint16_t)(meta->length + HANDSHAKE_META_FIELD_BYTES + length);
}

static void put_number(
	struct handshake_meta *meta, enum handshake_meta_field field, uint16_t number)
{
	const uint8_t bytes[2] = {(uint8_t)(number >> 8), (uint8_t)number};

	handshake_meta_put(meta, field, (struct text){bytes, sizeof(bytes)}, sizeof(bytes));
}

static void put_text(struct handshake_meta *meta, enum handshake_meta_field field, const char *text,
	uint32_t length)
{
	handshake_meta_put(meta, field, (struct text){(const uint8_t *)text, length}, length);
}

bool handshake_meta_has_name(const struct handshake_meta *meta)
{
	const uint8_t *at = meta->bytes;
	uint32_t left = meta->length;
	struct handshake_meta_part part;

	while (handshake_meta_next(&at, &left, &part))
		if (part.field == HANDSHAKE_META_NAME)
			return true;
	return false;
}

// Whole names of the list, as many as fit.
static void put_offered(struct handshake_meta *meta, struct text alpn)
{
	uint32_t length = 0;

	while (length < alpn.length) {
		uint32_t next = length + 1 + alpn.at[length];

		if (next > alpn.length || next > OFFERED_MAX)
			break;
		length = next;
	}
	alpn.length = length;
	handshake_meta_put(meta, HANDSHAKE_META_OFFERED, alpn, OFFERED_MAX);
}

static void put_ja3(struct handshake_meta *meta, const struct tls_hello *hello)
{
	char text[TLS_JA3_TEXT_BYTES];
	uint8_t digest[DIGEST_MD5_BYTES];
	uint32_t length = tls_hello_ja3_text(hello, text);

	if (!length)
		return;
	digest_md5(text, length, digest);
	handshake_meta_put(
		meta, HANDSHAKE_META_JA3, (struct text){digest, sizeof(digest)}, sizeof(digest));
	if (length <= JA3_TEXT_MAX)
		put_text(meta, HANDSHAKE_META_JA3_TEXT, text, length);
}

// Twelve digits of the text's SHA-256; zeros of an empty one.
static void put_hash(char *to, const char *text, uint32_t length)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[DIGEST_SHA256_BYTES] = {0};

	if (length)
		digest_sha256(text, length, digest);
	for (unsigned i = 0; i < JA4_HASH_DIGITS; i++)
		to[i] = digits[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
}

static void put_ja4(struct handshake_meta *meta, const struct tls_hello *hello)
{
	char print[JA4_BYTES + 1], text[TLS_JA4_TEXT_BYTES];

	if (!tls_hello_ja4_a(hello, print))
		return;
	print[TLS_JA4_A_BYTES] = '_';
	put_hash(print + TLS_JA4_A_BYTES + 1, text, tls_hello_ja4_b(hello, text));
	print[TLS_JA4_A_BYTES + 1 + JA4_HASH_DIGITS] = '_';
	put_hash(print + TLS_JA4_A_BYTES + 2 + JA4_HASH_DIGITS, text, tls_hello_ja4_c(hello, text));
	put_text(meta, HANDSHAKE_META_JA4, print, JA4_BYTES);
}

static_assert(TLS_JA4_A_BYTES + 2 * (1 + JA4_HASH_DIGITS) == JA4_BYTES, "three parts");

static void put_hello(struct handshake_meta *meta, const struct tls_hello *hello, bool whole)
{
	handshake_meta_put(meta, HANDSHAKE_META_NAME, hello->name, NAME_MAX);
	put_offered(meta, hello->alpn);
	if (!whole)
		return; // lists that are to come would change the rest
	put_number(meta, HANDSHAKE_META_HIGHEST, tls_hello_version(hello));
	put_ja3(meta, hello);
	put_ja4(meta, hello);
}

static enum handshake_meta_seen seen_of(enum tls_hello_seen seen, bool goes_on)
{
	if (seen == TLS_HELLO_WHOLE)
		return HANDSHAKE_META_SEEN_WHOLE;
	return seen == TLS_HELLO_MORE && goes_on ? HANDSHAKE_META_SEEN_MORE
						 : HANDSHAKE_META_SEEN_NONE;
}

static enum handshake_meta_seen tls_client(struct text half, struct handshake_meta *meta)
{
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	struct text message;
	struct tls_hello hello;

	handshake_meta_begin(meta, HANDSHAKE_META_TLS, false);
	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	bool goes_on = tls_hello_join(half, true, bytes, &message);
	enum handshake_meta_seen seen =
		seen_of(tls_hello_read(message, TLS_OVER_TCP, &hello), goes_on);

	if (seen != HANDSHAKE_META_SEEN_NONE)
		put_hello(meta, &hello, seen == HANDSHAKE_META_SEEN_WHOLE);
	return seen;
}

static enum handshake_meta_seen http_client(struct text half, struct handshake_meta *meta)
{
	struct http_request request;
	enum http_seen seen = http_request_read(half, &request);

	handshake_meta_begin(meta, HANDSHAKE_META_HTTP, false);
	if (seen == HTTP_NONE)
		return HANDSHAKE_META_SEEN_NONE;
	handshake_meta_put(meta, HANDSHAKE_META_NAME, request.host, NAME_MAX);
	handshake_meta_put(meta, HANDSHAKE_META_METHOD, request.method, WORD_MAX);
	handshake_meta_put(meta, HANDSHAKE_META_URL, request.target, URL_MAX);
	handshake_meta_put(meta, HANDSHAKE_META_PROTOCOL, request.protocol, WORD_MAX);
	handshake_meta_put(meta, HANDSHAKE_META_USER_AGENT, request.user_agent, USER_AGENT_MAX);
	return seen == HTTP_WHOLE ? HANDSHAKE_META_SEEN_WHOLE : HANDSHAKE_META_SEEN_MORE;
}

enum handshake_meta_seen handshake_meta_of_client(struct text half, struct handshake_meta *meta)
{
	if (!half.length)
		return HANDSHAKE_META_SEEN_MORE;
	return tls_may_begin(half.at[0]) ? tls_client(half, meta) : http_client(half, meta);
}

void handshake_meta_put_server(struct handshake_meta *meta, const struct tls_server_hello *hello)
{
	put_number(meta, HANDSHAKE_META_VERSION, hello->version);
	handshake_meta_put(meta, HANDSHAKE_META_SELECTED, hello->protocol, NAME_MAX);
}

// Version 1.3 encrypts what is behind its hello; before it, the certificate is in clear.
static enum handshake_meta_seen tls_server(struct text half, struct handshake_meta *meta)
{
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	struct text rest;
	struct tls_server_hello hello = {0};

	handshake_meta_begin(meta, HANDSHAKE_META_TLS, true);
	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	enum handshake_meta_seen open = tls_hello_join(half, false, bytes, &rest)
						? HANDSHAKE_META_SEEN_MORE
						: HANDSHAKE_META_SEEN_WHOLE;

	while (rest.length >= 4) {
		uint8_t type = rest.at[0];
		uint32_t length = text_be24(rest.at + 1);

		rest = text_from(rest, 4);
		struct text body = {rest.at, length < rest.length ? length : rest.length};

		if (type == SERVER_HELLO) {
			if (length > rest.length)
				return open;
			if (!tls_server_hello_read(body, &hello))
				return HANDSHAKE_META_SEEN_NONE;
			handshake_meta_put_server(meta, &hello);
			if (hello.version >= 0x0304)
				return HANDSHAKE_META_SEEN_WHOLE;
		} else if (type != CERTIFICATE_STATUS && type != SUPPLEMENTAL) {
			// a hello comes first; behind the certificate nothing is reported
			return hello.version ? HANDSHAKE_META_SEEN_WHOLE : HANDSHAKE_META_SEEN_NONE;
		}
		if (length > rest.length)
			return open;
		rest = text_from(rest, length);
	}
	return open;
}

static enum handshake_meta_seen http_server(struct text half, struct handshake_meta *meta)
{
	struct http_response response;
	enum http_seen seen = http_response_read(half, &response);

	handshake_meta_begin(meta, HANDSHAKE_META_HTTP, true);
	if (seen == HTTP_NONE)
		return HANDSHAKE_META_SEEN_NONE;
	if (response.status)
		put_number(meta, HANDSHAKE_META_STATUS, response.status);
	handshake_meta_put(meta, HANDSHAKE_META_CONTENT_TYPE, response.content_type, CONTENT_MAX);
	return seen == HTTP_WHOLE ? HANDSHAKE_META_SEEN_WHOLE : HANDSHAKE_META_SEEN_MORE;
}

enum handshake_meta_seen handshake_meta_of_server(struct text half, struct handshake_meta *meta)
{
	if (!half.length)
		return HANDSHAKE_META_SEEN_MORE;
	return half.at[0] == TLS_HANDSHAKE ? tls_server(half, meta) : http_server(half, meta);
}

void handshake_meta_of_datagram(
	const struct datagram_asks *asks, bool whole, struct handshake_meta *meta)
{
	bool dtls = asks->tls.carrier == TLS_OVER_DATAGRAMS;
	const uint8_t version[4] = {(uint8_t)(asks->version >> 24), (uint8_t)(asks->version >> 16),
		(uint8_t)(asks->version >> 8), (uint8_t)asks->version};

	handshake_meta_begin(meta, dtls ? HANDSHAKE_META_TLS : HANDSHAKE_META_QUIC, false);
	if (asks->version)
		handshake_meta_put(meta, HANDSHAKE_META_QUIC_VERSION,
			(struct text){version, sizeof(version)}, sizeof(version));
	if (asks->tls.carrier)
		put_hello(meta, &asks->tls, whole);
	else
		handshake_meta_put(meta, HANDSHAKE_META_NAME, asks->name, NAME_MAX);
}
