// SPDX-License-Identifier: BSD-3-Clause
// The hosts and users of the live page: what each uses and what was blocked for it. Live flows are
// counted by asking the data lcores, page by page as `top` does, and only while somebody looks;
// flows that have ended and verdicts come from the sink's events as they are drained. Control core
// only.
//
// Whose names these are is anybody's choice: an address costs a packet. So the rows are bounded
// (http.hosts, of hosts and of users each). What one end alone has sent makes a row only while
// less than half of them are in use, and never takes another's. When all are in use, a new one
// takes the place of the least of CENSUS_LOOK others, in turn: the large ones, and those for which
// much was blocked, stay. Both are counted.
#ifndef SLUICE_CENSUS_H
#define SLUICE_CENSUS_H

#include "control/stats/group_by.h"
#include "pipeline/query.h"

#define CENSUS_APPS   12 // of a row that are told apart; the last place is of all others
#define CENSUS_FLOWS  5  // the fastest of a row
#define CENSUS_BLOCKS 5  // the latest of a row, of what was blocked before what would have been
#define CENSUS_LOOK   16 // rows that are compared when one has to go

#define CENSUS_WANTED_S   10   // after it was asked for, it goes on
#define CENSUS_EVERY_MS   2000 // at most so often,
#define CENSUS_REST_TIMES 20   // and for so many times as long as it took it rests

struct census_use {
	uint64_t flows;
	uint64_t bytes[2]; // from the host, to it
	uint64_t rate_bytes_s;
};

struct census_app {
	uint16_t app;
	uint64_t blocked;        // flows
	struct census_use live;  // of the last count
	struct census_use past;  // that had ended when it began
	struct census_use ended; // by now
	struct census_use begun; // when the count that runs began
	struct census_use fresh; // of the count that runs
};

struct census_flow {
	uint64_t flow_id; // 0: none
	uint64_t rate_bytes_s;
	uint64_t bytes;
	uint8_t host[16], peer[16];
	uint32_t realm; // realm.h
	uint16_t port;  // of the server
	uint16_t app;
	uint8_t l4_proto;
	uint8_t action;
	bool outbound;
};

struct census_block {
	uint64_t count; // of the same peer, application and rule; 0: none
	uint64_t flow_id;
	uint64_t at_ns;
	uint32_t rule_uid;
	uint8_t host[16], peer[16];
	uint16_t port;
	uint16_t app;
	uint8_t l4_proto;
	uint8_t action;
	bool monitor;
	bool outbound;
};

struct census_row {
	struct group_by_key key; // address, or uid of a user
	uint32_t next;           // in its chain: row + 1, or 0
	uint32_t user_uid;       // of a host; 0: nobody's
	uint64_t seen_ns;        // last
	uint64_t blocked, monitored;
	unsigned n_apps;
	struct census_app apps[CENSUS_APPS];
	struct census_flow flows[CENSUS_FLOWS], fresh[CENSUS_FLOWS]; // flow_id 0: free
	struct census_block blocks[CENSUS_BLOCKS];
};

struct census_table {
	uint32_t max;
	uint32_t n;
	uint32_t hand; // where the next look for the least begins
	uint32_t n_slots;
	uint32_t *slots; // chains: row + 1, or 0
	struct census_row *rows;
	uint64_t evicted; // rows that made room
	uint64_t unheard; // records of one end alone that found none
};

struct census {
	struct control_context *context;
	struct inquiries *inquiries; // borrowed
	struct inquiry *inquiry;     // of the count that runs
	struct event *timer;
	struct census_table hosts, users;
	uint64_t wanted_ns;  // last
	uint64_t counted_ns; // when the last count ended; 0: never
	uint64_t cost_ns;    // of the count that runs, or the last
};

// `max` rows of hosts, and of users. -ENOMEM; the census may be freed then.
int census_start(struct census *census, struct control_context *context,
	struct inquiries *inquiries, uint32_t max);
void census_stop(struct census *census); // may be called without a start
// A sink_listener_fn; `ctx` is the struct census.
void census_see(void *ctx, const struct event *event);
// Somebody looks: live flows are counted now and then for CENSUS_WANTED_S.
void census_want(struct census *census);
// A count, for its pages and for tests: it begins, has a record of each live flow, and ends. What
// ends meanwhile may be among its live flows or not, so it is counted as ended by the next one.
void census_begin(struct census *census);
void census_add(struct census *census, const struct flow_record *record);
void census_publish(struct census *census);

// What was live in the last count, and what had ended before.
struct census_use census_app_use(const struct census_app *app);
struct census_use census_row_live(const struct census_row *row);
struct census_use census_row_use(const struct census_row *row);
struct census_row *census_find(const struct census_table *table, const struct census *census,
	const struct group_by_key *key);

#endif
