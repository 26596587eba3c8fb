// SPDX-License-Identifier: BSD-3-Clause
// What must be done by every thread of the process for itself (capset, Landlock): the kernel's
// calls for them change the calling thread only, and EAL's threads run none of our code then.
#ifndef SLUICE_THREADS_H
#define SLUICE_THREADS_H

// Runs `function` in each thread, in the caller first, by a signal that EAL's threads do not block.
// It may call what a signal handler may. No thread may be made or end meanwhile. Returns the sum of
// what it returned (0: all went well), or -errno: a thread that did not answer within a second.
int threads_each(int (*function)(void *ctx), void *ctx);
unsigned threads_count(void);

#endif
