// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "classify_talk.h"

const uint8_t *talk_bytes(const struct packet *packet, unsigned n)
{
	static uint8_t bytes[TALK_BYTES_MAX];
	uint32_t x = n * 2654435761u + 12345;

	for (unsigned i = 0; i < packet->length; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = packet->zeros ? 0 : (uint8_t)(x >> 24);
	}
	memcpy(bytes, packet->text,
		packet->known < packet->length ? packet->known : packet->length);
	return bytes;
}

const char *talk_after(const struct talk *talk, unsigned odd, int offset, int cut)
{
	struct rig_flow flow = rig_flow(talk->rig, talk->l4, 40000, talk->dport);
	const char *app = "";

	for (unsigned i = 0; i < talk->n; i++) {
		const struct packet *packet = &talk->packets[i];
		size_t length = i == odd && cut >= 0 ? (size_t)cut : packet->length;
		uint8_t bytes[TALK_BYTES_MAX];

		memcpy(bytes, talk_bytes(packet, i), packet->length);
		if (i == odd && offset >= 0)
			bytes[offset] ^= 0x55;
		rig_feed(&flow, packet->half, bytes, length);
		app = rig_app(&flow);
	}
	rig_end(&flow);
	return app;
}

void talk_means(const struct talk *talk, unsigned least)
{
	struct talk before = *talk;

	before.n--;
	if (before.n)
		assert_string_not_equal(talk_after(&before, UINT32_MAX, -1, -1), talk->app);
	assert_string_equal(talk_after(talk, UINT32_MAX, -1, -1), talk->app);
	for (int cut = 0; cut < (int)least; cut++)
		assert_string_not_equal(talk_after(talk, talk->n - 1, -1, cut), talk->app);
}

void talk_hangs_on(const struct talk *talk, unsigned packet, const int offsets[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_string_not_equal(talk_after(talk, packet, offsets[i], -1), talk->app);
}
