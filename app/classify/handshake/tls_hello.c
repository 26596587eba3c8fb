// SPDX-License-Identifier: BSD-3-Clause
// The reading of a ClientHello. A length that leads out of the list that it stands in ends the
// reading: what a server would refuse is no hello here, either. tls_print.c has the fingerprints.
#include "classify/handshake/tls_hello.h"
#include "classify/handshake/tls_record.h"

#define CLIENT_HELLO 1
#define RANDOM_BYTES 32
#define SESSION_MAX  32

enum extension {
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_GROUPS = 10,
	EXTENSION_FORMATS = 11,
	EXTENSION_SIGNATURES = 13,
	EXTENSION_ALPN = 16,
	EXTENSION_VERSIONS = 43,
};

// A vector: its length in `width` bytes, then that many, of which `here` may be less than all.
struct vector {
	struct text here;
	uint32_t length;
	bool whole;
};

// False: not even its length is here. `rest` goes behind it.
static bool take_vector(struct text *rest, unsigned width, struct vector *vector)
{
	uint32_t length = 0;

	if (rest->length < width)
		return false;
	for (unsigned i = 0; i < width; i++)
		length = length << 8 | rest->at[i];
	*rest = text_from(*rest, width);
	vector->length = length;
	vector->whole = length <= rest->length;
	vector->here = (struct text){rest->at, vector->whole ? length : rest->length};
	*rest = text_from(*rest, length);
	return true;
}

// RFC 6066 3: a list of (type 0, name); there is one name of that type, at most.
static void read_name(struct text body, struct tls_hello *out)
{
	struct vector list, entry;

	if (!take_vector(&body, 2, &list))
		return;
	body = list.here;
	while (body.length) {
		uint8_t type = body.at[0];

		body = text_from(body, 1);
		if (!take_vector(&body, 2, &entry) || !entry.whole)
			return;
		if (type == 0) {
			out->name = entry.here;
			return;
		}
	}
}

// A body that is one list: empty where it is not here to its end, or is not what it should be.
static struct text list_of(struct text body, unsigned width, unsigned entry_bytes)
{
	const struct text none = {NULL, 0};
	struct vector list;

	if (!take_vector(&body, width, &list) || !list.whole || list.length % entry_bytes)
		return none;
	return list.here;
}

static void read_extension(uint16_t type, struct vector body, struct tls_hello *out)
{
	switch (type) {
	case EXTENSION_SERVER_NAME:
		if (!out->asks_name) // a second one is an error (RFC 8446 4.2)
			read_name(body.here, out);
		out->asks_name = true;
		break;
	case EXTENSION_GROUPS: out->groups = list_of(body.here, 2, 2); break;
	case EXTENSION_FORMATS: out->formats = list_of(body.here, 1, 1); break;
	case EXTENSION_SIGNATURES: out->signatures = list_of(body.here, 2, 2); break;
	case EXTENSION_ALPN: out->alpn = list_of(body.here, 2, 1); break;
	case EXTENSION_VERSIONS: out->versions = list_of(body.here, 1, 2); break;
	default: break;
	}
}

// Whether nothing that is reported hangs on the bytes of such a body.
static bool is_opaque(uint16_t type)
{
	switch (type) {
	case EXTENSION_SERVER_NAME:
	case EXTENSION_GROUPS:
	case EXTENSION_FORMATS:
	case EXTENSION_SIGNATURES:
	case EXTENSION_ALPN:
	case EXTENSION_VERSIONS: return false;
	default: return true;
	}
}

// `at_most`: the bytes that the list has, of which `rest` are here.
static enum tls_hello_seen read_extensions(
	struct text rest, uint32_t at_most, struct tls_hello *out)
{
	struct vector body;

	out->extensions = rest;
	while (at_most) {
		if (at_most < 4)
			return TLS_HELLO_NONE;
		if (rest.length < 4)
			return TLS_HELLO_MORE;
		uint16_t type = octets_be16(rest.at);

		rest = text_from(rest, 2);
		take_vector(&rest, 2, &body);
		if (body.length > at_most - 4)
			return TLS_HELLO_NONE;
		at_most -= 4 + body.length;
		read_extension(type, body, out);
		// The last one need not be here (a ticket, a key share: it is long, and stands
		// where a prefix ends), if it is not one that tells anything.
		if (!body.whole && (at_most || !is_opaque(type)))
			return TLS_HELLO_MORE;
	}
	return TLS_HELLO_WHOLE;
}

// Takes a vector of at least `min` bytes off the body, of which `*left` are to come. What is wrong
// or not here is said in `seen`.
static bool take_field(struct text *rest, uint32_t *left, unsigned width, uint32_t min,
	struct vector *field, enum tls_hello_seen *seen)
{
	if (*left < width) {
		*seen = TLS_HELLO_NONE;
		return false;
	}
	if (!take_vector(rest, width, field)) {
		*seen = TLS_HELLO_MORE;
		return false;
	}
	*left -= width;
	if (field->length > *left || field->length < min) {
		*seen = TLS_HELLO_NONE;
		return false;
	}
	*left -= field->length;
	*seen = TLS_HELLO_MORE;
	return field->whole;
}

enum tls_hello_seen tls_hello_read(
	struct text message, enum tls_carrier carrier, struct tls_hello *out)
{
	enum tls_hello_seen seen;
	struct vector hello, field;

	memset(out, 0, sizeof(*out));
	out->carrier = (uint8_t)carrier;
	if (message.length && message.at[0] != CLIENT_HELLO)
		return TLS_HELLO_NONE;
	message = text_from(message, 1);
	if (!take_vector(&message, 3, &hello))
		return TLS_HELLO_MORE;
	struct text rest = hello.here;
	uint32_t left = hello.length;

	if (left < 2 + RANDOM_BYTES)
		return TLS_HELLO_NONE;
	// Any version: a server answers with its own where the client's is higher (RFC 8446 E.1),
	// and does not look at it where there is a list of versions.
	if (rest.length >= 2)
		out->legacy_version = octets_be16(rest.at);
	if (rest.length < 2 + RANDOM_BYTES)
		return TLS_HELLO_MORE;
	rest = text_from(rest, 2 + RANDOM_BYTES);
	left -= 2 + RANDOM_BYTES;
	if (!take_field(&rest, &left, 1, 0, &field, &seen))
		return seen;
	if (field.length > SESSION_MAX)
		return TLS_HELLO_NONE;
	if (carrier == TLS_OVER_DATAGRAMS && !take_field(&rest, &left, 1, 0, &field, &seen))
		return seen;
	if (!take_field(&rest, &left, 2, 2, &field, &seen))
		return seen;
	if (field.length % 2)
		return TLS_HELLO_NONE;
	out->ciphers = field.here;
	if (!take_field(&rest, &left, 1, 1, &field, &seen)) // compression
		return seen;
	if (!left) // before RFC 4366 there were no extensions
		return TLS_HELLO_WHOLE;
	if (left < 2)
		return TLS_HELLO_NONE;
	if (!take_vector(&rest, 2, &field))
		return TLS_HELLO_MORE;
	return field.length == left - 2 ? read_extensions(field.here, field.length, out)
					: TLS_HELLO_NONE;
}

static bool first_is_whole(struct text messages)
{
	return messages.length >= 4 && messages.length - 4 >= text_be24(messages.at + 1);
}

// Whether a server goes on reading behind a record of this kind while it waits for the hello. Each
// of these is passed over by one of OpenSSL 3.0 (empty ones), GnuTLS 3.7 (ChangeCipherSpec) and Go
// 1.26 (alerts); older ones answer heartbeats.
static bool is_passed_over(uint8_t type, uint32_t length)
{
	return !length || (tls_may_begin(type) && type != TLS_HANDSHAKE && type != TLS_DATA);
}

bool tls_hello_join(struct text half, bool of_client, uint8_t *bytes, struct text *joined)
{
	*joined = (struct text){bytes, 0};
	// Mostly all of it is in one record: nothing needs to be moved.
	if (tls_may_be_record(half) && half.at[0] == TLS_HANDSHAKE && octets_be16(half.at + 3) &&
		octets_be16(half.at + 3) >= half.length - TLS_RECORD_BYTES) {
		*joined = text_from(half, TLS_RECORD_BYTES);
		return true;
	}
	while (half.length >= TLS_RECORD_BYTES) {
		if (!tls_may_be_record(half))
			return false;
		uint32_t length = octets_be16(half.at + 3);
		uint8_t type = half.at[0];

		half = text_from(half, TLS_RECORD_BYTES);
		if (type != TLS_HANDSHAKE &&
			(!of_client || first_is_whole(*joined) || !is_passed_over(type, length)))
			return false;
		if (length > half.length)
			length = half.length;
		if (type == TLS_HANDSHAKE) {
			memcpy(bytes + joined->length, half.at, length);
			joined->length += length;
		}
		half = text_from(half, length);
	}
	return !half.length || half.at[0] == TLS_HANDSHAKE ||
	       (of_client && tls_may_begin(half.at[0]) && !first_is_whole(*joined));
}

uint16_t tls_hello_version(const struct tls_hello *hello)
{
	uint16_t highest = 0;

	for (uint32_t at = 0; at + 2 <= hello->versions.length; at += 2) {
		uint16_t version = octets_be16(hello->versions.at + at);

		// In one's complement the lower number is the higher version.
		bool higher = hello->carrier == TLS_OVER_DATAGRAMS ? version < highest || !highest
								   : version > highest;

		if (!tls_is_grease(version) && higher)
			highest = version;
	}
	return highest ? highest : hello->legacy_version;
}

struct text tls_hello_protocol(const struct tls_hello *hello)
{
	struct text rest = hello->alpn;
	struct vector name;

	if (!take_vector(&rest, 1, &name) || !name.whole)
		return (struct text){NULL, 0};
	return name.here;
}

uint16_t tls_hello_application(const struct tls_hello *hello)
{
	struct text rest = hello->alpn;
	struct vector name;
	uint16_t app = APP_NONE;

	while (app == APP_NONE && take_vector(&rest, 1, &name) && name.whole)
		app = app_find_alpn(name.here.at, name.here.length);
	return app;
}
