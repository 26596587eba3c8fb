// SPDX-License-Identifier: BSD-3-Clause
// Feeds a conversation to a decoder. Each piece lies in a heap block of its own size, each state in
// one of the size that the decoder says. Linked with --wrap=content_take.
#include "lib/content/conversation.h"
#include "lib/content/fake_torrents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION_BYTES (64u << 20)
#define MIDSTREAM_AT 1000

void *__real_content_take(struct content_memory *memory, size_t bytes);
void *__wrap_content_take(struct content_memory *memory, size_t bytes);

static struct {
	uint32_t n, refused;
} takes;

void *__wrap_content_take(struct content_memory *memory, size_t bytes)
{
	return ++takes.n == takes.refused ? NULL : __real_content_take(memory, bytes);
}

struct feeder {
	const struct content_decoder *decoder;
	const struct feeding *feeding;
	struct transcript *transcript;
	struct content_memory *memory;
	struct content_sink sink;
	struct decoder_sink others;
	struct content_torrents torrents;
	const struct flow_ends *ends;
	const struct transfer_label *announced;
	const struct endpoint_secret *secret;
	void *state;
	uint64_t seed;
	uint64_t offset64[2];
	uint32_t fed; // of all
	bool over;
};

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "feed: %s\n", what);
	abort();
}

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static struct content_turn turn_of(const struct feeder *feeder)
{
	return (struct content_turn){.sink = &feeder->sink,
		.memory = feeder->memory,
		.others = &feeder->others,
		.ends = feeder->ends,
		.app = CONVERSATION_APP,
		.data_app = CONVERSATION_DATA_APP,
		.announced = feeder->announced,
		.secret = feeder->offset64[HALF_C2S] ? NULL : feeder->secret,
		.torrents = &feeder->torrents};
}

static void feed_span(struct feeder *feeder, struct span span)
{
	struct content_turn turn = turn_of(feeder);
	uint32_t refused = 0;

	for (;;) {
		uint64_t told = feeder->transcript->told;

		turn.output = feeder->transcript->budget = feeder->feeding->budget;
		enum content_fed fed = feeder->decoder->feed(feeder->state, &span, &turn);

		check(turn.taken <= span.extent, "no more is taken than there is");
		// what is listed costs something, too (content_charge)
		check(turn.output <= feeder->feeding->budget - (feeder->transcript->told - told),
			"what is told is counted");
		feeder->over |= fed == CONTENT_OVER;
		if (fed == CONTENT_OVER || fed == CONTENT_FED) {
			check(turn.taken == span.extent, "all is taken");
			return;
		}
		if (fed == CONTENT_MORE)
			check(!turn.output, "the budget is used up");
		else
			check(!refused++, "memory is asked for in vain once");
		if (!feeder->feeding->rest_again)
			continue;
		span.offset64 += turn.taken;
		span.unchecked = span.unchecked ? span.unchecked + turn.taken : NULL;
		span.extent -= turn.taken;
		turn.taken = 0;
	}
}

static void feed_piece(
	struct feeder *feeder, const struct said *said, uint32_t from, uint32_t length, bool last)
{
	uint8_t *exact = NULL;
	struct span span = {.offset64 = feeder->offset64[said->half],
		.extent = length,
		.half = said->half,
		.flags = said->flags & (uint8_t)~SPAN_FIN};

	if (last)
		span.flags |= said->flags & SPAN_FIN;
	if (said->bytes && length) {
		exact = malloc(length);
		check(exact, "memory");
		memcpy(exact, (const uint8_t *)said->bytes + from, length);
	}
	span.unchecked = exact;
	feed_span(feeder, span);
	feeder->offset64[said->half] += length;
	feeder->fed += length;
	free(exact);
}

static uint32_t piece_of(struct feeder *feeder, uint32_t left)
{
	const struct feeding *feeding = feeder->feeding;
	uint32_t n = feeding->piece ? feeding->piece : left;

	if (feeding->seed)
		n = 1 + random_below(&feeder->seed, 1 + random_below(&feeder->seed, 40));
	if (feeding->cut_at > feeder->fed && n > feeding->cut_at - feeder->fed)
		n = feeding->cut_at - feeder->fed;
	if (feeding->stop_at && n > feeding->stop_at - feeder->fed)
		n = feeding->stop_at - feeder->fed;
	return n < left ? n : left;
}

static bool is_stopped(const struct feeder *feeder)
{
	return feeder->feeding->stop_at && feeder->fed >= feeder->feeding->stop_at;
}

static void feed_said(struct feeder *feeder, const struct said *said)
{
	uint32_t at = 0;

	if (said->flags & SPAN_MIDSTREAM && !feeder->offset64[said->half])
		feeder->offset64[said->half] = MIDSTREAM_AT;

	if (said->torrent) {
		feeder->torrents.learn(feeder->torrents.ctx, NULL, said->bytes, said->length);
		return;
	}
	if (said->announced || said->ends || said->secret) {
		feeder->announced = said->announced ? said->announced : feeder->announced;
		feeder->ends = said->ends ? said->ends : feeder->ends;
		feeder->secret = said->secret ? said->secret : feeder->secret;
		return;
	}
	do {
		uint32_t n = said->flags & SPAN_DATAGRAM ? said->length
							 : piece_of(feeder, said->length - at);

		feed_piece(feeder, said, at, n, at + n == said->length);
		at += n;
	} while (at < said->length && !is_stopped(feeder));
}

uint32_t conversation_feed(const struct content_decoder *decoder,
	const struct conversation *conversation, const struct feeding *feeding,
	struct transcript *transcript)
{
	static const struct flow_ends ends = {
		.address = {{[10] = 0xff, 0xff, 10, 0, 0, 1}, {[10] = 0xff, 0xff, 10, 0, 0, 2}},
		.port = {40000, 2121},
	};
	static struct content_memory *memory;
	struct feeder feeder = {decoder, feeding, transcript, .seed = feeding->seed};
	struct content_memory_use use;

	if (!memory)
		memory = content_memory_new(REGION_BYTES, -1);
	check(memory, "memory");
	feeder.memory = memory;
	feeder.state = aligned_alloc(16, (decoder->state_bytes + 15u) & ~15u);
	check(feeder.state, "memory");
	memset(feeder.state, 0, decoder->state_bytes);
	transcript_begin(transcript, feeding->want);
	feeder.sink = transcript_sink(transcript);
	feeder.others = transcript_others(transcript);
	feeder.torrents = fake_torrents();
	feeder.ends = &ends;
	takes.n = 0;
	takes.refused = feeding->refused;
	for (const struct said *said = conversation->said;
		!said_is_last(conversation, said) && !is_stopped(&feeder); said++)
		feed_said(&feeder, said);
	struct content_turn turn = turn_of(&feeder);

	if (feeder.over) { // all is given back
		content_memory_look(memory, &use);
		check(!use.used, "nothing is kept when all is over");
	}
	decoder->over(feeder.state, &turn);
	content_memory_look(memory, &use);
	check(!use.used, "memory is given back");
	for (uint32_t i = 0; i < TRANSCRIPT_FILES; i++)
		check(transcript->files[i].named == transcript->files[i].ended, "files end");
	fake_torrents_reset();
	free(feeder.state);
	takes.refused = 0;
	return takes.n;
}
