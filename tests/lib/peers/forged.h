// SPDX-License-Identifier: BSD-3-Clause
// Packets as an attacker forges them: of every kind that makes state, from any source, on either
// side of a pipe. Numbers are random, by a seed that is fixed.
#ifndef SLUICE_TEST_FORGED_H
#define SLUICE_TEST_FORGED_H

#include "lib/pipeline/pipe.h"

// X(symbol, words)
#define FORGED_KINDS(X)                                         \
	X(ONE_BYTE, "one-byte segments without a connection")   \
	X(SYN, "SYNs")                                          \
	X(SYN_DATA, "SYNs with data")                           \
	X(SYN_ACK, "SYN-ACKs")                                  \
	X(UDP_ONE, "datagrams of one byte")                     \
	X(UDP_DHT, "datagrams that look like a DHT's")          \
	X(UDP_QUIC, "datagrams that look like Initial packets") \
	X(FRAGMENT, "fragments")                                \
	X(ICMP, "echo requests")

enum forged_kind {
#define X(symbol, words) FORGED_##symbol,
	FORGED_KINDS(X)
#undef X
		FORGED_KINDS_MAX
};
extern const char *const forged_words[FORGED_KINDS_MAX];

enum forged_source {
	FORGED_ANY,    // a random address, IPv4
	FORGED_ONE_64, // of one /64, IPv6
	FORGED_VICTIM, // FORGED_VICTIM_CLIENT
	FORGED_SOURCES_MAX
};
extern const char *const forged_sources[FORGED_SOURCES_MAX];

#define FORGED_VICTIM_CLIENT 1 // pipe_packet.client

uint32_t forged_random(void);
// Runs one on lcore 0.
void forged_run(
	struct pipe *pipe, enum forged_kind kind, enum forged_source source, bool from_outside);

#endif
