// SPDX-License-Identifier: BSD-3-Clause
// The sockets of one instance of a transport of datagrams: opened as a set, exchanged as a set.
#ifndef TRANSPORTAPI_DATAGRAM_SOCKET_H
#define TRANSPORTAPI_DATAGRAM_SOCKET_H

#include "transportapi/transport/datagram.h"
#include "transportapi/transport/datagram_connected.h"
#include "transportapi/transport/inet_own.h"

struct event;

struct tapi_datagram_socket {
	int fd;
	struct event *event;
	void *owner;
	struct tapi_source asked; // as the configuration says it
	struct tapi_source bound; // with the port that the system gave
	bool kept;                // in the next set, too
	bool busy;                // there was more than one message in it
	unsigned alone;           // messages read one by one since that was looked for
	struct tapi_datagram_connected connected;
};

struct tapi_datagram_sockets {
	unsigned n;
	struct tapi_datagram_socket *at[TAPI_INET_LIST_MAX];
};

struct tapi_datagram_wanted {
	const struct tapi_core_api *core;
	const struct tapi_datagram_kind *kind;
	struct tapi_inet_list asked;
	bool all; // nobody named these addresses: a family that the host lacks is left out
	uint32_t receive_buffer_bytes, send_buffer_bytes; // 0: the system's
	void (*readable)(int fd, short what, void *socket);
	void *owner;
};

// A socket of `old` that was asked for in the same words stays; others are opened beside the old
// ones, also where these have the same port. TAPI_OK: take() comes next, and may not fail.
// TAPI_ESYS, logged: `old` is as it was.
enum tapi_result tapi_datagram_open(struct tapi_datagram_sockets *out,
	const struct tapi_datagram_sockets *old, const struct tapi_datagram_wanted *wanted);
// Closes what is not kept in `old`, which becomes `fresh`.
void tapi_datagram_take(
	struct tapi_datagram_sockets *old, const struct tapi_datagram_sockets *fresh);
void tapi_datagram_close(struct tapi_datagram_sockets *sockets);
// bind(2), also where the `n` sockets `old` of ours have the address in part.
int tapi_datagram_bind_beside(int fd, const struct sockaddr_storage *address, socklen_t length,
	struct tapi_datagram_socket *const *old, unsigned n);
// The socket for a session with `remote`: the one bound as `bound` (family 0: there was none), or
// else the one whose address the system would take on the way there, or else any of the family;
// NULL: none of it.
struct tapi_datagram_socket *tapi_datagram_pick(const struct tapi_datagram_sockets *sockets,
	const struct tapi_source *bound, const struct tapi_source *remote);

#endif
