// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives bursts of datagrams.
#include "transportapi/transport/datagram_state.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <syslog.h>

#include "transportapi/proto/envelope.h"

#define BUDGET       256 // datagrams of one event
#define ALONE_MAX    16  // messages read one by one: then it is seen whether more wait
#define COMPLAINT_US 10000000

// Sending.

static void complain(struct datagram *dg, const struct datagram_link *link, int error)
{
	uint64_t now_us = now_of(dg);
	char text[TAPI_TEXT_BYTES];

	if (now_us < dg->complain_us) {
		dg->silent++;
		return;
	}
	dg->complain_us = now_us + COMPLAINT_US;
	tapi_inet_print(
		text, sizeof(text), dg->kind->scheme, &link->link.source, dg->kind->has_port);
	dg->core->log(dg->core->core, LOG_WARNING,
		"%s: cannot send to %s: %s (%llu more since the last of these lines)",
		dg->kind->name, text, strerror(error), (unsigned long long)dg->silent);
	dg->silent = 0;
}

static bool is_full(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

static enum tapi_result send_failed(struct datagram *dg, struct datagram_link *link, int error)
{
	link->link.dropped_msgs++;
	if (is_full(error)) {
		dg->stats.dropped_block++;
		return TAPI_DROPPED;
	}
	if (error == EMSGSIZE) {
		dg->stats.dropped_too_big++;
		return TAPI_ETOOBIG;
	}
	dg->stats.dropped_error++;
	complain(dg, link, error);
	return TAPI_ESYS;
}

static int fd_of(const struct datagram_link *link)
{
	const struct tapi_datagram_connected *connected = &link->socket->connected;

	return connected->event && connected->session == link ? connected->fd : link->socket->fd;
}

static ssize_t send_once(struct datagram *dg, const struct datagram_link *link, size_t length)
{
	int fd = fd_of(link);
	bool by_line = fd != link->socket->fd;

	return sendto(fd, dg->out, length, MSG_DONTWAIT | MSG_NOSIGNAL,
		by_line ? NULL : (const struct sockaddr *)&link->name,
		by_line ? 0 : link->name_length);
}

enum tapi_result tapi_datagram_send(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc)
{
	struct datagram *dg = datagram_of(self);
	struct datagram_link *link = link_of(session);
	uint64_t now_us;
	ssize_t sent;

	if (!dg->started || !link->link.linked) {
		dg->stats.dropped_down++;
		link->link.dropped_msgs++;
		return TAPI_EDOWN;
	}
	if (size > self->mtu) {
		dg->stats.dropped_too_big++;
		link->link.dropped_msgs++;
		return TAPI_ETOOBIG;
	}
	now_us = now_of(dg);
	if (!tapi_bucket_take(&dg->rate, size, now_us)) {
		dg->stats.dropped_rate++;
		link->link.dropped_msgs++;
		return TAPI_DROPPED;
	}
	// One piece costs the system less than two, and more than the copy.
	tapi_envelope_encode(dg->out, dg->core->my_identity, size, is_encrypted, crc);
	memcpy(dg->out + TAPI_ENVELOPE_BYTES, message, size);
	sent = send_once(dg, link, TAPI_ENVELOPE_BYTES + size);
	// An error may be that of an earlier message, told by ICMP: it is gone then, and this one
	// was not tried; on a line, "too big" may be, too. One that is of this message comes again;
	// or the line has an address that we have no more.
	if (sent < 0 && (errno == EINTR || errno == ECONNREFUSED || errno == EHOSTUNREACH ||
				(errno == EMSGSIZE && fd_of(link) != link->socket->fd)))
		sent = send_once(dg, link, TAPI_ENVELOPE_BYTES + size);
	if (sent < 0 && !is_full(errno) && errno != EMSGSIZE &&
		tapi_datagram_lines_forget(&dg->sockets, link))
		sent = send_once(dg, link, TAPI_ENVELOPE_BYTES + size);
	if (sent < 0)
		return send_failed(dg, link, errno);
	tapi_links_sent(&dg->links, &link->link, size, now_us);
	if (dg->kind->type == SOCK_DGRAM &&
		!tapi_datagram_connected_sent(link->socket, link,
			(const struct sockaddr *)&link->name, link->name_length, now_us))
		dg->lines_closed++;
	return TAPI_OK;
}

uint32_t tapi_datagram_send_estimate(
	struct tapi_transport_api *self, const struct tapi_session *session)
{
	const struct datagram_link *link = link_of(session);
	socklen_t length = sizeof(int);
	int room = 0, queued = 0;

	(void)self;
	if (!link->link.linked ||
		getsockopt(fd_of(link), SOL_SOCKET, SO_SNDBUF, &room, &length) < 0 ||
		ioctl(fd_of(link), SIOCOUTQ, &queued) < 0)
		return 0;
	// Half of it is the system's own bookkeeping (socket(7)).
	return room > queued ? (uint32_t)(room - queued) / 2 : 0;
}

// Receiving.

static void give(struct datagram *dg, struct tapi_datagram_socket *socket,
	struct tapi_message_pack *pack, uint64_t now_us)
{
	uint8_t key[TAPI_INET_WIRE_BYTES_MAX];
	struct datagram_link *link;
	size_t length;

	if (dg->kind->flags & TAPI_SESSIONLESS) {
		if (!datagram_allows(dg, &pack->source)) {
			dg->stats.bad_source++;
			return;
		}
		dg->stats.received_msgs++;
		dg->stats.received_bytes += pack->size;
		dg->core->receive(dg->core->core, pack);
		return;
	}
	length = tapi_inet_encode(key, &pack->source, dg->kind->has_port);
	link = (struct datagram_link *)(void *)tapi_links_find(&dg->links, key, length);
	// Who has a session was asked for then, and with each reload since.
	if (!link && (!datagram_allows(dg, &pack->source) ||
			     tapi_datagram_link_add(
				     dg, &pack->source, socket, true, now_us, &link) != TAPI_OK)) {
		dg->stats.bad_source++;
		return;
	}
	pack->session = &link->link.session;
	tapi_links_received(&dg->links, &link->link, pack->size, now_us);
	dg->core->receive(dg->core->core, pack);
}

static void take(
	struct datagram *dg, struct tapi_datagram_socket *socket, unsigned slot, uint64_t now_us)
{
	const struct msghdr *header = &dg->headers[slot].msg_hdr;
	const uint8_t *octets = header->msg_iov->iov_base;
	size_t length = dg->headers[slot].msg_len;
	struct tapi_message_pack pack = {.session = NULL};
	ssize_t skip = 0;

	if (dg->kind->skip && !(header->msg_flags & MSG_TRUNC))
		skip = dg->kind->skip(socket->bound.family, octets, length);
	if ((header->msg_flags & MSG_TRUNC) || skip < 0 || (size_t)skip > length ||
		tapi_envelope_decode(&pack, octets + skip, length - (size_t)skip) != TAPI_OK ||
		!tapi_inet_from_sockaddr(&pack.source, header->msg_name, header->msg_namelen)) {
		if ((header->msg_flags & MSG_TRUNC) ||
			!tapi_datagram_nat_take(dg, header, octets, length))
			dg->stats.bad_frame++;
		return;
	}
	give(dg, socket, &pack, now_us);
}

void tapi_datagram_slots_init(struct datagram *dg)
{
	for (unsigned i = 0; i < TAPI_DATAGRAM_BURST; i++) {
		dg->vectors[i] = (struct iovec){
			.iov_base = dg->slots + i * dg->slot_bytes, .iov_len = dg->slot_bytes};
		dg->headers[i].msg_hdr = (struct msghdr){.msg_name = &dg->names[i],
			.msg_namelen = sizeof(dg->names[i]),
			.msg_iov = &dg->vectors[i],
			.msg_iovlen = 1};
	}
}

// One costs less alone, and whoever waits for an answer waits for one.
static int receive_one(struct datagram *dg, int fd)
{
	struct msghdr *header = &dg->headers[0].msg_hdr;
	ssize_t n;

	header->msg_namelen = sizeof(dg->names[0]);
	n = recvfrom(fd, dg->slots, dg->slot_bytes, MSG_DONTWAIT | MSG_TRUNC,
		(struct sockaddr *)&dg->names[0], &header->msg_namelen);
	if (n < 0)
		return -1;
	dg->headers[0].msg_len = (unsigned)n;
	header->msg_flags = (size_t)n > dg->slot_bytes ? MSG_TRUNC : 0;
	return 1;
}

static int receive_some(struct datagram *dg, int fd, unsigned want)
{
	if (want == 1)
		return receive_one(dg, fd);
	for (unsigned i = 0; i < want; i++) // what the last one left there is shorter
		dg->headers[i].msg_hdr.msg_namelen = sizeof(dg->names[i]);
	return recvmmsg(fd, dg->headers, want, MSG_DONTWAIT, NULL);
}

// How much to ask the system for next; 0: the loop may go on, and comes back if there is more. A
// call that finds nothing costs a tenth of a message to oneself. So where messages come one by one
// nothing is asked without a reason: an answer was given (and its echo may be there), or so many
// were read alone that it is seen whether more wait. Where more than one waits, bursts are read, in
// the next events from the start.
static unsigned want_next(
	struct tapi_datagram_socket *socket, unsigned want, unsigned n, bool answered)
{
	if (want > 1)
		socket->busy = n > 1;
	if (n > 1 ? n == want || answered : ++socket->alone > ALONE_MAX) {
		socket->alone = 0;
		return TAPI_DATAGRAM_BURST;
	}
	return answered ? 1 : 0;
}

void tapi_datagram_readable(int fd, short what, void *context)
{
	struct tapi_datagram_socket *socket = context;
	struct datagram *dg = socket->owner;
	const uint32_t epoch = dg->epoch, lines_closed = dg->lines_closed;
	unsigned want = socket->busy ? TAPI_DATAGRAM_BURST : 1, budget = BUDGET;

	(void)what;
	while (want > 0 && budget > 0) {
		uint64_t sent_msgs = dg->stats.sent_msgs, now_us;
		int n = receive_some(dg, fd, want < budget ? want : budget);

		if (n <= 0) {
			if (n == 0 || errno == EAGAIN)
				return;
			budget--; // the error of an earlier message (ICMP) is gone with this call
			continue;
		}
		budget -= (unsigned)n;
		now_us = now_of(dg);
		for (unsigned i = 0; i < (unsigned)n; i++) {
			take(dg, socket, i, now_us);
			if (dg->epoch != epoch) // stopped, or other sockets, by who received
				return;
		}
		if (dg->lines_closed != lines_closed) // this one, perhaps
			return;
		want = want_next(socket, want, (unsigned)n, dg->stats.sent_msgs != sent_msgs);
	}
}
