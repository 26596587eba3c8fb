// SPDX-License-Identifier: BSD-3-Clause
// A scanner by script, at the other ends of an engine's sockets: it says what the test says, true
// or not, at the test's own clock.
#ifndef SLUICE_TEST_PEER_RIG_H
#define SLUICE_TEST_PEER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/vocab/tick.h"
#include "scan/worker.h"

#define T0        (1000 * NS_PER_S)
#define TIMEOUT   (10 * NS_PER_S)
#define MAX_BYTES (64u << 10)

extern struct scan_config config; // of file jobs, in an arena
extern struct scan_engine *engine;
extern uint64_t now_ns;

int rig_begin(void **state); // group: EAL, arena
int rig_end(void **state);
int rig_setup(void **state); // each test: an engine
int rig_teardown(void **state);

struct peer {
	int control, file; // our ends; -1
	uint32_t number;
	uint64_t child;
};

// A parent that the engine knows of; it has no child yet.
struct peer peer_new(uint32_t number);
void peer_born(struct peer *peer);
void peer_gone(struct peer *peer); // says so; our end of its file socket is closed
void peer_says(const struct peer *peer, enum scan_wire_kind kind, uint64_t id, int fd);
// The engine asks for another child, once.
void peer_is_asked_to_replace(const struct peer *peer);
// A parent with a child that the engine has heard.
struct peer peer_ready(uint32_t number);
// The request that has come; false: none.
bool peer_hears(const struct peer *peer, struct scan_wire_request *out);
uint64_t peer_must_hear(const struct peer *peer); // its id
void peer_answers(const struct peer *peer, uint64_t id, enum scan_value value);
void peer_close(struct peer *peer);
void peer_is_dead(uint32_t number); // the launcher says so

// A file of `bytes` as a job; false: the engine has no room.
bool submit(uint64_t id, uint32_t bytes);
bool submit_until(uint64_t id, uint32_t bytes, uint64_t deadline_ns);
// The next verdict; id 0: none.
struct scan_verdict turn(void);
void tells(uint64_t id, enum scan_value value, enum scan_reason reason);
void tells_nothing(void);
struct scan_status status(void);

#endif
