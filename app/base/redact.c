// SPDX-License-Identifier: BSD-3-Clause
// Masks texts on their way into JSON.
#include "base/redact.h"

#include <string.h>

#include "base/utf8.h"

static size_t characters_of(const uint8_t *bytes, size_t length)
{
	size_t n = 0;

	for (size_t at = 0; at < length && n < REDACT_STARS_MAX; n++) {
		uint32_t character;
		size_t taken = utf8_take(bytes + at, length - at, &character);

		at += taken ? taken : 1;
	}
	return n;
}

// How many of the last bytes are an extension; 0: there is none.
static size_t extension_of(const uint8_t *bytes, size_t length)
{
	for (size_t n = 1; n < length && n <= REDACT_EXTENSION_MAX; n++) {
		uint8_t c = bytes[length - n];

		if (c == '.')
			return n > 1 ? n : 0;
		if (!(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
			return 0;
	}
	return 0;
}

size_t redact_mask(const uint8_t *bytes, size_t length, bool name, uint8_t masked[REDACT_ROOM])
{
	size_t keeps = name ? extension_of(bytes, length) : 0;
	size_t stars = characters_of(bytes, length - keeps);

	memset(masked, '*', stars);
	if (keeps)
		memcpy(masked + stars, bytes + length - keeps, keeps);
	return stars + keeps;
}

static void put(struct json_out *out, const char *key, const uint8_t *bytes, size_t length,
	bool name, enum redact how)
{
	uint8_t masked[REDACT_ROOM];

	if (how == REDACT_MASK) {
		length = redact_mask(bytes, length, name, masked);
		bytes = masked;
	}
	if (how != REDACT_OMIT)
		json_out_text(out, key, (const char *)bytes, length);
}

void json_out_redacted(
	struct json_out *out, const char *key, const uint8_t *bytes, size_t length, enum redact how)
{
	put(out, key, bytes, length, false, how);
}

void json_out_redacted_name(
	struct json_out *out, const char *key, const uint8_t *bytes, size_t length, enum redact how)
{
	put(out, key, bytes, length, true, how);
}
