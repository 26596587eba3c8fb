// SPDX-License-Identifier: BSD-3-Clause
// The thread that forwards packets for data lcores that have stalled.
#include "machine/standby.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rte_lcore.h>
#include "pipeline/bypass.h"

#define IDLE_NS 20000

struct standby {
	struct dataplane *dp;
	pthread_t thread;
	pthread_mutex_t lock; // of the sleep alone
	pthread_cond_t wake;
	_Atomic uint64_t taken; // lcores, as bits; set by the control core, cleared by the thread
	_Atomic bool stop;
};

static uint64_t taken(const struct standby *standby)
{
	return atomic_load_explicit(&standby->taken, memory_order_acquire);
}

static void give_back(struct standby *standby, unsigned lcore)
{
	struct dataplane *dp = standby->dp;

	bypass_end(dp->standbys[lcore], dp->clock_ns());
	atomic_fetch_and(&standby->taken, ~(UINT64_C(1) << lcore));
	lease_give(&dp->lcores[lcore]->lease);
}

// One turn for each lcore that it has; the packets taken.
static unsigned serve(struct standby *standby, uint64_t lcores)
{
	struct dataplane *dp = standby->dp;
	unsigned total = 0;

	for (unsigned i = 0; lcores >> i; i++) {
		if (!(lcores >> i & 1))
			continue;
		unsigned n = bypass_turn(dp->standbys[i], dp->clock_ns());

		if (lease_holder(&dp->lcores[i]->lease) == LEASE_WANTED ||
			(atomic_load(&standby->stop) && !n))
			give_back(standby, i);
		total += n;
	}
	return total;
}

// Awake: a reader of the policy, as the lcores are.
static void forward(struct standby *standby)
{
	struct dataplane *dp = standby->dp;
	struct timespec idle = {.tv_nsec = IDLE_NS};
	uint64_t lcores;

	rte_rcu_qsbr_thread_online(dp->qsbr, dp->n_lcores);
	while ((lcores = taken(standby))) {
		unsigned n = serve(standby, lcores);

		rte_rcu_qsbr_quiescent(dp->qsbr, dp->n_lcores);
		if (!n)
			nanosleep(&idle, NULL);
	}
	rte_rcu_qsbr_thread_offline(dp->qsbr, dp->n_lcores);
}

static void *standby_main(void *arg)
{
	struct standby *standby = arg;

	for (;;) {
		pthread_mutex_lock(&standby->lock);
		while (!taken(standby) && !atomic_load(&standby->stop))
			pthread_cond_wait(&standby->wake, &standby->lock);
		pthread_mutex_unlock(&standby->lock);
		if (!taken(standby))
			return NULL;
		forward(standby);
	}
}

static int fail(struct standby *standby, int rc, char *err, size_t err_len)
{
	snprintf(err, err_len, "the standby for stalled data lcores did not start: %s",
		strerror(-rc));
	free(standby);
	return rc;
}

int standby_new(struct dataplane *dp, struct standby **out, char *err, size_t err_len)
{
	struct standby *standby = calloc(1, sizeof(*standby));

	if (!standby)
		return fail(NULL, -ENOMEM, err, err_len);
	standby->dp = dp;
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		int rc = bypass_new(dp, i);

		if (rc < 0)
			return fail(standby, rc, err, err_len);
	}
	if (rte_rcu_qsbr_thread_register(dp->qsbr, dp->n_lcores))
		return fail(standby, -EINVAL, err, err_len);
	pthread_mutex_init(&standby->lock, NULL);
	pthread_cond_init(&standby->wake, NULL);
	int rc = rte_ctrl_thread_create(&standby->thread, "standby", NULL, standby_main, standby);
	if (rc) {
		rte_rcu_qsbr_thread_unregister(dp->qsbr, dp->n_lcores);
		return fail(standby, rc < 0 ? rc : -rc, err, err_len);
	}
	*out = standby;
	return 0;
}

static void wake(struct standby *standby)
{
	pthread_mutex_lock(&standby->lock);
	pthread_cond_signal(&standby->wake);
	pthread_mutex_unlock(&standby->lock);
}

bool standby_take(struct standby *standby, unsigned lcore)
{
	if (!lease_take(&standby->dp->lcores[lcore]->lease, LEASE_STANDBY))
		return false;
	atomic_fetch_or(&standby->taken, UINT64_C(1) << lcore);
	wake(standby);
	return true;
}

bool standby_has(const struct standby *standby, unsigned lcore)
{
	return taken(standby) >> lcore & 1;
}

void standby_free(struct standby *standby)
{
	if (!standby)
		return;
	atomic_store(&standby->stop, true);
	wake(standby);
	pthread_join(standby->thread, NULL);
	rte_rcu_qsbr_thread_unregister(standby->dp->qsbr, standby->dp->n_lcores);
	pthread_cond_destroy(&standby->wake);
	pthread_mutex_destroy(&standby->lock);
	free(standby);
}
