// SPDX-License-Identifier: BSD-3-Clause
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define SIZE_MAX_TESTED (128 * 1024)
#define PATIENCE_US     15000000

static uint64_t real_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t rig_now(const struct rig *rig)
{
	return real_us() + rig->ahead_us;
}

uint64_t rig_random(struct rig *rig) // xorshift64*
{
	rig->chance ^= rig->chance >> 12;
	rig->chance ^= rig->chance << 25;
	rig->chance ^= rig->chance >> 27;
	return rig->chance * 0x2545f4914f6cdd1du;
}

void rig_message(uint8_t *out, uint32_t serial, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		out[i] = (uint8_t)(serial * 31 + i * 7 + (i >> 8));
	if (size >= 4)
		for (unsigned i = 0; i < 4; i++)
			out[i] = (uint8_t)(serial >> (24 - 8 * i));
	else
		memset(out, 0xa5, size);
}

static uint32_t serial_of(const uint8_t *message, uint32_t size)
{
	if (size < 4)
		return 0xffffff00 + size;
	return (uint32_t)message[0] << 24 | (uint32_t)message[1] << 16 | (uint32_t)message[2] << 8 |
	       message[3];
}

static struct rig_session *session_know(
	struct rig_node *node, struct tapi_session *session, bool inbound)
{
	struct rig_session *known = session->user;

	if (known) {
		assert_ptr_equal(known->session, session);
		assert_ptr_equal(known->node, node);
		assert_false(known->down);
		return known;
	}
	known = calloc(1, sizeof(*known));
	assert_non_null(known);
	known->node = node;
	known->session = session;
	known->inbound = inbound;
	assert_int_equal(session->protocol, node->api->protocol);
	session->user = known;
	LIST_INSERT_HEAD(&node->sessions, known, next);
	return known;
}

static void session_forget(struct rig_session *known)
{
	LIST_REMOVE(known, next);
	free(known);
}

static void on_receive(void *context, const struct tapi_message_pack *pack)
{
	static uint8_t expected[SIZE_MAX_TESTED];
	struct rig_node *node = context;
	struct rig_arrival *arrival, only;

	if (node->inside)
		fail_msg("receive() inside %s()", node->inside);
	assert_true(node->started);
	assert_true(pack->size <= node->api->mtu && pack->size <= sizeof(expected));
	if (!node->rig->thin && node->n_arrivals == node->room) {
		node->room = node->room ? 2 * node->room : 64;
		node->arrivals = realloc(node->arrivals, node->room * sizeof(*node->arrivals));
		assert_non_null(node->arrivals);
	}
	arrival = node->rig->thin ? &only : &node->arrivals[node->n_arrivals];
	node->n_arrivals++;
	*arrival = (struct rig_arrival){.sender = pack->sender,
		.source = pack->source,
		.serial = serial_of(pack->message, pack->size),
		.size = pack->size,
		.crc = pack->crc,
		.is_encrypted = pack->is_encrypted};
	rig_message(expected, arrival->serial, pack->size);
	assert_memory_equal(pack->message, expected, pack->size);
	if (!pack->session) {
		assert_true(node->api->flags & TAPI_SESSIONLESS);
		return;
	}
	arrival->session = session_know(node, pack->session, true);
	arrival->session->sender = pack->sender;
	arrival->session->arrived++;
}

static void on_session_down(void *context, struct tapi_session *session, enum tapi_down why)
{
	struct rig_node *node = context;
	struct rig_session *known = session->user;

	if (node->inside)
		fail_msg("session_down() inside %s()", node->inside);
	node->n_downs++;
	if (!known) { // it came in and never said anything
		node->n_alien_downs++;
		return;
	}
	assert_ptr_equal(known->session, session);
	assert_false(known->down);
	known->down = true;
	known->why = why;
	known->session = NULL;
	known->references = 0;
	if (node->rig->thin)
		session_forget(known);
}

static uint64_t on_now(void *context)
{
	const struct rig_node *node = context;

	return rig_now(node->rig);
}

static void on_random(void *context, void *octets, size_t length)
{
	struct rig_node *node = context;
	uint8_t *out = octets;

	for (size_t i = 0; i < length; i++)
		out[i] = (uint8_t)(rig_random(node->rig) >> 32);
}

__attribute__((format(printf, 3, 4))) static void on_log(
	void *context, int priority, const char *format, ...)
{
	struct rig_node *node = context;
	va_list arguments;
	size_t used;

	va_start(arguments, format);
	vsnprintf(node->rig->log, sizeof(node->rig->log), format, arguments);
	va_end(arguments);
	used = strlen(node->rig->all_log);
	snprintf(&node->rig->all_log[used], sizeof(node->rig->all_log) - used, "%s\n",
		node->rig->log);
	if (node->rig->aloud)
		fprintf(stderr, "%c <%d> %s\n", node->letter, priority, node->rig->log);
}

static void tick(evutil_socket_t unused, short events, void *context)
{
	(void)unused;
	(void)events;
	(void)context;
}

void rig_init(struct rig *rig, uint64_t seed)
{
	*rig = (struct rig){.base = event_base_new(), .chance = seed ? seed : 1};
	assert_non_null(rig->base);
	rig->tick = evtimer_new(rig->base, tick, NULL);
	assert_non_null(rig->tick);
	rig->aloud = getenv("RIG_ALOUD") != NULL;
	for (unsigned i = 0; i < RIG_NODES; i++) {
		struct rig_node *node = &rig->nodes[i];

		node->rig = rig;
		node->letter = (char)('a' + i);
		memset(&node->id, 0x11 * (int)(i + 1), sizeof(node->id));
		LIST_INIT(&node->sessions);
		node->core = (struct tapi_core_api){
			.version = TAPI_VERSION,
			.my_identity = &node->id,
			.core = node,
			.receive = on_receive,
			.session_down = on_session_down,
			.base = rig->base,
			.now_us = on_now,
			.random = on_random,
			.log = on_log,
			.conf = &node->conf,
			.acl = &node->acl,
		};
	}
}

static void configuration_free(const struct tapi_conf *conf, const struct tapi_acl *acl)
{
	union { // ours, though the transport may not change them
		const struct tapi_conf *in;
		struct tapi_conf *out;
	} c = {conf};
	union {
		const struct tapi_acl *in;
		struct tapi_acl *out;
	} a = {acl};

	tapi_conf_free(c.out);
	tapi_acl_free(a.out);
}

void rig_configure(struct rig_node *node, const char *conf_text)
{
	struct tapi_error error = {0};
	struct tapi_conf *conf = tapi_conf_parse(conf_text, &error);
	struct tapi_acl *acl = NULL;

	if (!conf || tapi_acl_new(&acl, conf, &error) != TAPI_OK)
		fail_msg("%s: %s", conf_text, error.text);
	configuration_free(node->conf, node->acl);
	node->conf = conf;
	node->acl = acl;
}

struct rig_node *rig_load(struct rig *rig, unsigned index, const char *transport,
	const char *directory, bool objects_first, const char *conf_text)
{
	struct rig_node *node = &rig->nodes[index];
	struct tapi_error error = {0};

	rig_configure(node, conf_text);
	if (tapi_transport_load(&node->loaded, transport, directory, objects_first, &node->core,
		    &error) != TAPI_OK)
		fail_msg("%s; log: %s", error.text, rig->log);
	node->api = node->loaded.api;
	return node;
}

void rig_unload(struct rig_node *node)
{
	rig_stop(node);
	tapi_transport_unload(&node->loaded);
	node->api = NULL;
}

#define GUARDED(node, method, call)          \
	do {                                 \
		assert_null((node)->inside); \
		(node)->inside = method;     \
		call;                        \
		(node)->inside = NULL;       \
	} while (0)

enum tapi_result rig_reload(struct rig_node *node, const char *conf_text)
{
	const struct tapi_conf *conf = node->conf;
	const struct tapi_acl *acl = node->acl;
	enum tapi_result result;

	node->conf = NULL;
	node->acl = NULL;
	rig_configure(node, conf_text);
	GUARDED(node, "reload_configuration", result = node->api->reload_configuration(node->api));
	if (result == TAPI_OK) {
		configuration_free(conf, acl);
	} else {
		configuration_free(node->conf, node->acl);
		node->conf = conf;
		node->acl = acl;
	}
	return result;
}

enum tapi_result rig_start(struct rig_node *node)
{
	enum tapi_result result;

	GUARDED(node, "start_server", result = node->api->start_server(node->api));
	node->started |= result == TAPI_OK;
	return result;
}

// After it nothing may come, and each session has come to its end.
void rig_stop(struct rig_node *node)
{
	struct rig_session *session;

	assert_int_equal(node->api->stop_server(node->api), TAPI_OK);
	node->started = false;
	LIST_FOREACH (session, &node->sessions, next)
		if (session->session)
			fail_msg("stop_server() left a session (%s, %u references)",
				session->inbound ? "came in" : "connected", session->references);
}

enum tapi_result rig_connect(
	struct rig_node *node, const struct tapi_helo *helo, struct rig_session **out)
{
	struct tapi_session *session = NULL;
	enum tapi_result result;

	*out = NULL;
	GUARDED(node, "connect", result = node->api->connect(node->api, helo, &session));
	if (result != TAPI_OK)
		return result;
	assert_non_null(session);
	*out = session_know(node, session, false);
	(*out)->references++;
	return TAPI_OK;
}

enum tapi_result rig_send_as(struct rig_session *session, uint32_t serial, uint32_t size,
	bool is_encrypted, uint32_t crc)
{
	struct rig_node *node = session->node;
	// Of its size on the heap: who reads one octet too far is seen.
	uint8_t *message = malloc(size ? size : 1);
	enum tapi_result result;

	assert_non_null(message);
	rig_message(message, serial, size);
	GUARDED(node, "send",
		result = node->api->send(
			node->api, session->session, message, size, is_encrypted, crc));
	memset(message, 0xdd, size); // and who keeps it, too
	free(message);
	node->given++;
	if (result == TAPI_OK) {
		node->taken++;
		node->given_bytes += size;
	} else {
		assert_true(-result > 0 && -result < 16);
		node->refused[-result]++;
	}
	return result;
}

enum tapi_result rig_send(struct rig_session *session, uint32_t serial, uint32_t size)
{
	return rig_send_as(session, serial, size, serial & 1, ~serial);
}

enum tapi_result rig_associate(struct rig_session *session)
{
	struct rig_node *node = session->node;
	enum tapi_result result;

	GUARDED(node, "associate", result = node->api->associate(node->api, session->session));
	session->references += result == TAPI_OK;
	return result;
}

enum tapi_result rig_disconnect(struct rig_session *session)
{
	struct rig_node *node = session->node;
	enum tapi_result result;

	GUARDED(node, "disconnect", result = node->api->disconnect(node->api, session->session));
	if (session->references == 0) {
		assert_int_not_equal(result, TAPI_OK); // nothing is held: nothing can be given up
		return result;
	}
	assert_int_equal(result, TAPI_OK);
	if (--session->references == 0 && !session->inbound) {
		session->session = NULL; // no session_down() will come
		if (node->rig->thin)
			session_forget(session);
	}
	return result;
}

void rig_turn(struct rig_node *node)
{
	node->wish = node->api->turn(node->api, rig_now(node->rig));
}

void rig_info(struct rig_session *session, struct tapi_session_info *out)
{
	struct rig_node *node = session->node;

	GUARDED(node, "session_info", node->api->session_info(node->api, session->session, out));
}

const struct tapi_transport_stats *rig_stats(struct rig_node *node)
{
	return node->api->stats(node->api);
}

struct tapi_helo rig_helo(struct rig_node *node, unsigned index)
{
	struct tapi_helo helo = {0};
	enum tapi_result result;

	GUARDED(node, "create_helo", result = node->api->create_helo(node->api, index, &helo));
	if (result != TAPI_OK)
		fail_msg("create_helo(%u): %s; log: %s", index, tapi_result_name(result),
			node->rig->log);
	return helo;
}

static void step(struct rig *rig)
{
	const struct timeval ms = {.tv_usec = 1000};

	evtimer_add(rig->tick, &ms);
	event_base_loop(rig->base, EVLOOP_ONCE);
	for (unsigned i = 0; i < RIG_NODES; i++)
		if (rig->nodes[i].api)
			rig_turn(&rig->nodes[i]);
}

bool rig_until(struct rig *rig, bool (*done)(void *context), void *context)
{
	uint64_t end = real_us() + PATIENCE_US;

	while (!done(context)) {
		if (real_us() > end)
			return false;
		step(rig);
	}
	return true;
}

void rig_pump(struct rig *rig, unsigned ms)
{
	uint64_t end = real_us() + ms * 1000;

	do
		step(rig);
	while (real_us() < end);
}

struct arrivals_wanted {
	const struct rig_node *node;
	unsigned n;
};

static bool arrivals_there(void *context)
{
	const struct arrivals_wanted *wanted = context;

	return wanted->node->n_arrivals >= wanted->n;
}

bool rig_until_arrivals(struct rig_node *node, unsigned n)
{
	return rig_until(node->rig, arrivals_there, &(struct arrivals_wanted){node, n});
}

static bool is_down(void *context)
{
	const struct rig_session *session = context;

	return session->down;
}

bool rig_until_down(struct rig_session *session)
{
	return rig_until(session->node->rig, is_down, session);
}

const struct rig_arrival *rig_arrival(const struct rig_node *node, uint32_t serial)
{
	for (unsigned i = node->n_arrivals; i-- > 0;)
		if (node->arrivals[i].serial == serial)
			return &node->arrivals[i];
	return NULL;
}

struct rig_session *rig_inbound(struct rig_node *node)
{
	struct rig_session *session;

	LIST_FOREACH (session, &node->sessions, next)
		if (session->inbound && session->session)
			return session;
	return NULL;
}

void rig_end(struct rig *rig)
{
	for (unsigned i = 0; i < RIG_NODES; i++) {
		struct rig_node *node = &rig->nodes[i];
		struct rig_session *session, *next;

		if (node->api)
			rig_unload(node);
		for (session = LIST_FIRST(&node->sessions); session; session = next) {
			next = LIST_NEXT(session, next);
			free(session);
		}
		free(node->arrivals);
		configuration_free(node->conf, node->acl);
	}
	event_free(rig->tick);
	event_base_free(rig->base);
}
