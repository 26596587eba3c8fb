// SPDX-License-Identifier: BSD-3-Clause
// A peer for tests: a core with a configuration file, told what to do on standard input, telling
// what happens on standard output, one JSON object per line.
//
//   tapi_talker CONFIGURATION SEED          SEED: a number; the identity is made of it
//
//   helo TEXT                 what another one said in "helo"
//   stream ID EVERY-MS SIZE   sends messages of SIZE octets to peer ID from now on; EVERY-MS 0:
//   ends it reload                    reads the configuration again stats | quit
//   own                       says "helo" again, as it is now
//
//   {"t": us, "say": "helo", "id": ..., "text": ...}
//   {"t": us, "say": "reachable" | "switched" | "lost", "peer": ..., "transport": ..., "inbound":
//   ..., "reason": ...}
//   {"t": us, "say": "got", "peer": ..., "transport": ..., "seq": n, "size": n, "age_us": n}
//   {"t": us, "say": "sent", "peer": ..., "seq": n, "result": ...}     only if it was refused
//   {"t": us, "say": "stats", "stats": {...}}
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transportapi/core/core.h"
#include "transportapi/base/wire.h"

#define TYPE_STREAM      (TAPI_TYPE_USER + 1)
#define STREAM_BYTES_MIN 16 // u64 number, u64 time of sending

struct stream {
	struct node *node;
	struct tapi_peer_id peer;
	struct event *timer;
	uint64_t seq;
	size_t size;
	struct stream *next;
};

struct node {
	struct event_base *base;
	struct tapi_core *core;
	struct tapi_conf *conf;
	const char *path;
	struct evbuffer *typed;
	struct stream *streams;
};

static uint64_t clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); // one for all namespaces
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void say(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const char *what, const char *format, ...)
{
	va_list arguments;

	printf("{\"t\": %" PRIu64 ", \"say\": \"%s\"", clock_us(), what);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("}\n");
	fflush(stdout);
}

static void complain(const char *what)
{
	say("error", ", \"text\": \"%s\"", what);
}

static void on_peer(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info)
{
	static const char *const names[] = {"reachable", "switched", "lost"};
	char id[TAPI_PEER_TEXT_BYTES];

	(void)context;
	tapi_peer_id_text(&info->id, id);
	say(names[what],
		", \"peer\": \"%s\", \"transport\": \"%s\", \"inbound\": %s, \"reason\": \"%s\"",
		id, info->transport, info->inbound ? "true" : "false", info->reason);
}

static void on_stream(void *context, const struct tapi_incoming *incoming)
{
	char id[TAPI_PEER_TEXT_BYTES];
	const uint8_t *body = incoming->body;

	(void)context;
	if (incoming->length < STREAM_BYTES_MIN)
		return;
	tapi_peer_id_text(incoming->sender, id);
	say("got",
		", \"peer\": \"%s\", \"transport\": \"%s\", \"seq\": %" PRIu64
		", \"size\": %u, \"age_us\": %" PRIu64 ", \"validated\": %s",
		id, incoming->transport, tapi_get64(body), incoming->length,
		clock_us() - tapi_get64(body + 8), incoming->validated ? "true" : "false");
}

static void on_tick(evutil_socket_t fd, short events, void *context)
{
	static uint8_t body[TAPI_ADDRESS_BYTES * 512];
	struct stream *stream = context;
	struct tapi_outgoing outgoing = {.type = TYPE_STREAM, .body = body, .priority = 1};
	char id[TAPI_PEER_TEXT_BYTES];

	(void)fd, (void)events;
	outgoing.length = (uint32_t)stream->size;
	tapi_put64(tapi_put64(body, stream->seq), clock_us());
	enum tapi_result result = tapi_core_send(stream->node->core, &stream->peer, &outgoing);
	if (result != TAPI_OK) {
		tapi_peer_id_text(&stream->peer, id);
		say("sent", ", \"peer\": \"%s\", \"seq\": %" PRIu64 ", \"result\": \"%s\"", id,
			stream->seq, tapi_result_name(result));
	}
	stream->seq++;
}

static void set_stream(struct node *node, const char *id, unsigned every_ms, size_t size)
{
	struct tapi_peer_id peer;
	struct stream *stream;

	if (tapi_peer_id_parse(&peer, id) != TAPI_OK || size < STREAM_BYTES_MIN ||
		size > TAPI_ADDRESS_BYTES * 512) {
		complain("stream ID EVERY-MS SIZE");
		return;
	}
	for (stream = node->streams; stream; stream = stream->next)
		if (tapi_peer_id_equal(&stream->peer, &peer))
			break;
	if (!stream) {
		stream = calloc(1, sizeof(*stream));
		if (!stream)
			abort();
		stream->node = node;
		stream->peer = peer;
		stream->timer = event_new(node->base, -1, EV_PERSIST, on_tick, stream);
		stream->next = node->streams;
		node->streams = stream;
	}
	stream->size = size;
	if (every_ms == 0) {
		event_del(stream->timer);
		return;
	}
	event_add(stream->timer,
		&(struct timeval){every_ms / 1000, (suseconds_t)(every_ms % 1000) * 1000});
}

static struct tapi_identity identity_of(const char *seed)
{
	uint8_t octets[TAPI_SEED_BYTES] = {0};
	struct tapi_identity out;

	tapi_put64(octets, strtoull(seed, NULL, 10));
	tapi_identity_from_seed(&out, octets);
	return out;
}

static void say_helo(struct node *node)
{
	static char text[8192];
	char id[TAPI_PEER_TEXT_BYTES];

	tapi_peer_id_text(&tapi_core_identity(node->core)->id, id);
	if (tapi_core_own_helos_text(node->core, text, sizeof(text)) == 0)
		text[0] = 0;
	say("helo", ", \"id\": \"%s\", \"text\": \"%s\"", id, text);
}

static void reload(struct node *node)
{
	struct tapi_error error = {0};
	struct tapi_conf *fresh = tapi_conf_load(node->path, &error);
	enum tapi_result result = fresh ? tapi_core_reload(node->core, fresh, &error) : TAPI_ECONF;

	if (result == TAPI_OK) {
		tapi_conf_free(node->conf);
		node->conf = fresh;
	} else {
		tapi_conf_free(fresh);
	}
	say("reload", ", \"result\": \"%s\"", tapi_result_name(result));
}

static void obey(struct node *node, char *line)
{
	char *words[4] = {NULL}, *rest = line;
	unsigned n = 0;

	while (n < 4 && (words[n] = strsep(&rest, " ")))
		n++;
	if (!strcmp(words[0], "helo") && n == 2) {
		struct tapi_error error = {0};
		if (tapi_core_add_helos_text(node->core, words[1], &error) != TAPI_OK)
			complain(error.text);
	} else if (!strcmp(words[0], "stream") && n == 4) {
		set_stream(node, words[1], (unsigned)strtoul(words[2], NULL, 10),
			strtoul(words[3], NULL, 10));
	} else if (!strcmp(words[0], "own")) {
		say_helo(node);
	} else if (!strcmp(words[0], "reload")) {
		reload(node);
	} else if (!strcmp(words[0], "stats")) {
		char *stats = tapi_core_stats_json(node->core, true);
		say("stats", ", \"stats\": %s", stats ? stats : "null");
		free(stats);
	} else if (!strcmp(words[0], "quit")) {
		event_base_loopbreak(node->base);
	} else {
		complain("not understood");
	}
}

static void on_typed(evutil_socket_t fd, short events, void *context)
{
	struct node *node = context;
	char *line;

	(void)events;
	if (evbuffer_read(node->typed, fd, -1) <= 0)
		event_base_loopbreak(node->base);
	while ((line = evbuffer_readln(node->typed, NULL, EVBUFFER_EOL_LF))) {
		obey(node, line);
		free(line);
	}
}

static void on_signal(evutil_socket_t number, short events, void *context)
{
	(void)number, (void)events;
	event_base_loopbreak(context);
}

int main(int argc, char **argv)
{
	struct node node = {0};
	struct tapi_error error = {0};

	if (argc != 3) {
		fprintf(stderr, "usage: tapi_talker CONFIGURATION SEED\n");
		return 64;
	}
	node.path = argv[1];
	node.base = event_base_new();
	node.typed = evbuffer_new();
	node.conf = tapi_conf_load(node.path, &error);
	struct tapi_identity identity = identity_of(argv[2]);
	struct tapi_core_options options = {
		.base = node.base, .conf = node.conf, .identity = &identity};
	if (!node.conf || tapi_core_new(&node.core, &options, &error) != TAPI_OK ||
		tapi_core_start(node.core, &error) != TAPI_OK) {
		fprintf(stderr, "tapi_talker: %s\n", error.text);
		return 78;
	}
	tapi_core_watch(node.core, on_peer, &node);
	tapi_core_receive(node.core, TYPE_STREAM, on_stream, &node);
	struct event *typed =
		event_new(node.base, STDIN_FILENO, EV_READ | EV_PERSIST, on_typed, &node);
	struct event *ends = evsignal_new(node.base, SIGTERM, on_signal, node.base);
	event_add(typed, NULL);
	event_add(ends, NULL);
	say_helo(&node);
	event_base_dispatch(node.base);

	for (struct stream *stream = node.streams, *next; stream; stream = next) {
		next = stream->next;
		event_free(stream->timer);
		free(stream);
	}
	event_free(typed);
	event_free(ends);
	tapi_core_stop(node.core);
	tapi_core_free(node.core);
	tapi_conf_free(node.conf);
	evbuffer_free(node.typed);
	event_base_free(node.base);
	return 0;
}
