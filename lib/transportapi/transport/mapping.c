// SPDX-License-Identifier: BSD-3-Clause
// Starts the port mapping program, and reads the ports that it reports.
#include "transportapi/transport/mapping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "transportapi/base/acl.h"

#define S            UINT64_C(1000000)
#define ANSWER_US    (60 * S)
#define RETRY_US     (60 * S)
#define RETRY_MAX_US (3600 * S)
#define LEASE_MIN_S  2 // a router that grants less is asked each second all the same

void tapi_mapping_settings_read(struct tapi_mapping_settings *out, const struct tapi_conf *conf,
	const char *section, const struct tapi_conf_key *keys)
{
	const char *program = tapi_conf_text(conf, section, keys, "port_mapper");

	memset(out, 0, sizeof(*out)); // compared as octets
	snprintf(out->how, sizeof(out->how), "%s",
		tapi_conf_text(conf, section, keys, "port_mapping"));
	out->lease_s = (uint32_t)tapi_conf_uint(conf, section, keys, "port_mapping_s");
	snprintf(out->program, sizeof(out->program), "%s", program ? program : TAPI_PORTMAP_PATH);
}

static uint64_t now_of(const struct tapi_mapping *mapping)
{
	return mapping->core->now_us(mapping->core->core);
}

void tapi_mapping_init(struct tapi_mapping *mapping)
{
	mapping->fd = -1;
	mapping->next_us = UINT64_MAX;
	snprintf(mapping->settings.how, sizeof(mapping->settings.how), "off");
}

// The program leaves at once a child that nobody has to wait for, and ends. No waiting here: what
// is not over yet is asked again with the next event.
static void reap(struct tapi_mapping *mapping)
{
	if (mapping->pid != 0 && waitpid(mapping->pid, NULL, WNOHANG) != 0)
		mapping->pid = 0; // over, or somebody else's already
}

static void hang_up(struct tapi_mapping *mapping)
{
	if (mapping->readable)
		event_free(mapping->readable);
	mapping->readable = NULL;
	if (mapping->fd >= 0)
		close(mapping->fd);
	mapping->fd = -1;
	mapping->n = 0;
	reap(mapping);
}

static void arm(struct tapi_mapping *mapping, uint64_t now_us, uint64_t next_us)
{
	uint64_t wait_us = next_us > now_us ? next_us - now_us : 0;
	struct timeval wait = {
		.tv_sec = (time_t)(wait_us / S), .tv_usec = (suseconds_t)(wait_us % S)};

	if (mapping->due && next_us != UINT64_MAX)
		evtimer_add(mapping->due, &wait);
}

static void on_due(int fd, short what, void *context)
{
	(void)fd;
	(void)what;
	tapi_mapping_turn(context, now_of(context));
}

static void drop(struct tapi_mapping *mapping)
{
	if (mapping->mapped.family == 0)
		return;
	mapping->mapped.family = 0;
	mapping->stats->nat_changes++;
	mapping->changed(mapping->context);
}

// `why` may be what a router said.
static void fail(struct tapi_mapping *mapping, uint64_t now_us, const char *why)
{
	uint64_t wait_us = RETRY_US;
	char text[160];
	size_t n = 0;

	for (; *why && n + 1 < sizeof(text); why++)
		text[n++] = *why >= ' ' && *why <= '~' ? *why : '?';
	text[n] = '\0';
	for (unsigned i = 0; i < mapping->failures && wait_us < RETRY_MAX_US; i++)
		wait_us *= 2;
	mapping->failures++;
	mapping->stats->map_failed++;
	mapping->asked = false;
	mapping->next_us = now_us + (wait_us < RETRY_MAX_US ? wait_us : RETRY_MAX_US);
	if (!mapping->reported)
		mapping->core->log(mapping->core->core, LOG_WARNING,
			"%s: no port of the router leads to ours: %s; tried again, not said again",
			mapping->name, text);
	mapping->reported = true;
	tapi_mapping_turn(mapping, now_us);
}

static void granted(struct tapi_mapping *mapping, const struct tapi_source *mapped,
	uint64_t lease_s, const char *by, uint64_t now_us)
{
	bool other = !tapi_inet_equal(mapped, &mapping->mapped);
	char text[TAPI_TEXT_BYTES];

	if (lease_s == 0 || lease_s > mapping->settings.lease_s) // 0: for ever, as far as it knows
		lease_s = mapping->settings.lease_s;
	if (lease_s < LEASE_MIN_S)
		lease_s = LEASE_MIN_S;
	mapping->asked = false;
	mapping->reported = false;
	mapping->failures = 0;
	mapping->stats->map_granted++;
	mapping->mapped = *mapped;
	mapping->until_us = now_us + lease_s * S;
	mapping->next_us = now_us + lease_s * S / 2;
	tapi_mapping_turn(mapping, now_us);
	if (!other)
		return;
	mapping->stats->nat_changes++;
	tapi_inet_print(text, sizeof(text), mapping->name, mapped, true);
	if (tapi_acl_address(*mapping->core->acl, mapped, true)) {
		mapping->stats->nat_denied++;
		mapping->core->log(mapping->core->core, LOG_WARNING,
			"%s: section acl denies %s, which the router (%s) keeps for us: not "
			"advertised",
			mapping->name, text, by);
	} else {
		mapping->core->log(mapping->core->core, LOG_NOTICE,
			"%s: the router (%s) keeps %s for us, for %" PRIu64 " s: advertised",
			mapping->name, by, text, lease_s);
	}
	mapping->changed(mapping->context);
}

// A whole line of the program, which may say what a router had it say.
static void obey(struct tapi_mapping *mapping, const char *line, uint64_t now_us)
{
	struct tapi_source mapped = {.family = 4};
	char address[16], by[8];
	unsigned port, lease_s;
	int used = 0;

	if (!mapping->asked)
		return; // it was late, and another answer is not asked for
	if (strncmp(line, "failed ", 7) == 0) {
		fail(mapping, now_us, line + 7);
		return;
	}
	if (sscanf(line, "mapped %15[0-9.] %5u %9u %7[a-z-]%n", address, &port, &lease_s, by,
		    &used) != 4 ||
		line[used] != '\0' || port > UINT16_MAX ||
		inet_pton(AF_INET, address, mapped.address) != 1) {
		fail(mapping, now_us, "its program says what is not understood");
		return;
	}
	mapped.port = (uint16_t)port;
	if (tapi_inet_check(&mapped, true))
		fail(mapping, now_us, "the router names an address that is none");
	else
		granted(mapping, &mapped, lease_s, by, now_us);
}

static void on_readable(int fd, short what, void *context)
{
	struct tapi_mapping *mapping = context;
	ssize_t n = recv(
		fd, &mapping->line[mapping->n], sizeof(mapping->line) - mapping->n, MSG_DONTWAIT);
	uint64_t now_us = now_of(mapping);
	char *end;

	(void)what;
	reap(mapping);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		mapping->n += (size_t)n;
	while (n > 0 && (end = memchr(mapping->line, '\n', mapping->n))) {
		char line[TAPI_MAPPING_LINE_BYTES];
		size_t length = (size_t)(end - mapping->line);

		memcpy(line, mapping->line, length);
		line[length] = '\0';
		mapping->n -= length + 1;
		memmove(mapping->line, end + 1, mapping->n);
		obey(mapping, line, now_us);
		if (mapping->fd != fd) // stopped, or begun anew, by who was reported
			return;
	}
	if (n > 0 && mapping->n < sizeof(mapping->line))
		return;
	hang_up(mapping); // ended, or a line without end
	if (mapping->asked)
		fail(mapping, now_us, "its program ended without an answer");
}

// 0 or errno. What it needs is opened before, so that nothing can fail between.
static int spawn(struct tapi_mapping *mapping, int theirs)
{
	char *arguments[] = {mapping->settings.program, NULL}, *environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	pid_t pid;
	int error;

	if (posix_spawn_file_actions_init(&actions))
		return ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&actions);
		return ENOMEM;
	}
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	// Of a session of its own: the interrupt of a terminal is not for it.
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	error = posix_spawn_file_actions_adddup2(&actions, theirs, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, theirs, STDOUT_FILENO);
	if (!error) // whoever reads our errors to their end does not wait for it
		error = posix_spawn_file_actions_addopen(
			&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawn(&pid, mapping->settings.program, &actions, &attributes,
			arguments, environment);
	if (!error)
		mapping->pid = pid;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int begin(struct tapi_mapping *mapping)
{
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return errno;
	error = spawn(mapping, ends[1]);
	close(ends[1]);
	mapping->fd = ends[0];
	if (!error) {
		mapping->readable = event_new(
			mapping->core->base, ends[0], EV_READ | EV_PERSIST, on_readable, mapping);
		if (!mapping->readable || event_add(mapping->readable, NULL))
			error = ENOMEM;
	}
	if (error)
		hang_up(mapping);
	return error;
}

static void ask(struct tapi_mapping *mapping, uint64_t now_us)
{
	const uint8_t *a = mapping->local.address;
	char line[TAPI_MAPPING_LINE_BYTES], why[TAPI_MAPPING_LINE_BYTES];
	int error = mapping->fd < 0 ? begin(mapping) : 0, n;

	mapping->stats->map_sent++;
	if (error) {
		snprintf(why, sizeof(why), "%.180s cannot be started (%s), see port_mapper",
			mapping->settings.program, strerror(error));
		fail(mapping, now_us, why);
		return;
	}
	n = snprintf(line, sizeof(line), "map %s %u.%u.%u.%u %u %u %u %s\n", mapping->name, a[0],
		a[1], a[2], a[3], mapping->local.port,
		mapping->mapped.family ? mapping->mapped.port : mapping->local.port,
		mapping->settings.lease_s, mapping->settings.how);
	if (send(mapping->fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n) {
		hang_up(mapping);
		fail(mapping, now_us, "its program ended without an answer");
		return;
	}
	mapping->asked = true;
	mapping->next_us = now_us + ANSWER_US;
}

uint64_t tapi_mapping_turn(struct tapi_mapping *mapping, uint64_t now_us)
{
	uint64_t next_us;

	reap(mapping);
	if (mapping->local.family == 0)
		return UINT64_MAX;
	if (mapping->mapped.family != 0 && mapping->until_us <= now_us)
		drop(mapping);
	if (mapping->next_us <= now_us && mapping->asked) {
		hang_up(mapping);
		fail(mapping, now_us, "no answer within a minute");
	} else if (mapping->next_us <= now_us) {
		ask(mapping, now_us);
	}
	next_us = mapping->next_us;
	if (mapping->mapped.family != 0 && mapping->until_us < next_us)
		next_us = mapping->until_us;
	arm(mapping, now_us, next_us);
	return next_us;
}

void tapi_mapping_use(struct tapi_mapping *mapping, const struct tapi_mapping_settings *settings,
	const struct tapi_inet_list *bound)
{
	struct tapi_source local = {.family = 0};
	uint64_t now_us = now_of(mapping);

	for (unsigned i = 0; strcmp(settings->how, "off") != 0 && i < bound->n && !local.family;
		i++)
		if (bound->address[i].family == 4)
			local = bound->address[i];
	if (tapi_inet_equal(&local, &mapping->local) &&
		memcmp(&mapping->settings, settings, sizeof(*settings)) == 0)
		return;
	tapi_mapping_stop(mapping);
	mapping->settings = *settings;
	mapping->local = local;
	if (local.family == 0)
		return;
	mapping->due = evtimer_new(mapping->core->base, on_due, mapping);
	mapping->next_us = now_us;
	arm(mapping, now_us, now_us); // no memory for it: turn() of the transport, if any
}

void tapi_mapping_stop(struct tapi_mapping *mapping)
{
	hang_up(mapping);
	if (mapping->due)
		event_free(mapping->due);
	mapping->due = NULL;
	mapping->local.family = 0;
	mapping->mapped.family = 0;
	mapping->asked = false;
	mapping->reported = false;
	mapping->failures = 0;
	mapping->next_us = UINT64_MAX;
}

void tapi_mapping_own(const struct tapi_mapping *mapping, struct tapi_inet_list *own)
{
	if (mapping->mapped.family == 0 || own->n == TAPI_INET_LIST_MAX ||
		tapi_acl_address(*mapping->core->acl, &mapping->mapped, true))
		return;
	for (unsigned i = 0; i < own->n; i++)
		if (tapi_inet_equal(&own->address[i], &mapping->mapped))
			return;
	own->address[own->n++] = mapping->mapped;
}
