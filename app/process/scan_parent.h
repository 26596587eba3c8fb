// SPDX-License-Identifier: BSD-3-Clause
// Runs the virus scanner, sluice-scan, for a gateway that may neither fork, nor exec, nor kill: in
// a process outside of its sandbox (the launcher). A scan parent leads a process group; when it
// ends, or is told to, its whole group is killed and reaped, and only then its death is told. When
// none is left the next one is started, after 1, 2, 4 ... 60 s. While one runs the gateway may wish
// for one more, which loads signatures beside it; which of the two goes on is the gateway's matter,
// and the launcher starts none as long as one of them lives. Arguments come from gateway.json as it
// was at the start: the gateway can wish for starts and ends, and for nothing else.
//
// Both halves talk over a SOCK_SEQPACKET socket of their own. Nothing here waits, but for the end.
#ifndef SLUICE_SCAN_PARENT_H
#define SLUICE_SCAN_PARENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCAN_PARENT_CONTROLS_MAX 64
#define SCAN_PARENT_WORDS_MAX    32
#define SCAN_PARENT_PLACES       2 // for one, and for one beside it

struct scan_parent_plan { // borrowed
	const char *program;
	char *const *words; // after --arena, --control and --place; ended by NULL
	int arena;          // -1: none is handed over
	unsigned n_controls;
};

struct scan_parent_place { // one scan parent, or none
	pid_t pid;         // of it, and of its group; 0: none
	uint32_t number;
	bool is_killed;
	bool is_owed;  // its death was not told yet
	bool is_ended; // itself; others of its group may live
	uint64_t began_ms;
};

struct scan_parent {
	struct scan_parent_plan plan;
	int socket;    // to the gateway
	bool is_begun; // the gateway has wished for it
	bool is_missing;
	bool is_ending;       // with its gateway
	bool is_aside;        // one more is wished for
	bool at_once;         // the next one is not waited for
	bool owes_no;         // that there is none aside was not told yet
	uint32_t last_number; // of the parent that was started last
	uint64_t next_ms;     // none is started before
	unsigned wait_s;
	struct scan_parent_place places[SCAN_PARENT_PLACES];
};

// What the gateway hears: a parent was started, and its sockets are there, one for each scan
// lcore; or, without descriptors, it is dead with all its children; or, without a number, the one
// aside that was wished for cannot be started now (the log says why).
struct scan_parent_news {
	uint32_t parent; // 1, 2, ...; 0
	uint32_t n_fds;
};

// Of the launcher's process, which becomes the reaper of what its descendants leave.
void scan_parent_init(struct scan_parent *parent, const struct scan_parent_plan *plan, int socket);
// Wishes that have come. False: the gateway has closed its end.
bool scan_parent_hear(struct scan_parent *parent);
// Starts, reaps, tells. `spare`: a child of the caller's that it reaps itself; 0: none.
// Milliseconds until it wants to be called again; -1: a wish is enough.
int scan_parent_step(struct scan_parent *parent, pid_t spare, uint64_t now_ms);
// The gateway is gone: its sockets are closed, so parents end by themselves within `patience_ms`,
// or are killed (one that loads its signatures hears nothing meanwhile). Waits for that.
void scan_parent_end(struct scan_parent *parent, unsigned patience_ms);

// The gateway's half. 0, -EAGAIN: the launcher does not listen, -EPIPE.
int scan_parent_begin(int socket);
int scan_parent_kill(int socket, uint32_t number); // nothing, if it has ended
// One more beside the one that runs, if there is room; the next one, if none runs.
int scan_parent_aside(int socket);
// When the one that runs has ended, and none is left, the next one is started without waiting.
int scan_parent_anew(int socket);
// 0; -EAGAIN: no news; -EPROTO: something else, dropped; -EPIPE: the launcher is gone. The
// descriptors in `fds` are the caller's.
int scan_parent_news(int socket, struct scan_parent_news *out, int fds[SCAN_PARENT_CONTROLS_MAX]);

#endif
