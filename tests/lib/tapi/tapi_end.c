// SPDX-License-Identifier: BSD-3-Clause
#include "tapi_end.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define PATIENCE_US 2000000

static uint64_t system_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t on_now(void *core)
{
	const struct end *end = core;

	return system_us() + end->skew_us;
}

static void on_receive(void *core, const struct tapi_message_pack *pack)
{
	struct end *end = core;
	struct end_heard *heard = &end->heard[end->n_heard++ % END_HEARD_MAX];

	assert_false(end->inside);
	*heard = (struct end_heard){.session = pack->session,
		.sender = pack->sender,
		.source = pack->source,
		.size = pack->size,
		.crc = pack->crc,
		.is_encrypted = pack->is_encrypted};
	memcpy(heard->octets, pack->message, pack->size < END_KEPT ? pack->size : END_KEPT);
	if (end->on_receive)
		end->on_receive(end, pack);
}

static void on_session_down(void *core, struct tapi_session *session, enum tapi_down why)
{
	struct end *end = core;

	assert_false(end->inside);
	end->downs[end->n_downs++ % END_HEARD_MAX] = (struct end_down){session, why};
}

static void on_random(void *core, void *octets, size_t length)
{
	(void)core;
	memset(octets, 7, length);
}

__attribute__((format(printf, 3, 4))) static void on_log(
	void *core, int priority, const char *format, ...)
{
	struct end *end = core;
	size_t used = strlen(end->log);
	va_list arguments;

	(void)priority;
	va_start(arguments, format);
	vsnprintf(end->log + used, sizeof(end->log) - used, format, arguments);
	va_end(arguments);
	used = strlen(end->log);
	snprintf(end->log + used, sizeof(end->log) - used, "\n");
}

static void configure(struct end *end, const char *text)
{
	struct tapi_error error;

	end->conf = tapi_conf_parse(text, &error);
	if (!end->conf)
		fail_msg("%s", error.text);
	if (tapi_acl_new(&end->acl, end->conf, &error) != TAPI_OK)
		fail_msg("%s", error.text);
	end->conf_in_force = end->conf;
	end->acl_in_force = end->acl;
}

struct end *end_new(struct event_base *base, uint8_t letter, tapi_init_fn *init, tapi_done_fn *done,
	const char *conf)
{
	struct end *end = calloc(1, sizeof(*end));

	assert_non_null(end);
	memset(&end->id, letter, sizeof(end->id));
	configure(end, conf);
	end->core = (struct tapi_core_api){.version = TAPI_VERSION,
		.my_identity = &end->id,
		.core = end,
		.receive = on_receive,
		.session_down = on_session_down,
		.base = base,
		.now_us = on_now,
		.random = on_random,
		.log = on_log,
		.conf = &end->conf_in_force,
		.acl = &end->acl_in_force};
	end->done = done;
	end->api = init(&end->core);
	return end;
}

void end_free(struct end *end)
{
	if (end->api)
		end->done(end->api);
	tapi_acl_free(end->acl);
	tapi_conf_free(end->conf);
	free(end);
}

enum tapi_result end_reload(struct end *end, const char *conf)
{
	struct tapi_conf *old_conf = end->conf;
	struct tapi_acl *old_acl = end->acl;
	enum tapi_result result;

	configure(end, conf);
	end->inside = true;
	result = end->api->reload_configuration(end->api);
	end->inside = false;
	if (result == TAPI_OK) {
		tapi_acl_free(old_acl);
		tapi_conf_free(old_conf);
		return result;
	}
	tapi_acl_free(end->acl);
	tapi_conf_free(end->conf);
	end->conf_in_force = end->conf = old_conf;
	end->acl_in_force = end->acl = old_acl;
	return result;
}

void end_helo(struct end *end, unsigned index, struct tapi_helo *out)
{
	*out = (struct tapi_helo){0};
	assert_int_equal(end->api->create_helo(end->api, index, out), TAPI_OK);
}

void end_helo_text(struct end *end, const char *text, struct tapi_helo *out)
{
	size_t size = sizeof(out->address);

	*out = (struct tapi_helo){.protocol = end->api->protocol, .mtu = end->api->mtu};
	assert_int_equal(end->api->string_to_address(end->api, text, out->address, &size), TAPI_OK);
	out->address_size = (uint16_t)size;
}

struct tapi_session *end_connect(struct end *end, const struct tapi_helo *helo)
{
	struct tapi_session *session = NULL;

	end->inside = true;
	assert_int_equal(end->api->connect(end->api, helo, &session), TAPI_OK);
	end->inside = false;
	assert_non_null(session);
	assert_null(session->user);
	assert_int_equal(session->protocol, end->api->protocol);
	return session;
}

enum tapi_result end_send(struct end *end, struct tapi_session *session, const char *text)
{
	bool inside = end->inside;
	enum tapi_result result;

	end->inside = true;
	result = end->api->send(end->api, session, text, (uint32_t)strlen(text), false, 0);
	end->inside = inside;
	return result;
}

uint64_t end_turn(struct end *end)
{
	return end->api->turn(end->api, on_now(end));
}

const struct end_heard *end_last(const struct end *end)
{
	assert_true(end->n_heard > 0);
	return &end->heard[(end->n_heard - 1) % END_HEARD_MAX];
}

void end_pump(struct event_base *base)
{
	for (unsigned i = 0; i < 4; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

bool end_wait(struct event_base *base, const struct end *end, unsigned n)
{
	uint64_t until_us = system_us() + PATIENCE_US;

	while (end->n_heard < n && system_us() < until_us)
		event_base_loop(base, EVLOOP_NONBLOCK);
	return end->n_heard >= n;
}
