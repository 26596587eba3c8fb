// SPDX-License-Identifier: BSD-3-Clause
// Hears a scan parent and its child, and holds what they say against the wire's rules.
#include "scan/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "pipeline/vocab/tick.h"

void scan_peer_init(struct scan_peer *peer)
{
	*peer = (struct scan_peer){.control = -1, .file = -1};
}

void scan_peer_open(struct scan_peer *peer, const struct scan_news *news)
{
	scan_peer_init(peer);
	peer->control = news->fd;
	peer->number = news->parent;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void scan_peer_close(struct scan_peer *peer)
{
	shut(&peer->control);
	shut(&peer->file);
	scan_peer_init(peer);
}

static enum scan_peer_event lost(struct scan_peer *peer, const char *why)
{
	scan_wire_text(peer->text, sizeof(peer->text), why);
	return SCAN_PEER_LOST;
}

static bool is_seqpacket(int fd)
{
	int type = 0;
	socklen_t length = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

static enum scan_peer_event born(
	struct scan_peer *peer, const struct scan_wire_control *message, int fd)
{
	if (peer->child || message->head.id <= peer->last_child)
		return lost(peer, "a child is born while another one lives, or twice");
	if (fd < 0 || !is_seqpacket(fd))
		return lost(peer, "a child is born without a socket");
	peer->born = *message;
	peer->child = peer->last_child = message->head.id;
	peer->file = fd;
	peer->was_born = true;
	peer->failed = peer->condemned = peer->hung_up = peer->untold = peer->rests = false;
	return SCAN_PEER_BORN;
}

static enum scan_peer_event gone(
	struct scan_peer *peer, const struct scan_wire_control *message, uint64_t now_ns)
{
	if (!peer->child || message->head.id != peer->child)
		return lost(peer, "a child is gone that was not there");
	memcpy(peer->text, message->text, sizeof(peer->text));
	peer->child = 0;
	peer->childless_ns = now_ns;
	peer->untold = false;
	shut(&peer->file);
	return SCAN_PEER_GONE;
}

static enum scan_peer_event understand(
	struct scan_peer *peer, const struct scan_wire_control *message, int *fd, uint64_t now_ns)
{
	enum scan_peer_event event;

	switch (message->head.kind) {
	case SCAN_WIRE_BORN:
		event = born(peer, message, *fd);
		if (event == SCAN_PEER_BORN)
			*fd = -1; // it is the peer's now
		return event;
	case SCAN_WIRE_GONE: return gone(peer, message, now_ns);
	case SCAN_WIRE_FOLDER:
		memcpy(peer->folder, message->text, sizeof(peer->folder));
		peer->folders++;
		return SCAN_PEER_FOLDER;
	default: // FAILED, as it was checked
		if (peer->child)
			return lost(peer, "no child can be had while one lives");
		memcpy(peer->text, message->text, sizeof(peer->text));
		peer->failed = true;
		return SCAN_PEER_FAILED;
	}
}

enum scan_peer_event scan_peer_hear(struct scan_peer *peer, uint64_t now_ns)
{
	struct scan_wire_control message;
	int fd;

	if (peer->control < 0)
		return SCAN_PEER_QUIET;
	ssize_t n = scan_wire_receive(peer->control, &message, sizeof(message), &fd);

	if (n == -EAGAIN)
		return SCAN_PEER_QUIET;
	if (n <= 0) {
		peer->has_closed = n == 0 || n == -ECONNRESET;
		return lost(peer, "the scanner has closed its socket");
	}
	const char *wrong = scan_wire_check_control(&message, (size_t)n, false);
	enum scan_peer_event event =
		wrong ? lost(peer, wrong) : understand(peer, &message, &fd, now_ns);

	shut(&fd);
	return event;
}

int scan_peer_verdict(struct scan_peer *peer, uint64_t id, struct scan_wire_verdict *out)
{
	int fd;

	if (peer->file < 0)
		return 0;
	ssize_t n = scan_wire_receive(peer->file, out, sizeof(*out), &fd);

	if (n == -EAGAIN)
		return 0;
	if (n <= 0 && peer->rests) { // as it has said
		shut(&peer->file);
		return 0;
	}
	if (n <= 0) {
		peer->hung_up = true;
		return -EPIPE;
	}
	bool sound = fd < 0 && !scan_wire_check_verdict(out, (size_t)n, id);

	shut(&fd);
	return sound ? 1 : -EPROTO;
}

void scan_peer_rest(struct scan_peer *peer, uint64_t now_ns)
{
	peer->rests = true;
	peer->patience_ns = now_ns + SCAN_GONE_PATIENCE_NS;
}

int scan_peer_request(struct scan_peer *peer, const struct scan_wire_request *request)
{
	return scan_wire_send(peer->file, request, sizeof(*request), -1);
}

void scan_peer_retry(struct scan_peer *peer)
{
	struct scan_wire_control message = {0};

	if (!peer->untold || peer->control < 0)
		return;
	scan_wire_head_set(&message.head, SCAN_WIRE_REPLACE, peer->child);
	// Of a closed socket we hear when we read.
	peer->untold = scan_wire_send(peer->control, &message, sizeof(message), -1) == -EAGAIN;
}

void scan_peer_condemn(struct scan_peer *peer, uint64_t now_ns)
{
	if (!peer->child || peer->condemned)
		return;
	shut(&peer->file);
	peer->condemned = peer->untold = true;
	peer->patience_ns = now_ns + SCAN_GONE_PATIENCE_NS;
	scan_peer_retry(peer);
}
