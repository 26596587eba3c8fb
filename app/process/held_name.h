// SPDX-License-Identifier: BSD-3-Clause
// A name in the kernel that one process holds and that goes with it: an abstract socket. It is of
// the network namespace, as interfaces are. Anybody can take a name, so that only root and our own
// user are believed to be a gateway: who else sits on one keeps nobody from starting. Control core,
// before the sandbox.
#ifndef SLUICE_HELD_NAME_H
#define SLUICE_HELD_NAME_H

#include <stdbool.h>
#include <sys/types.h>

struct name_holder {
	bool believed; // root's, or our own user's
	pid_t pid;     // 0: it does not say (it does not answer, or is of another PID namespace)
	uid_t uid;     // (uid_t)-1: not known
};

// The socket that holds it until it is closed. -EADDRINUSE: `holder` has it; another -errno.
int held_name_take(const char *name, struct name_holder *holder);
// False: nobody has it.
bool held_name_find(const char *name, struct name_holder *holder);
// Now and then: lets go of some who asked, as many as cost little.
void held_name_tick(int fd);

#endif
