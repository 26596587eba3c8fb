// SPDX-License-Identifier: BSD-3-Clause
// The packing of fields, and the reading of what they hold. Where in a flow, and when: see
// greeting_look.c.
#include "classify/handshake/greeting_read.h"
#include <assert.h>
#include "classify/classify.h"
#include "classify/handshake/datagram_hello.h"
#include "classify/digest.h"
#include "classify/handshake/http_head.h"
#include "classify/handshake/tls_certificate.h"
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

static_assert(9 * GREETING_FIELD_BYTES + NAME_MAX + OFFERED_MAX + JA3_TEXT_MAX + JA4_BYTES + 32 <=
		      GREETING_BYTES,
	"a client's hello fits");
static_assert(6 * GREETING_FIELD_BYTES + NAME_MAX + URL_MAX + USER_AGENT_MAX + 2 * WORD_MAX <=
		      GREETING_BYTES,
	"a request fits");

enum message {
	SERVER_HELLO = 2,
	CERTIFICATE = 11,
	CERTIFICATE_STATUS = 22, // may come before, if not by the RFC
	SUPPLEMENTAL = 23,       // RFC 4680
};

void greeting_put(
	struct greeting *greeting, enum greeting_field field, struct text content, uint32_t max)
{
	uint32_t length = content.length < max ? content.length : max;
	uint8_t *at = greeting->bytes + greeting->length;

	if (!length || sizeof(greeting->bytes) - greeting->length < GREETING_FIELD_BYTES + length)
		return;
	at[0] = (uint8_t)field;
	at[1] = (uint8_t)length;
	at[2] = (uint8_t)(length >> 8);
	memcpy(at + GREETING_FIELD_BYTES, content.at, length);
	greeting->length = (uint16_t)(greeting->length + GREETING_FIELD_BYTES + length);
}

static void put_number(struct greeting *greeting, enum greeting_field field, uint16_t number)
{
	const uint8_t bytes[2] = {(uint8_t)(number >> 8), (uint8_t)number};

	greeting_put(greeting, field, (struct text){bytes, sizeof(bytes)}, sizeof(bytes));
}

static void put_text(
	struct greeting *greeting, enum greeting_field field, const char *text, uint32_t length)
{
	greeting_put(greeting, field, (struct text){(const uint8_t *)text, length}, length);
}

bool greeting_has_name(const struct greeting *greeting)
{
	const uint8_t *at = greeting->bytes;
	uint32_t left = greeting->length;
	struct greeting_part part;

	while (greeting_take(&at, &left, &part))
		if (part.field == GREETING_NAME)
			return true;
	return false;
}

// Whole names of the list, as many as fit.
static void put_offered(struct greeting *greeting, struct text alpn)
{
	uint32_t length = 0;

	while (length < alpn.length) {
		uint32_t next = length + 1 + alpn.at[length];

		if (next > alpn.length || next > OFFERED_MAX)
			break;
		length = next;
	}
	alpn.length = length;
	greeting_put(greeting, GREETING_OFFERED, alpn, OFFERED_MAX);
}

static void put_ja3(struct greeting *greeting, const struct tls_hello *hello)
{
	char text[TLS_JA3_TEXT_BYTES];
	uint8_t digest[DIGEST_MD5_BYTES];
	uint32_t length = tls_hello_ja3_text(hello, text);

	if (!length)
		return;
	digest_md5(text, length, digest);
	greeting_put(greeting, GREETING_JA3, (struct text){digest, sizeof(digest)}, sizeof(digest));
	if (length <= JA3_TEXT_MAX)
		put_text(greeting, GREETING_JA3_TEXT, text, length);
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

static void put_ja4(struct greeting *greeting, const struct tls_hello *hello)
{
	char print[JA4_BYTES + 1], text[TLS_JA4_TEXT_BYTES];

	if (!tls_hello_ja4_a(hello, print))
		return;
	print[TLS_JA4_A_BYTES] = '_';
	put_hash(print + TLS_JA4_A_BYTES + 1, text, tls_hello_ja4_b(hello, text));
	print[TLS_JA4_A_BYTES + 1 + JA4_HASH_DIGITS] = '_';
	put_hash(print + TLS_JA4_A_BYTES + 2 + JA4_HASH_DIGITS, text, tls_hello_ja4_c(hello, text));
	put_text(greeting, GREETING_JA4, print, JA4_BYTES);
}

static_assert(TLS_JA4_A_BYTES + 2 * (1 + JA4_HASH_DIGITS) == JA4_BYTES, "three parts");

static void put_hello(struct greeting *greeting, const struct tls_hello *hello, bool whole)
{
	greeting_put(greeting, GREETING_NAME, hello->name, NAME_MAX);
	put_offered(greeting, hello->alpn);
	if (!whole)
		return; // lists that are to come would change the rest
	put_number(greeting, GREETING_HIGHEST, tls_hello_version(hello));
	put_ja3(greeting, hello);
	put_ja4(greeting, hello);
}

static enum greeting_seen seen_of(enum tls_hello_seen seen, bool goes_on)
{
	if (seen == TLS_HELLO_WHOLE)
		return GREETING_SEEN_WHOLE;
	return seen == TLS_HELLO_MORE && goes_on ? GREETING_SEEN_MORE : GREETING_SEEN_NONE;
}

static enum greeting_seen tls_client(struct text half, struct greeting *greeting)
{
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	struct text message;
	struct tls_hello hello;

	greeting_begin(greeting, GREETING_TLS, false);
	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	bool goes_on = tls_hello_join(half, true, bytes, &message);
	enum greeting_seen seen = seen_of(tls_hello_read(message, TLS_OVER_TCP, &hello), goes_on);

	if (seen != GREETING_SEEN_NONE)
		put_hello(greeting, &hello, seen == GREETING_SEEN_WHOLE);
	return seen;
}

static enum greeting_seen http_client(struct text half, struct greeting *greeting)
{
	struct http_request request;
	enum http_seen seen = http_request_read(half, &request);

	greeting_begin(greeting, GREETING_HTTP, false);
	if (seen == HTTP_NONE)
		return GREETING_SEEN_NONE;
	greeting_put(greeting, GREETING_NAME, request.host, NAME_MAX);
	greeting_put(greeting, GREETING_METHOD, request.method, WORD_MAX);
	greeting_put(greeting, GREETING_URL, request.target, URL_MAX);
	greeting_put(greeting, GREETING_PROTOCOL, request.protocol, WORD_MAX);
	greeting_put(greeting, GREETING_USER_AGENT, request.user_agent, USER_AGENT_MAX);
	return seen == HTTP_WHOLE ? GREETING_SEEN_WHOLE : GREETING_SEEN_MORE;
}

enum greeting_seen greeting_of_client(struct text half, struct greeting *greeting)
{
	if (!half.length)
		return GREETING_SEEN_MORE;
	return tls_may_begin(half.at[0]) ? tls_client(half, greeting) : http_client(half, greeting);
}

void greeting_put_server(struct greeting *greeting, const struct tls_server_hello *hello)
{
	put_number(greeting, GREETING_VERSION, hello->version);
	greeting_put(greeting, GREETING_SELECTED, hello->protocol, NAME_MAX);
}

// Version 1.3 encrypts what is behind its hello; before it, the certificate is in clear.
static enum greeting_seen tls_server(struct text half, struct greeting *greeting)
{
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	struct text rest;
	struct tls_server_hello hello = {0};

	greeting_begin(greeting, GREETING_TLS, true);
	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	enum greeting_seen open = tls_hello_join(half, false, bytes, &rest) ? GREETING_SEEN_MORE
									    : GREETING_SEEN_WHOLE;

	while (rest.length >= 4) {
		uint8_t type = rest.at[0];
		uint32_t length = text_be24(rest.at + 1);

		rest = text_from(rest, 4);
		struct text body = {rest.at, length < rest.length ? length : rest.length};

		if (type == SERVER_HELLO) {
			if (length > rest.length)
				return open;
			if (!tls_server_hello_read(body, &hello))
				return GREETING_SEEN_NONE;
			greeting_put_server(greeting, &hello);
			if (hello.version >= 0x0304)
				return GREETING_SEEN_WHOLE;
		} else if (type != CERTIFICATE_STATUS && type != SUPPLEMENTAL) {
			// a hello comes first; behind the certificate nothing is told
			return hello.version ? GREETING_SEEN_WHOLE : GREETING_SEEN_NONE;
		}
		if (length > rest.length)
			return open;
		rest = text_from(rest, length);
	}
	return open;
}

static enum greeting_seen http_server(struct text half, struct greeting *greeting)
{
	struct http_response response;
	enum http_seen seen = http_response_read(half, &response);

	greeting_begin(greeting, GREETING_HTTP, true);
	if (seen == HTTP_NONE)
		return GREETING_SEEN_NONE;
	if (response.status)
		put_number(greeting, GREETING_STATUS, response.status);
	greeting_put(greeting, GREETING_CONTENT_TYPE, response.content_type, CONTENT_MAX);
	return seen == HTTP_WHOLE ? GREETING_SEEN_WHOLE : GREETING_SEEN_MORE;
}

enum greeting_seen greeting_of_server(struct text half, struct greeting *greeting)
{
	if (!half.length)
		return GREETING_SEEN_MORE;
	return half.at[0] == TLS_HANDSHAKE ? tls_server(half, greeting)
					   : http_server(half, greeting);
}

void greeting_of_datagram(const struct datagram_asks *asks, bool whole, struct greeting *greeting)
{
	bool dtls = asks->tls.carrier == TLS_OVER_DATAGRAMS;
	const uint8_t version[4] = {(uint8_t)(asks->version >> 24), (uint8_t)(asks->version >> 16),
		(uint8_t)(asks->version >> 8), (uint8_t)asks->version};

	greeting_begin(greeting, dtls ? GREETING_TLS : GREETING_QUIC, false);
	if (asks->version)
		greeting_put(greeting, GREETING_QUIC_VERSION,
			(struct text){version, sizeof(version)}, sizeof(version));
	if (asks->tls.carrier)
		put_hello(greeting, &asks->tls, whole);
	else
		greeting_put(greeting, GREETING_NAME, asks->name, NAME_MAX);
}
