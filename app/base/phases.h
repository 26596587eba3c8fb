// SPDX-License-Identifier: BSD-3-Clause
// How long each step of the start took: an operator is without a network meanwhile.
#ifndef SLUICE_PHASES_H
#define SLUICE_PHASES_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define PHASES_MAX 16

struct phases {
	uint64_t start_ns; // CLOCK_MONOTONIC
	uint64_t last_ns;
	unsigned n;
	struct {
		const char *name;
		uint64_t ns;
	} steps[PHASES_MAX];
};

static inline uint64_t phases_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void phases_start(struct phases *phases)
{
	*phases = (struct phases){.start_ns = phases_now()};
	phases->last_ns = phases->start_ns;
}

// `name` has ended now; it began when the last one ended.
static inline void phases_end(struct phases *phases, const char *name)
{
	uint64_t now = phases_now();

	if (phases->n < PHASES_MAX) {
		phases->steps[phases->n].name = name;
		phases->steps[phases->n++].ns = now - phases->last_ns;
	}
	phases->last_ns = now;
}

static inline uint64_t phases_total_ms(const struct phases *phases)
{
	return (phases->last_ns - phases->start_ns) / 1000000u;
}

// "configuration 3 ms, policy 210 ms, ..."
static inline void phases_print(const struct phases *phases, char *out, size_t out_len)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < phases->n && used < out_len; i++)
		used += (size_t)snprintf(out + used, out_len - used, "%s%s %llu ms", i ? ", " : "",
			phases->steps[i].name,
			(unsigned long long)(phases->steps[i].ns / 1000000u));
}

#endif
