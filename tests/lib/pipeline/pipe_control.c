// SPDX-License-Identifier: BSD-3-Clause
#include "pipe_control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>

static struct pipe *clock_pipe; // the clock of a command has no argument

const char gate_handshake[HANDSHAKE_BYTES + 1] = "\x13"
						 "BitTorrent protocol"
						 "\0\0\0\0\0\x10\0\x05"
						 "ABCDEFGHIJKLMNOPQRST"
						 "-TR3000-abcdefghijkl";

static uint64_t pipe_clock(void)
{
	return clock_pipe->now_ns;
}

static void path_of(const struct gate *gate, const char *name, char path[64])
{
	snprintf(path, 64, "%s/%s", gate->dir, name);
}

static char *quoted(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

void gate_policy(struct gate *gate, const char *policy)
{
	struct config_errors errors = {0};
	char path[64], *members = quoted(policy);
	FILE *file;

	path_of(gate, "policy.json", path);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "{\"schema_version\":1%s%s}", *members ? "," : "", members);
	fclose(file);
	free(members);
	if (reload_load(gate->context.reload, path, gate->pipe->now_ns, &errors))
		fail_msg("%s", errors.n ? errors.lines[0] : "no policy");
	config_errors_free(&errors);
	pipe_turns(gate->pipe); // all lcores have begun with it
	assert_true(reload_step(gate->context.reload, 1));
}

struct gate *gate_new(unsigned n_lcores, const char *policy)
{
	return gate_new_with(n_lcores, NULL, policy);
}

struct gate *gate_new_with(unsigned n_lcores, const struct lcore_limits *limits, const char *policy)
{
	struct sink_options options = {.source = "pcap", .flow_events = true, .drop_events = true};
	struct gate *gate = calloc(1, sizeof(*gate));
	char err[256] = "", path[64];

	assert_non_null(gate);
	snprintf(gate->dir, sizeof(gate->dir), "/tmp/test_gate.XXXXXX");
	assert_non_null(mkdtemp(gate->dir));
	path_of(gate, "eve.json", path);
	options.path = path;
	gate->pipe = clock_pipe = pipe_new(n_lcores, limits);
	gate->context = (struct control_context){
		.base = event_base_new(),
		.dp = &gate->pipe->dp,
		.names = rule_names_new(),
		.now_ns = pipe_clock,
		.started_ns = gate->pipe->now_ns,
	};
	assert_int_equal(sink_new(&options, gate->context.dp, gate->context.names,
				 &gate->context.sink, err, sizeof(err)),
		0);
	assert_int_equal(reload_new(gate->context.dp, gate->context.names, SIGNATURES_DIR,
				 SIGNATURES_CACHE, &gate->context.reload),
		0);
	sink_follow(gate->context.sink, gate->context.reload);
	assert_int_equal(
		inquiries_new(gate->context.base, gate->context.dp, pipe_clock, &gate->inquiries),
		0);
	gate_policy(gate, policy);
	return gate;
}

void gate_free(struct gate *gate)
{
	char path[64];

	// the flows are ended while their policy lives, and again, none, under the pipe's own
	for (unsigned i = 0; i < gate->pipe->dp.n_lcores; i++)
		pipeline_drain(gate->pipe->dp.lcores[i], gate->pipe->now_ns);
	inquiries_free(gate->inquiries);
	gate->pipe->dp.policy = gate->pipe->policy;
	reload_free(gate->context.reload);
	sink_free(gate->context.sink);
	rule_names_free(gate->context.names);
	event_base_free(gate->context.base);
	pipe_free(gate->pipe);
	path_of(gate, "policy.json", path);
	unlink(path);
	path_of(gate, "eve.json", path);
	unlink(path);
	assert_int_equal(rmdir(gate->dir), 0);
	free(gate);
}

static void answered(void *ctx, json_t *reply)
{
	*(json_t **)ctx = reply;
}

json_t *gate_ask(struct gate *gate, const char *command, const char *arguments)
{
	json_t *reply = NULL;
	struct request request = {
		.context = &gate->context,
		.inquiries = gate->inquiries,
		.answer = answered,
		.ctx = &reply,
	};
	char line[2048], *members = quoted(arguments);

	snprintf(line, sizeof(line), "{\"command\":\"%s\",\"arguments\":{%s}}", command, members);
	free(members);
	command_run(&request, line, strlen(line));
	for (unsigned turns = 0; request_is_open(&request); turns++) {
		assert_true(turns < 200000);
		pipe_turns(gate->pipe);
		event_base_loop(gate->context.base, EVLOOP_NONBLOCK);
		if (turns > 3)
			usleep(100);
	}
	assert_non_null(reply);
	return reply;
}

json_t *gate_ok(struct gate *gate, const char *command, const char *arguments)
{
	json_t *reply = gate_ask(gate, command, arguments);
	json_t *message = json_incref(json_object_get(reply, "message"));

	if (strcmp(json_string_value(json_object_get(reply, "return")), "OK"))
		fail_msg("%s {%s}: %s", command, arguments, json_string_value(message));
	json_decref(reply);
	return message;
}

void gate_nok(struct gate *gate, const char *command, const char *arguments, const char *word)
{
	json_t *reply = gate_ask(gate, command, arguments);
	const char *text = json_string_value(json_object_get(reply, "message"));

	assert_string_equal(json_string_value(json_object_get(reply, "return")), "NOK");
	if (!text || !strstr(text, word))
		fail_msg("%s {%s}: \"%s\" does not hold \"%s\"", command, arguments,
			text ? text : "?", word);
	json_decref(reply);
}

json_t *gate_event(struct gate *gate, const char *event_type)
{
	static long at; // in the file of the gate at hand
	static char dir[40];
	char path[64], line[8192];
	json_t *found = NULL;
	FILE *file;

	if (strcmp(dir, gate->dir)) {
		snprintf(dir, sizeof(dir), "%s", gate->dir);
		at = 0;
	}
	sink_drain(gate->context.sink, 0);
	sink_flush(gate->context.sink);
	path_of(gate, "eve.json", path);
	file = fopen(path, "r");
	assert_non_null(file);
	fseek(file, at, SEEK_SET);
	while (!found && fgets(line, sizeof(line), file)) {
		json_t *event = json_loads(line, 0, NULL);

		assert_non_null(event);
		if (!strcmp(json_string_value(json_object_get(event, "event_type")), event_type))
			found = event;
		else
			json_decref(event);
	}
	at = ftell(file);
	fclose(file);
	return found;
}

unsigned gate_run(struct gate *gate, const struct pipe_packet *packet)
{
	struct pipe *pipe = gate->pipe;
	unsigned before = pipe->n_sent;

	// any lcore takes it: what is another's is handed over
	pipe_run(pipe, 0, packet);
	pipe_turns(pipe);
	pipe_turns(pipe);
	before = pipe->n_sent - before;
	pipe->n_sent = 0;
	return before;
}

struct gate_tcp gate_connect(struct gate *gate, uint32_t client, uint16_t sport, uint16_t dport)
{
	struct gate_tcp tcp = {
		.client = client, .sport = sport, .dport = dport, .seq = {1000, 5000}};
	struct pipe_packet packet = {
		.client = client, .sport = sport, .dport = dport, .seq = 999, .tcp_flags = TH_SYN};

	gate_run(gate, &packet);
	packet.from_outside = true;
	packet.seq = 4999;
	packet.ack = 1000;
	packet.tcp_flags = TH_SYN | TH_ACK;
	gate_run(gate, &packet);
	packet.from_outside = false;
	packet.seq = 1000;
	packet.ack = 5000;
	packet.tcp_flags = TH_ACK;
	gate_run(gate, &packet);
	return tcp;
}

unsigned gate_send(
	struct gate *gate, struct gate_tcp *tcp, bool server, const void *payload, size_t length)
{
	struct pipe_packet packet = {.client = tcp->client,
		.sport = tcp->sport,
		.dport = tcp->dport,
		.from_outside = server,
		.seq = tcp->seq[server],
		.ack = tcp->seq[!server],
		.payload = payload,
		.payload_length = (uint16_t)length};

	tcp->seq[server] += (uint32_t)length;
	return gate_run(gate, &packet);
}
