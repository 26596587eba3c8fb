// SPDX-License-Identifier: BSD-3-Clause
// Runs a build of a policy in a thread, and reports its end to the control loop.
#include "control/policy/builder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define NICE 5

int builder_open(struct builder *builder)
{
	builder->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return builder->wake < 0 ? -errno : 0;
}

void builder_close(struct builder *builder)
{
	if (builder->wake >= 0)
		close(builder->wake);
	builder->wake = -1;
}

static void work(struct builder *builder)
{
	builder->work(builder->ctx);
	eventfd_write(builder->wake, 1);
}

static void *thread(void *ctx)
{
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); // at best
	work(ctx);
	return NULL;
}

void builder_begin(struct builder *builder, void (*what)(void *ctx), void *ctx)
{
	sigset_t all, before;
	int rc;

	builder->work = what;
	builder->ctx = ctx;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&builder->thread, NULL, thread, builder);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	builder->threaded = rc == 0;
	if (!rc)
		return;
	log_warning("no thread to build a policy in (%s): nothing else is done meanwhile",
		strerror(rc));
	work(builder);
}

bool builder_end(struct builder *builder)
{
	eventfd_t ended;

	if (eventfd_read(builder->wake, &ended) < 0)
		return false;
	if (builder->threaded)
		pthread_join(builder->thread, NULL);
	return true;
}

bool builder_leave(struct builder *builder, unsigned ms)
{
	struct timespec until;

	if (!builder->threaded)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	if (pthread_timedjoin_np(builder->thread, NULL, &until) == 0)
		return true;
	pthread_detach(builder->thread);
	return false;
}
