// SPDX-License-Identifier: BSD-3-Clause
// The classifier for unit tests and the fuzz target: the repository's own signatures, one
// classifier, flows fed packet by packet. Payload lies in heap blocks of exact size, so that
// AddressSanitizer sees one byte too far.
#ifndef SLUICE_TEST_CLASSIFY_RIG_H
#define SLUICE_TEST_CLASSIFY_RIG_H

#include <stddef.h>
#include "classify/classify.h"

struct rig {
	struct sigdb *db;
	struct sigdb *files;     // rig_user: what `db` stands beside
	struct user_apps *user;  // of a policy; else an empty one
	struct user_apps *hosts; // of the files; empty for signatures of a test's own
	struct edition *edition; // of db
	struct classifier *classifier;
	struct signature *signatures;
	unsigned n_signatures;
	struct classify_work work; // of all calls
};

struct rig_flow {
	struct rig *rig;
	struct flow_ends ends;
	struct classify_verdict verdict;
	uint64_t offset[2];
	uint32_t state;
	uint8_t l4;
	uint8_t n_data_pkts;
	bool midstream;
	bool one_sided;          // who sends is heard alone
	uint16_t datagram_bytes; // as headers say; 0: what is fed
	bool named;              // it has given a name
	bool refused;            // the last datagram would hide one
	struct media_memo media;
};

// Signatures of config/signatures/; aborts with a message if anything is wrong.
struct rig *rig_new(void);
// The same with signatures of the test's own.
struct rig *rig_new_with(const struct signature *signatures, unsigned n, unsigned n_states);
// User-defined applications from here on: hosts and ports (taken), and signatures.
void rig_user_take(
	struct rig *rig, struct user_apps *user, const struct signature *own, unsigned n);
// Ends the test with a failure if a state is still taken.
void rig_free(struct rig *rig);

struct rig_flow rig_flow(struct rig *rig, uint8_t l4, uint16_t sport, uint16_t dport);
void rig_feed(struct rig_flow *flow, unsigned half, const void *bytes, size_t length);
void rig_feed_span(struct rig_flow *flow, struct span span);
void rig_end(struct rig_flow *flow);
const char *rig_app(const struct rig_flow *flow); // "" while unknown or only guessed by port

// The application of one payload as the first of a flow.
const char *rig_first(struct rig *rig, uint8_t l4, unsigned half, const void *bytes, size_t length);
// Every truncation: unknown, its carrier for the time being, or `app`; and as a stream cut in two
// anywhere it is still `app`.
void rig_cuts(struct rig *rig, uint8_t l4, unsigned half, const void *bytes, size_t length,
	const char *app);
// Random payloads behind `prefix`: not one of them may be `app`.
void rig_random(struct rig *rig, uint8_t l4, const void *prefix, size_t length, const char *app);

// A payload written as a string literal: without the closing zero.
#define LITERAL(text) (text), sizeof(text) - 1

#endif
