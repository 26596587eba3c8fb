// SPDX-License-Identifier: BSD-3-Clause
// Sessions are TCP connections: "tcp://192.0.2.1:2086", "tcp://[2001:db8::1]:2086". Protocol 6.
// What a session does is in stream.c; here are addresses, configuration, and how one begins.
#include "transportapi/transport/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "transportapi/proto/helo.h"
#include "transportapi/transport/listen.h"
#include "transportapi/transport/mapping.h"
#include "transportapi/transport/stream.h"

#define TCP_PROTOCOL 6
#define TCP_MTU      32768
#define TCP_WIDE     8192 // octets of a segment
#define TCP_COST     200
#define TCP_PORT     2086

TAPI_EXPORT tapi_init_fn inittransport_tcp;
TAPI_EXPORT tapi_done_fn donetransport_tcp;

const struct tapi_conf_key tapi_tcp_keys[] = {
	{"port", TAPI_CONF_UINT, 0, UINT16_MAX, TCP_PORT, NULL, true,
		"to listen on; 0: any that is free"},
	{"bind", TAPI_CONF_TEXTS, 0, TAPI_INET_LIST_MAX, 0, NULL, true,
		"addresses to listen on, ADDRESS or ADDRESS:PORT; empty: all"},
	{"advertise", TAPI_CONF_TEXTS, 0, TAPI_INET_LIST_MAX, 0, NULL, true,
		"addresses for the HELOs, ADDRESS or ADDRESS:PORT; empty: those that are bound"},
	{"ipv6", TAPI_CONF_BOOL, 0, 1, 1, NULL, true, "IPv6, too"},
	{"nat", TAPI_CONF_BOOL, 0, 1, 0, NULL, true,
		"nobody can connect to us: no listening, no HELOs; we connect to others"},
	{"cost", TAPI_CONF_UINT, 1, 1000000, TCP_COST, NULL, true, "lower is cheaper"},
	TAPI_STREAM_RATE_KEY,
	TAPI_LINK_KEYS,
	TAPI_MAPPING_KEYS,
	{0},
};

struct tcp {
	struct tapi_streams streams; // first
	const struct tapi_core_api *core;
	struct tapi_listeners listeners;
	struct tapi_mapping mapping;
	bool nat, ipv6;
};

static struct tcp *tcp_of(struct tapi_transport_api *self)
{
	return (struct tcp *)(void *)self;
}

static enum tapi_result tcp_address(const struct tapi_helo *helo, struct tapi_source *out)
{
	if (helo->protocol != TCP_PROTOCOL)
		return TAPI_EADDR;
	return tapi_inet_decode(out, helo->address, helo->address_size, true);
}

static enum tapi_result tcp_allowed_address(
	const struct tcp *tcp, const struct tapi_helo *helo, struct tapi_source *out)
{
	const enum tapi_result result = tcp_address(helo, out);

	if (result)
		return result;
	if (out->family == 6 && !tcp->ipv6)
		return TAPI_EADDR;
	return tapi_acl_address(*tcp->core->acl, out, true);
}

static enum tapi_result tcp_verify_helo(
	struct tapi_transport_api *self, const struct tapi_helo *helo)
{
	struct tapi_source address;

	return tcp_allowed_address(tcp_of(self), helo, &address);
}

static enum tapi_result tcp_create_helo(
	struct tapi_transport_api *self, unsigned index, struct tapi_helo *out)
{
	struct tcp *tcp = tcp_of(self);
	struct tapi_inet_list bound, own;
	struct tapi_error error;

	if (tcp->nat || !tcp->streams.running)
		return TAPI_ENOADDR;
	tapi_listeners_bound(&tcp->listeners, &bound);
	if (tapi_inet_own(
		    &own, *tcp->core->conf, self->name, &bound, *tcp->core->acl, true, &error))
		return TAPI_ENOADDR;
	tapi_mapping_own(&tcp->mapping, &own);
	if (index >= own.n)
		return TAPI_ENOADDR;
	*out = (struct tapi_helo){.protocol = TCP_PROTOCOL, .mtu = self->mtu};
	out->address_size = (uint16_t)tapi_inet_encode(out->address, &own.address[index], true);
	return TAPI_OK;
}

static enum tapi_result tcp_connect(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_session **out)
{
	const int on = 1;
	struct tcp *tcp = tcp_of(self);
	struct sockaddr_storage system;
	struct tapi_source address;
	enum tapi_result result;
	socklen_t length;
	int fd;

	if (!tcp->streams.running)
		return TAPI_EDOWN;
	result = tcp_allowed_address(tcp, helo, &address);
	if (result)
		return result;
	length = tapi_inet_to_sockaddr(&system, &address);
	fd = tapi_stream_socket(&tcp->streams, system.ss_family);
	if (fd < 0)
		return TAPI_ESYS;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return tapi_stream_connect(
		&tcp->streams, fd, (const struct sockaddr *)&system, length, &address, out);
}

static void tcp_taken(void *context, int fd, const struct tapi_source *from)
{
	struct tcp *tcp = context;

	// the port of who connects is any
	if (tapi_acl_address(*tcp->core->acl, from, false)) {
		const struct linger reset = {.l_onoff = 1};

		tcp->streams.stats.bad_source++;
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		return;
	}
	// a limit: closed, counted
	if (tapi_stream_accepted(&tcp->streams, fd, from) == TAPI_ENOMEM)
		tcp->streams.stats.sessions_refused++;
}

// What the configuration says besides its shape. *wanted: where to listen.
static enum tapi_result tcp_conf_read(
	const struct tcp *tcp, struct tapi_inet_list *wanted, struct tapi_error *error)
{
	const struct tapi_conf *conf = *tcp->core->conf;
	struct tapi_inet_list own, as_bound;
	enum tapi_result result;

	result = tapi_conf_check(conf, "tcp", tapi_tcp_keys, error);
	if (!result)
		result = tapi_inet_binds(wanted, conf, "tcp", tapi_tcp_keys, error);
	if (result)
		return result;
	as_bound = *wanted; // a port that is not known yet is one
	for (unsigned i = 0; i < as_bound.n; i++)
		if (!as_bound.address[i].port)
			as_bound.address[i].port = TCP_PORT;
	return tapi_inet_own(&own, conf, "tcp", &as_bound, *tcp->core->acl, true, error);
}

static enum tapi_result tcp_listen(
	struct tcp *tcp, const struct tapi_inet_list *wanted, bool nat, struct tapi_error *error)
{
	const bool implicit = !tapi_conf_item(*tcp->core->conf, "tcp", "bind", 0);

	if (!nat)
		return tapi_listeners_open(&tcp->listeners, wanted, implicit, error);
	tapi_listeners_close(&tcp->listeners);
	return TAPI_OK;
}

static void tcp_conf_apply(struct tcp *tcp)
{
	const struct tapi_conf *conf = *tcp->core->conf;
	const struct tapi_link_limits limits = tapi_link_limits_read(conf, "tcp", tapi_tcp_keys);

	tapi_streams_limit(
		&tcp->streams, &limits, tapi_conf_uint(conf, "tcp", tapi_tcp_keys, "rate_bytes_s"));
	tcp->nat = tapi_conf_bool(conf, "tcp", tapi_tcp_keys, "nat");
	tcp->ipv6 = tapi_conf_bool(conf, "tcp", tapi_tcp_keys, "ipv6");
	tcp->streams.api.cost = (uint32_t)tapi_conf_uint(conf, "tcp", tapi_tcp_keys, "cost");
}

static void tcp_mapped(void *context)
{
	struct tcp *tcp = context;

	if (tcp->core->addresses_changed)
		tcp->core->addresses_changed(tcp->core->core);
}

// While it listens: with `nat` it does not.
static void tcp_map(struct tcp *tcp)
{
	struct tapi_mapping_settings settings;
	struct tapi_inet_list bound;

	tapi_mapping_settings_read(&settings, *tcp->core->conf, "tcp", tapi_tcp_keys);
	tapi_listeners_bound(&tcp->listeners, &bound);
	tapi_mapping_use(&tcp->mapping, &settings, &bound);
}

static enum tapi_result tcp_reported(
	const struct tcp *tcp, enum tapi_result result, const struct tapi_error *error)
{
	if (result)
		tcp->core->log(tcp->core->core, LOG_ERR, "tcp: %s", error->text);
	return result;
}

static enum tapi_result tcp_start(struct tapi_transport_api *self)
{
	struct tcp *tcp = tcp_of(self);
	struct tapi_inet_list wanted;
	struct tapi_error error;
	enum tapi_result result;

	if (tcp->streams.running)
		return TAPI_OK;
	result = tcp_conf_read(tcp, &wanted, &error);
	if (!result)
		result = tcp_listen(tcp, &wanted, tcp->nat, &error);
	if (result)
		return tcp_reported(tcp, result, &error);
	tcp->streams.running = true;
	tcp_map(tcp);
	return TAPI_OK;
}

static enum tapi_result tcp_stop(struct tapi_transport_api *self)
{
	struct tcp *tcp = tcp_of(self);

	tapi_mapping_stop(&tcp->mapping);
	tapi_listeners_close(&tcp->listeners);
	tapi_streams_stop(&tcp->streams);
	return TAPI_OK;
}

static bool tcp_link_allowed(void *context, const struct tapi_link *link)
{
	const struct tcp *tcp = context;

	return (link->source.family != 6 || tcp->ipv6) &&
	       !tapi_acl_address(*tcp->core->acl, &link->source, !link->inbound);
}

static enum tapi_result tcp_reload(struct tapi_transport_api *self)
{
	struct tcp *tcp = tcp_of(self);
	struct tapi_inet_list wanted;
	struct tapi_error error;
	enum tapi_result result;

	result = tcp_conf_read(tcp, &wanted, &error);
	if (result)
		return tcp_reported(tcp, result, &error);
	if (tcp->streams.running) {
		const bool nat = tapi_conf_bool(*tcp->core->conf, "tcp", tapi_tcp_keys, "nat");

		if (tcp_listen(tcp, &wanted, nat, &error))
			return tcp_reported(tcp, TAPI_ECONF, &error);
	}
	tcp_conf_apply(tcp);
	if (tcp->streams.running)
		tcp_map(tcp);
	tapi_streams_deny(&tcp->streams, tcp_link_allowed, tcp);
	return TAPI_OK;
}

static enum tapi_result tcp_address_to_string(
	struct tapi_transport_api *self, const struct tapi_helo *helo, char *out, size_t size)
{
	struct tapi_source address;
	const enum tapi_result result = tcp_address(helo, &address);

	return result ? result : tapi_inet_print(out, size, self->name, &address, true);
}

static enum tapi_result tcp_string_to_address(
	struct tapi_transport_api *self, const char *text, uint8_t *out, size_t *size)
{
	uint8_t octets[TAPI_INET_WIRE_BYTES_MAX];
	struct tapi_source address;
	size_t n;

	if (tapi_inet_parse(&address, text, self->name, true))
		return TAPI_EADDR;
	n = tapi_inet_encode(octets, &address, true);
	if (n > *size)
		return TAPI_EADDR;
	memcpy(out, octets, n);
	*size = n;
	return TAPI_OK;
}

static enum tapi_result tcp_address_source(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_source *out)
{
	(void)self;
	return tcp_address(helo, out);
}

static void tcp_session_info(struct tapi_transport_api *self, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	const struct tapi_link *link = session->internal;

	tapi_links_info(link, out);
	tapi_inet_print(out->remote, sizeof(out->remote), self->name, &link->source, true);
}

// Where a segment takes many messages (loopback, jumbo frames), one for each would cost most of the
// time. Where it does not, the system gathers by itself what its queue cannot send yet.
static bool tcp_may_hold(int fd)
{
	int segment = 0;
	socklen_t length = sizeof(segment);

	return !getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, &length) && segment >= TCP_WIDE;
}

// Asking for it again sends what MSG_MORE holds (tcp(7)).
static void tcp_release(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static const struct tapi_transport_api tcp_api = {
	.version = TAPI_VERSION,
	.protocol = TCP_PROTOCOL,
	.mtu = TCP_MTU,
	.cost = TCP_COST,
	.flags = TAPI_BIDIRECTIONAL | TAPI_STREAM | TAPI_ORDERED,
	.name = "tcp",
	.verify_helo = tcp_verify_helo,
	.create_helo = tcp_create_helo,
	.connect = tcp_connect,
	.send = tapi_stream_send,
	.associate = tapi_stream_associate,
	.disconnect = tapi_stream_disconnect,
	.start_server = tcp_start,
	.stop_server = tcp_stop,
	.reload_configuration = tcp_reload,
	.turn = tapi_stream_turn,
	.address_to_string = tcp_address_to_string,
	.string_to_address = tcp_string_to_address,
	.address_source = tcp_address_source,
	.send_estimate = tapi_stream_estimate,
	.session_info = tcp_session_info,
	.stats = tapi_stream_stats,
};

struct tapi_transport_api *inittransport_tcp(const struct tapi_core_api *core)
{
	struct tapi_link_limits limits;
	struct tapi_inet_list wanted;
	struct tapi_error error;
	struct tcp *tcp;

	if (core->version != TAPI_VERSION)
		return NULL;
	if (!core->base) {
		core->log(core->core, LOG_ERR, "tcp: needs an event loop, and the core has none");
		return NULL;
	}
	tcp = calloc(1, sizeof(*tcp));
	if (!tcp) {
		core->log(core->core, LOG_ERR, "tcp: out of memory");
		return NULL;
	}
	tcp->core = core;
	if (tcp_reported(tcp, tcp_conf_read(tcp, &wanted, &error), &error))
		goto refused;
	limits = tapi_link_limits_read(*core->conf, "tcp", tapi_tcp_keys);
	tcp->listeners = (struct tapi_listeners){.core = core,
		.name = tcp_api.name,
		.taken = tcp_taken,
		.context = tcp,
		.refused = &tcp->streams.stats.sessions_refused};
	tcp->mapping = (struct tapi_mapping){.core = core,
		.stats = &tcp->streams.stats,
		.name = tcp_api.name,
		.changed = tcp_mapped,
		.context = tcp};
	tapi_mapping_init(&tcp->mapping);
	if (tapi_listeners_init(&tcp->listeners) ||
		tapi_streams_init(&tcp->streams, core, &tcp_api, &limits, 0)) {
		core->log(core->core, LOG_ERR, "tcp: out of memory");
		goto refused;
	}
	tcp->streams.release = tcp_release;
	tcp->streams.may_hold = tcp_may_hold;
	tcp_conf_apply(tcp);
	return &tcp->streams.api;

refused:
	free(tcp);
	return NULL;
}

void donetransport_tcp(struct tapi_transport_api *self)
{
	struct tcp *tcp = tcp_of(self);

	tcp_stop(self);
	tapi_streams_done(&tcp->streams);
	free(tcp);
}
