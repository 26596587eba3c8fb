// SPDX-License-Identifier: BSD-3-Clause
// The launcher: a process forked first, before EAL and threads, that keeps the rights the gateway
// gives up. It runs the hook command, and when the gateway has ended, however it ended, it removes
// what only it may: XDP programs and promiscuous mode of interfaces, stale sockets, the pid file.
// It takes one word at a time from the gateway and nothing else; what it acts on it knows from
// gateway.json, read before the fork, and from the names of its taps, which it is reported once,
// before the gateway gives up its rights. It ends when the gateway has.
//
// Owned by run.c; control core only. No call waits for the hook.
#ifndef SLUICE_LAUNCHER_H
#define SLUICE_LAUNCHER_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "process/again.h"
#include "process/scan_parent.h"
#include "config/gateway.h"

// What the gateway says. The first five are the hook's words, too.
enum launcher_word {
	LAUNCHER_FORWARDING,
	LAUNCHER_STALLED,
	LAUNCHER_RECOVERED,
	LAUNCHER_STOPPING,
	LAUNCHER_HEARTBEAT, // dropped while the hook is busy
	LAUNCHER_FAILED,    // the hook's word when the gateway died; never sent
	LAUNCHER_PORTS,     // struct launcher_ports: what hangs on their interfaces is ours
	LAUNCHER_ENDED,     // nothing is open any more: clean up
	LAUNCHER_ENDED_BADLY,
	// struct again_request: a port's interface was made again, open sockets on it (again.h).
	// The only word that is answered.
	LAUNCHER_AGAIN,
};

// The kernel interfaces behind the ports, by their index; "": there is none.
struct launcher_ports {
	uint8_t word; // LAUNCHER_PORTS
	char interface[GATEWAY_PORTS_MAX][IF_NAMESIZE];
};

struct launcher { // zeroed: there is none
	int fd_plus_1;
	pid_t pid;
	bool lost; // it has died; reported once
	// Before launcher_start, if files are scanned: the arena's descriptor, plus 1.
	int arena_plus_1;
	int scan_fd_plus_1; // scan_parent.h; 0: nothing is scanned by another program
};

// Forks. `file_prefix`: of EAL. A launcher of the gateway before us that still cleans up is waited
// for, at most 3 s. 0, or -errno and a message.
int launcher_start(struct launcher *launcher, const struct gateway *gateway,
	const char *file_prefix, char *err, size_t err_len);
// Whether the hook can be run, and by nobody's will but root's. -ENOENT, -EACCES, -EPERM, message.
int launcher_check_hook(const struct gateway *gateway, char *err, size_t err_len);
void launcher_report(struct launcher *launcher, enum launcher_word word);
// The first call is the one that counts. `word` need not be set.
void launcher_report_ports(struct launcher *launcher, struct launcher_ports *ports);
// Asks it for sockets of a port; does not wait. `word` need not be set. 0; -EPIPE: it has died.
int launcher_ask(struct launcher *launcher, struct again_request *request);
// The answer to that request, if it has come; what else has come is dropped, its descriptors
// closed. 0, also if the answer is an error; -EAGAIN: not yet; -EPIPE: it has died.
int launcher_answer(
	struct launcher *launcher, const struct again_request *request, struct again_sockets *out);
// Where answers come; -1: there is no launcher.
int launcher_fd(const struct launcher *launcher);
// For scan_parent_begin, _kill, _news; -1: the launcher runs no scanner.
int launcher_scan_fd(const struct launcher *launcher);
// The last call: waits until it has cleaned up, at most 3 s. `badly`: after a failure.
void launcher_end(struct launcher *launcher, bool badly);

#endif
