// SPDX-License-Identifier: BSD-3-Clause
// Feeds conversations in many ways, and compares what is told.
#include "lib/content/conversation.h"
#include "lib/content/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HUGE_BUDGET UINT32_MAX
#define LONG_BYTES  4000u // of longer conversations not each place is cut
#define LONG_CUTS   20u
#define HUGE_BYTES  100000u // these are not fed in each way
#define HUGE_CUTS   5u
#define SEED_BYTES  3000u
#define REFUSED     50u // blocks, each in a turn of its own
#define SEEDS       8u

static struct transcript got;

static uint32_t length_of(const struct conversation *conversation)
{
	uint32_t length = 0;

	for (unsigned i = 0; i < CONVERSATION_SAID; i++)
		if (!conversation->said[i].torrent)
			length += conversation->said[i].length;
	return length;
}

static uint32_t try(const struct content_decoder *decoder, const struct conversation *conversation,
	struct feeding feeding)
{
	uint32_t n;

	feeding.budget = feeding.budget ? feeding.budget : HUGE_BUDGET;
	n = conversation_feed(decoder, conversation, &feeding, &got);
	if (!feeding.stop_at && feeding.want == CONTENT_WANT_DATA &&
		strcmp(got.text, conversation->expected) != 0)
		fail_msg("%s (pieces of %u, cut at %u, seed %llu, budget %u, refused %u): got\n%s"
			 "instead of\n%s",
			conversation->name, feeding.piece, feeding.cut_at,
			(unsigned long long)feeding.seed, feeding.budget, feeding.refused, got.text,
			conversation->expected);
	return n;
}

static void try_all(const struct content_decoder *decoder, const struct conversation *conversation)
{
	static const uint32_t budgets[] = {1, 3, HUGE_BUDGET};
	uint32_t length = length_of(conversation), blocks;
	bool huge = length > HUGE_BYTES;
	uint32_t step = huge ? length / HUGE_CUTS : length > LONG_BYTES ? length / LONG_CUTS : 1;
	uint32_t refused = huge ? HUGE_CUTS : REFUSED;
	const struct feeding whole = {.want = CONTENT_WANT_DATA};
	struct feeding feeding;

	blocks = try(decoder, conversation, whole);
	for (unsigned i = huge ? 2 : 0; i < 3; i++) {
		feeding = (struct feeding){.want = CONTENT_WANT_DATA, .budget = budgets[i]};
		try(decoder, conversation, feeding);
		for (feeding.piece = 1; feeding.piece <= 7; feeding.piece += 6) {
			feeding.rest_again = !feeding.rest_again;
			try(decoder, conversation, feeding);
		}
		feeding.piece = 0;
		for (feeding.seed = 1; feeding.seed <= SEEDS; feeding.seed++)
			try(decoder, conversation, feeding);
	}
	feeding = whole;
	for (feeding.cut_at = step; feeding.cut_at < length; feeding.cut_at += step)
		try(decoder, conversation, feeding);
	feeding = whole;
	for (feeding.refused = 1; feeding.refused <= blocks && feeding.refused <= refused;
		feeding.refused++) {
		feeding.rest_again = feeding.refused & 1;
		feeding.budget = feeding.refused & 2 ? 3 : 0;
		try(decoder, conversation, feeding);
	}
	// what is left when it ends anywhere
	feeding = whole;
	for (feeding.stop_at = step; feeding.stop_at < length; feeding.stop_at += step)
		try(decoder, conversation, feeding);
	// names alone are no other names
	feeding = (struct feeding){.want = CONTENT_WANT_NAME, .budget = 1, .piece = 5};
	try(decoder, conversation, feeding);
	assert_int_equal(got.told, 0);
}

static void write_seed(const struct conversation *conversation, const char *folder)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, conversation->name);

	if (length_of(conversation) > SEED_BYTES)
		return;
	for (int i = (int)strlen(folder) + 1; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789", path[i]))
			path[i] = path[i] >= 'A' && path[i] <= 'Z' ? (char)(path[i] + 32) : '-';
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	records_write(conversation, file);
	fclose(file);
}

void conversations_check(
	const struct content_decoder *decoder, const struct conversation *conversations, unsigned n)
{
	const struct feeding whole = {.want = CONTENT_WANT_DATA, .budget = HUGE_BUDGET};

	for (unsigned i = 0; i < n; i++) {
		if (getenv("SEEDS"))
			write_seed(&conversations[i], getenv("SEEDS"));
		if (getenv("SHOW")) {
			conversation_feed(decoder, &conversations[i], &whole, &got);
			printf("--- %s\n%s", conversations[i].name, got.text);
			if (strcmp(got.text, conversations[i].expected) != 0)
				printf("+++ expected\n%s", conversations[i].expected);
			continue;
		}
		try_all(decoder, &conversations[i]);
	}
}
