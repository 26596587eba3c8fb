// SPDX-License-Identifier: BSD-3-Clause
// A stream of any octets into the reader of frames. u8 mtu, u8 stop, u32 splits | the stream. It is
// read three times: at once, in pieces that `splits` chooses, and by the few lines below. Held: the
// same messages, the same end; whole frames lie in what was fed; memory follows what came; a reader
// whose owner frees it inside the call is not touched again.
#include <stdlib.h>
#include <string.h>
#include "transportapi/proto/frame.h"

#define HEAD 6u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct run {
	struct tapi_frame_reader *reader;
	uint64_t digest; // of all messages
	unsigned n, stop;
};

static void must(bool good)
{
	if (!good)
		abort();
}

static uint64_t mix(uint64_t digest, const uint8_t *octets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		digest = (digest ^ octets[i]) * 0x100000001b3;
	return digest * 31 + n;
}

static uint64_t mix_message(uint64_t digest, const uint8_t *sender, const uint8_t *message,
	uint32_t size, bool is_encrypted, uint32_t crc)
{
	digest = mix(digest, sender, TAPI_PEER_ID_BYTES);
	digest = mix(digest, message, size);
	return digest * 31 + crc * 2ull + is_encrypted;
}

static bool whole(void *context, struct tapi_message_pack *pack)
{
	struct run *run = context;

	must(!pack->session && pack->size <= run->reader->mtu);
	if (++run->n == run->stop) { // the owner ends: the message is still readable
		tapi_frame_reader_free(run->reader);
		free(run->reader);
		run->reader = NULL;
	}
	run->digest = mix_message(run->digest, pack->sender.octets, pack->message, pack->size,
		pack->is_encrypted, pack->crc);
	return run->reader != NULL;
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// The law, at its shortest.
static enum tapi_result reference(
	struct run *run, uint32_t mtu, const uint8_t *p, size_t len, size_t *left)
{
	static const uint8_t start[8] = {0, 48, 0, 4, 1};
	const uint8_t *sender = p + sizeof(start);

	*left = len;
	if (len < TAPI_WELCOME_BYTES)
		return TAPI_OK;
	if (memcmp(p, start, sizeof(start)) != 0)
		return TAPI_EFORMAT;
	for (p += 48, len -= 48; len >= 12; p += 12 + get32(p)) {
		const uint32_t size = get32(p);

		if (size > mtu)
			return TAPI_ETOOBIG;
		if (p[4] || p[5] > 1 || p[6] || p[7])
			return TAPI_EFORMAT;
		if (len < 12 + size)
			break;
		len -= 12 + size;
		run->digest = mix_message(run->digest, sender, p + 12, size, p[5], get32(p + 8));
		if (++run->n == run->stop)
			return TAPI_OK;
	}
	*left = len;
	return TAPI_OK;
}

static enum tapi_result feed_exact(struct run *run, const uint8_t *p, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);
	enum tapi_result result;

	must(exact);
	memcpy(exact, p, n);
	result = tapi_frame_reader_feed(run->reader, exact, n, whole, run);
	free(exact);
	if (run->reader && !result) {
		must(run->reader->rest_room <= 2 * run->reader->rest_length + 64);
		must(run->reader->rest_length < TAPI_WELCOME_BYTES ||
			run->reader->rest_length < run->reader->mtu + TAPI_FRAME_HEAD_BYTES);
	}
	return result;
}

// splits 0: at once.
static void drive(uint32_t mtu, unsigned stop, uint32_t splits, const uint8_t *p, size_t len)
{
	struct tapi_frame_reader *reader = malloc(sizeof(*reader));
	struct run run = {.reader = reader, .stop = stop}, law = {.stop = stop};
	enum tapi_result result = TAPI_OK, expected;
	size_t left;

	must(reader);
	tapi_frame_reader_init(reader, mtu);
	expected = reference(&law, mtu, p, len, &left);
	for (size_t at = 0; at < len && run.reader && !result;) {
		size_t n = len - at;

		if (splits) {
			size_t piece;

			splits = splits * 1664525 + 1013904223;
			// mostly a few octets, at times many
			piece = 1 + (splits >> 24) % 23 * (splits & 0x10000 ? 1 : 61);
			n = piece < n ? piece : n;
		}
		result = feed_exact(&run, p + at, n);
		at += n;
	}
	must(result == expected && run.n == law.n && run.digest == law.digest);
	if (!run.reader)
		return;
	if (!result)
		must(reader->rest_length == left);
	tapi_frame_reader_free(reader);
	free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (len < HEAD)
		return 0;
	// 0, 5 ... 1275; 255: as tcp's
	const uint32_t mtu = bytes[0] == 255 ? 32768 : bytes[0] * 5u;

	drive(mtu, bytes[1], 0, bytes + HEAD, len - HEAD);
	drive(mtu, bytes[1], get32(bytes + 2) | 1, bytes + HEAD, len - HEAD);
	return 0;
}
