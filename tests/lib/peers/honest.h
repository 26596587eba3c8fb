// SPDX-License-Identifier: BSD-3-Clause
// Honest conversations through a pipe, one packet at a time, so that anything else can come in
// between: TLS and SSH over TCP, DNS, WireGuard and SIP over UDP. Clients are inside.
#ifndef SLUICE_TEST_HONEST_H
#define SLUICE_TEST_HONEST_H

#include "lib/pipeline/pipe.h"

enum honest_kind {
	HONEST_TLS,
	HONEST_DNS,
	HONEST_WIREGUARD,
	HONEST_SIP,
	HONEST_SSH,
	HONEST_KINDS_MAX
};
extern const char *const honest_words[HONEST_KINDS_MAX]; // the applications' ids

struct honest {
	enum honest_kind kind;
	uint32_t client;
	uint16_t sport;
	uint32_t seq[2];
	uint8_t step; // of its opening: packets so far
	uint8_t lost; // packets of the opening that did not leave
};

struct honest honest_new(enum honest_kind kind, uint32_t client, uint16_t sport);
// The next packet of its opening. False: that was over before.
bool honest_step(struct pipe *pipe, struct honest *honest);
// More of it: a packet of one side. True: it left.
bool honest_say(struct pipe *pipe, struct honest *honest, bool from_outside);
// The gateway has a flow of it, and knows its application.
bool honest_known(struct pipe *pipe, const struct honest *honest);

#endif
