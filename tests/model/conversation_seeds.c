// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>
#include "replay/capture.h"
#include "conversation.h"

#define LINKTYPE_ETHERNET 1

static char **paths;

// Our own captures tell the zone by the source MAC (tests/attacks).
static bool is_ours(const uint8_t *frame)
{
	static const uint8_t ours[5] = {2, 0, 0, 0, 0};

	return !memcmp(frame + 6, ours, 5) && frame[11] - 1u < 2;
}

// Of others, whoever speaks to somebody has the other zone than he; the first sender is inside.
static bool is_outside(const struct conversation_packet *packets, unsigned n, const uint8_t *frame,
	uint32_t length)
{
	struct frame_view view, of;

	if (is_ours(frame))
		return frame[11] == 2;
	if (frame_view(frame, length, &view))
		for (unsigned i = n; i-- > 0;) {
			const uint8_t *other = packets[i].frame;
			unsigned size = view.v6 ? 16 : 4, at = view.v6 ? 8 : 12;

			if (!frame_view(other, packets[i].length, &of) || of.v6 != view.v6)
				continue;
			const uint8_t *a = frame + view.l3 + at, *b = other + of.l3 + at;

			if (!memcmp(a, b, size) || !memcmp(a + size, b + size, size))
				return packets[i].outside;
			if (!memcmp(a, b + size, size) || !memcmp(a + size, b, size))
				return !packets[i].outside;
		}
	return n && memcmp(frame + 6, packets[0].frame + 6, 6) != 0;
}

static unsigned read_packets(struct capture *capture, struct conversation_packet *packets)
{
	struct capture_record record;
	uint64_t last_ns = 0;
	unsigned n = 0;

	while (n < CONVERSATION_SEED && capture_next(capture, &record) > 0) {
		struct conversation_packet *packet = &packets[n];

		if (record.linktype != LINKTYPE_ETHERNET || record.caplen < record.len ||
			record.caplen < 14 || record.caplen > CONVERSATION_FRAME)
			continue;
		last_ns = record.ts_ns > last_ns ? record.ts_ns : last_ns;
		*packet = (struct conversation_packet){
			.ts_ns = last_ns,
			.length = record.caplen,
			.honest = (int16_t)n,
			.outside = is_outside(packets, n, record.bytes, record.caplen),
		};
		memcpy(packet->frame, record.bytes, record.caplen);
		n++;
	}
	return n;
}

// Where captures were taken before a network card has made the checksums, these are made now.
static void mend_sums(struct conversation *talk)
{
	struct frame_view view;

	for (unsigned i = 0; i < talk->n && !is_ours(talk->packets[i].frame); i++)
		if (frame_view(talk->packets[i].frame, talk->packets[i].length, &view))
			frame_sum(&talk->packets[i], &view);
}

unsigned conversation_load(char **list, unsigned n)
{
	paths = list;
	return n;
}

const char *conversation_path(unsigned capture)
{
	return paths[capture];
}

void conversation_of(unsigned capture, struct conversation *out)
{
	char err[CAPTURE_ERROR_LEN];
	struct capture *file;

	out->n = 0;
	if (capture_open(paths[capture], &file, err, sizeof(err)))
		return;
	out->n = read_packets(file, out->packets);
	capture_close(file);
	mend_sums(out);
	const uint64_t begin_ns = out->packets[0].ts_ns;

	for (unsigned i = 0; i < out->n; i++)
		out->packets[i].ts_ns -= begin_ns;
}
