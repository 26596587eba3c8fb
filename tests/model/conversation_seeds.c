// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>
#include "capture.h"
#include "conversation.h"

#define LINKTYPE_ETHERNET 1

static char **paths;

// Our own captures tell the zone by the source MAC (tests/attacks); of others the first sender is
// inside.
static bool is_outside(const uint8_t *frame, const uint8_t *first)
{
	static const uint8_t ours[5] = {2, 0, 0, 0, 0};

	if (!memcmp(frame + 6, ours, 5) && frame[11] - 1u < 2)
		return frame[11] == 2;
	return memcmp(frame + 6, first, 6) != 0;
}

static unsigned read_packets(struct capture *capture, struct conversation_packet *packets)
{
	struct capture_record record;
	uint8_t first[6] = {0};
	uint64_t last_ns = 0;
	unsigned n = 0;

	while (n < CONVERSATION_SEED && capture_next(capture, &record) > 0) {
		struct conversation_packet *packet = &packets[n];

		if (record.linktype != LINKTYPE_ETHERNET || record.caplen < record.len ||
			record.caplen < 14 || record.caplen > CONVERSATION_FRAME)
			continue;
		if (!n)
			memcpy(first, record.bytes + 6, 6);
		last_ns = record.ts_ns > last_ns ? record.ts_ns : last_ns;
		*packet = (struct conversation_packet){
			.ts_ns = last_ns,
			.length = record.caplen,
			.honest = (int16_t)n,
			.outside = is_outside(record.bytes, first),
		};
		memcpy(packet->frame, record.bytes, record.caplen);
		n++;
	}
	return n;
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
	const uint64_t begin_ns = out->packets[0].ts_ns;

	for (unsigned i = 0; i < out->n; i++)
		out->packets[i].ts_ns -= begin_ns;
}
