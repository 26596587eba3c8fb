// SPDX-License-Identifier: BSD-3-Clause
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "stream_campaign.h"

// The same words, whatever the numbers.
static bool same_problem(const char *a, const char *b)
{
	for (; *a || *b; a++, b++) {
		while (isxdigit((unsigned char)*a))
			a++;
		while (isxdigit((unsigned char)*b))
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
	return true;
}

static bool fails_so(
	const struct stream_gateway *gateway, const struct stream_schedule *s, const char *why)
{
	struct stream_tally tally = {0};
	const char *problem = stream_world_run(gateway, s, &tally);

	return problem && same_problem(problem, why);
}

// Operations, then what is said of each, then what is said of all.
static void shrink_once(
	const struct stream_gateway *gateway, struct stream_schedule *s, const char *why)
{
	struct stream_schedule less;

	for (unsigned size = s->n_ops / 2; size; size /= 2)
		for (unsigned at = 0; at + size <= s->n_ops;) {
			less = *s;
			memmove(less.ops + at, less.ops + at + size,
				(s->n_ops - at - size) * sizeof(s->ops[0]));
			less.n_ops -= size;
			if (fails_so(gateway, &less, why))
				*s = less;
			else
				at += size;
		}
#define TRY(member, plain)                                                     \
	do {                                                                   \
		less = *s;                                                     \
		less.member = (__typeof__(less.member))(plain);                \
		if (less.member != s->member && fails_so(gateway, &less, why)) \
			*s = less;                                             \
	} while (0)
	for (unsigned i = 0; i < s->n_ops; i++) {
		TRY(ops[i].flags, 0);
		TRY(ops[i].stamp, STAMP_NOW);
		TRY(ops[i].variant, 0);
		TRY(ops[i].length, 0);
		TRY(ops[i].length, s->ops[i].length / 2);
		TRY(ops[i].length, s->ops[i].length - (s->ops[i].length > 1));
		TRY(ops[i].ack, ACK_RIGHT);
		TRY(ops[i].value, s->ops[i].value / 2);
		TRY(ops[i].tcp_flags, s->ops[i].tcp_flags & ~(8 | 32));
		TRY(ops[i].at, s->ops[i].at < 0 ? s->ops[i].at : s->ops[i].at / 2);
		TRY(ops[i].at, s->ops[i].at - (s->ops[i].at > 0));
	}
	TRY(world, WORLD_PLAIN);
	TRY(drop, false);
	TRY(v6, false);
	TRY(stamps, false);
	TRY(fast_open, false);
	TRY(one_sided, false);
	TRY(isn[0], 1000);
	TRY(isn[1], 1000);
	TRY(scale, 0);
	TRY(window, 65535);
	TRY(n_jobs, 0);
	TRY(n_jobs, 1);
#undef TRY
}

static void shrink(const struct stream_gateway *gateway, struct stream_schedule *s, const char *why)
{
	for (unsigned rounds = 0; rounds < 6; rounds++) {
		struct stream_schedule before = *s;

		shrink_once(gateway, s, why);
		if (before.n_ops == s->n_ops &&
			!memcmp(before.ops, s->ops, s->n_ops * sizeof(s->ops[0])))
			return;
	}
}

static const char *run_seeds(const struct stream_gateway *gateway,
	const struct stream_campaign *campaign, struct stream_schedule *s,
	struct stream_tally *tally)
{
	for (uint64_t i = 0; i < campaign->n; i++) {
		stream_schedule_make(s, campaign->first + i, campaign->observe);
		if (campaign->plain && (s->midstream || s->one_sided))
			continue;
		if (campaign->plain)
			s->n_jobs = 0;
		const char *problem = stream_world_run(gateway, s, tally);

		if (problem)
			return problem;
	}
	return NULL;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

uint64_t stream_campaign_find(const struct stream_gateway *gateway,
	const struct stream_campaign *campaign, struct stream_schedule *s, char *why, size_t size)
{
	struct stream_tally tally = {0};
	const char *problem = run_seeds(gateway, campaign, s, &tally);

	if (!problem)
		return 0;
	snprintf(why, size, "%s", problem);
	shrink(gateway, s, why);
	problem = stream_world_run(gateway, s, &tally);
	if (problem)
		snprintf(why, size, "%s", problem);
	return s->seed;
}

bool stream_campaign_run(
	const struct stream_gateway *gateway, const struct stream_campaign *campaign)
{
	static struct stream_schedule s;
	struct stream_tally tally = {0};
	double from = seconds();
	char why[300];

	printf("%s: seeds %llu to %llu\n", campaign->name, (unsigned long long)campaign->first,
		(unsigned long long)(campaign->first + campaign->n - 1));
	fflush(stdout);
	const char *problem = run_seeds(gateway, campaign, &s, &tally);

	if (!problem) {
		printf("%s: %llu schedules in %.1f s: %llu packets, %llu bytes delivered, %llu "
		       "inspected, %llu rewritten, %llu held, %llu dropped, %llu gaps, %llu of "
		       "ours, %llu came to rest, %llu bytes edited\n",
			campaign->name, (unsigned long long)campaign->n, seconds() - from,
			(unsigned long long)tally.packets, (unsigned long long)tally.delivered,
			(unsigned long long)tally.inspected, (unsigned long long)tally.rewritten,
			(unsigned long long)tally.held, (unsigned long long)tally.dropped,
			(unsigned long long)tally.gaps, (unsigned long long)tally.injected,
			(unsigned long long)tally.settled, (unsigned long long)tally.edited);
		fflush(stdout);
		return true;
	}
	snprintf(why, sizeof(why), "%s", problem);
	if (!getenv("SLUICE_WHOLE"))
		shrink(gateway, &s, why);
	stream_schedule_print(&s);
	stream_world_tell(true);
	problem = stream_world_run(gateway, &s, &tally);
	stream_world_tell(false);
	fprintf(stderr, "%s: SLUICE_SEED=%llu: %s; cut down: %s\n", campaign->name,
		(unsigned long long)s.seed, why, problem ? problem : "gone");
	return false;
}
