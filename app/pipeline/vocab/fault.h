// SPDX-License-Identifier: BSD-3-Clause
// Faults that the gateway had, put back one at a time for the test that finds each of them
// (tests/model/model_conversations.c). In the gateway FAULT is false, and nothing is left of it.
#ifndef SLUICE_FAULT_H
#define SLUICE_FAULT_H

#include <stdbool.h>

// X(name, what)
#define GATEWAY_FAULTS(X)                                                \
	X(NONE, "none")                                                  \
	X(GAP_READ, "a gap of a stream is read as if it had bytes")      \
	X(UNASKED, "answers count that nobody asked for")                \
	X(ICMP_RULES, "an ICMP error that quotes a flow passes unasked") \
	X(STATE_KEPT, "a flow that ends keeps its classifier state")     \
	X(VIEW_KEPT, "the view of a datagram that is dropped is kept")   \
	X(ONE_SIDED, "one end is believed for both")                     \
	X(CACHE, "an unanswered packet makes a cache entry")             \
	X(ZONES, "packets count on whichever side they come in")         \
	X(SILENT, "a connection that is silent at first is midstream")   \
	X(REALM, "networks behind other tags are one")                   \
	X(DECOY, "a verdict on datagrams stands for good")

enum gateway_fault {
#define X(name, what) FAULT_##name,
	GATEWAY_FAULTS(X)
#undef X
		GATEWAY_FAULTS_MAX
};

#ifdef SLUICE_FAULTS
extern enum gateway_fault gateway_fault;
#define FAULT(which) (gateway_fault == FAULT_##which)
#else
#define FAULT(which) false
#endif

#endif
