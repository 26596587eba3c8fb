// SPDX-License-Identifier: BSD-3-Clause
// One piece of work at a time in a thread of its own, so that the control loop need not wait for
// it: the loop hears of its end by a descriptor. Control core only, but for the work itself.
// Signals stay with the loop's thread; the work has less of a claim on a CPU that both share.
#ifndef SLUICE_BUILDER_H
#define SLUICE_BUILDER_H

#include <pthread.h>
#include <stdbool.h>

struct builder {
	int wake; // eventfd: readable when the work is done
	bool threaded;
	pthread_t thread;
	void (*work)(void *ctx);
	void *ctx;
};

int builder_open(struct builder *builder); // -errno
void builder_close(struct builder *builder);
// Begins; `ctx` is the work's until builder_end. Without a thread it is done when this returns.
void builder_begin(struct builder *builder, void (*work)(void *ctx), void *ctx);
// True once when the work is done: `ctx` is the caller's again.
bool builder_end(struct builder *builder);
// Waits for the work at hand; false: it is not done after `ms`, and keeps `ctx` for ever.
bool builder_leave(struct builder *builder, unsigned ms);

#endif
