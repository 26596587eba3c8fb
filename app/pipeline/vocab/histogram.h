// SPDX-License-Identifier: BSD-3-Clause
// A histogram of times with fixed buckets: 128 ns wide up to 1 us, from there eight to each
// doubling (a bucket is at most an eighth as wide as its lower bound), up to 69 s; what is longer
// is in the last. One writer, any reader: a reader sees whole words, all of about the same moment.
//
// 1.7 kB each; what a steady load touches is a line or two.
#ifndef SLUICE_HISTOGRAM_H
#define SLUICE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_UNIT_SHIFT 7 // 128 ns
#define HISTOGRAM_SUB_SHIFT  3 // buckets to a doubling, as a power of two
#define HISTOGRAM_MAX_SHIFT  36
#define HISTOGRAM_BUCKETS                                                       \
	((HISTOGRAM_MAX_SHIFT - HISTOGRAM_UNIT_SHIFT - HISTOGRAM_SUB_SHIFT + 1) \
		<< HISTOGRAM_SUB_SHIFT)

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t sum_ns;
	uint64_t max_ns;
};

// The bucket of a time.
static inline unsigned histogram_bucket(uint64_t ns)
{
	uint64_t value = ns >> HISTOGRAM_UNIT_SHIFT;

	if (value < 1 << HISTOGRAM_SUB_SHIFT)
		return (unsigned)value;
	if (ns >> HISTOGRAM_MAX_SHIFT)
		return HISTOGRAM_BUCKETS - 1;
	unsigned shift = 63 - HISTOGRAM_SUB_SHIFT - (unsigned)__builtin_clzll(value);

	return (shift << HISTOGRAM_SUB_SHIFT) + (unsigned)(value >> shift);
}

// The first time that lies beyond bucket `bucket`, ns: 128, 256, ... 1024, 1152, ... Powers of two
// from 128 ns on are all among them.
static inline uint64_t histogram_bound_ns(unsigned bucket)
{
	unsigned next = bucket + 1, doubling = next >> HISTOGRAM_SUB_SHIFT;
	uint64_t sub = next & ((1 << HISTOGRAM_SUB_SHIFT) - 1);

	if (!doubling)
		return sub << HISTOGRAM_UNIT_SHIFT;
	return (sub + (1 << HISTOGRAM_SUB_SHIFT)) << (doubling - 1) << HISTOGRAM_UNIT_SHIFT;
}

// `n` > 0 times of `ns` each. Plain stores: the one writer.
static inline void histogram_add(struct histogram *histogram, uint64_t ns, uint64_t n)
{
	histogram->counts[histogram_bucket(ns)] += n;
	histogram->sum_ns += ns * n;
	if (ns > histogram->max_ns)
		histogram->max_ns = ns;
}

// One of `ns` that was added is taken back (of the longest nothing is forgotten).
static inline void histogram_take(struct histogram *histogram, uint64_t ns)
{
	histogram->counts[histogram_bucket(ns)]--;
	histogram->sum_ns -= ns;
}

static inline uint64_t histogram_peek(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// Adds a histogram that may be another thread's to one's own.
static inline void histogram_merge(struct histogram *into, const struct histogram *from)
{
	uint64_t max_ns = histogram_peek(&from->max_ns);

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->counts[i] += histogram_peek(&from->counts[i]);
	into->sum_ns += histogram_peek(&from->sum_ns);
	if (max_ns > into->max_ns)
		into->max_ns = max_ns;
}

static inline uint64_t histogram_count(const struct histogram *histogram)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		count += histogram->counts[i];
	return count;
}

// Times below `bound_ns`, which is a bucket's bound: of an OpenMetrics bucket. (A time of exactly
// the bound is in the next one: by 1 ns not what `le` says.)
static inline uint64_t histogram_below(const struct histogram *histogram, uint64_t bound_ns)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS && histogram_bound_ns(i) <= bound_ns; i++)
		count += histogram->counts[i];
	return count;
}

// The time that `permille` of a thousand do not exceed: the upper bound of its bucket, so at most
// an eighth too much, and never more than the longest. 0 without any.
static inline uint64_t histogram_quantile_ns(const struct histogram *histogram, unsigned permille)
{
	uint64_t count = histogram_count(histogram), seen = 0;
	uint64_t rank = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;

	if (!count)
		return 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		seen += histogram->counts[i];
		if (seen >= rank && seen) {
			uint64_t bound = histogram_bound_ns(i);

			return bound < histogram->max_ns ? bound : histogram->max_ns;
		}
	}
	return histogram->max_ns;
}

#endif
