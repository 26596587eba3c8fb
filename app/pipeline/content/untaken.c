// SPDX-License-Identifier: BSD-3-Clause
// Compares bytes that come again with those that a decoder has read of them, by a keyed hash.
#include "pipeline/content/untaken.h"

#include <string.h>
#include "pipeline/content/state.h"

#define CHUNK 64

static uint64_t add_words(
	const struct hash_seed *seed, uint64_t hash, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t at = 0; at < length; at += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, bytes + at, RTE_MIN(length - at, (uint32_t)sizeof(word)));
		hash = hash_fold(word ^ seed->words[0], hash ^ seed->words[1]);
	}
	return hash;
}

// Of `length` bytes of a packet that has them. Never 0.
static uint64_t hash_of(const struct lcore *lcore, struct payload bytes, uint32_t length)
{
	const struct hash_seed *seed = &lcore->flows->seed;
	uint64_t hash = length;
	uint8_t buffer[CHUNK];

	for (uint32_t at = 0; at < length; at += CHUNK) {
		uint32_t n = RTE_MIN(length - at, (uint32_t)CHUNK);
		const uint8_t *here = rte_pktmbuf_read(bytes.m, bytes.at + at, n, buffer);

		if (here) // else pkt_len promises more than there is
			hash = add_words(seed, hash, here, n);
	}
	return hash | 1;
}

void content_untaken(
	struct lcore *lcore, uint32_t ref, const struct span *span, struct payload bytes)
{
	struct flow_content *flow = content_flow_of(lcore, ref);
	unsigned half = span->half & 1;

	if (!flow || flow->fed64[half] == FED_UNKNOWN || flow->fed64[half] <= span->offset64)
		return;
	uint64_t length = RTE_MIN(flow->fed64[half] - span->offset64, (uint64_t)span->extent);

	flow->untaken[half] = (struct untaken){
		.hash = hash_of(lcore, bytes, (uint32_t)length),
		.begins64 = span->offset64,
		.length = (uint32_t)length,
	};
}

void content_come_again(
	struct lcore *lcore, uint32_t ref, const struct span *span, struct payload bytes)
{
	struct flow_content *flow = content_flow_of(lcore, ref);
	unsigned half = span->half & 1;

	if (!flow || !flow->untaken[half].hash)
		return;
	struct untaken untaken = flow->untaken[half];
	struct feeding feeding = {.lcore = lcore, .content = lcore->content, .flow = flow};

	flow->untaken[half].hash = 0;
	if (span->offset64 == untaken.begins64 && span->extent >= untaken.length &&
		hash_of(lcore, bytes, untaken.length) == untaken.hash)
		return;
	content_report.note(&feeding, CONTENT_NOTE_RESENT_DIFFERS, half, span->offset64);
}
