// SPDX-License-Identifier: BSD-3-Clause
// Sends READY, RELOADING, STATUS and WATCHDOG to the service manager.
#include "process/service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/options.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

#define STATUS_EVERY_NS   (2 * NS_PER_S)
#define RELOAD_PATIENCE_S 120

void service_open(struct service *service)
{
	char err[256];

	if (notify_open(&service->notify, getenv("NOTIFY_SOCKET"), getenv("WATCHDOG_USEC"),
		    getenv("WATCHDOG_PID"), err, sizeof(err)) < 0)
		log_warning("%s", err);
}

void service_patience(const struct service *service, unsigned seconds, const char *what)
{
	notify_send(&service->notify, "EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=%s",
		(uint64_t)seconds * 1000000, what);
}

// Compiling keeps the control core from its ticks; the first one after it is the end of the pause,
// whatever the lcores do then.
static void watchdog_pause(struct service *service)
{
	if (!service->healthy || !service->notify.watchdog_ns)
		return;
	service->paused = true;
	notify_send(&service->notify, "WATCHDOG_USEC=%" PRIu64 "\nWATCHDOG=1",
		(uint64_t)RELOAD_PATIENCE_S * 1000000);
}

static void watchdog_resume(struct service *service)
{
	if (!service->paused)
		return;
	service->paused = false;
	notify_send(&service->notify, "WATCHDOG_USEC=%" PRIu64 "\nWATCHDOG=1",
		service->notify.watchdog_ns * 2 / 1000);
}

static void reload_observed(void *ctx, enum reload_progress progress)
{
	struct service *service = ctx;

	if (progress == RELOAD_BEGINS) {
		service->reloading = true;
		notify_send(&service->notify,
			"RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nEXTEND_TIMEOUT_USEC=%" PRIu64
			"\nSTATUS=reloading policy and signatures",
			notify_monotonic_us(), (uint64_t)RELOAD_PATIENCE_S * 1000000);
		watchdog_pause(service);
		return;
	}
	service->reloading = false;
	service->status_ns = 0; // the next tick tells how it is now
	notify_send(&service->notify, "READY=1\nSTATUS=%s%" PRIu64,
		progress == RELOAD_REFUSED ? "reload refused (the log says why); policy generation "
					   : "forwarding; policy generation ",
		reload_generation(service->reload));
}

void service_forwarding(
	struct service *service, const struct control_context *context, struct launcher *launcher)
{
	service->launcher = launcher;
	service->context = context;
	service->reload = context->reload;
	reload_set_observer(context->reload, reload_observed, service);
}

static bool every_heart_beats(const struct service *service)
{
	struct stats sum;

	stats_sum(service->context->dp, &sum, NULL);
	return sum.heartbeat_ns != 0; // the oldest one's
}

static void report_status(struct service *service, uint64_t now_ns, bool first)
{
	char line[768];

	status_line_render(&service->line, service->context, reload_generation(service->reload),
		now_ns, line, sizeof(line));
	service->status_ns = now_ns;
	notify_send(&service->notify, "%sSTATUS=%s%s", first ? "READY=1\n" : "",
		service->healthy ? "forwarding; " : "A DATA LCORE STANDS STILL; ", line);
}

void service_tick(struct service *service, uint64_t now_ns, bool healthy)
{
	bool changed = healthy != service->healthy;

	service->healthy = healthy;
	watchdog_resume(service);
	if (!service->ready) {
		if (!every_heart_beats(service))
			return;
		service->ready = true;
		service->heartbeat_ns = now_ns;
		launcher_report(service->launcher, LAUNCHER_FORWARDING);
		report_status(service, now_ns, true);
		return;
	}
	if (changed)
		launcher_report(service->launcher, healthy ? LAUNCHER_RECOVERED : LAUNCHER_STALLED);
	if (healthy && now_ns - service->heartbeat_ns >= NS_PER_S) {
		service->heartbeat_ns = now_ns;
		launcher_report(service->launcher, LAUNCHER_HEARTBEAT);
	}
	if (healthy && service->notify.watchdog_ns &&
		now_ns - service->watchdog_ns >= service->notify.watchdog_ns) {
		service->watchdog_ns = now_ns;
		notify_send(&service->notify, "WATCHDOG=1");
	}
	if (!service->reloading && (changed || now_ns - service->status_ns >= STATUS_EVERY_NS))
		report_status(service, now_ns, false);
}

void service_stopping(struct service *service)
{
	if (service->reload)
		reload_set_observer(service->reload, NULL, NULL);
	if (service->ready)
		launcher_report(service->launcher, LAUNCHER_STOPPING);
	notify_send(&service->notify, "STOPPING=1\nSTATUS=stopping");
}

void service_failed(const struct service *service, int code, const char *text)
{
	int error = code == EXIT_CODE_PERMISSION    ? EPERM
		    : code == EXIT_CODE_CONFIG      ? EINVAL
		    : code == EXIT_CODE_UNAVAILABLE ? ENODEV
						    : EIO;

	// Lines end a field: what is reported is one line.
	notify_send(
		&service->notify, "ERRNO=%d\nSTATUS=%.*s", error, (int)strcspn(text, "\n"), text);
}

void service_close(struct service *service)
{
	notify_close(&service->notify);
}
