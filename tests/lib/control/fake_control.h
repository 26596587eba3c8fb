// SPDX-License-Identifier: BSD-3-Clause
// Neighbours of the control core for its unit tests: lcores with rings but without EAL, two
// applications, scripted signatures and policies.
#ifndef SLUICE_FAKE_CONTROL_H
#define SLUICE_FAKE_CONTROL_H

#include <limits.h>
#include <stdatomic.h>
#include "pipeline/lcore/lcore.h"
#include "control/policy/load.h"
#include "pipeline/event/event.h"

// A dataplane of n lcores with event and query rings; two ports "lan" and "wan".
struct dataplane *fake_dataplane_new(unsigned n_lcores, bool with_qsbr);
void fake_dataplane_free(struct dataplane *dp);
void fake_event_send(struct dataplane *dp, unsigned lcore, const struct event *event);
// Ends from text: "192.0.2.1" or "2001:db8::1".
struct flow_ends fake_ends(const char *c2s, uint16_t c2s_port, const char *s2c, uint16_t s2c_port);

// What signature_load_dir gives: one signature per letter, id "sig-LETTER"; "!" fails.
extern const char *fake_signatures;
// So many flows are in the midst of classification with that edition.
void fake_classifier_open(struct dataplane *dp, unsigned lcore, uint32_t edition, uint32_t n);
extern atomic_uint fake_sigdbs;     // alive
extern atomic_uint fake_sigdb_made; // ever compiled
extern atomic_uint fake_scratches;  // alive: one per policy and lcore
// policy_load of a path that contains "bad" fails with two errors, "worse" with 7 more than are
// reported; "many" has 4,096 rules. Others have one, and the user "anna". It takes fake_build_ms,
// or as long as that is FAKE_BUILD_HELD.
extern atomic_uint fake_build_ms;
#define FAKE_BUILD_HELD UINT_MAX

#endif
