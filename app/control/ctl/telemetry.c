// SPDX-License-Identifier: BSD-3-Clause
// Registers the commands of DPDK's telemetry socket, and answers them in pages.
#include "control/ctl/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <rte_telemetry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "control/ctl/command.h"
#include "control/stats/counters.h"
#include "control/stats/sum.h"

enum state {
	STATE_FREE,
	STATE_ASKED,     // waits for the control core
	STATE_TAKEN,     // the control core works on it
	STATE_ANSWERED,  // the asker has to fetch it
	STATE_ABANDONED, // taken, but the asker did not wait so long
};

// rte_telemetry_register_cmd has no context for its callbacks: the one object of this file, never
// freed, since DPDK's threads outlive the control core. All of it is under the lock but for what
// only the control core touches.
static struct telemetry {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum state state;
	char line[256]; // the question, as the control socket takes it
	json_t *reply;
	struct control_context *context; // NULL: not started, or stopped
	int wake;                        // eventfd: there is a question
	// the control core's
	struct event *woken;
	struct inquiries *inquiries;
	struct request request;
} telemetry = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = -1};

// On the control core.

static void answered(void *ctx, json_t *reply)
{
	(void)ctx;
	pthread_mutex_lock(&telemetry.lock);
	if (telemetry.state == STATE_TAKEN) {
		telemetry.reply = reply;
		telemetry.state = STATE_ANSWERED;
	} else {
		json_decref(reply);
		telemetry.state = STATE_FREE;
	}
	pthread_cond_broadcast(&telemetry.changed);
	pthread_mutex_unlock(&telemetry.lock);
}

static void woken(evutil_socket_t fd, short what, void *ctx)
{
	char line[sizeof telemetry.line] = "";
	uint64_t times;

	(void)what;
	(void)ctx;
	if (read(fd, &times, sizeof times) < 0)
		return;
	pthread_mutex_lock(&telemetry.lock);
	if (telemetry.state == STATE_ASKED) {
		memcpy(line, telemetry.line, sizeof line);
		telemetry.state = STATE_TAKEN;
	}
	pthread_mutex_unlock(&telemetry.lock);
	if (line[0])
		command_run(&telemetry.request, line, strlen(line));
}

// On a thread of DPDK's.

// Waits, under the lock, until the state is `wanted`. False: in vain.
static bool wait_for(enum state wanted, const struct timespec *end)
{
	while (telemetry.context && telemetry.state != wanted) {
		if (pthread_cond_timedwait(&telemetry.changed, &telemetry.lock, end))
			break;
	}
	return telemetry.context && telemetry.state == wanted;
}

// The message of the command's answer, or NULL.
static json_t *ask(const char *command, const char *arguments)
{
	struct timespec end;
	uint64_t one = 1;
	json_t *reply = NULL, *message = NULL;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += TELEMETRY_WAIT_MS / 1000;
	pthread_mutex_lock(&telemetry.lock);
	if (!wait_for(STATE_FREE, &end)) // another thread's question
		goto out;
	snprintf(telemetry.line, sizeof telemetry.line, "{\"command\":\"%s\",\"arguments\":{%s}}",
		command, arguments);
	telemetry.state = STATE_ASKED;
	if (write(telemetry.wake, &one, sizeof one) < 0) {
		telemetry.state = STATE_FREE;
		goto out;
	}
	if (wait_for(STATE_ANSWERED, &end)) {
		reply = telemetry.reply;
		telemetry.reply = NULL;
		telemetry.state = STATE_FREE;
		pthread_cond_broadcast(&telemetry.changed);
	} else {
		telemetry.state = telemetry.state == STATE_TAKEN ? STATE_ABANDONED : STATE_FREE;
	}
out:
	pthread_mutex_unlock(&telemetry.lock);
	if (reply && strcmp(json_string_value(json_object_get(reply, "return")), "OK") == 0)
		message = json_incref(json_object_get(reply, "message"));
	json_decref(reply);
	return message;
}

static void add_value(struct rte_tel_data *out, const char *key, json_t *value)
{
	char text[RTE_TEL_MAX_STRING_LEN];

	if (json_is_integer(value)) {
		rte_tel_data_add_dict_u64(out, key, (uint64_t)json_integer_value(value));
	} else if (json_is_boolean(value)) {
		rte_tel_data_add_dict_int(out, key, json_is_true(value));
	} else if (json_is_string(value)) {
		snprintf(text, sizeof text, "%s", json_string_value(value));
		rte_tel_data_add_dict_string(out, key, text);
	}
}

// Numbers, words and truths; what is nested is left out.
static void add_members(struct rte_tel_data *out, json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach (object, key, value)
		add_value(out, key, value);
}

// A page of a list: its numbers, and each entry as an object, named by `id` of it or by its place.
static int add_page(struct rte_tel_data *out, json_t *message, const char *list, const char *id)
{
	json_t *entries = json_object_get(message, list), *entry;
	json_int_t offset = json_integer_value(json_object_get(message, "offset"));
	size_t i;

	rte_tel_data_start_dict(out);
	add_members(out, message);
	json_array_foreach (entries, i, entry) {
		struct rte_tel_data *child = rte_tel_data_alloc();
		json_int_t named = id ? json_integer_value(json_object_get(entry, id))
				      : offset + (json_int_t)i;
		char name[32];

		if (!child)
			return -ENOMEM;
		rte_tel_data_start_dict(child);
		add_members(child, entry);
		snprintf(name, sizeof name, "%lld", (long long)named);
		if (rte_tel_data_add_dict_container(out, name, child, 0) < 0)
			rte_tel_data_free(child);
	}
	return 0;
}

// "" is 0; -EINVAL if it is no number.
static int parameter(const char *params, unsigned max, unsigned *out)
{
	char *end;
	unsigned long value;

	*out = 0;
	if (!params || !*params)
		return 0;
	if (*params < '0' || *params > '9')
		return -EINVAL;
	value = strtoul(params, &end, 10);
	if (*end || value > max)
		return -EINVAL;
	*out = (unsigned)value;
	return 0;
}

static int list(const char *command, const char *params, const char *name, const char *id,
	struct rte_tel_data *out)
{
	char arguments[64];
	unsigned offset;
	json_t *message;
	int rc = parameter(params, 100000, &offset);

	if (rc < 0)
		return rc;
	snprintf(arguments, sizeof arguments, "\"limit\":%d,\"offset\":%u", TELEMETRY_PAGE, offset);
	message = ask(command, arguments);
	if (!message)
		return -ETIMEDOUT;
	rc = add_page(out, message, name, id);
	json_decref(message);
	return rc;
}

static int tel_flows(const char *cmd, const char *params, struct rte_tel_data *out)
{
	(void)cmd;
	return list("flow-list", params, "flows", "flow_id", out);
}

static int tel_conncache(const char *cmd, const char *params, struct rte_tel_data *out)
{
	(void)cmd;
	return list("cache-list", params, "entries", NULL, out);
}

static int tel_policy(const char *cmd, const char *params, struct rte_tel_data *out)
{
	json_t *message, *policy;

	(void)cmd;
	if (params && *params)
		return -EINVAL;
	message = ask("stats", "");
	if (!message)
		return -ETIMEDOUT;
	policy = json_object_get(message, "policy");
	rte_tel_data_start_dict(out);
	add_members(out, policy);
	json_decref(message);
	return 0;
}

// A counter by word (a reason) is an object by itself: an answer of DPDK's has room for 256
// members.
static void add_words(
	struct rte_tel_data *out, const struct counter *row, const struct stats *stats)
{
	struct rte_tel_data *words = rte_tel_data_alloc();

	if (!words)
		return;
	rte_tel_data_start_dict(words);
	for (unsigned at = 0; at < row->n; at++)
		rte_tel_data_add_dict_u64(words, row->word(at), counter_value(row, stats, at));
	if (rte_tel_data_add_dict_container(out, row->name, words, 0) < 0)
		rte_tel_data_free(words);
}

static void add_stats(struct rte_tel_data *out, const struct stats *stats)
{
	const struct counter *row = NULL;

	rte_tel_data_start_dict(out);
	while ((row = counter_next(lcore_counters, row, COUNTER_TELEMETRY))) {
		if (row->word)
			add_words(out, row, stats);
		else
			rte_tel_data_add_dict_u64(out, row->name, counter_value(row, stats, 0));
	}
}

static int tel_stats(const char *cmd, const char *params, struct rte_tel_data *out)
{
	struct ledger ledger;
	struct stats sum;
	int rc = -ESHUTDOWN;

	(void)cmd;
	if (params && *params)
		return -EINVAL;
	pthread_mutex_lock(&telemetry.lock);
	if (telemetry.context) {
		stats_sum(telemetry.context->dp, &sum, &ledger);
		rc = 0;
	}
	pthread_mutex_unlock(&telemetry.lock);
	if (rc < 0)
		return rc;
	add_stats(out, &sum);
	rte_tel_data_add_dict_int(out, "unaccounted", (int)ledger.unaccounted);
	return 0;
}

static int tel_lcores(const char *cmd, const char *params, struct rte_tel_data *out)
{
	const struct dataplane *dp;
	unsigned lcore;
	int rc = parameter(params, LCORES_MAX, &lcore);

	(void)cmd;
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&telemetry.lock);
	dp = telemetry.context ? telemetry.context->dp : NULL;
	if (!dp) {
		rc = -ESHUTDOWN;
	} else if (!params || !*params) {
		rte_tel_data_start_array(out, RTE_TEL_INT_VAL);
		for (unsigned i = 0; i < dp->n_lcores; i++)
			rte_tel_data_add_array_int(out, (int)i);
	} else if (lcore >= dp->n_lcores || !dp->lcores[lcore]) {
		rc = -EINVAL;
	} else { // a loop old, each word whole: as for metrics
		struct stats stats;

		stats_lcore(dp->lcores[lcore], &stats);
		add_stats(out, &stats);
		rte_tel_data_add_dict_u64(out, "busy_permille", stats.busy_permille);
		rte_tel_data_add_dict_u64(out, "loops", stats.loops);
		rte_tel_data_add_dict_u64(out, "heartbeat_ns", stats.heartbeat_ns);
	}
	pthread_mutex_unlock(&telemetry.lock);
	return rc;
}

static int register_all(void)
{
	static const struct {
		const char *command;
		telemetry_cb call;
		const char *help;
	} commands[] = {
		{"/sluice/stats", tel_stats, "Counters of all data lcores. Parameters: none"},
		{"/sluice/lcores", tel_lcores,
			"Data lcores, or the counters of one. Parameters: lcore (optional)"},
		{"/sluice/policy", tel_policy, "The policy in force. Parameters: none"},
		{"/sluice/flows", tel_flows,
			"Live flows, 16 at a time. Parameters: offset (default 0)"},
		{"/sluice/conncache/list", tel_conncache,
			"Peers of blocked connections, 16 at a time. Parameters: offset (default "
			"0)"},
	};

	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		int rc = rte_telemetry_register_cmd(
			commands[i].command, commands[i].call, commands[i].help);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int telemetry_start(struct control_context *context)
{
	pthread_condattr_t monotonic;
	int rc;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&telemetry.changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	rc = inquiries_new(context->base, context->dp, context->now_ns, &telemetry.inquiries);
	if (rc < 0)
		return rc;
	telemetry.request = (struct request){
		.context = context, .inquiries = telemetry.inquiries, .answer = answered};
	telemetry.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	telemetry.woken = telemetry.wake < 0 ? NULL
					     : event_new(context->base, telemetry.wake,
						       EV_READ | EV_PERSIST, woken, NULL);
	if (!telemetry.woken || event_add(telemetry.woken, NULL) < 0) {
		telemetry_stop();
		return -ENOMEM;
	}
	pthread_mutex_lock(&telemetry.lock);
	telemetry.context = context;
	pthread_mutex_unlock(&telemetry.lock);
	rc = register_all();
	if (rc < 0)
		telemetry_stop();
	return rc;
}

void telemetry_stop(void)
{
	pthread_mutex_lock(&telemetry.lock);
	telemetry.context = NULL;
	json_decref(telemetry.reply);
	telemetry.reply = NULL;
	pthread_cond_broadcast(&telemetry.changed);
	pthread_mutex_unlock(&telemetry.lock);
	if (request_is_open(&telemetry.request))
		request_cancel(&telemetry.request);
	if (telemetry.woken)
		event_free(telemetry.woken);
	telemetry.woken = NULL;
	inquiries_free(telemetry.inquiries);
	telemetry.inquiries = NULL;
}
