// SPDX-License-Identifier: BSD-3-Clause
// vudp, vtcp and vraw: transports over the network of tapi_wire.c, after the contract of
// transport.h, with the library's own table of sessions.
#include "tapi_wire_internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/acl.h"
#include "transportapi/base/wire.h"

static const struct tapi_conf_key keys[] = {
	TAPI_LINK_KEYS,
	{NULL, TAPI_CONF_UINT, 0, 0, 0, NULL, false, NULL},
};
static const char *const names[] = {"vudp", "vtcp", "vraw"};

struct wire_full_node *wire_building;

static struct wire_end *end_of(struct tapi_transport_api *self)
{
	return (struct wire_end *)(void *)self;
}

uint64_t wire_end_now(const struct wire_end *end)
{
	return end->node->wire->now_us;
}

static bool address_read(const struct tapi_helo *helo, uint32_t *ip, uint16_t *port)
{
	if (helo->address_size != 6)
		return false;
	*ip = tapi_get32(helo->address);
	*port = tapi_get16(&helo->address[4]);
	return *port != 0;
}

struct tapi_source wire_source(const struct wire_end *end, uint32_t ip, uint16_t port)
{
	struct tapi_source source = {.family = 4, .port = end->kind == WIRE_RAW ? 0 : port};

	tapi_put32(source.address, ip);
	return source;
}

static enum tapi_result verify_helo(struct tapi_transport_api *self, const struct tapi_helo *helo)
{
	struct wire_end *end = end_of(self);
	struct tapi_source source;
	uint32_t ip;
	uint16_t port;

	assert(helo->protocol == self->protocol); // TA6: never another's
	if (!address_read(helo, &ip, &port))
		return TAPI_EADDR;
	source = wire_source(end, ip, port);
	return tapi_acl_address(*end->core->acl, &source, end->kind != WIRE_RAW);
}

static enum tapi_result create_helo(
	struct tapi_transport_api *self, unsigned index, struct tapi_helo *out)
{
	struct wire_end *end = end_of(self);

	if (index != 0 || end->node->nated[end->kind])
		return TAPI_ENOADDR;
	out->protocol = self->protocol;
	out->mtu = end->node->helo_mtu != 0 ? end->node->helo_mtu : self->mtu;
	out->address_size = 6;
	if (end->node->cone[end->kind])
		out->flags |= TAPI_HELO_NATED;
	tapi_put16(tapi_put32(out->address, end->node->node.ip), WIRE_PORT);
	return TAPI_OK;
}

static void session_free(struct wire_session *session)
{
	free(session->first);
	free(session);
}

struct wire_session *wire_session_add(struct wire_end *end, uint32_t ip, uint16_t port,
	uint64_t stream, bool inbound, enum tapi_result *result)
{
	struct wire_session *session = calloc(1, sizeof(*session));
	uint64_t number = ++end->node->wire->streams;

	assert(session != NULL);
	session->ip = ip;
	session->port = port;
	session->stream = stream;
	session->link.session.protocol = end->api.protocol;
	session->link.source = wire_source(end, ip, port);
	session->link.inbound = inbound;
	session->link.up = inbound || end->kind != WIRE_TCP;
	if (end->kind == WIRE_UDP) {
		tapi_put16(tapi_put32(session->link.key, ip), port);
		session->link.key_length = 6;
	} else {
		memcpy(session->link.key, end->kind == WIRE_TCP ? &stream : &number, 8);
		session->link.key_length = 8;
	}
	*result = tapi_links_add(&end->links, &session->link, wire_end_now(end));
	if (*result != TAPI_OK) {
		session_free(session);
		return NULL;
	}
	return session;
}

static struct wire_packet packet_to(struct wire_end *end, const struct wire_session *session)
{
	return (struct wire_packet){
		.kind = end->kind,
		.from_ip = end->node->node.ip,
		.from_port = WIRE_PORT,
		.to_ip = session->ip,
		.to_port = session->port,
		.stream = session->stream,
		.sender = *end->core->my_identity,
	};
}

static void control(struct wire_end *end, const struct wire_session *session, enum wire_op op)
{
	struct wire_packet packet = packet_to(end, session);

	packet.op = op;
	wire_put(end->node->wire, &packet, NULL, 0);
}

static enum tapi_result do_connect(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_session **out)
{
	struct wire_end *end = end_of(self);
	enum tapi_result result = verify_helo(self, helo);
	struct wire_session *session;
	struct tapi_link *link;
	uint32_t ip;
	uint16_t port;

	if (!end->started)
		return TAPI_EDOWN;
	if (result != TAPI_OK)
		return result;
	if (!address_read(helo, &ip, &port))
		return TAPI_EADDR;
	link = end->kind == WIRE_UDP ? tapi_links_find(&end->links, helo->address, 6) : NULL;
	if (link != NULL) {
		tapi_links_get(&end->links, link);
		*out = &link->session;
		return TAPI_OK;
	}
	session = wire_session_add(end, ip, port, ++end->node->wire->streams, false, &result);
	if (session == NULL)
		return result;
	if (end->kind == WIRE_TCP)
		control(end, session, WIRE_SYN);
	*out = &session->link.session;
	return TAPI_OK;
}

static void remember(struct wire_end *end, uint32_t ip)
{
	struct contact *contact;

	if (!end->node->nated[end->kind] && !end->node->cone[end->kind])
		return;
	HASH_FIND(hh, end->contacts, &ip, sizeof(ip), contact);
	if (contact != NULL) {
		contact->sent_us = wire_end_now(end);
		return;
	}
	contact = calloc(1, sizeof(*contact));
	assert(contact != NULL);
	contact->ip = ip;
	contact->sent_us = wire_end_now(end);
	HASH_ADD(hh, end->contacts, ip, sizeof(contact->ip), contact);
}

static enum tapi_result do_send(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc)
{
	struct wire_end *end = end_of(self);
	struct wire_session *to = session->internal;
	struct wire_packet packet = packet_to(end, to);

	if (!end->started || !to->link.linked) {
		end->stats.dropped_down++;
		return TAPI_EDOWN;
	}
	if (size > self->mtu ||
		(end->node->narrow[end->kind] != 0 && size > end->node->narrow[end->kind])) {
		end->stats.dropped_too_big++;
		return TAPI_ETOOBIG;
	}
	if (end->node->full[end->kind] || (!to->link.up && to->first != NULL)) {
		end->stats.dropped_block++;
		return TAPI_DROPPED;
	}
	packet.is_encrypted = is_encrypted;
	packet.crc = crc;
	remember(end, to->ip);
	tapi_links_sent(&end->links, &to->link, size, wire_end_now(end));
	if (to->link.up) {
		wire_put(end->node->wire, &packet, message, size);
		return TAPI_OK;
	}
	to->first = malloc(size + 1u);
	assert(to->first != NULL);
	memcpy(to->first, message, size);
	to->first_like = packet;
	to->first_like.size = size;
	return TAPI_OK;
}

static uint32_t do_send_estimate(
	struct tapi_transport_api *self, const struct tapi_session *session)
{
	const struct wire_end *end = end_of(self);
	const struct wire_session *to = session->internal;
	bool full = end->node->full[end->kind] || (!to->link.up && to->first != NULL);

	return full || !to->link.linked ? 0 : self->mtu;
}

static enum tapi_result do_associate(struct tapi_transport_api *self, struct tapi_session *session)
{
	struct wire_end *end = end_of(self);
	struct tapi_link *link = session->internal;

	if (!link->linked)
		return TAPI_EDOWN;
	tapi_links_get(&end->links, link);
	return TAPI_OK;
}

static enum tapi_result do_disconnect(struct tapi_transport_api *self, struct tapi_session *session)
{
	struct wire_end *end = end_of(self);
	struct wire_session *to = session->internal;

	assert(to->link.references > 0);
	if (tapi_links_put(&end->links, &to->link, wire_end_now(end))) {
		if (end->kind == WIRE_TCP)
			control(end, to, WIRE_FIN);
		session_free(to);
	}
	return TAPI_OK;
}

static void on_end(void *context, struct tapi_link *link, enum tapi_down why)
{
	struct wire_end *end = context;
	struct wire_session *session = (struct wire_session *)link;

	if (end->kind == WIRE_TCP && why != TAPI_DOWN_CLOSED)
		control(end, session, WIRE_FIN);
	end->core->session_down(end->core->core, &link->session, why);
	session_free(session);
}

static enum tapi_result start_server(struct tapi_transport_api *self)
{
	end_of(self)->started = true;
	return TAPI_OK;
}

static enum tapi_result stop_server(struct tapi_transport_api *self)
{
	struct wire_end *end = end_of(self);

	end->started = false;
	tapi_links_end_all(&end->links, TAPI_DOWN_STOPPED, NULL);
	return TAPI_OK;
}

static bool still_allowed(void *context, const struct tapi_link *link)
{
	struct wire_end *end = context;

	return tapi_acl_address(*end->core->acl, &link->source, end->kind != WIRE_RAW) == TAPI_OK;
}

static enum tapi_result reload(struct tapi_transport_api *self)
{
	struct wire_end *end = end_of(self);
	const struct tapi_conf *conf = *end->core->conf;
	struct tapi_error error = {.text = ""};
	struct wire_node *node = &end->node->node;

	if (node->refuses != 0 && --node->refuses == 0)
		return TAPI_ECONF;
	if (tapi_conf_check(conf, names[end->kind], keys, &error) != TAPI_OK) {
		end->core->log(end->core->core, 3, "%s", error.text);
		return TAPI_ECONF;
	}
	end->links.limits = tapi_link_limits_read(conf, names[end->kind], keys);
	tapi_links_fail_all(&end->links, TAPI_DOWN_DENIED, still_allowed);
	return TAPI_OK;
}

static uint64_t do_turn(struct tapi_transport_api *self, uint64_t now_us)
{
	return tapi_links_turn(&end_of(self)->links, now_us);
}

static void text_of(const struct wire_end *end, uint32_t ip, uint16_t port, char *out, size_t size)
{
	snprintf(out, size, "%s://%u.%u.%u.%u:%u", names[end->kind], ip >> 24, ip >> 16 & 255,
		ip >> 8 & 255, ip & 255, port);
}

static enum tapi_result address_to_string(
	struct tapi_transport_api *self, const struct tapi_helo *helo, char *out, size_t size)
{
	uint32_t ip;
	uint16_t port;

	if (!address_read(helo, &ip, &port))
		return TAPI_EADDR;
	text_of(end_of(self), ip, port, out, size);
	return TAPI_OK;
}

static enum tapi_result string_to_address(
	struct tapi_transport_api *self, const char *text, uint8_t *out, size_t *size)
{
	char name[8], host[64];
	unsigned port;
	struct in_addr ip;

	if (sscanf(text, "%7[a-z]://%63[0-9.]:%u", name, host, &port) != 3 ||
		strcmp(name, names[end_of(self)->kind]) != 0 || *size < 6 ||
		inet_pton(AF_INET, host, &ip) != 1)
		return TAPI_EADDR;
	memcpy(out, &ip, 4);
	tapi_put16(&out[4], (uint16_t)port);
	*size = 6;
	return TAPI_OK;
}

static enum tapi_result address_source(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_source *out)
{
	uint32_t ip;
	uint16_t port;

	if (!address_read(helo, &ip, &port))
		return TAPI_EADDR;
	*out = wire_source(end_of(self), ip, port);
	return TAPI_OK;
}

static void session_info(struct tapi_transport_api *self, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	const struct wire_session *of = session->internal;

	tapi_links_info(&of->link, out);
	text_of(end_of(self), of->ip, of->port, out->remote, sizeof(out->remote));
}

static const struct tapi_transport_stats *stats(struct tapi_transport_api *self)
{
	return &end_of(self)->stats;
}

static struct tapi_transport_api *make(
	const struct tapi_core_api *core, enum wire_kind kind, uint32_t mtu, uint32_t cost)
{
	struct wire_end *end = calloc(1, sizeof(*end));
	struct tapi_error error = {.text = ""};
	struct tapi_link_limits limits;

	assert(end != NULL && wire_building != NULL);
	if (tapi_conf_check(*core->conf, names[kind], keys, &error) != TAPI_OK) {
		core->log(core->core, 3, "%s", error.text);
		free(end);
		return NULL;
	}
	end->core = core;
	end->kind = kind;
	end->node = wire_building;
	end->node->ends[kind] = end;
	limits = tapi_link_limits_read(*core->conf, names[kind], keys);
	tapi_links_init(&end->links, &limits, &end->stats, on_end, end);
	end->api = (struct tapi_transport_api){
		.version = TAPI_VERSION,
		.protocol = (uint16_t)(WIRE_PROTOCOL + kind),
		.mtu = mtu,
		.cost = cost,
		.flags = kind == WIRE_RAW   ? TAPI_SESSIONLESS
			 : kind == WIRE_TCP ? TAPI_BIDIRECTIONAL | TAPI_STREAM | TAPI_ORDERED
					    : TAPI_BIDIRECTIONAL,
		.name = names[kind],
		.verify_helo = verify_helo,
		.create_helo = create_helo,
		.connect = do_connect,
		.send = do_send,
		.send_estimate = do_send_estimate,
		.associate = do_associate,
		.disconnect = do_disconnect,
		.start_server = start_server,
		.stop_server = stop_server,
		.reload_configuration = reload,
		.turn = do_turn,
		.address_to_string = address_to_string,
		.string_to_address = string_to_address,
		.address_source = address_source,
		.session_info = session_info,
		.stats = stats,
	};
	return &end->api;
}

struct tapi_transport_api *inittransport_vudp(const struct tapi_core_api *core)
{
	return make(core, WIRE_UDP, 1432, 100);
}

struct tapi_transport_api *inittransport_vtcp(const struct tapi_core_api *core)
{
	return make(core, WIRE_TCP, 32768, 200);
}

struct tapi_transport_api *inittransport_vraw(const struct tapi_core_api *core)
{
	return make(core, WIRE_RAW, 1440, 90);
}

void donetransport_vudp(struct tapi_transport_api *self)
{
	struct wire_end *end = end_of(self);
	struct contact *contact, *next;

	if (end->started)
		stop_server(self);
	assert(end->links.count == 0); // TA13: each session was freed, once
	HASH_ITER(hh, end->contacts, contact, next)
	{
		HASH_DEL(end->contacts, contact);
		free(contact);
	}
	end->node->ends[end->kind] = NULL;
	free(end);
}

void donetransport_vtcp(struct tapi_transport_api *self)
{
	donetransport_vudp(self);
}

void donetransport_vraw(struct tapi_transport_api *self)
{
	donetransport_vudp(self);
}
