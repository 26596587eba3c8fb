// SPDX-License-Identifier: BSD-3-Clause
// Octets that a signature's pattern matches, made at random from the pattern itself: what the
// repository's files use of PCRE. Aborts at what it does not know.
#ifndef SLUICE_TEST_SAMPLE_PATTERN_H
#define SLUICE_TEST_SAMPLE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_MAX 1024

struct sample {
	uint32_t (*below)(uint32_t n);
	bool dotall;
	unsigned n;
	uint8_t at[SAMPLE_MAX];
	uint8_t bits[SAMPLE_MAX]; // by octet: how much less likely a random one is to be right
};

// `below` and `dotall` are set.
void sample_pattern(struct sample *sample, const char *pattern);

#endif
