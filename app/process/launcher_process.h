// SPDX-License-Identifier: BSD-3-Clause
// The inside of the launcher (launcher.h), in its own process.
#ifndef SLUICE_LAUNCHER_PROCESS_H
#define SLUICE_LAUNCHER_PROCESS_H

#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include "process/launcher.h"
#include "process/link.h"

// What is on the kernel's side of a port, before and while the gateway has it.
struct launcher_port {
	char interface[64]; // as gateway.json names it; it may be renamed
	bool xdp;           // its driver puts a program there
	struct link_state before;
	struct link_state taken;
};

uint64_t launcher_now_ms(void);
// The file and every folder above it: who may write to one of those can put another file there.
// `culprit` is what others can change.
bool launcher_only_root_changes(const char *path, char culprit[PATH_MAX]);

struct launcher_plan {
	const struct gateway *gateway; // ours since the fork
	pid_t daemon;
	int pidfd; // of it; -1: an old kernel
	struct launcher_port ports[GATEWAY_PORTS_MAX];
	unsigned n_ports;
	bool ports_taken;
	char taps[GATEWAY_PORTS_MAX][IF_NAMESIZE]; // by index of gateway.json: as they are named
	char eal_dir[256];                         // where EAL keeps its sockets
	struct scan_parent scan;
	bool has_scan;
	int listeners[GATEWAY_PORTS_MAX]; // of again_open(), plus 1; 0: none
};

// Before the fork. Interfaces are looked at as they are now.
void launcher_plan_init(
	struct launcher_plan *plan, const struct gateway *gateway, const char *file_prefix);
// Once: later calls change nothing.
void launcher_plan_ports_taken(struct launcher_plan *plan, const struct launcher_ports *ports);
// Sockets for a port whose interface was made again; answers.
void launcher_plan_again(struct launcher_plan *plan, const struct again_request *request, int fd);
// The scanner of gateway.json, over `socket`.
void launcher_plan_scan(struct launcher_plan *plan, int arena, int socket);
// Starts, reaps. Milliseconds; -1.
int launcher_plan_scan_step(struct launcher_plan *plan, pid_t hook);
void launcher_plan_scan_end(struct launcher_plan *plan); // waits for its end
// The gateway is gone, or has let go of everything.
void launcher_clean(struct launcher_plan *plan);
// Its process has ended: EAL's sockets, which are open until then.
void launcher_clean_eal(const struct launcher_plan *plan);
// The stale socket of a process that died; one that answers stays.
void launcher_remove_socket(const char *path, int type);

// The hook command: one at a time, each with a time limit, in the order of the words.
#define HOOK_QUEUE_MAX 16
struct hook {
	const struct gateway *gateway; // its hook
	pid_t daemon;
	enum launcher_word queue[HOOK_QUEUE_MAX];
	unsigned n;
	pid_t pid; // that runs; 0: none
	enum launcher_word word;
	uint64_t began_ms;
	bool killed;
};
void hook_add(struct hook *hook, enum launcher_word word);
// Starts, reaps, kills. Milliseconds until it wants to be called again; -1: a child's end or a
// word is enough.
int hook_step(struct hook *hook);
bool hook_busy(const struct hook *hook);
// Never returns. `fd`: words of the gateway; `name`: held until the cleaning is done.
_Noreturn void launcher_main(struct launcher_plan *plan, int fd, int name);

#endif
