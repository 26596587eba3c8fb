// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes the frames of stream transports.
#include "transportapi/proto/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/wire.h"

#define WELCOME_VERSION 1
#define FLAG_ENCRYPTED  1u
#define REST_ROOM_LEAST 64u

static_assert(
	2 + 2 + 1 + 1 + 2 + TAPI_PEER_ID_BYTES + TAPI_WELCOME_NONCE_BYTES == TAPI_WELCOME_BYTES);

void tapi_welcome_encode(uint8_t out[TAPI_WELCOME_BYTES], const struct tapi_peer_id *sender,
	const uint8_t nonce[TAPI_WELCOME_NONCE_BYTES])
{
	uint8_t *p = out;

	p = tapi_put16(p, TAPI_WELCOME_BYTES);
	p = tapi_put16(p, TAPI_TYPE_WELCOME);
	*p++ = WELCOME_VERSION;
	*p++ = 0;
	p = tapi_put16(p, 0);
	p = tapi_put(p, sender->octets, sizeof(sender->octets));
	tapi_put(p, nonce, TAPI_WELCOME_NONCE_BYTES);
}

void tapi_frame_encode(
	uint8_t out[TAPI_FRAME_HEAD_BYTES], uint32_t message_size, bool is_encrypted, uint32_t crc)
{
	uint8_t *p = out;

	p = tapi_put32(p, message_size);
	p = tapi_put16(p, is_encrypted ? FLAG_ENCRYPTED : 0);
	p = tapi_put16(p, 0);
	tapi_put32(p, crc);
}

void tapi_frame_reader_init(struct tapi_frame_reader *reader, uint32_t mtu)
{
	*reader = (struct tapi_frame_reader){.mtu = mtu};
}

void tapi_frame_reader_free(struct tapi_frame_reader *reader)
{
	free(reader->rest);
	reader->rest = NULL;
	reader->rest_length = reader->rest_room = 0;
}

static enum tapi_result read_welcome(struct tapi_frame_reader *reader, const uint8_t *p)
{
	if (tapi_get16(p) != TAPI_WELCOME_BYTES || tapi_get16(p + 2) != TAPI_TYPE_WELCOME ||
		p[4] != WELCOME_VERSION || p[5] != 0 || tapi_get16(p + 6) != 0)
		return TAPI_EFORMAT;
	memcpy(reader->sender.octets, p + 8, sizeof(reader->sender.octets));
	memcpy(reader->nonce, p + 8 + TAPI_PEER_ID_BYTES, sizeof(reader->nonce));
	reader->welcomed = true;
	return TAPI_OK;
}

static enum tapi_result check_head(const struct tapi_frame_reader *reader, const uint8_t *p)
{
	if (tapi_get32(p) > reader->mtu)
		return TAPI_ETOOBIG;
	if ((tapi_get16(p + 4) & ~FLAG_ENCRYPTED) || tapi_get16(p + 6))
		return TAPI_EFORMAT;
	return TAPI_OK;
}

// How long the unit is that begins at `p`, of which `length` octets are here; what is certain of
// it, if its head is not whole. The mtu bounds it.
static enum tapi_result unit_length(const struct tapi_frame_reader *reader, const uint8_t *p,
	size_t length, size_t *out, bool *certain)
{
	enum tapi_result result;

	*certain = true;
	if (!reader->welcomed) {
		*out = TAPI_WELCOME_BYTES;
		return TAPI_OK;
	}
	*out = TAPI_FRAME_HEAD_BYTES;
	if (length < TAPI_FRAME_HEAD_BYTES) {
		*certain = false;
		return TAPI_OK;
	}
	result = check_head(reader, p);
	if (!result)
		*out += tapi_get32(p);
	return result;
}

// The unit at `p` is whole. *more false: nothing of the reader may be touched.
static enum tapi_result take_unit(struct tapi_frame_reader *reader, const uint8_t *p, bool *more,
	bool (*whole)(void *context, struct tapi_message_pack *pack), void *context)
{
	struct tapi_message_pack pack;

	*more = true;
	if (!reader->welcomed)
		return read_welcome(reader, p);
	pack = (struct tapi_message_pack){
		.sender = reader->sender,
		.message = p + TAPI_FRAME_HEAD_BYTES,
		.size = tapi_get32(p),
		.is_encrypted = tapi_get16(p + 4) & FLAG_ENCRYPTED,
		.crc = tapi_get32(p + 8),
	};
	*more = whole(context, &pack);
	return TAPI_OK;
}

// A claimed size allocates nothing: room at most doubles over what has come.
static enum tapi_result rest_append(
	struct tapi_frame_reader *reader, const uint8_t *octets, size_t length, size_t unit)
{
	size_t wanted = reader->rest_length + length;

	if (wanted > reader->rest_room) {
		size_t room = wanted < unit ? 2 * wanted : wanted;
		uint8_t *grown;

		if (room > unit)
			room = unit;
		if (room < REST_ROOM_LEAST)
			room = REST_ROOM_LEAST;
		grown = realloc(reader->rest, room);
		if (!grown)
			return TAPI_ENOMEM;
		reader->rest = grown;
		reader->rest_room = room;
	}
	memcpy(reader->rest + reader->rest_length, octets, length);
	reader->rest_length = wanted;
	return TAPI_OK;
}

// Goes on with the unit that began in octets of before; *used of the new ones belong to it.
static enum tapi_result feed_rest(struct tapi_frame_reader *reader, const uint8_t *octets,
	size_t length, size_t *used, bool *more,
	bool (*whole)(void *context, struct tapi_message_pack *pack), void *context)
{
	enum tapi_result result;
	uint8_t *own;
	bool certain;
	size_t unit;

	*more = true;
	*used = 0;
	for (;;) {
		size_t n = length - *used;

		result = unit_length(reader, reader->rest, reader->rest_length, &unit, &certain);
		if (result)
			return result;
		if (certain && reader->rest_length == unit)
			break;
		if (n > unit - reader->rest_length)
			n = unit - reader->rest_length;
		if (!n)
			return TAPI_OK;
		result = rest_append(reader, octets + *used, n, unit);
		if (result)
			return result;
		*used += n;
	}
	// The message lies in this buffer, and the reader may end while it is looked at. An idle
	// stream keeps none.
	own = reader->rest;
	reader->rest = NULL;
	reader->rest_length = reader->rest_room = 0;
	result = take_unit(reader, own, more, whole, context);
	free(own);
	return result;
}

enum tapi_result tapi_frame_reader_feed(struct tapi_frame_reader *reader, const uint8_t *octets,
	size_t length, bool (*whole)(void *context, struct tapi_message_pack *pack), void *context)
{
	enum tapi_result result;
	bool more, certain;
	size_t unit, used;

	while (length) {
		if (reader->rest_length) {
			result = feed_rest(reader, octets, length, &used, &more, whole, context);
		} else {
			result = unit_length(reader, octets, length, &unit, &certain);
			if (result)
				return result;
			if (!certain || length < unit)
				return rest_append(reader, octets, length, unit);
			used = unit;
			result = take_unit(reader, octets, &more, whole, context);
		}
		if (result || !more)
			return result;
		octets += used;
		length -= used;
	}
	return TAPI_OK;
}
