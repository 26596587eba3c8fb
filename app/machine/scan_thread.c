// SPDX-License-Identifier: BSD-3-Clause
// Starts and stops the threads of the scan lcores.
#include "machine/scan_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <rte_lcore.h>
#include "pipeline/stage/hold.h"
#include "pipeline/swarm/swarm.h"
#include "scan/cache.h"
#include "scan/hash_list.h"

#define MAIL_MAX 16

// From the control core to a scan lcore. Data lcores know nothing of it.
struct mail {
	pthread_mutex_t mutex;
	struct scan_news news[MAIL_MAX];
	unsigned n;
};

struct scan_thread {
	struct scan_threads *all;
	struct scan_worker *worker;
	struct mail mail;
	pthread_t thread;
	int wake_fd; // -1: none; whoever writes to it ends the sleep
	bool runs;
};

struct scan_threads {
	struct dataplane *dp;
	struct scan_config config;
	struct scan_worker *workers[GATEWAY_LCORES_MAX];
	struct hold_workers as_seen; // by data lcores
	struct scan_trial *trial;
	struct scan_thread threads[GATEWAY_LCORES_MAX];
	unsigned n;
	_Atomic bool stop;
};

static struct scan_config config_of(const struct gateway *gateway, const struct scan_arena *arena)
{
	struct scan_config config = {
		.ops = gateway->scan.engine == SCAN_ENGINE_NULL     ? &scan_engine_null
		       : gateway->scan.engine == SCAN_ENGINE_CLAMAV ? &scan_engine_process
								    : NULL,
		.arena = arena,
		.max_file_bytes = (uint64_t)gateway->scan.max_file_mb << 20,
		.timeout_ns = gateway->scan.timeout_ms * NS_PER_MS,
		.flows = (gateway->scan.flows + gateway->n_data - 1) / gateway->n_data,
		.on_timeout = gateway->scan.on_timeout,
		.on_error = gateway->scan.on_error,
		.n_script = gateway->scan.n_script,
	};

	memcpy(config.script, gateway->scan.script, sizeof(config.script));
	return config;
}

// What the scan lcores know together.
static int make_known(
	struct scan_config *config, const struct gateway *gateway, char *err, size_t err_len)
{
	if (gateway->scan.engine != SCAN_ENGINE_CLAMAV)
		return 0;
	if (gateway->scan.cache)
		config->cache =
			scan_cache_new(gateway->scan.cache, gateway->scan.cache_s * NS_PER_S);
	if (gateway->scan.cache && !config->cache) {
		snprintf(err, err_len, "scan lcores: no memory for %u verdicts (scan.cache)",
			gateway->scan.cache);
		return -ENOMEM;
	}
	if (!gateway->scan.allow && !gateway->scan.deny)
		return 0;
	return scan_lists_new(
		gateway->scan.allow, gateway->scan.deny, &config->lists, err, err_len);
}

// Files in parts, in what the arena has for all data lcores together.
static int make_swarm(struct scan_config *config, const struct dataplane *dp,
	const struct gateway *gateway, unsigned n_workers, char *err, size_t err_len)
{
	if (!config->arena || !config->arena->shared)
		return 0;
	config->swarm =
		swarm_new(config->arena, &(struct swarm_limits){.seed = &dp->lcores[0]->parse.seed,
						 .files = gateway->scan.swarm_files,
						 .age_ns = gateway->scan.swarm_s * NS_PER_S,
						 .n_workers = n_workers});
	if (!config->swarm) {
		snprintf(err, err_len,
			"scan lcores: no memory for %u files in parts (scan.swarm_files)",
			gateway->scan.swarm_files);
		return -ENOMEM;
	}
	config->side = swarm_side_work(config->swarm);
	return 0;
}

int scan_threads_read_lists(struct scan_threads *threads, bool check, char *err, size_t err_len)
{
	struct scan_lists *lists = threads->config.lists;

	if (!lists)
		return 0;
	return check ? scan_lists_check(lists, err, err_len) : scan_lists_read(lists, err, err_len);
}

// Until a data lcore has something, or the engine, or there is mail.
static void sleep_until(const struct scan_thread *thread, uint64_t due_ns)
{
	uint64_t now_ns = thread->all->dp->clock_ns(), left = due_ns > now_ns ? due_ns - now_ns : 0;
	struct pollfd wait[1 + SCAN_FDS_MAX] = {{.fd = thread->wake_fd, .events = POLLIN}};
	const struct timespec time = {
		.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = (long)(left % NS_PER_S)};
	unsigned n = 1 + scan_worker_descriptors(thread->worker, wait + 1);
	uint64_t count;

	if (ppoll(wait, n, due_ns == SCAN_NEVER ? NULL : &time, NULL) > 0 && wait[0].revents &&
		read(thread->wake_fd, &count, sizeof(count)) < 0)
		return; // somebody else's signal: it is looked at anyway
}

static void take_mail(struct scan_thread *thread)
{
	struct mail *mail = &thread->mail;
	struct scan_news news[MAIL_MAX];

	pthread_mutex_lock(&mail->mutex);
	unsigned n = mail->n;

	memcpy(news, mail->news, n * sizeof(news[0]));
	mail->n = 0;
	pthread_mutex_unlock(&mail->mutex);
	for (unsigned i = 0; i < n; i++)
		scan_worker_adopt(thread->worker, &news[i], thread->all->dp->clock_ns());
}

static void *scan_main(void *arg)
{
	struct scan_thread *thread = arg;
	struct scan_threads *all = thread->all;

	while (!atomic_load_explicit(&all->stop, memory_order_acquire)) {
		take_mail(thread); // who puts some in wakes, so it is not slept over
		if (scan_worker_turn(thread->worker, all->dp->clock_ns()))
			continue;
		if (!scan_worker_may_sleep(thread->worker))
			continue;
		sleep_until(thread, scan_worker_next_ns(thread->worker));
		scan_worker_woke(thread->worker);
	}
	return NULL;
}

unsigned scan_threads_count(const struct scan_threads *threads)
{
	return threads->n;
}

int scan_threads_tell(struct scan_threads *threads, unsigned index, const struct scan_news *news)
{
	struct mail *mail = &threads->threads[index].mail;
	int rc = 0;

	pthread_mutex_lock(&mail->mutex);
	if (mail->n < MAIL_MAX)
		mail->news[mail->n++] = *news;
	else
		rc = -EAGAIN;
	pthread_mutex_unlock(&mail->mutex);
	if (!rc)
		scan_threads_wake(threads, UINT64_C(1) << index);
	return rc;
}

bool scan_threads_status(struct scan_threads *threads, unsigned index, struct scan_status *out)
{
	return index < threads->n && scan_worker_status(threads->workers[index], out);
}

struct scan_trial *scan_threads_trial(struct scan_threads *threads)
{
	return threads->trial;
}

void scan_threads_wake(void *arg, uint64_t workers)
{
	const struct scan_threads *threads = arg;
	const uint64_t one = 1;

	for (unsigned i = 0; i < threads->n; i++)
		if (workers >> i & 1 && write(threads->threads[i].wake_fd, &one, sizeof(one)) < 0)
			continue; // full: it is awake long since
}

static int start(struct scan_threads *threads, const struct gateway *gateway, unsigned index,
	char *err, size_t err_len)
{
	struct scan_thread *thread = &threads->threads[index];
	char name[16];

	thread->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (thread->wake_fd < 0) {
		snprintf(err, err_len, "scan lcore %u: eventfd: %s", index, strerror(errno));
		return -errno;
	}
	snprintf(name, sizeof(name), "scan-%u", index);
	int rc = rte_ctrl_thread_create(&thread->thread, name, NULL, scan_main, thread);

	if (rc) {
		snprintf(err, err_len, "scan lcore %u did not start: %s", index, strerror(abs(rc)));
		return -abs(rc);
	}
	thread->runs = true;
	if (index >= gateway->n_scan)
		return 0;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(gateway->scan_cpus[index], &cpu);
	rc = pthread_setaffinity_np(thread->thread, sizeof(cpu), &cpu);
	if (rc)
		snprintf(err, err_len,
			"scan lcore %u: CPU %u (lcores.scan) cannot be used: %s; name one that "
			"this process may run on",
			index, gateway->scan_cpus[index], strerror(rc));
	return -rc;
}

int scan_threads_new(struct dataplane *dp, const struct gateway *gateway,
	const struct scan_arena *arena, struct scan_threads **out, char *err, size_t err_len)
{
	struct scan_config config = config_of(gateway, arena);

	*out = NULL;
	if (!config.ops)
		return 0;
	struct scan_threads *threads = calloc(1, sizeof(*threads));

	if (!threads) {
		snprintf(err, err_len, "scan lcores: no memory");
		return -ENOMEM;
	}
	int rc = make_known(&config, gateway, err, err_len);

	threads->dp = dp;
	threads->config = config;
	threads->n = gateway->n_scan ? gateway->n_scan : 1;
	threads->as_seen = (struct hold_workers){
		.config = &threads->config, .workers = threads->workers, .n_workers = threads->n};
	if (!rc)
		rc = make_swarm(&threads->config, dp, gateway, threads->n, err, err_len);
	for (unsigned i = 0; i < threads->n; i++) {
		threads->threads[i].wake_fd = -1;
		pthread_mutex_init(&threads->threads[i].mail.mutex, NULL);
	}
	for (unsigned i = 0; !rc && i < threads->n; i++) {
		rc = scan_worker_new(&threads->config, i, dp->n_lcores + 1, // and the trial
			SOCKET_ID_ANY, &threads->workers[i], err, err_len);
		threads->threads[i].all = threads;
		threads->threads[i].worker = threads->workers[i];
	}
	dp->scan = &threads->config;
	threads->trial =
		scan_trial_new(&threads->config, threads->workers, threads->n, dp->n_lcores);
	if (!rc && !threads->trial) {
		snprintf(err, err_len, "scan lcores: no memory");
		rc = -ENOMEM;
	}
	for (unsigned i = 0; !rc && i < dp->n_lcores; i++)
		rc = hold_new(dp->lcores[i], &threads->as_seen, err, err_len);
	for (unsigned i = 0; !rc && i < threads->n; i++)
		rc = start(threads, gateway, i, err, err_len);
	if (rc < 0) {
		scan_threads_free(threads);
		return rc;
	}
	*out = threads;
	return 0;
}

void scan_threads_stop(struct scan_threads *threads)
{
	if (!threads)
		return;
	atomic_store_explicit(&threads->stop, true, memory_order_release);
	scan_threads_wake(threads, UINT64_MAX);
	for (unsigned i = 0; i < threads->n; i++) {
		if (threads->threads[i].runs)
			pthread_join(threads->threads[i].thread, NULL);
		threads->threads[i].runs = false;
	}
}

void scan_threads_free(struct scan_threads *threads)
{
	if (!threads)
		return;
	scan_threads_stop(threads);
	threads->dp->scan = NULL;
	for (unsigned i = 0; i < threads->dp->n_lcores; i++)
		if (threads->dp->lcores[i])
			hold_free(threads->dp->lcores[i]);
	for (unsigned i = 0; i < threads->n; i++) {
		struct mail *mail = &threads->threads[i].mail;

		scan_worker_free(threads->workers[i]);
		for (unsigned j = 0; j < mail->n; j++)
			if (mail->news[j].fd >= 0)
				close(mail->news[j].fd);
		pthread_mutex_destroy(&mail->mutex);
		if (threads->threads[i].wake_fd >= 0)
			close(threads->threads[i].wake_fd);
	}
	scan_trial_free(threads->trial);
	swarm_free(threads->config.swarm);
	scan_cache_free(threads->config.cache);
	scan_lists_free(threads->config.lists);
	free(threads);
}
