// SPDX-License-Identifier: BSD-3-Clause
// Counts memory and descriptors against the limits of a core.
#include "transportapi/base/budget.h"

#include <dirent.h>
#include <sys/resource.h>

// Kept for the program, for listeners, files that are replaced, and accepts of one event, whose
// sessions end a turn later.
#define RESERVE_LEAST 16u
#define RESERVE_MOST  256u
#define LEAST         4u // sessions, however little is left

void tapi_budget_init(struct tapi_budget *budget, uint64_t bytes_max)
{
	*budget = (struct tapi_budget){.bytes_max = bytes_max, .descriptors_max = UINT32_MAX};
	TAILQ_INIT(&budget->shares);
}

void tapi_budget_join(struct tapi_budget *budget, struct tapi_budget_share *share)
{
	if (budget)
		TAILQ_INSERT_TAIL(&budget->shares, share, next);
}

void tapi_budget_leave(struct tapi_budget *budget, struct tapi_budget_share *share)
{
	if (budget)
		TAILQ_REMOVE(&budget->shares, share, next);
}

static struct tapi_budget_share *largest(
	const struct tapi_budget *budget, struct tapi_memory_user **most)
{
	struct tapi_budget_share *share, *found = NULL;

	*most = NULL;
	TAILQ_FOREACH (share, &budget->shares, next) {
		struct tapi_memory_user *its = tapi_memory_largest(&share->memory);

		if (its && (!*most || its->bytes > (*most)->bytes)) {
			*most = its;
			found = share;
		}
	}
	return found;
}

bool tapi_budget_room(struct tapi_budget *budget, uint64_t own, uint64_t need)
{
	if (!budget)
		return true;
	if (need > budget->bytes_max)
		return false;
	while (budget->bytes + need > budget->bytes_max) {
		struct tapi_memory_user *most;
		struct tapi_budget_share *share = largest(budget, &most);

		if (!share || most->bytes <= own + need)
			return false;
		share->cut(most);
	}
	return true;
}

void tapi_budget_fit(struct tapi_budget *budget)
{
	while (budget && !budget->sending && budget->bytes > budget->bytes_max) {
		struct tapi_memory_user *most;
		struct tapi_budget_share *share = largest(budget, &most);

		if (!share)
			return;
		share->cut(most);
	}
}

static uint32_t open_now(void)
{
	DIR *folder = opendir("/proc/self/fd");
	uint32_t count = 0;

	if (!folder)
		return 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count > 3 ? count - 3 : 0; // ".", "..", and the folder itself
}

void tapi_budget_descriptors(struct tapi_budget *budget, uint64_t *rlimit, uint32_t *open)
{
	struct rlimit limit;
	uint64_t reserve, taken;

	*open = open_now();
	*rlimit = UINT64_MAX;
	budget->descriptors_max = UINT32_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return;
	*rlimit = limit.rlim_cur;
	reserve = RESERVE_LEAST + limit.rlim_cur / 16;
	if (reserve > RESERVE_MOST)
		reserve = RESERVE_MOST;
	// Our own sessions are among what is open (a reload).
	taken = (*open > budget->descriptors ? *open - budget->descriptors : 0) + reserve;
	if (limit.rlim_cur < taken + LEAST)
		budget->descriptors_max = LEAST;
	else if (limit.rlim_cur - taken < UINT32_MAX)
		budget->descriptors_max = (uint32_t)(limit.rlim_cur - taken);
}
