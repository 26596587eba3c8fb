// SPDX-License-Identifier: BSD-3-Clause
// Selection of the cheapest way to a peer.
#ifndef TRANSPORTAPI_CORE_SELECT_H
#define TRANSPORTAPI_CORE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapi_address;
struct tapi_path;
struct tapi_peer;

struct tapi_choice { // how to reach a peer: an address (path NULL: not open), or a path alone
	struct tapi_address *address;
	struct tapi_path *path;
};

void tapi_peer_select(struct tapi_peer *peer, uint64_t now_us);
void tapi_peer_lose(struct tapi_peer *peer, const char *why); // tells the application
bool tapi_peer_best(struct tapi_peer *peer, uint32_t size, uint64_t now_us, struct tapi_choice *out,
	char *reason, size_t room);

#endif
