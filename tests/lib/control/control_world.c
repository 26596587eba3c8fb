// SPDX-License-Identifier: BSD-3-Clause
#include "control_world.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_control.h"
#include "pipeline/vocab/tick.h"
#include "control/event/trace_log.h"

uint64_t clock_offset_ns;

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1695017621ull * NS_PER_S + (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec +
	       clock_offset_ns;
}

void world_open(struct world *w)
{
	char err[256] = "";

	if (control_socket_new(&w->context, w->path, NULL, &w->socket, err, sizeof err))
		fail_msg("%s", err);
}

void world_new(struct world *w)
{
	struct config_errors errors = {0};
	char err[256] = "";

	*w = (struct world){.dir = "/tmp/test_control.XXXXXX", .lcores.n_flows = FLOWS};
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof w->path, "%s/control.sock", w->dir);
	fake_signatures = "ab";
	clock_offset_ns = 0;
	w->context.dp = w->lcores.dp = fake_dataplane_new(2, true);
	w->lcores.now_ns = now_ns;
	w->context.names = rule_names_new();
	w->context.base = event_base_new();
	assert_int_equal(sink_new(&(struct sink_options){.source = "pcap"}, w->context.dp,
				 w->context.names, &w->sink, err, sizeof err),
		0);
	assert_int_equal(trace_log_new(w->sink, &w->trace_log), 0);
	w->context.trace_log = w->trace_log;
	w->context.now_ns = now_ns;
	w->context.started_ns = now_ns();
	assert_int_equal(
		reload_new(w->context.dp, w->context.names, "signatures", NULL, &w->context.reload),
		0);
	assert_int_equal(reload_load(w->context.reload, "/etc/policy.json", 1, &errors), 0);
	world_open(w);
}

void world_free(struct world *w)
{
	control_socket_free(w->socket);
	assert_int_equal(access(w->path, F_OK), -1);
	reload_free(w->context.reload);
	sink_free(w->sink);
	trace_log_free(w->trace_log);
	rule_names_free(w->context.names);
	event_base_free(w->context.base);
	fake_dataplane_free(w->context.dp);
	rmdir(w->dir);
}

void turn(struct world *w)
{
	event_base_loop(w->context.base, EVLOOP_NONBLOCK);
	fake_lcore_turn(&w->lcores, 0);
	fake_lcore_turn(&w->lcores, 1);
}

int client(struct world *w)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", w->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

bool put(struct world *w, int fd, const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		ssize_t n = send(fd, text + at, length - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return false;
		at += n > 0 ? (size_t)n : 0;
		turn(w);
	}
	return true;
}

json_t *get(struct world *w, int fd)
{
	static char line[4 << 20];
	uint64_t end = now_ns() + clock_offset_ns + 20 * NS_PER_S;
	size_t length = 0;
	json_t *object;

	while (length < sizeof line) {
		ssize_t n = recv(fd, line + length, 1, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			return NULL;
		if (n < 0) {
			struct pollfd pollfd = {.fd = fd, .events = POLLIN};

			turn(w);
			poll(&pollfd, 1, 1);
			if (now_ns() > end)
				fail_msg("no answer");
			continue;
		}
		if (line[length] != '\n') {
			length++;
			continue;
		}
		object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(object);
		return object;
	}
	fail_msg("an endless line");
	return NULL;
}

bool is_ok(json_t *reply)
{
	return !strcmp(json_string_value(json_object_get(reply, "return")), "OK");
}

json_t *message(json_t *reply)
{
	return json_object_get(reply, "message");
}

json_int_t number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("no number %s", key);
	return json_integer_value(value);
}

json_t *ask(struct world *w, const char *line)
{
	int fd = client(w);
	json_t *reply;

	assert_true(put(w, fd, line, strlen(line)));
	assert_true(put(w, fd, "\n", 1));
	reply = get(w, fd);
	assert_non_null(reply);
	close(fd);
	return reply;
}

void asks_ok(struct world *w, const char *line)
{
	json_t *reply = ask(w, line);

	if (!is_ok(reply))
		fail_msg("%s: %s", line, json_string_value(message(reply)));
	json_decref(reply);
}

void asks_nok(struct world *w, const char *line, const char *word)
{
	json_t *reply = ask(w, line);
	const char *text = json_string_value(message(reply));

	assert_false(is_ok(reply));
	if (!text || !strstr(text, word))
		fail_msg("%s: \"%s\" has no \"%s\"", line, text ? text : "(object)", word);
	json_decref(reply);
}
