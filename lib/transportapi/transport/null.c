// SPDX-License-Identifier: BSD-3-Clause
// Takes everything and delivers nothing: what a core does with a peer that never answers, and what
// the core itself costs, without a medium. Protocol 91; addresses are "null:WORD", any word; nobody
// can be reached by it, so none is advertised.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "transportapi/base/conf.h"
#include "transportapi/proto/helo.h"
#include "transportapi/transport/sessions.h"

#define NULL_PROTOCOL 91
#define NULL_PREFIX   "null:"
#define NULL_WORD_MAX 64
#define NULL_MTU      65000

TAPI_EXPORT tapi_init_fn inittransport_null;
TAPI_EXPORT tapi_done_fn donetransport_null;

const struct tapi_conf_key tapi_null_keys[] = {
	{"mtu", TAPI_CONF_UINT, 1, NULL_MTU, NULL_MTU, NULL, false, "largest message, octets"},
	{"cost", TAPI_CONF_UINT, 1, 1000000, 1, NULL, true, "lower is cheaper"},
	{"max_sessions", TAPI_CONF_UINT, 1, 1u << 20, 4096, NULL, true, "sessions at a time"},
	{0},
};

struct null_session {
	struct tapi_link link;
	char word[NULL_WORD_MAX + 1];
};

struct null {
	struct tapi_transport_api api;
	const struct tapi_core_api *core;
	struct tapi_links links;
	struct tapi_transport_stats stats;
	uint64_t last_number; // of a session: several may have one address
	bool started;
};

static struct null *null_of(struct tapi_transport_api *self)
{
	return (struct null *)(void *)self;
}

static uint64_t null_now(const struct null *null)
{
	return null->core->now_us(null->core->core);
}

// No session comes in or has to wait for anything: one limit is all there is.
static struct tapi_link_limits limits_read(const struct tapi_core_api *core)
{
	uint64_t most = tapi_conf_uint(*core->conf, "null", tapi_null_keys, "max_sessions");

	return (struct tapi_link_limits){.sessions = (uint32_t)most};
}

static bool word_valid(const uint8_t *word, size_t length)
{
	if (length == 0 || length > NULL_WORD_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if (word[i] <= ' ' || word[i] > '~')
			return false;
	return true;
}

static enum tapi_result null_verify_helo(
	struct tapi_transport_api *self, const struct tapi_helo *helo)
{
	(void)self;
	return helo->protocol == NULL_PROTOCOL && word_valid(helo->address, helo->address_size)
		       ? TAPI_OK
		       : TAPI_EADDR;
}

static enum tapi_result null_create_helo(
	struct tapi_transport_api *self, unsigned index, struct tapi_helo *out)
{
	(void)self;
	(void)index;
	(void)out;
	return TAPI_ENOADDR; // it only sends
}

static enum tapi_result null_connect(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_session **out)
{
	struct null *null = null_of(self);
	struct null_session *session;
	enum tapi_result result = null_verify_helo(self, helo);

	if (result != TAPI_OK)
		return result;
	if (!null->started)
		return TAPI_EDOWN;
	session = calloc(1, sizeof(*session));
	if (!session)
		return TAPI_ENOMEM;
	memcpy(session->word, helo->address, helo->address_size);
	session->link.session.protocol = NULL_PROTOCOL;
	session->link.up = true;
	session->link.key_length = sizeof(null->last_number);
	null->last_number++;
	memcpy(session->link.key, &null->last_number, sizeof(null->last_number));
	result = tapi_links_add(&null->links, &session->link, null_now(null));
	if (result != TAPI_OK) {
		free(session);
		return result;
	}
	*out = &session->link.session;
	return TAPI_OK;
}

static enum tapi_result null_send(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc)
{
	struct null *null = null_of(self);
	struct tapi_link *link = session->internal;

	(void)message;
	(void)is_encrypted;
	(void)crc;
	if (!link->linked || !null->started) {
		link->dropped_msgs++;
		null->stats.dropped_down++;
		return TAPI_EDOWN;
	}
	if (size > self->mtu) {
		link->dropped_msgs++;
		null->stats.dropped_too_big++;
		return TAPI_ETOOBIG;
	}
	tapi_links_sent(&null->links, link, size, null_now(null));
	return TAPI_OK;
}

static enum tapi_result null_associate(
	struct tapi_transport_api *self, struct tapi_session *session)
{
	struct null *null = null_of(self);
	struct tapi_link *link = session->internal;

	if (!link->linked)
		return TAPI_EDOWN;
	tapi_links_get(&null->links, link);
	return TAPI_OK;
}

static enum tapi_result null_disconnect(
	struct tapi_transport_api *self, struct tapi_session *session)
{
	struct null *null = null_of(self);
	struct tapi_link *link = session->internal;

	if (link->references == 0) // nobody holds it: a fault of the caller
		return TAPI_EDOWN;
	if (tapi_links_put(&null->links, session->internal, null_now(null)))
		free(session->internal); // the link is its first member
	return TAPI_OK;
}

static void null_end(void *context, struct tapi_link *link, enum tapi_down why)
{
	struct null *null = context;

	null->core->session_down(null->core->core, &link->session, why);
	free(link);
}

static enum tapi_result null_start(struct tapi_transport_api *self)
{
	null_of(self)->started = true;
	return TAPI_OK;
}

static enum tapi_result null_stop(struct tapi_transport_api *self)
{
	struct null *null = null_of(self);

	null->started = false;
	tapi_links_end_all(&null->links, TAPI_DOWN_STOPPED, NULL);
	return TAPI_OK;
}

static bool null_conf_check(const struct null *null)
{
	struct tapi_error error;

	if (tapi_conf_check(*null->core->conf, "null", tapi_null_keys, &error) == TAPI_OK)
		return true;
	null->core->log(null->core->core, LOG_ERR, "%s", error.text);
	return false;
}

static enum tapi_result null_reload(struct tapi_transport_api *self)
{
	struct null *null = null_of(self);

	if (!null_conf_check(null))
		return TAPI_ECONF;
	if (tapi_conf_uint(*null->core->conf, "null", tapi_null_keys, "mtu") != self->mtu) {
		null->core->log(null->core->core, LOG_ERR,
			"null.mtu cannot change while it runs: restart the program");
		return TAPI_ECONF;
	}
	self->cost = (uint32_t)tapi_conf_uint(*null->core->conf, "null", tapi_null_keys, "cost");
	null->links.limits = limits_read(null->core);
	return TAPI_OK;
}

static uint64_t null_turn(struct tapi_transport_api *self, uint64_t now_us)
{
	return tapi_links_turn(&null_of(self)->links, now_us);
}

static enum tapi_result null_address_to_string(
	struct tapi_transport_api *self, const struct tapi_helo *helo, char *out, size_t size)
{
	int length;

	if (null_verify_helo(self, helo) != TAPI_OK)
		return TAPI_EADDR;
	length = snprintf(
		out, size, NULL_PREFIX "%.*s", helo->address_size, (const char *)helo->address);
	return length > 0 && (size_t)length < size ? TAPI_OK : TAPI_EADDR;
}

static enum tapi_result null_string_to_address(
	struct tapi_transport_api *self, const char *text, uint8_t *out, size_t *size)
{
	size_t prefix = strlen(NULL_PREFIX), length;

	(void)self;
	if (strncmp(text, NULL_PREFIX, prefix) != 0)
		return TAPI_EADDR;
	length = strlen(&text[prefix]);
	if (!word_valid((const uint8_t *)&text[prefix], length) || length > *size)
		return TAPI_EADDR;
	memcpy(out, &text[prefix], length);
	*size = length;
	return TAPI_OK;
}

static void null_session_info(struct tapi_transport_api *self, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	const struct null_session *of = session->internal;

	(void)self;
	tapi_links_info(&of->link, out);
	snprintf(out->remote, sizeof(out->remote), NULL_PREFIX "%s", of->word);
}

static const struct tapi_transport_stats *null_stats(struct tapi_transport_api *self)
{
	return &null_of(self)->stats;
}

static const struct tapi_transport_api null_api = {
	.version = TAPI_VERSION,
	.protocol = NULL_PROTOCOL,
	.flags = TAPI_SEND_ONLY,
	.name = "null",
	.verify_helo = null_verify_helo,
	.create_helo = null_create_helo,
	.connect = null_connect,
	.send = null_send,
	.associate = null_associate,
	.disconnect = null_disconnect,
	.start_server = null_start,
	.stop_server = null_stop,
	.reload_configuration = null_reload,
	.turn = null_turn,
	.address_to_string = null_address_to_string,
	.string_to_address = null_string_to_address,
	.session_info = null_session_info,
	.stats = null_stats,
};

struct tapi_transport_api *inittransport_null(const struct tapi_core_api *core)
{
	struct tapi_link_limits limits;
	struct null *null;

	if (core->version != TAPI_VERSION)
		return NULL;
	null = calloc(1, sizeof(*null));
	if (!null) {
		core->log(core->core, LOG_ERR, "null: out of memory");
		return NULL;
	}
	null->core = core;
	if (!null_conf_check(null)) {
		free(null);
		return NULL;
	}
	limits = limits_read(core);
	tapi_links_init(&null->links, &limits, &null->stats, null_end, null);
	null->api = null_api;
	null->api.mtu = (uint32_t)tapi_conf_uint(*core->conf, "null", tapi_null_keys, "mtu");
	null->api.cost = (uint32_t)tapi_conf_uint(*core->conf, "null", tapi_null_keys, "cost");
	return &null->api;
}

void donetransport_null(struct tapi_transport_api *self)
{
	null_stop(self);
	free(self);
}
