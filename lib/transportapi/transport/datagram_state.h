// SPDX-License-Identifier: BSD-3-Clause
// One instance of a transport of datagrams: shared by datagram.c (configuration, addresses,
// sessions, life) and datagram_io.c (messages).
#ifndef TRANSPORTAPI_DATAGRAM_STATE_H
#define TRANSPORTAPI_DATAGRAM_STATE_H

#include <sys/socket.h>

#include "transportapi/transport/datagram.h"
#include "transportapi/transport/datagram_socket.h"
#include "transportapi/base/limit.h"
#include "transportapi/transport/mapping.h"
#include "transportapi/transport/stun_client.h"

#define TAPI_DATAGRAM_BURST 16 // datagrams of one system call
#define TAPI_DATAGRAM_HEAD_ROOM \
	64 // an IPv4 header with all options, where the system leaves it there

struct datagram_link {
	struct tapi_link link;
	struct tapi_datagram_socket *socket;
	struct sockaddr_storage name; // of the remote
	socklen_t name_length;
};

struct datagram_settings { // of the section, as they are in force
	struct tapi_inet_list asked;
	bool all, nat;
	uint32_t mtu, cost;
	uint32_t receive_buffer_bytes, send_buffer_bytes;
	uint64_t rate_bytes_s;
	struct tapi_link_limits limits;
	struct tapi_stun_settings stun;
	struct tapi_mapping_settings mapping;
};

struct datagram {
	struct tapi_transport_api api;
	const struct tapi_datagram_kind *kind;
	const struct tapi_core_api *core;
	struct datagram_settings settings;
	struct tapi_transport_stats stats;
	struct tapi_links links;
	struct tapi_datagram_sockets sockets;
	struct tapi_bucket rate;
	struct event *due; // calls turn() for what came in, or ended, since the core last did
	struct tapi_inet_list own; // since create_helo(0)
	unsigned own_open;         // of these, who can be called; then those that a NAT keeps
	struct tapi_stun stun;
	struct tapi_mapping mapping;
	bool started;
	uint32_t lines_closed; // a loop over one of them ends when it has given what it read
	uint32_t epoch;        // another with each change of sockets: a loop over one of them ends
	uint64_t complain_us;
	uint64_t silent; // errors since the last complaint
	size_t slot_bytes;
	uint8_t *out; // a slot more, for what is sent
	struct mmsghdr headers[TAPI_DATAGRAM_BURST];
	struct iovec vectors[TAPI_DATAGRAM_BURST];
	struct sockaddr_storage names[TAPI_DATAGRAM_BURST];
	uint8_t slots[]; // TAPI_DATAGRAM_BURST of slot_bytes, and `out`
};

static inline struct datagram *datagram_of(struct tapi_transport_api *self)
{
	return (struct datagram *)(void *)self;
}

static inline struct datagram_link *link_of(const struct tapi_session *session)
{
	return session->internal;
}

static inline uint64_t now_of(const struct datagram *dg)
{
	return dg->core->now_us(dg->core->core);
}

static inline bool datagram_allows(const struct datagram *dg, const struct tapi_source *source)
{
	return tapi_acl_address(*dg->core->acl, source, dg->kind->has_port) == TAPI_OK;
}

// A session in the table. TAPI_ELIMIT, TAPI_ENOMEM.
enum tapi_result tapi_datagram_link_add(struct datagram *dg, const struct tapi_source *source,
	struct tapi_datagram_socket *socket, bool inbound, uint64_t now_us,
	struct datagram_link **out);
// The wish of turn() is earlier than what the core was reported.
void tapi_datagram_due(struct datagram *dg, uint64_t wait_us);
// The methods send and send_estimate, and the event of a socket.
enum tapi_result tapi_datagram_send(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc);
uint32_t tapi_datagram_send_estimate(
	struct tapi_transport_api *self, const struct tapi_session *session);
void tapi_datagram_readable(int fd, short what, void *socket);
void tapi_datagram_slots_init(struct datagram *dg);
// datagram_nat.c
enum tapi_result tapi_datagram_nat_read(
	const struct datagram *dg, struct datagram_settings *out, struct tapi_error *error);
void tapi_datagram_nat_init(struct datagram *dg);
void tapi_datagram_nat_use(struct datagram *dg, bool other_sockets); // settings and sockets
void tapi_datagram_nat_stop(struct datagram *dg);
uint64_t tapi_datagram_nat_turn(struct datagram *dg, uint64_t now_us);
// Of what is no envelope. false: nothing for it either.
bool tapi_datagram_nat_take(
	struct datagram *dg, const struct msghdr *header, const uint8_t *octets, size_t length);
void tapi_datagram_nat_own(struct datagram *dg); // adds to `own`

#endif
