// SPDX-License-Identifier: BSD-3-Clause
// Extensions of queries and of records in hits: HUGE (URNs, 0x1c between them) and GGEP 0.51.
#include "content/gnutella/session.h"
#include "content/http/text.h"

#define SEPARATOR  0x1c
#define GGEP       0xc3
#define GGEP_LAST  0x80 // flags of an extension
#define GGEP_COBS  0x40
#define GGEP_FLATE 0x20
#define GGEP_ID    0x0f // length of its name
#define LONG_MORE  0x80 // octets of a length
#define LONG_LAST  0x40
#define VALUE_MAX  64 // of what is looked at

#define HASH_SHA1     1 // kinds of H
#define HASH_BITPRINT 2
#define SHA1_BYTES    20
#define TTH_BYTES     24

// 0 stands in no extension: it is taken out by Consistent Overhead Byte Stuffing. 0: it is none.
static uint32_t undo_cobs(struct content_text in, uint8_t out[VALUE_MAX])
{
	uint32_t n = 0, at = 0;

	while (at < in.length) {
		uint32_t code = in.bytes[at++];

		if (!code || code - 1 > in.length - at || n + code > VALUE_MAX)
			return 0;
		memcpy(out + n, in.bytes + at, code - 1);
		n += code - 1;
		at += code - 1;
		if (code != 0xff && at < in.length)
			out[n++] = 0;
	}
	return n;
}

static void set_id(
	struct content_id *id, bool *has, enum content_id_kind kind, const uint8_t *bytes)
{
	if (!*has)
		*id = content_id_of(kind, bytes);
	*has = true;
}

static void read_hash(struct content_text value, struct urn_ids *ids)
{
	uint8_t kind = value.length ? value.bytes[0] : 0;

	if ((kind != HASH_SHA1 && kind != HASH_BITPRINT) || value.length < 1 + SHA1_BYTES)
		return;
	set_id(&ids->sha1, &ids->has_sha1, CONTENT_ID_SHA1, value.bytes + 1);
	if (kind == HASH_BITPRINT && value.length >= 1 + SHA1_BYTES + TTH_BYTES)
		set_id(&ids->tth, &ids->has_tth, CONTENT_ID_TTH, value.bytes + 1 + SHA1_BYTES);
}

// Little endian, without octets that say nothing.
static void read_size(struct content_text value, struct gnutella_extension *extension)
{
	uint64_t size = 0;

	if (!value.length || value.length > 8)
		return;
	for (uint32_t i = value.length; i > 0; i--)
		size = size << 8 | value.bytes[i - 1];
	extension->size = size;
	extension->has_size = size <= INT64_MAX;
}

// "sha1:..." as it stands behind "urn:".
static void read_urn(struct content_text value, struct urn_ids *ids)
{
	uint8_t urn[4 + VALUE_MAX] = "urn:";

	if (value.length > VALUE_MAX || !value.length)
		return;
	memcpy(urn + 4, value.bytes, value.length);
	urn_read((struct content_text){urn, 4 + value.length}, ids);
}

static void read_value(struct content_text name, struct content_text value, uint8_t flags,
	struct gnutella_extension *extension)
{
	uint8_t plain[VALUE_MAX];

	if (flags & GGEP_FLATE)
		return;
	if (flags & GGEP_COBS)
		value = (struct content_text){plain, undo_cobs(value, plain)};
	if (name.length == 1 && name.bytes[0] == 'H')
		read_hash(value, &extension->ids);
	else if (name.length == 1 && name.bytes[0] == 'u')
		read_urn(value, &extension->ids);
	else if (name.length == 2 && !memcmp(name.bytes, "LF", 2))
		read_size(value, extension);
	else if (name.length == 2 && !memcmp(name.bytes, "TT", 2) && value.length == TTH_BYTES)
		set_id(&extension->ids.tth, &extension->ids.has_tth, CONTENT_ID_TTH, value.bytes);
}

// One to three octets of six bits. False: it has no end there.
static bool take_length(struct content_text *rest, uint32_t *length)
{
	*length = 0;
	for (unsigned i = 0; i < 3 && rest->length; i++) {
		uint8_t octet = rest->bytes[0];

		*rest = http_text_from(*rest, 1);
		*length = *length << 6 | (octet & 0x3f);
		if (octet & LONG_LAST)
			return !(octet & LONG_MORE);
		if (!(octet & LONG_MORE))
			return false;
	}
	return false;
}

// Behind its first octet; what is left of the text is returned.
static struct content_text read_ggep(struct content_text rest, struct gnutella_extension *extension)
{
	const struct content_text nothing = {rest.bytes, 0};

	for (uint8_t flags = 0; !(flags & GGEP_LAST);) {
		struct content_text name = {NULL, 0}, value;
		uint32_t length;

		if (!rest.length)
			return nothing;
		flags = rest.bytes[0];
		rest = http_text_from(rest, 1);
		if (rest.length < (flags & GGEP_ID) || !(flags & GGEP_ID))
			return nothing;
		name = (struct content_text){rest.bytes, flags & GGEP_ID};
		rest = http_text_from(rest, name.length);
		if (!take_length(&rest, &length) || rest.length < length)
			return nothing;
		value = (struct content_text){rest.bytes, length};
		rest = http_text_from(rest, length);
		read_value(name, value, flags, extension);
	}
	return rest;
}

void gnutella_extension_read(struct content_text text, struct gnutella_extension *extension)
{
	*extension = (struct gnutella_extension){0};
	while (text.length) {
		if (text.bytes[0] == GGEP) {
			text = read_ggep(http_text_from(text, 1), extension);
			continue;
		}
		struct content_text part = {text.bytes, http_until(text, SEPARATOR)};

		urn_read(part, &extension->ids);
		text = http_text_from(text, part.length + 1);
	}
}
