// SPDX-License-Identifier: BSD-3-Clause
// The functions that udp and raw-ip share: start, stop, connect, sessions.
#include "transportapi/transport/datagram_state.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "transportapi/proto/envelope.h"
#include "transportapi/proto/helo.h"

#define RATE_BURST_US 100000 // what may go at once: a tenth of a second's worth, one mtu at least

// Configuration.

// What create_helo() will be asked for, tried before anything is taken over: with the addresses
// that are asked for, and some port where any will do.
static enum tapi_result check_advertise(
	const struct datagram *dg, const struct tapi_inet_list *asked, struct tapi_error *error)
{
	struct tapi_inet_list bound = *asked, own;

	for (unsigned i = 0; dg->kind->has_port && i < bound.n; i++)
		if (bound.address[i].port == 0)
			bound.address[i].port = 1;
	return tapi_inet_own(&own, *dg->core->conf, dg->kind->name, &bound, *dg->core->acl,
		dg->kind->has_port, error);
}

static enum tapi_result settings_read(struct datagram *dg, struct datagram_settings *out)
{
	const struct tapi_conf *conf = *dg->core->conf;
	const struct tapi_conf_key *keys = dg->kind->keys;
	const char *name = dg->kind->name;
	struct tapi_error error;
	enum tapi_result result = tapi_conf_check(conf, name, keys, &error);

	if (result == TAPI_OK)
		result = tapi_inet_binds(&out->asked, conf, name, keys, &error);
	if (result == TAPI_OK)
		result = check_advertise(dg, &out->asked, &error);
	if (result == TAPI_OK)
		result = tapi_datagram_nat_read(dg, out, &error);
	if (result) {
		dg->core->log(dg->core->core, LOG_ERR, "%s", error.text);
		return result;
	}
	out->all = !tapi_conf_item(conf, name, "bind", 0);
	out->nat = tapi_conf_bool(conf, name, keys, "nat");
	out->mtu = (uint32_t)tapi_conf_uint(conf, name, keys, "mtu");
	out->cost = (uint32_t)tapi_conf_uint(conf, name, keys, "cost");
	out->receive_buffer_bytes =
		(uint32_t)tapi_conf_uint(conf, name, keys, "receive_buffer_bytes");
	out->send_buffer_bytes = (uint32_t)tapi_conf_uint(conf, name, keys, "send_buffer_bytes");
	out->rate_bytes_s = tapi_conf_uint(conf, name, keys, "rate_bytes_s");
	out->limits = tapi_link_limits_read(conf, name, keys);
	return TAPI_OK;
}

static uint64_t rate_burst(const struct datagram_settings *settings)
{
	uint64_t burst = settings->rate_bytes_s / (1000000 / RATE_BURST_US);

	return burst > settings->mtu ? burst : settings->mtu;
}

// Addresses.

static enum tapi_result address_of(
	const struct datagram *dg, const struct tapi_helo *helo, struct tapi_source *out)
{
	return tapi_inet_decode(out, helo->address, helo->address_size, dg->kind->has_port);
}

static enum tapi_result verify_helo(struct tapi_transport_api *self, const struct tapi_helo *helo)
{
	struct datagram *dg = datagram_of(self);
	struct tapi_source source;
	enum tapi_result result = address_of(dg, helo, &source);

	if (result)
		return result;
	return datagram_allows(dg, &source) ? TAPI_OK : TAPI_EACL;
}

static void own_make(struct datagram *dg)
{
	struct tapi_inet_list bound = {.n = dg->sockets.n};
	struct tapi_error error;

	for (unsigned i = 0; i < bound.n; i++)
		bound.address[i] = dg->sockets.at[i]->bound;
	dg->own.n = 0;
	if (!dg->settings.nat && tapi_inet_own(&dg->own, *dg->core->conf, dg->kind->name, &bound,
					 *dg->core->acl, dg->kind->has_port, &error) != TAPI_OK) {
		dg->core->log(dg->core->core, LOG_ERR, "%s", error.text);
		dg->own.n = 0;
	}
	tapi_datagram_nat_own(dg);
}

// The list is made anew with index 0, and after each change of sockets: one walk sees one list.
static enum tapi_result create_helo(
	struct tapi_transport_api *self, unsigned index, struct tapi_helo *out)
{
	struct datagram *dg = datagram_of(self);
	uint8_t octets[TAPI_INET_WIRE_BYTES_MAX];
	const struct tapi_source *source;

	if (!dg->started)
		return TAPI_ENOADDR;
	if (index == 0 || dg->own.n == 0)
		own_make(dg);
	if (index >= dg->own.n)
		return TAPI_ENOADDR;
	source = &dg->own.address[index];
	out->protocol = dg->kind->protocol;
	if (index >= dg->own_open)
		out->flags |= TAPI_HELO_NATED;
	out->mtu = self->mtu - (source->family == 6 ? TAPI_DATAGRAM_IPV6_LESS : 0);
	out->address_size = (uint16_t)tapi_inet_encode(octets, source, dg->kind->has_port);
	memcpy(out->address, octets, out->address_size);
	return TAPI_OK;
}

static enum tapi_result address_to_string(
	struct tapi_transport_api *self, const struct tapi_helo *helo, char *out, size_t size)
{
	struct datagram *dg = datagram_of(self);
	struct tapi_source source;
	enum tapi_result result = address_of(dg, helo, &source);

	if (result)
		return result;
	return tapi_inet_print(out, size, dg->kind->scheme, &source, dg->kind->has_port);
}

static enum tapi_result string_to_address(
	struct tapi_transport_api *self, const char *text, uint8_t *out, size_t *size)
{
	struct datagram *dg = datagram_of(self);
	uint8_t octets[TAPI_INET_WIRE_BYTES_MAX];
	struct tapi_source source;
	enum tapi_result result =
		tapi_inet_parse(&source, text, dg->kind->scheme, dg->kind->has_port);
	size_t length;

	if (result)
		return result;
	length = tapi_inet_encode(octets, &source, dg->kind->has_port);
	if (length > *size)
		return TAPI_EADDR;
	memcpy(out, octets, length);
	*size = length;
	return TAPI_OK;
}

static enum tapi_result address_source(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_source *out)
{
	return address_of(datagram_of(self), helo, out);
}

// Sessions.

static struct datagram_link *link_new(struct datagram *dg, const struct tapi_source *source,
	struct tapi_datagram_socket *socket, bool inbound)
{
	struct datagram_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->socket = socket;
	link->name_length = tapi_inet_to_sockaddr(&link->name, source);
	link->link.session.protocol = dg->kind->protocol;
	link->link.inbound = inbound;
	link->link.up = true;
	link->link.source = *source;
	link->link.key_length =
		(uint32_t)tapi_inet_encode(link->link.key, source, dg->kind->has_port);
	return link;
}

enum tapi_result tapi_datagram_link_add(struct datagram *dg, const struct tapi_source *source,
	struct tapi_datagram_socket *socket, bool inbound, uint64_t now_us,
	struct datagram_link **out)
{
	struct datagram_link *link = link_new(dg, source, socket, inbound);
	enum tapi_result result =
		link ? tapi_links_add(&dg->links, &link->link, now_us) : TAPI_ENOMEM;

	if (result) {
		free(link);
		return result;
	}
	*out = link;
	if (!TAILQ_EMPTY(&dg->links.ending)) // it took the place of another
		tapi_datagram_due(dg, 0);
	else if (inbound && !evtimer_pending(dg->due, NULL))
		tapi_datagram_due(dg, dg->links.limits.stale_us);
	return TAPI_OK;
}

static void link_free(struct datagram *dg, struct datagram_link *link)
{
	tapi_datagram_lines_forget(&dg->sockets, link);
	free(link);
}

static void link_end(void *context, struct tapi_link *link, enum tapi_down why)
{
	struct datagram *dg = context;

	dg->core->session_down(dg->core->core, &link->session, why);
	link_free(dg, link_of(&link->session));
}

static enum tapi_result connect_to(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_session **out)
{
	struct datagram *dg = datagram_of(self);
	struct tapi_datagram_socket *socket;
	struct datagram_link *link;
	struct tapi_source source;
	enum tapi_result result;

	if (!dg->started)
		return TAPI_EDOWN;
	result = verify_helo(self, helo);
	if (result)
		return result;
	address_of(dg, helo, &source);
	socket = tapi_datagram_pick(&dg->sockets, &(struct tapi_source){.family = 0}, &source);
	if (!socket) // a family that is not spoken here
		return TAPI_EADDR;
	result = tapi_datagram_link_add(dg, &source, socket, false, now_of(dg), &link);
	if (result == TAPI_OK)
		*out = &link->link.session;
	return result;
}

static enum tapi_result associate(struct tapi_transport_api *self, struct tapi_session *session)
{
	struct datagram *dg = datagram_of(self);
	struct datagram_link *link = link_of(session);

	if (dg->kind->flags & TAPI_SESSIONLESS)
		return TAPI_EUNIDIR;
	if (!link->link.linked)
		return TAPI_EDOWN;
	tapi_links_get(&dg->links, &link->link);
	return TAPI_OK;
}

static enum tapi_result disconnect(struct tapi_transport_api *self, struct tapi_session *session)
{
	struct datagram *dg = datagram_of(self);
	struct datagram_link *link = link_of(session);

	if (link->link.references == 0)
		return TAPI_EDOWN;
	if (tapi_links_put(&dg->links, &link->link, now_of(dg)))
		link_free(dg, link);
	return TAPI_OK;
}

static void session_info(struct tapi_transport_api *self, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	struct datagram *dg = datagram_of(self);
	const struct tapi_link *link = &link_of(session)->link;

	tapi_links_info(link, out);
	tapi_inet_print(out->remote, sizeof(out->remote), dg->kind->scheme, &link->source,
		dg->kind->has_port);
}

// Start, stop, reload.

static struct tapi_datagram_wanted wanted_of(
	struct datagram *dg, const struct datagram_settings *settings)
{
	return (struct tapi_datagram_wanted){.core = dg->core,
		.kind = dg->kind,
		.asked = settings->asked,
		.all = settings->all,
		.receive_buffer_bytes = settings->receive_buffer_bytes,
		.send_buffer_bytes = settings->send_buffer_bytes,
		.readable = tapi_datagram_readable,
		.owner = dg};
}

static void settings_use(struct datagram *dg, const struct datagram_settings *settings)
{
	dg->settings = *settings;
	dg->api.cost = settings->cost;
	dg->links.limits = settings->limits;
	tapi_bucket_change(&dg->rate, settings->rate_bytes_s, rate_burst(settings), now_of(dg));
}

static enum tapi_result start_server(struct tapi_transport_api *self)
{
	struct datagram *dg = datagram_of(self);
	struct tapi_datagram_sockets fresh;
	struct tapi_datagram_wanted wanted = wanted_of(dg, &dg->settings);
	enum tapi_result result;

	if (dg->started)
		return TAPI_OK;
	result = tapi_datagram_open(&fresh, &dg->sockets, &wanted);
	if (result)
		return result;
	tapi_datagram_take(&dg->sockets, &fresh);
	tapi_datagram_slots_init(dg);
	dg->epoch++;
	dg->own.n = 0;
	dg->started = true;
	tapi_datagram_nat_use(dg, true);
	return TAPI_OK;
}

static enum tapi_result stop_server(struct tapi_transport_api *self)
{
	struct datagram *dg = datagram_of(self);

	if (!dg->started)
		return TAPI_OK;
	dg->started = false;
	dg->epoch++;
	dg->own.n = 0;
	evtimer_del(dg->due);
	tapi_datagram_nat_stop(dg);
	tapi_datagram_close(&dg->sockets);
	tapi_links_end_all(&dg->links, TAPI_DOWN_STOPPED, NULL);
	return TAPI_OK;
}

// Whose address is allowed still, and family spoken. It gets its socket of the new set.
static bool lives_on(void *context, const struct tapi_link *link)
{
	struct datagram *dg = context;

	return datagram_allows(dg, &link->source) && link_of(&link->session)->socket;
}

static enum tapi_result reload_configuration(struct tapi_transport_api *self)
{
	struct datagram *dg = datagram_of(self);
	struct tapi_datagram_sockets fresh, old = dg->sockets;
	struct tapi_datagram_wanted wanted;
	struct datagram_settings settings;
	struct tapi_link *at, *next;
	bool others;
	enum tapi_result result = settings_read(dg, &settings);

	if (result)
		return result;
	if (settings.mtu != dg->settings.mtu) {
		dg->core->log(dg->core->core, LOG_ERR,
			"%s.mtu: cannot change while running, nothing was changed: restart, or put "
			"it back to %u",
			dg->kind->name, dg->settings.mtu);
		return TAPI_ECONF;
	}
	if (!dg->started) {
		settings_use(dg, &settings);
		return TAPI_OK;
	}
	wanted = wanted_of(dg, &settings);
	dg->epoch++; // lines close, also where the new sockets are refused
	result = tapi_datagram_open(&fresh, &old, &wanted);
	if (result)
		return result;
	HASH_ITER(by_key, dg->links.by_key, at, next)
	{
		struct datagram_link *link = link_of(&at->session);

		link->socket = tapi_datagram_pick(&fresh, &link->socket->bound, &link->link.source);
	}
	others = fresh.n != old.n || memcmp(fresh.at, old.at, fresh.n * sizeof(fresh.at[0])) != 0;
	tapi_datagram_take(&dg->sockets, &fresh);
	dg->own.n = 0;
	settings_use(dg, &settings);
	tapi_datagram_nat_use(dg, others);
	tapi_links_fail_all(&dg->links, TAPI_DOWN_DENIED, lives_on);
	if (!TAILQ_EMPTY(&dg->links.ending))
		tapi_datagram_due(dg, 0);
	return TAPI_OK;
}

void tapi_datagram_due(struct datagram *dg, uint64_t wait_us)
{
	const struct timeval wait = {
		.tv_sec = (time_t)(wait_us / 1000000), .tv_usec = (suseconds_t)(wait_us % 1000000)};

	evtimer_add(dg->due, &wait);
}

static uint64_t turn(struct tapi_transport_api *self, uint64_t now_us)
{
	struct datagram *dg = datagram_of(self);
	uint64_t links_us = tapi_links_turn(&dg->links, now_us),
		 nat_us = tapi_datagram_nat_turn(dg, now_us);

	return links_us < nat_us ? links_us : nat_us;
}

static void on_due(int unused, short what, void *context)
{
	struct datagram *dg = context;
	uint64_t now_us = now_of(dg), next_us = turn(&dg->api, now_us);

	(void)unused;
	(void)what;
	if (dg->started && next_us != UINT64_MAX)
		tapi_datagram_due(dg, next_us > now_us ? next_us - now_us : 0);
}

static const struct tapi_transport_stats *stats(struct tapi_transport_api *self)
{
	return &datagram_of(self)->stats;
}

struct tapi_transport_api *tapi_datagram_new(
	const struct tapi_core_api *core, const struct tapi_datagram_kind *kind)
{
	static const struct tapi_transport_api methods = {
		.version = TAPI_VERSION,
		.verify_helo = verify_helo,
		.create_helo = create_helo,
		.connect = connect_to,
		.send = tapi_datagram_send,
		.associate = associate,
		.disconnect = disconnect,
		.start_server = start_server,
		.stop_server = stop_server,
		.reload_configuration = reload_configuration,
		.turn = turn,
		.address_to_string = address_to_string,
		.string_to_address = string_to_address,
		.address_source = address_source,
		.send_estimate = tapi_datagram_send_estimate,
		.session_info = session_info,
		.stats = stats,
	};
	struct datagram probe = {.kind = kind, .core = core}, *dg;
	struct datagram_settings settings;
	size_t slot_bytes;

	if (core->version != TAPI_VERSION) // nothing more of it can be called, the log neither
		return NULL;
	if (!core->base) {
		core->log(core->core, LOG_ERR, "%s: needs an event loop, and the core has none",
			kind->name);
		return NULL;
	}
	if (settings_read(&probe, &settings) != TAPI_OK)
		return NULL;
	slot_bytes =
		(settings.mtu + TAPI_ENVELOPE_BYTES + TAPI_DATAGRAM_HEAD_ROOM + 63u) & ~(size_t)63;
	dg = calloc(1, sizeof(*dg) + (TAPI_DATAGRAM_BURST + 1) * slot_bytes);
	if (dg)
		dg->due = evtimer_new(core->base, on_due, dg);
	if (!dg || !dg->due) {
		free(dg);
		core->log(core->core, LOG_ERR, "%s: out of memory", kind->name);
		return NULL;
	}
	dg->api = methods;
	dg->api.name = kind->name;
	dg->api.protocol = kind->protocol;
	dg->api.flags = kind->flags;
	dg->api.mtu = settings.mtu;
	dg->kind = kind;
	dg->core = core;
	dg->slot_bytes = slot_bytes;
	dg->out = dg->slots + TAPI_DATAGRAM_BURST * slot_bytes;
	tapi_datagram_nat_init(dg);
	tapi_links_init(&dg->links, &settings.limits, &dg->stats, link_end, dg);
	tapi_bucket_init(&dg->rate, settings.rate_bytes_s, rate_burst(&settings), now_of(dg));
	settings_use(dg, &settings);
	return &dg->api;
}

void tapi_datagram_free(struct tapi_transport_api *self)
{
	struct datagram *dg = datagram_of(self);

	stop_server(self);
	event_free(dg->due);
	free(dg);
}
