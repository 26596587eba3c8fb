// SPDX-License-Identifier: BSD-3-Clause
// Sets up the events of the control core, and runs its loop until the gateway is stopped.
#include "control/control_loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "control/stats/watchdog.h"
#include "control/stats/sum.h"
#include "base/log.h"

#define DRAIN_MS  10
#define RELOAD_MS 5
#define FLUSH_MS  250

#define DRAIN_MAX 4096 // records of a lcore per turn: clients and signals wait no longer than that

enum { EVENTS_MAX = 10 };

struct control {
	struct control_context *context;
	const struct control_options *options;
	struct event *events[EVENTS_MAX]; // libevent's; freed together
	unsigned n_events;
	struct event *grace; // polls reload_step while a grace period runs
	int signal;          // that ended the loop
	struct watchdog watchdog;
};

static void drain(evutil_socket_t fd, short what, void *ctx)
{
	struct control *control = ctx;

	(void)fd;
	(void)what;
	if (control->context->sink)
		sink_drain(control->context->sink, DRAIN_MAX);
	if (control->context->stop)
		event_base_loopbreak(control->context->base);
}

static void flush(evutil_socket_t fd, short what, void *ctx)
{
	struct control *control = ctx;

	(void)fd;
	(void)what;
	if (control->context->sink)
		sink_flush(control->context->sink);
}

static void stats(evutil_socket_t fd, short what, void *ctx)
{
	struct control *control = ctx;

	(void)fd;
	(void)what;
	sink_stats_event(control->context->sink, control->context->now_ns(), stats_eve_json);
}

static void grace(evutil_socket_t fd, short what, void *ctx)
{
	struct control *control = ctx;
	struct timeval soon = {.tv_usec = RELOAD_MS * 1000};

	(void)fd;
	(void)what;
	if (reload_step(control->context->reload, control->context->now_ns()))
		log_notice("policy: generation %llu is in force on every lcore",
			(unsigned long long)reload_generation(control->context->reload));
	else
		event_add(control->grace, &soon);
}

static void watch(evutil_socket_t fd, short what, void *ctx)
{
	struct control *control = ctx;
	uint64_t now_ns = control->context->now_ns();
	bool healthy = watchdog_check(&control->watchdog, now_ns);

	(void)fd;
	(void)what;
	reload_step(control->context->reload, now_ns);
	if (control->context->blocked)
		blocked_ids_step(control->context->blocked, now_ns);
	if (control->options->tick)
		control->options->tick(control->options->ctx, now_ns, healthy);
}

static void reload_done(void *ctx, bool good, const struct config_errors *errors)
{
	struct control *control = ctx;
	struct reload *reload = control->context->reload;

	if (good) {
		log_notice("policy: %s loaded as generation %llu", reload_path(reload),
			(unsigned long long)reload_generation(reload));
		grace(-1, 0, control);
		return;
	}
	for (size_t i = 0; i < errors->n; i++)
		log_error("%s", errors->lines[i]);
	log_error("policy: %s cannot be used; generation %llu stays in force",
		reload_path(reload) ? reload_path(reload) : "none",
		(unsigned long long)reload_generation(reload));
}

// SIGUSR2. A file that is written while a policy is being loaded is loaded after that: one more
// request is enough, however many signals came meanwhile.
static void reload_policy_again(struct control *control)
{
	struct control_context *context = control->context;
	struct reload_request *request;
	int rc = 0;

	if (!reload_path(context->reload)) {
		log_error("policy: nothing to reload");
		return;
	}
	if (reload_waits_for(context->reload, control))
		return;
	log_notice("policy: reloading %s", reload_path(context->reload));
	rc = reload_ask(
		context->reload, NULL, false, context->now_ns(), reload_done, control, &request);
	if (rc < 0)
		log_error("policy: cannot be reloaded now: %s", strerror(-rc));
}

static void built(evutil_socket_t fd, short what, void *ctx)
{
	struct control *control = ctx;

	(void)fd;
	(void)what;
	reload_turn(control->context->reload, control->context->now_ns());
}

static void signalled(evutil_socket_t number, short what, void *ctx)
{
	struct control *control = ctx;

	(void)what;
	switch (number) {
	case SIGHUP:
		log_notice("SIGHUP: reopening files");
		if (control->context->sink)
			sink_reopen(control->context->sink);
		if (control->options->reopen)
			control->options->reopen(control->options->ctx);
		break;
	case SIGUSR2: reload_policy_again(control); break;
	default:
		log_notice("SIG%s: stopping", number == SIGTERM ? "TERM" : "INT");
		control->signal = (int)number;
		event_base_loopbreak(control->context->base);
		break;
	}
}

static int add(struct control *control, struct event *event, unsigned ms)
{
	struct timeval every = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};

	if (!event)
		return -ENOMEM;
	control->events[control->n_events++] = event;
	return event_add(event, ms ? &every : NULL) < 0 ? -ENOMEM : 0;
}

static int add_timer(struct control *control, unsigned ms, event_callback_fn callback)
{
	return add(
		control, event_new(control->context->base, -1, EV_PERSIST, callback, control), ms);
}

static int add_all(struct control *control)
{
	static const int signals[] = {SIGHUP, SIGUSR2, SIGTERM, SIGINT};
	struct event_base *base = control->context->base;
	uint64_t stats_ms = (uint64_t)control->options->stats_interval_s * 1000;
	int rc = 0;

	for (unsigned i = 0; i < sizeof signals / sizeof signals[0] && rc == 0; i++)
		rc = add(control, evsignal_new(base, signals[i], signalled, control), 0);
	if (rc == 0)
		rc = add_timer(control, DRAIN_MS, drain);
	if (rc == 0)
		rc = add_timer(control, FLUSH_MS, flush);
	if (rc == 0)
		rc = add_timer(control, WATCHDOG_CHECK_MS, watch);
	if (rc == 0 && stats_ms && control->context->sink)
		rc = add_timer(
			control, stats_ms < UINT32_MAX ? (unsigned)stats_ms : UINT32_MAX, stats);
	if (rc == 0 && reload_fd(control->context->reload) >= 0)
		rc = add(control,
			event_new(base, reload_fd(control->context->reload), EV_READ | EV_PERSIST,
				built, control),
			0);
	control->grace = evtimer_new(base, grace, control);
	return rc < 0 || !control->grace ? -ENOMEM : 0;
}

// Exactly our four signals, in this thread only.
static void signals_open(sigset_t *before)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGUSR2);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	pthread_sigmask(SIG_UNBLOCK, &ours, before);
}

int control_run(struct control_context *context, const struct control_options *options)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old_pipe;
	struct control *control = calloc(1, sizeof *control);
	sigset_t before;
	int rc;

	if (!control)
		return -ENOMEM;
	control->context = context;
	control->options = options;
	context->stop = false;
	if (context->sink)
		sink_set_start(context->sink, context->started_ns);
	sigaction(SIGPIPE, &ignore, &old_pipe); // a reader of events or a client that went away
	watchdog_start(&control->watchdog, context, &options->stall);
	if (reload_fd(context->reload) < 0 && reload_start(context->reload) < 0)
		log_warning(
			"policy: %s: nothing else is done while one is loaded", strerror(errno));
	rc = add_all(control);
	if (rc == 0) {
		signals_open(&before);
		if (event_base_dispatch(context->base) < 0)
			rc = -EIO;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (rc == 0)
		rc = control->signal;
	for (unsigned i = 0; i < control->n_events; i++)
		event_free(control->events[i]);
	if (control->grace)
		event_free(control->grace);
	sigaction(SIGPIPE, &old_pipe, NULL);
	free(control);
	return rc;
}

void control_stop(struct control_context *context)
{
	context->stop = true;
	event_base_loopbreak(context->base);
}
