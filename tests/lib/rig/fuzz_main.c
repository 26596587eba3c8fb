// SPDX-License-Identifier: BSD-3-Clause
// Drives a fuzz target without a fuzzer: every file named (or in a folder named) on the command
// line, then mutations of each by a generator with a fixed seed. Each input lies in a heap block of
// its exact size. A target is `int LLVMFuzzerTestOneInput(const uint8_t *, size_t)`: the same
// source links with clang's -fsanitize=fuzzer instead of this file.
// What the file's own input leaves behind in the heap each time is a leak.
// SLUICE_LONG=1: a hundred times as many mutations. FUZZ_SEED=N: another sequence.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "heap.h"

#define MUTATIONS     200u
#define MUTATIONS_MAX (MUTATIONS * 100u)
#define INPUT_MAX     (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static uint64_t random_state;
static unsigned long long runs;

static uint32_t random_below(uint32_t limit)
{
	// xorshift64*: the sequence is the same everywhere
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return limit ? (uint32_t)(random_state * 0x2545f4914f6cdd1d >> 32) % limit : 0;
}

static void run_exact(const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);

	if (!exact)
		abort();
	if (len)
		memcpy(exact, bytes, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	runs++;
}

struct input {
	const uint8_t *bytes;
	size_t len;
};

static void run_again(void *ctx)
{
	const struct input *input = ctx;

	run_exact(input->bytes, input->len);
}

static void expect_no_leak(const char *path, const uint8_t *bytes, size_t len)
{
	struct input input = {bytes, len};
	size_t left = heap_leak(run_again, &input);

	if (!left)
		return;
	fprintf(stderr, "%s: leaves %zu bytes each time\n", path, left);
	abort();
}

// One small change; returns the new length (at most len + 8).
static size_t mutate(uint8_t *bytes, size_t len)
{
	static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
	uint32_t at = random_below((uint32_t)len), n;

	switch (random_below(6)) {
	case 0: // a bit
		if (len)
			bytes[at] ^= (uint8_t)(1u << random_below(8));
		break;
	case 1: // an octet
		if (len)
			bytes[at] = (uint8_t)random_below(256);
		break;
	case 2: // up to four octets that lengths and counts go wrong with
		n = 1 + random_below(4);
		for (uint32_t i = 0; i < n && at + i < len; i++)
			bytes[at + i] = edges[random_below(sizeof edges)];
		break;
	case 3: // cut
		return at;
	case 4: // remove
		n = random_below(9);
		if (n > len - at)
			n = (uint32_t)(len - at);
		memmove(bytes + at, bytes + at + n, len - at - n);
		return len - n;
	default: // insert
		n = random_below(9);
		memmove(bytes + at + n, bytes + at, len - at);
		for (uint32_t i = 0; i < n; i++)
			bytes[at + i] = (uint8_t)random_below(256);
		return len + n;
	}
	return len;
}

static void run_file(const char *path, unsigned mutations)
{
	static uint8_t seed[INPUT_MAX], work[INPUT_MAX + 64];
	FILE *in = fopen(path, "rb");
	size_t len;

	if (!in) {
		perror(path);
		exit(2);
	}
	len = fread(seed, 1, sizeof seed, in);
	fclose(in);
	run_exact(seed, len);
	expect_no_leak(path, seed, len);
	for (unsigned i = 0; i < mutations; i++) {
		uint32_t changes = 1 + random_below(8);
		size_t now = len;

		memcpy(work, seed, len);
		for (uint32_t c = 0; c < changes; c++)
			now = mutate(work, now);
		run_exact(work, now);
	}
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_path(const char *path, unsigned mutations)
{
	struct dirent **entries;
	struct stat st;
	int n;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		run_file(path, mutations);
		return;
	}
	n = scandir(path, &entries, is_file, alphasort);
	if (n < 0) {
		perror(path);
		exit(2);
	}
	for (int i = 0; i < n; i++) {
		char name[4096];

		snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
		run_file(name, mutations);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	const char *seed = getenv("FUZZ_SEED");

	heap_begin(argv);
	random_state = (seed ? strtoull(seed, NULL, 0) : 1) * 0x9e3779b97f4a7c15 | 1;
	for (int i = 1; i < argc; i++)
		run_path(argv[i], getenv("SLUICE_LONG") ? MUTATIONS_MAX : MUTATIONS);
	printf("%llu inputs, seed %s\n", runs, seed ? seed : "1");
	return runs > 0 ? 0 : 2;
}
