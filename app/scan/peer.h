// SPDX-License-Identifier: BSD-3-Clause
// A scan parent and its child, as a scan lcore sees them: two sockets, and what they have said.
// What does not fit the wire, or what was said before, is a fault: the child is replaced, or the
// parent lost. Nothing here waits, and no job is known here (engine_process.c).
#ifndef SLUICE_SCAN_PEER_H
#define SLUICE_SCAN_PEER_H

#include "scan/engine.h"

#define SCAN_GONE_PATIENCE_NS (2 * NS_PER_S) // from asking for a child's end to its confirmation

struct scan_peer {
	int control;     // -1: there is no parent
	int file;        // of the child; -1: none, or it is not listened to any more
	uint32_t number; // of the parent; 0: none
	bool was_born;   // it has had a child
	bool failed;     // none can be had
	bool condemned;  // the child is to be replaced
	bool rests;      // it has done its jobs, and is about to end
	bool hung_up;    // because it has closed its socket: mostly it has died
	bool has_closed; // the parent its control socket
	bool untold;     // and the parent could not be told yet
	uint64_t child;  // id; 0: none
	uint64_t last_child;
	uint64_t patience_ns;          // of a condemned child: when the parent is lost, too; of one
				       // that rests: when it is condemned
	uint64_t childless_ns;         // since when there is no child, once there was one
	struct scan_wire_control born; // of the last child
	char text[SCAN_WIRE_TEXT];     // of the last child's end, or of the failure
	uint32_t folders;              // how often the folder of signatures has changed
	char folder[SCAN_WIRE_TEXT]; // what was wrong with it then; "": nothing that could be seen
};

enum scan_peer_event {
	SCAN_PEER_QUIET, // no more messages
	SCAN_PEER_BORN,
	SCAN_PEER_GONE, // why: `peer->condemned`, `peer->rests`; whoever hears it clears both
	SCAN_PEER_FAILED,
	SCAN_PEER_FOLDER,
	SCAN_PEER_LOST, // its socket is closed, or it does not keep to the wire: `text` says how
};

void scan_peer_init(struct scan_peer *peer);
// Takes the descriptor of `news`.
void scan_peer_open(struct scan_peer *peer, const struct scan_news *news);
// Closes what is open: the parent kills its child. Afterwards it is as after init.
void scan_peer_close(struct scan_peer *peer);
// The parent's next message.
enum scan_peer_event scan_peer_hear(struct scan_peer *peer, uint64_t now_ns);
// What the child says to request `id` (0: none is out). 1: a verdict; 0: nothing; -EPIPE: it has
// closed its end; -EPROTO: something else.
int scan_peer_verdict(struct scan_peer *peer, uint64_t id, struct scan_wire_verdict *out);
// It has said that it takes no more.
void scan_peer_rest(struct scan_peer *peer, uint64_t now_ns);
// 0; -errno: the child has not got it.
int scan_peer_request(struct scan_peer *peer, const struct scan_wire_request *request);
// No file socket any more, and the parent is asked for another child. Once is enough.
void scan_peer_condemn(struct scan_peer *peer, uint64_t now_ns);
// What could not be told before.
void scan_peer_retry(struct scan_peer *peer);

static inline bool scan_peer_is_ready(const struct scan_peer *peer)
{
	return peer->child && !peer->condemned && !peer->rests;
}

#endif
