// SPDX-License-Identifier: BSD-3-Clause
// Two terminals talk: `hello` shows how it is reached, `hello THAT` in the other finds it.
#include <event2/event.h>
#include <stdio.h>
#include <sys/random.h>
#include <transportapi/core/core.h>
#include <unistd.h>

// "local": peers of this machine, too. "eager": they look for each other before anybody types.
static const char conf[] = "{\"transports\": [\"udp\", \"tcp\"], \"acl\": {\"local\": true},"
			   " \"core\": {\"validate\": \"eager\"},"
			   " \"udp\": {\"port\": 0}, \"tcp\": {\"port\": 0}}";
static struct tapi_core_options options;
static struct tapi_core *core;

static void on_message(void *context, const struct tapi_incoming *in)
{
	printf("%02x%02x by %s: %.*s", in->sender->octets[0], in->sender->octets[1], in->transport,
		(int)in->length, (const char *)in->body);
}

static bool send_to(void *out, const struct tapi_peer_info *peer)
{
	return tapi_core_send(core, &peer->id, out) == TAPI_OK;
}

static void on_typed(evutil_socket_t fd, short what, void *context)
{
	char line[1000];
	ssize_t n = read(fd, line, sizeof(line));
	struct tapi_outgoing out = {.type = TAPI_TYPE_USER, .body = line, .length = (uint32_t)n};

	if (n > 0)
		tapi_core_peers(core, send_to, &out);
	else // what is queued has 0.2 s to go
		event_base_loopexit(options.base, &(struct timeval){.tv_usec = 200000});
}

int main(int argc, char **argv)
{
	struct tapi_error error;
	struct tapi_identity me;
	char text[8192];

	getrandom(text, TAPI_SEED_BYTES, 0);
	tapi_identity_from_seed(&me, (uint8_t *)text);
	options.base = event_base_new();
	options.identity = &me;
	options.conf = tapi_conf_parse(conf, &error);
	if (!options.conf || tapi_core_new(&core, &options, &error) ||
		tapi_core_start(core, &error) ||
		(argc > 1 && tapi_core_add_helos_text(core, argv[1], &error)))
		return fprintf(stderr, "hello: %s\n", error.text), 1;
	tapi_core_receive(core, TAPI_TYPE_USER, on_message, NULL);
	event_add(event_new(options.base, 0, EV_READ | EV_PERSIST, on_typed, NULL), NULL);
	tapi_core_own_helos_text(core, text, sizeof(text));
	printf("in the other terminal: %s %s\n", argv[0], text);
	event_base_dispatch(options.base);
	tapi_core_stop(core);
}
