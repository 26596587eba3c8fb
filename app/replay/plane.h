// SPDX-License-Identifier: BSD-3-Clause
// Replay's data plane: two ports that are no devices, its lcores with gateway.json's default
// limits, and the packet pools. Control core (replay has no other thread).
#ifndef SLUICE_REPLAY_PLANE_H
#define SLUICE_REPLAY_PLANE_H

#include "pipeline/limits.h"
#include "replay/replay.h"
#include "replay/output.h"
#include "replay/packet.h"
#include "replay/streams.h"

#define REPLAY_PORT_INSIDE  0
#define REPLAY_PORT_OUTSIDE 1
#define REPLAY_GREETINGS    65536u // gateway.json's default

// MB that EAL is asked for.
unsigned replay_plane_mb(const struct replay_options *options);

struct replay_plane {
	struct dataplane *dp;
	struct lcore_limits limits;
	struct rte_mempool *made; // for the packets that the gateway makes
	struct replay_feed feed;  // has a pool for what the captures hold
};

// `output` gets what the ports send; `streams` may be NULL. 0, or -1 with a message in `err`;
// replay_plane_free() is due in any case.
int replay_plane_new(struct replay_plane *plane, const struct replay_options *options,
	struct replay_output *output, struct streams *streams, char *err, size_t err_len);
// What reads the records of its lcores, for --audit and --extract (`extract` may be NULL). 0, or
// -errno with a message.
struct content_reader;
struct extract;
int replay_plane_reader(struct replay_plane *plane, const struct replay_options *replay,
	struct extract *extract, uint64_t now_us, struct content_reader **out, char *err,
	size_t err_len);
// mbufs that are not in their pool, of how many.
unsigned replay_plane_missing(const struct replay_plane *plane, unsigned *mbufs);
// The last use of the policy and of the lcores is over: readers are gone.
void replay_plane_offline(struct replay_plane *plane);
// `another`: a run follows in this process. Else DPDK's memory goes with the process: freeing it
// clears all of it, also what nobody ever touched, which takes a tenth of a second.
void replay_plane_free(struct replay_plane *plane, bool another);

#endif
