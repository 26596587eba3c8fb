// SPDX-License-Identifier: BSD-3-Clause
// The launcher: a process forked first, before EAL and threads, that keeps the rights the gateway
// gives up. It runs the hook command, and when the gateway has ended, however it ended, it removes
// what only it may: XDP programs and promiscuous mode of interfaces, stale sockets, the pid file.
// It takes one word at a time from the gateway and nothing else; what it acts on it knows from
// gateway.json, read before the fork. It ends when the gateway has.
//
// Owned by run.c; control core only. No call waits for the hook.
#ifndef SLUICE_LAUNCHER_H
#define SLUICE_LAUNCHER_H

#include <stdbool.h>
#include <assert.h>
#include <stddef.h>
#include <sys/types.h>
#include "gateway.h"

// What the gateway says. The first five are the hook's words, too.
enum launcher_word {
	LAUNCHER_FORWARDING,
	LAUNCHER_STALLED,
	LAUNCHER_RECOVERED,
	LAUNCHER_STOPPING,
	LAUNCHER_HEARTBEAT, // dropped while the hook is busy
	LAUNCHER_FAILED,    // the hook's word when the gateway died; never sent
	LAUNCHER_PORTS,     // the ports are taken: what hangs on their interfaces is ours
	LAUNCHER_ENDED,     // nothing is open any more: clean up
	LAUNCHER_ENDED_BADLY,
	LAUNCHER_WORDS_MAX,
	// This and the index of a port: its interface was made again, open sockets on it (again.h).
	// The only word that is answered at once.
	LAUNCHER_AGAIN = 0x40,
};
static_assert((int)LAUNCHER_WORDS_MAX <= (int)LAUNCHER_AGAIN, "words are told apart");

struct launcher { // zeroed: there is none
	int fd_plus_1;
	pid_t pid;
	bool lost; // it has died; told once
};

// Forks. `file_prefix`: of EAL. A launcher of the gateway before us that still cleans up is waited
// for, at most 3 s. 0, or -errno and a message.
int launcher_start(struct launcher *launcher, const struct gateway *gateway,
	const char *file_prefix, char *err, size_t err_len);
// Whether the hook can be run, and by nobody's will but root's. -ENOENT, -EACCES, -EPERM, message.
int launcher_check_hook(const struct gateway *gateway, char *err, size_t err_len);
void launcher_tell(struct launcher *launcher, enum launcher_word word);
struct again_sockets;
// Asks it for sockets of the port with that index, and waits, at most a second. 0; -errno: none.
int launcher_again(struct launcher *launcher, unsigned port, struct again_sockets *out);
// The last call: waits until it has cleaned up, at most 3 s. `badly`: after a failure.
void launcher_end(struct launcher *launcher, bool badly);

#endif
