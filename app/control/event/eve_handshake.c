// SPDX-License-Identifier: BSD-3-Clause
// What the ends of a flow say of themselves, as Suricata's objects tls, quic and http. Every byte
// is from the wire: numbers are made here, texts go through json_out_text.
#include "control/event/eve.h"

#include <string.h>

#define HEX_BYTES 64

static uint16_t number_of(const struct handshake_meta_part *part)
{
	unsigned value = part->length == 2 ? part->content[0] * 256u + part->content[1] : 0;

	return (uint16_t)value;
}

static void put_text(struct json_out *out, const char *key, const struct handshake_meta_part *part)
{
	json_out_text(out, key, (const char *)part->content, part->length);
}

static size_t put_digits(char text[HEX_BYTES], const uint8_t *bytes, uint32_t length)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	for (uint32_t i = 0; i < length && n + 2 <= HEX_BYTES; i++) {
		text[n++] = digits[bytes[i] >> 4];
		text[n++] = digits[bytes[i] & 15];
	}
	return n;
}

// Suricata's words; those of DTLS are ours.
static void put_version(
	struct json_out *out, const char *key, const struct handshake_meta_part *part)
{
	static const struct {
		uint16_t version;
		const char *word;
	} words[] = {
		{0x0300, "SSLv3"},
		{0x0301, "TLSv1"},
		{0x0302, "TLS 1.1"},
		{0x0303, "TLS 1.2"},
		{0x0304, "TLS 1.3"},
		{0xfeff, "DTLS 1.0"},
		{0xfefd, "DTLS 1.2"},
		{0xfefc, "DTLS 1.3"},
	};
	char text[2 + HEX_BYTES];

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (words[i].version == number_of(part)) {
			json_out_string(out, key, words[i].word);
			return;
		}
	}
	text[0] = '0';
	text[1] = 'x';
	json_out_text(out, key, text, 2 + put_digits(text + 2, part->content, 2));
}

// "1", "2", "Q046" (Google's), else the number.
static void put_quic_version(struct json_out *out, const struct handshake_meta_part *part)
{
	static const uint8_t first[4] = {0, 0, 0, 1}, second[4] = {0x6b, 0x33, 0x43, 0xcf};
	char text[HEX_BYTES];

	if (part->length != 4)
		return;
	if (!memcmp(part->content, first, 4))
		json_out_string(out, "version", "1");
	else if (!memcmp(part->content, second, 4))
		json_out_string(out, "version", "2");
	else if (part->content[0] == 'Q' || part->content[0] == 'T')
		put_text(out, "version", part);
	else
		json_out_text(out, "version", text, put_digits(text, part->content, 4));
}

static void put_names(struct json_out *out, const char *key, const struct handshake_meta_part *part)
{
	json_out_open(out, key, '[');
	for (uint32_t at = 0; at < part->length; at += 1u + part->content[at]) {
		uint32_t length = part->content[at];

		if (length > part->length - at - 1)
			break;
		json_out_text(out, NULL, (const char *)part->content + at + 1, length);
	}
	json_out_close(out, ']');
}

// The hash, and what it is of, which comes right behind it if it is there.
static void put_ja3(struct json_out *out, const struct handshake_meta_part *part,
	const struct handshake_meta_part *text)
{
	char digits[HEX_BYTES];

	json_out_open(out, "ja3", '{');
	json_out_text(out, "hash", digits, put_digits(digits, part->content, part->length));
	if (text->field == HANDSHAKE_META_JA3_TEXT)
		put_text(out, "string", text);
	json_out_close(out, '}');
}

// A member of an object stands there once. Two fields have the same name in it.
static bool is_first(uint32_t *seen, enum handshake_meta_field field)
{
	uint32_t bit =
		1u << (field == HANDSHAKE_META_VERSION ? HANDSHAKE_META_QUIC_VERSION : field);
	bool first = !(*seen & bit);

	*seen |= bit;
	return first;
}

static void put_side(
	struct json_out *out, const struct handshake_meta_side *side, bool http, uint32_t *seen)
{
	const uint8_t *at = side->bytes;
	uint32_t left = side->length;
	struct handshake_meta_part part, next = {0};

	while (handshake_meta_next(&at, &left, &part)) {
		if (!is_first(seen, part.field))
			continue;
		switch (part.field) {
		case HANDSHAKE_META_NAME: put_text(out, http ? "hostname" : "sni", &part); break;
		case HANDSHAKE_META_OFFERED: put_names(out, "client_alpns", &part); break;
		case HANDSHAKE_META_HIGHEST: put_version(out, "offered_version", &part); break;
		case HANDSHAKE_META_JA3: {
			const uint8_t *behind = at;
			uint32_t rest = left;

			if (!handshake_meta_next(&behind, &rest, &next))
				next.field = HANDSHAKE_META_FIELDS_MAX;
			put_ja3(out, &part, &next);
			break;
		}
		case HANDSHAKE_META_JA4: put_text(out, "ja4", &part); break;
		case HANDSHAKE_META_QUIC_VERSION: put_quic_version(out, &part); break;
		case HANDSHAKE_META_VERSION: put_version(out, "version", &part); break;
		case HANDSHAKE_META_SELECTED:
			json_out_open(out, "server_alpns", '[');
			put_text(out, NULL, &part);
			json_out_close(out, ']');
			break;
		case HANDSHAKE_META_METHOD: put_text(out, "http_method", &part); break;
		case HANDSHAKE_META_URL: put_text(out, "url", &part); break;
		case HANDSHAKE_META_PROTOCOL: put_text(out, "protocol", &part); break;
		case HANDSHAKE_META_USER_AGENT: put_text(out, "http_user_agent", &part); break;
		case HANDSHAKE_META_STATUS: json_out_u64(out, "status", number_of(&part)); break;
		case HANDSHAKE_META_CONTENT_TYPE: put_text(out, "http_content_type", &part); break;
		case HANDSHAKE_META_JA3_TEXT:
		case HANDSHAKE_META_FIELDS_MAX: break;
		}
	}
}

const char *eve_handshake_meta_word(uint8_t kind)
{
	static const char *const words[] = {"tls", "quic", "http"};

	return kind < HANDSHAKE_META_KINDS_MAX ? words[kind] : "?";
}

void eve_handshake(const struct handshake_record *record, struct json_out *out)
{
	uint32_t seen = 0;

	json_out_open(out, eve_handshake_meta_word(record->kind), '{');
	put_side(out, &record->client, record->kind == HANDSHAKE_META_HTTP, &seen);
	put_side(out, &record->server, record->kind == HANDSHAKE_META_HTTP, &seen);
	json_out_close(out, '}');
}
