// SPDX-License-Identifier: BSD-3-Clause
// What the machine leaves for a core, and what an operator is reported it.
#include "transportapi/core/limits.h"

#include <stdlib.h>
#include <syslog.h>

#include "transportapi/base/budget.h"
#include "transportapi/core/core.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"

#define TAPI_QUOTAS_MAX 65536

static struct tapi_quota *quota_find(struct tapi_core *core, const struct tapi_peer_id *id)
{
	struct tapi_quota *quota;

	HASH_FIND(hh, core->quotas, id, sizeof(*id), quota);
	return quota;
}

static enum tapi_result quota_keep(
	struct tapi_core *core, const struct tapi_peer_id *id, uint64_t in_rate, uint64_t out_rate)
{
	struct tapi_quota *quota = quota_find(core, id);

	if (quota == NULL) {
		if (HASH_COUNT(core->quotas) >= TAPI_QUOTAS_MAX)
			return TAPI_ELIMIT;
		quota = calloc(1, sizeof(*quota));
		if (quota == NULL)
			return TAPI_ENOMEM;
		quota->id = *id;
		HASH_ADD(hh, core->quotas, id, sizeof(quota->id), quota);
		if (quota->hh.tbl == NULL) {
			free(quota);
			return TAPI_ENOMEM;
		}
	}
	quota->in_rate = in_rate;
	quota->out_rate = out_rate;
	return TAPI_OK;
}

static void quota_end(struct tapi_core *core, struct tapi_quota *quota)
{
	if (quota == NULL)
		return;
	HASH_DEL(core->quotas, quota);
	free(quota);
}

enum tapi_result tapi_core_quota(
	struct tapi_core *core, const struct tapi_peer_id *id, uint64_t in_rate, uint64_t out_rate)
{
	const bool configured =
		in_rate == TAPI_QUOTA_CONFIGURED && out_rate == TAPI_QUOTA_CONFIGURED;
	struct tapi_peer *peer = tapi_peer_find(core, id);
	struct tapi_quota *quota = quota_find(core, id);
	enum tapi_result result;

	if (peer == NULL && quota == NULL)
		return TAPI_ENOADDR;
	if (configured) {
		quota_end(core, quota);
	} else {
		result = quota_keep(core, id, in_rate, out_rate);
		if (result != TAPI_OK)
			return result;
	}
	if (peer == NULL)
		return TAPI_OK;
	peer->own_quota = !configured;
	if (configured)
		tapi_peer_limits(peer);
	else
		tapi_peer_quota(peer, in_rate, out_rate);
	tapi_peer_kick(peer);
	return TAPI_OK;
}

void tapi_quota_again(struct tapi_peer *peer)
{
	const struct tapi_quota *quota = quota_find(peer->core, &peer->id);

	if (quota == NULL)
		return;
	peer->own_quota = true;
	tapi_peer_quota(peer, quota->in_rate, quota->out_rate);
}

void tapi_quotas_free(struct tapi_core *core)
{
	struct tapi_quota *quota, *next;

	HASH_ITER(hh, core->quotas, quota, next)
	{
		quota_end(core, quota);
	}
}

void tapi_core_descriptors(struct tapi_core *core)
{
	struct tapi_budget *budget = &core->budget;
	uint64_t rlimit;
	uint32_t open;

	tapi_budget_descriptors(budget, &rlimit, &open);
	if (budget->descriptors_wanted <= budget->descriptors_max) {
		core->descriptors_told = 0;
		return;
	}
	if (core->descriptors_told == budget->descriptors_wanted)
		return;
	core->descriptors_told = budget->descriptors_wanted;
	tapi_core_log(core, LOG_WARNING,
		"max_sessions of tcp and unix may come to %u descriptors, and the system allows "
		"this "
		"process %llu (RLIMIT_NOFILE; %u are open, some are kept): there will be %u "
		"sessions at "
		"a time, beyond that the longest unused ends; raise LimitNOFILE (ulimit -n), or "
		"lower "
		"max_sessions",
		budget->descriptors_wanted, (unsigned long long)rlimit, open,
		budget->descriptors_max);
}
