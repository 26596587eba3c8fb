// SPDX-License-Identifier: BSD-3-Clause
// What a transport of datagrams learns of its address outside a NAT: from STUN servers, asked by
// the socket that it listens at, and from the router, which keeps a port for it.
#include "transportapi/transport/datagram_state.h"

#include <syslog.h>

static void stun_send(
	void *context, const struct tapi_source *server, const void *octets, size_t length)
{
	static const struct tapi_source anywhere;
	struct datagram *dg = context;
	struct tapi_datagram_socket *socket = tapi_datagram_pick(&dg->sockets, &anywhere, server);
	struct sockaddr_storage name;
	socklen_t name_length = tapi_inet_to_sockaddr(&name, server);

	if (socket) // what the system refuses is asked again, as what is lost
		(void)sendto(socket->fd, octets, length, MSG_DONTWAIT | MSG_NOSIGNAL,
			(const struct sockaddr *)&name, name_length);
}

enum tapi_result tapi_datagram_nat_read(
	const struct datagram *dg, struct datagram_settings *out, struct tapi_error *error)
{
	if (!dg->kind->learns)
		return TAPI_OK;
	tapi_mapping_settings_read(&out->mapping, *dg->core->conf, dg->kind->name, dg->kind->keys);
	return tapi_stun_settings_read(
		&out->stun, *dg->core->conf, dg->kind->name, dg->kind->keys, *dg->core->acl, error);
}

static void other_addresses(void *context)
{
	struct datagram *dg = context;

	dg->own.n = 0;
	if (dg->core->addresses_changed)
		dg->core->addresses_changed(dg->core->core);
}

void tapi_datagram_nat_init(struct datagram *dg)
{
	dg->stun = (struct tapi_stun){
		.core = dg->core, .stats = &dg->stats, .send = stun_send, .context = dg};
	dg->mapping = (struct tapi_mapping){.core = dg->core,
		.stats = &dg->stats,
		.name = dg->kind->name,
		.changed = other_addresses,
		.context = dg};
	tapi_mapping_init(&dg->mapping);
}

void tapi_datagram_nat_use(struct datagram *dg, bool other_sockets)
{
	const uint64_t now_us = now_of(dg);
	struct tapi_inet_list bound = {.n = dg->sockets.n};

	if (!dg->kind->learns)
		return;
	for (unsigned i = 0; i < bound.n; i++)
		bound.address[i] = dg->sockets.at[i]->bound;
	tapi_stun_use(&dg->stun, &dg->settings.stun, now_us);
	if (other_sockets)
		tapi_stun_forget(&dg->stun, now_us);
	tapi_mapping_use(&dg->mapping, &dg->settings.mapping, &bound);
	tapi_datagram_due(dg, 0);
}

void tapi_datagram_nat_stop(struct datagram *dg)
{
	if (dg->kind->learns)
		tapi_mapping_stop(&dg->mapping);
}

static void seen(struct datagram *dg)
{
	char text[TAPI_TEXT_BYTES];

	for (unsigned i = 0; i < 2; i++) {
		const struct tapi_source *at = &dg->stun.agreed[i];

		if (at->family == 0 || datagram_allows(dg, at))
			continue;
		dg->stats.nat_denied++;
		tapi_inet_print(text, sizeof(text), dg->kind->scheme, at, true);
		dg->core->log(dg->core->core, LOG_WARNING,
			"%s: section acl denies %s, which STUN servers say is ours: not advertised",
			dg->kind->name, text);
	}
	other_addresses(dg);
}

uint64_t tapi_datagram_nat_turn(struct datagram *dg, uint64_t now_us)
{
	uint64_t next_us = UINT64_MAX;

	if (dg->started && tapi_stun_turn(&dg->stun, now_us, &next_us))
		seen(dg);
	return next_us;
}

bool tapi_datagram_nat_take(
	struct datagram *dg, const struct msghdr *header, const uint8_t *octets, size_t length)
{
	struct tapi_source from;

	if (dg->stun.n == 0 || !tapi_stun_is(octets, length) ||
		!tapi_inet_from_sockaddr(&from, header->msg_name, header->msg_namelen))
		return false;
	if (tapi_stun_take(&dg->stun, &from, octets, length, now_of(dg)))
		seen(dg);
	return true;
}

static bool has(const struct tapi_inet_list *list, const struct tapi_source *address)
{
	for (unsigned i = 0; i < list->n; i++)
		if (tapi_inet_equal(&list->address[i], address))
			return true;
	return false;
}

// Behind those that are ours, where these leave room: who is not behind a NAT learns nothing new.
void tapi_datagram_nat_own(struct datagram *dg)
{
	if (dg->kind->learns)
		tapi_mapping_own(&dg->mapping, &dg->own);
	dg->own_open = dg->own.n;
	for (unsigned i = 0; i < 2; i++) {
		const struct tapi_source *at = &dg->stun.agreed[i];

		if (at->family != 0 && dg->own.n < TAPI_INET_LIST_MAX && !has(&dg->own, at) &&
			datagram_allows(dg, at))
			dg->own.address[dg->own.n++] = *at;
	}
}
