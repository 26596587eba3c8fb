// SPDX-License-Identifier: BSD-3-Clause
// A flood beside honest traffic: ten forged packets each 100 us, 200 new honest connections a
// second, and established ones that go on. The same without a flood says what is quiet.
#ifndef SLUICE_TEST_STORM_H
#define SLUICE_TEST_STORM_H

#include "lib/classify/classify_rig.h"
#include "honest.h"
#include "lib/pipeline/pipe.h"

#define STORM_OPEN_MAX 1024
#define STORM_CALM_S   60

// X(symbol): what pools and tables hold; members of struct stats but for these of storm_look.
#define STORM_GAUGES(X)        \
	X(flows_active)        \
	X(fragments_held)      \
	X(datagrams_held)      \
	X(tracked_active)      \
	X(slab_blocks_used)    \
	X(tcp_holes_active)    \
	X(tcp_held_active)     \
	X(scan_flows)          \
	X(scan_pending)        \
	X(cache_entries)       \
	X(expectations_active) \
	X(endpoints_active)    \
	X(names_active)        \
	X(chain_flows)         \
	X(chain_conn_cache)    \
	X(chain_endpoints)     \
	X(chain_names)         \
	X(chain_expectations)  \
	X(chain_fragments)

struct storm_level {
#define X(name) uint64_t name;
	STORM_GAUGES(X)
#undef X
	uint64_t embryos, tombstones, states, heads;
};

struct storm {
	struct pipe *pipe;
	struct honest open[STORM_OPEN_MAX]; // on their way
	uint64_t due[STORM_OPEN_MAX];       // step of their next packet
	unsigned n_open;
	struct honest lasting[HONEST_KINDS_MAX];
	uint64_t step;
	uint16_t sport;
	unsigned begun, succeeded, said, lost;
	unsigned failed[HONEST_KINDS_MAX];
};

// Sends one forged packet. NULL: none, in a storm that says what is quiet.
typedef void storm_forge(struct pipe *pipe, const void *how);

// Of a program's group of tests, before the first pipe: these are set. 0.
int storm_prepare(void **state);
int storm_done(void **state);
extern struct rig *storm_rig;            // the repository's signatures
extern struct lcore_limits storm_limits; // of gateway.json's defaults, of one of two data lcores

// Of this pipe, after the grace of a new gateway. The established are made and known.
void storm_begin(struct storm *storm, struct pipe *pipe);
void storm_flood(struct storm *storm, storm_forge *forge, const void *how, double seconds);
// New connections end; nobody begins one.
void storm_end_openings(struct storm *storm);
// Each kind of the established sends a packet in either direction.
void storm_say_all(struct storm *storm);
// Ten minutes with 100 forged packets a second: SSH rests, and SIP keeps alive.
void storm_rest(struct storm *storm, storm_forge *forge, const void *how);
void storm_pass_time(struct storm *storm, double seconds, double each);
// STORM_CALM_S, in turns as frequent as those of a gateway that polls would be: what ages is
// bounded in each.
void storm_calm(struct storm *storm);

struct storm_level storm_look(const struct pipe *pipe);
// Says which gauges are above those of a quiet gateway; how many.
unsigned storm_above(const struct storm_level *is, const struct storm_level *quiet);
void storm_report(const struct storm *storm, const char *what);
// 99 % of new connections at the first try, everything of the established.
void storm_assert_honest(const struct storm *storm);

#endif
