// SPDX-License-Identifier: BSD-3-Clause
// What comes in by vudp, vtcp and vraw, and the switches of one node's media.
#include "tapi_wire_internal.h"

#include <stdlib.h>

#include "transportapi/base/acl.h"
#include "transportapi/base/wire.h"

#define CONE_US 30000000 // a NAT keeps a mapping that nothing goes out by

static bool let_in(const struct wire_end *end, const struct wire_packet *packet)
{
	struct contact *contact;

	if (!end->node->nated[end->kind] && !end->node->cone[end->kind])
		return true;
	HASH_FIND(hh, end->contacts, &packet->from_ip, sizeof(packet->from_ip), contact);
	return contact != NULL &&
	       (end->node->nated[end->kind] || wire_end_now(end) - contact->sent_us < CONE_US);
}

static void give(struct wire_end *end, const struct wire_packet *packet, struct tapi_link *link)
{
	struct tapi_message_pack pack = {
		.session = link != NULL ? &link->session : NULL,
		.sender = packet->sender,
		.source = wire_source(end, packet->from_ip, packet->from_port),
		.message = packet->message,
		.size = packet->size,
		.is_encrypted = packet->is_encrypted,
		.crc = packet->crc,
	};

	if (link != NULL) {
		tapi_links_received(&end->links, link, packet->size, wire_end_now(end));
	} else {
		end->stats.received_msgs++;
		end->stats.received_bytes += packet->size;
	}
	end->core->receive(end->core->core, &pack);
}

static struct tapi_link *come_in(struct wire_end *end, const struct wire_packet *packet)
{
	enum tapi_result result;
	struct wire_session *session = wire_session_add(
		end, packet->from_ip, packet->from_port, packet->stream, true, &result);

	return session != NULL ? &session->link : NULL;
}

static void stream_stands(struct wire_end *end, struct tapi_link *link)
{
	struct wire_session *session = (struct wire_session *)link;

	if (link->up)
		return;
	tapi_links_up(&end->links, link, wire_end_now(end));
	if (session->first != NULL)
		wire_put(end->node->wire, &session->first_like, session->first,
			session->first_like.size);
	free(session->first);
	session->first = NULL;
}

static void stream_take(struct wire_end *end, const struct wire_packet *packet)
{
	struct tapi_link *link = tapi_links_find(&end->links, &packet->stream, 8);
	struct wire_packet answer = *packet;

	answer.to_ip = packet->from_ip;
	answer.from_ip = end->node->node.ip;
	switch (packet->op) {
	case WIRE_SYN:
		if (!let_in(end, packet))
			return;
		answer.op = come_in(end, packet) != NULL ? WIRE_SYNACK : WIRE_RST;
		wire_put(end->node->wire, &answer, NULL, 0);
		return;
	case WIRE_SYNACK:
		if (link != NULL)
			stream_stands(end, link);
		return;
	case WIRE_MESSAGE:
		if (link != NULL) {
			give(end, packet, link);
		} else {
			answer.op = WIRE_RST;
			wire_put(end->node->wire, &answer, NULL, 0);
		}
		return;
	case WIRE_FIN:
	case WIRE_RST:
		if (link != NULL)
			tapi_links_fail(&end->links, link,
				packet->op == WIRE_FIN ? TAPI_DOWN_CLOSED : TAPI_DOWN_ERROR);
		tapi_links_turn(&end->links, wire_end_now(end));
		return;
	}
}

void wire_end_take(struct wire_end *end, const struct wire_packet *packet)
{
	struct tapi_source source = wire_source(end, packet->from_ip, packet->from_port);
	struct tapi_link *link = NULL;
	uint8_t key[6];

	if (!end->started)
		return;
	if (tapi_acl_address(*end->core->acl, &source, end->kind != WIRE_RAW) != TAPI_OK) {
		end->stats.bad_source++;
		return;
	}
	if (end->kind == WIRE_TCP) {
		stream_take(end, packet);
		return;
	}
	if (!let_in(end, packet))
		return;
	if (end->kind == WIRE_UDP) {
		tapi_put16(tapi_put32(key, packet->from_ip), packet->from_port);
		link = tapi_links_find(&end->links, key, sizeof(key));
		if (link == NULL)
			link = come_in(end, packet);
		if (link == NULL)
			return;
	}
	give(end, packet, link);
}

void wire_no_room(struct wire_node *node, int kind, bool full)
{
	((struct wire_full_node *)node)->full[kind] = full;
}

uint32_t wire_sessions(const struct wire_node *node, enum wire_kind kind)
{
	const struct wire_end *end = ((const struct wire_full_node *)node)->ends[kind];

	return end != NULL ? end->links.count : 0;
}

void wire_forge(struct wire *wire, enum wire_kind kind, uint32_t from_ip, struct wire_node *to,
	const struct tapi_peer_id *sender, const void *message, uint32_t size, bool is_encrypted,
	const uint32_t *crc)
{
	struct wire_packet packet = {
		.kind = kind,
		.from_ip = from_ip,
		.from_port = WIRE_PORT,
		.to_ip = to->ip,
		.to_port = WIRE_PORT,
		.sender = *sender,
		.is_encrypted = is_encrypted,
		.crc = *crc,
	};

	wire_put(wire, &packet, message, size);
}

void wire_narrow(struct wire_node *node, int kind, uint32_t mtu)
{
	((struct wire_full_node *)node)->narrow[kind] = mtu;
}
