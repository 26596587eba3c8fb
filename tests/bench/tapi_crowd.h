// SPDX-License-Identifier: BSD-3-Clause
// Thousands of puppets (lib/tapi/tapi_puppet.h) on real sockets, in a process of their own: the far
// side of tapi_peers.
#ifndef TESTS_BENCH_TAPI_CROWD_H
#define TESTS_BENCH_TAPI_CROWD_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/tapi/tapi_puppet.h"

struct crowd_member { // shared: the crowd writes it before it is ready
	struct tapi_peer_id id;
	uint16_t helo_size; // 0: it connects itself, by tcp
	uint8_t helo[TAPI_HELO_BYTES_MAX];
};

struct crowd {
	pid_t pid;
	unsigned n;
	bool tcp;
	struct crowd_member *members; // n of them
	int to;                       // a u16 port: tcp's puppets connect there, of 127.0.0.1
	size_t map_bytes;
};

// Forks; false: why is on standard error.
bool crowd_begin(struct crowd *out, unsigned n, bool tcp);
bool crowd_connect(struct crowd *crowd, uint16_t port);
void crowd_silence(struct crowd *crowd); // it stops in its tracks, sockets open
void crowd_end(struct crowd *crowd);
bool crowd_descriptors(unsigned n); // room for so many

#endif
