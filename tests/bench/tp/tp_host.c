// SPDX-License-Identifier: BSD-3-Clause
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>
#include <unistd.h>

#include "tp_host.h"

enum { NOT_HERE = 3 }; // exit code

static void on_receive(void *core, const struct tapi_message_pack *pack)
{
	struct tp_host *host = core;
	if (host->receive)
		host->receive(host->context, pack);
}

static void on_down(void *core, struct tapi_session *session, enum tapi_down why)
{
	(void)session;
	(void)why;
	((struct tp_host *)core)->downs++;
}

static uint64_t now_us(void *core)
{
	(void)core;
	return tp_now_ns() / 1000;
}

static void give_random(void *core, void *octets, size_t length)
{
	(void)core;
	for (uint8_t *at = octets; length;) {
		ssize_t n = getrandom(at, length, 0);
		if (n > 0) {
			at += n;
			length -= (size_t)n;
		}
	}
}

__attribute__((format(printf, 3, 4))) static void say(
	void *core, int priority, const char *format, ...)
{
	va_list words;
	if (priority > LOG_WARNING)
		return;
	fprintf(stderr, "%s: ", ((struct tp_host *)core)->program);
	va_start(words, format);
	vfprintf(stderr, format, words);
	va_end(words);
	fputc('\n', stderr);
}

__attribute__((format(printf, 2, 3))) _Noreturn static void not_here(
	const struct tp_host *host, const char *format, ...)
{
	va_list words;
	fprintf(stderr, "%s: ", host->program);
	va_start(words, format);
	vfprintf(stderr, format, words);
	va_end(words);
	fputc('\n', stderr);
	exit(NOT_HERE);
}

static void turn(evutil_socket_t fd, short what, void *context)
{
	struct tp_host *host = context;
	(void)fd;
	(void)what;
	const uint64_t now = now_us(host), next = host->transport->turn(host->transport, now);
	if (next == UINT64_MAX)
		return;
	const uint64_t wait = next > now ? next - now : 0;
	const struct timeval time = {
		.tv_sec = (time_t)(wait / 1000000), .tv_usec = (suseconds_t)(wait % 1000000)};
	event_add(host->clock, &time);
}

static void ring(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	(void)context; // that the loop turned is all that was wanted
}

void tp_host_init(
	struct tp_host *host, const char *program, const char *name, const char *text, uint8_t seed)
{
	uint8_t seeds[TAPI_SEED_BYTES];
	struct tapi_error error = {};
	*host = (struct tp_host){.program = program};
	memset(seeds, seed, sizeof(seeds));
	host->base = event_base_new();
	host->conf = tapi_conf_parse(text, &error);
	if (!host->base || !host->conf || tapi_acl_new(&host->acl, host->conf, &error))
		not_here(host, "%s: %s", name, error.text[0] ? error.text : "no memory");
	tapi_identity_from_seed(&host->identity, seeds);
	host->core = (struct tapi_core_api){
		.version = TAPI_VERSION,
		.my_identity = &host->identity.id,
		.core = host,
		.receive = on_receive,
		.session_down = on_down,
		.base = host->base,
		.now_us = now_us,
		.random = give_random,
		.log = say,
		.conf = (const struct tapi_conf *const *)&host->conf,
		.acl = (const struct tapi_acl *const *)&host->acl,
	};
	if (tapi_transport_load(&host->loaded, name, NULL, false, &host->core, &error))
		not_here(host, "%s: %s", name, error.text);
	host->transport = host->loaded.api;
	enum tapi_result result = host->transport->start_server(host->transport);
	if (result)
		not_here(host, "%s does not start: %s", name, tapi_result_name(result));
	host->clock = event_new(host->base, -1, 0, turn, host);
	host->bell = event_new(host->base, -1, 0, ring, host);
	if (!host->clock || !host->bell)
		not_here(host, "%s: no memory", name);
	turn(-1, 0, host);
}

void tp_host_done(struct tp_host *host)
{
	host->receive = NULL;
	host->transport->stop_server(host->transport);
	event_free(host->clock);
	event_free(host->bell);
	tapi_transport_unload(&host->loaded);
	tapi_acl_free(host->acl);
	tapi_conf_free(host->conf);
	event_base_free(host->base);
}

void tp_host_helo(struct tp_host *host, struct tapi_helo *out)
{
	*out = (struct tapi_helo){};
	enum tapi_result result = host->transport->create_helo(host->transport, 0, out);
	if (result)
		not_here(host, "%s has no address: %s", host->transport->name,
			tapi_result_name(result));
	out->seq = 1;
	out->expires_us = ((uint64_t)time(NULL) + 3600) * 1000000u;
	tapi_helo_sign(out, &host->identity);
}

struct tapi_session *tp_host_connect(struct tp_host *host, const struct tapi_helo *helo)
{
	struct tapi_session *session = NULL;
	enum tapi_result result = host->transport->verify_helo(host->transport, helo);
	if (!result)
		result = host->transport->connect(host->transport, helo, &session);
	if (result)
		not_here(host, "%s does not connect: %s", host->transport->name,
			tapi_result_name(result));
	return session;
}

enum tapi_result tp_host_send(
	struct tp_host *host, struct tapi_session *session, const void *message, uint32_t size)
{
	// Not encrypted, and nobody here looks at the checksum.
	return host->transport->send(host->transport, session, message, size, false, 0);
}

void tp_host_poll(struct tp_host *host)
{
	event_base_loop(host->base, EVLOOP_NONBLOCK);
}

void tp_host_wait(struct tp_host *host, uint64_t most_us)
{
	const struct timeval time = {
		.tv_sec = (time_t)(most_us / 1000000), .tv_usec = (suseconds_t)(most_us % 1000000)};
	event_add(host->bell, &time);
	event_base_loop(host->base, EVLOOP_ONCE);
	event_del(host->bell);
}
