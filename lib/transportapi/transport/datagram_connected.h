// SPDX-License-Identifier: BSD-3-Clause
// A line: a second socket of the same local address, connected to the remote that most is sent to.
// The system looks up no route for what goes over it, which is a tenth of a small message's way.
// What that remote sends comes in by the line, too, and is read like all else.
//
// A socket has one line at a time: for the session that CONNECT_AFTER messages on end were sent on.
// A line of an address of all (0.0.0.0) has its own address fixed, so it lives a few seconds, that
// a change of addresses is followed.
#ifndef TRANSPORTAPI_DATAGRAM_CONNECTED_H
#define TRANSPORTAPI_DATAGRAM_CONNECTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct event;
struct tapi_datagram_socket;
struct tapi_datagram_sockets;

struct tapi_datagram_connected {
	int fd;
	struct event *event; // NULL: there is no line
	const void *session; // whose it is, NULL: nobody's any more; compared, never followed
	uint64_t until_us;
	const void *last; // what was sent last was sent on this, `run` times on end
	unsigned run;
};

// After a message on `session` went to `name`: opens the line where it is worth it, closes one that
// is too old. false: a line was closed.
bool tapi_datagram_connected_sent(struct tapi_datagram_socket *one, const void *session,
	const struct sockaddr *name, socklen_t length, uint64_t now_us);
void tapi_datagram_connected_close(struct tapi_datagram_socket *one);
// Nothing more goes by the line of this session: it ends, and its name may be another's soon. true:
// it had one.
bool tapi_datagram_lines_forget(struct tapi_datagram_sockets *sockets, const void *session);

#endif
