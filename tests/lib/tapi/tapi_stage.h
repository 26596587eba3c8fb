// SPDX-License-Identifier: BSD-3-Clause
// One core in virtual time, with one transport, of which the test is the whole other side: it sees
// each payload that is sent, and says what arrives. Transport "stage", protocol 210, mtu 1432,
// datagrams; an address is a u32 and counts as IPv4, with no port.
//
// The core never hears of anything inside its own call of the transport: what arrives waits for the
// transport's turn. Time stands still but in stage_run().
#ifndef TESTS_LIB_TAPI_STAGE_H
#define TESTS_LIB_TAPI_STAGE_H

#include "transportapi/core/core.h"
#include "transportapi/transport/sessions.h"

#define STAGE_PROTOCOL 210
#define STAGE_MTU      1432

struct stage_session {
	struct tapi_link link;
	uint32_t address;
	void *test;
};

struct stage_packet {
	TAILQ_ENTRY(stage_packet) next;
	uint32_t address;
	struct tapi_peer_id sender;
	bool is_encrypted;
	uint32_t crc, size;
	uint8_t payload[];
};

struct stage {
	struct tapi_core *core;
	struct tapi_identity identity;
	uint64_t now_us, random;
	// Each payload that the core sends. NULL: nobody listens.
	void (*sent)(struct stage *stage, struct stage_session *session, const uint8_t *payload,
		uint32_t size);
	void *test;
	bool refuses; // send() drops, connect() finds a limit

	// the transport's
	struct tapi_conf *conf;
	struct tapi_transport_api api;
	const struct tapi_core_api *of_core;
	struct tapi_links links;
	struct tapi_transport_stats stats;
	TAILQ_HEAD(, stage_packet) packets;
	unsigned n_packets;
	bool started;
};

// `core_keys`, `stage_keys`: members of these sections, as JSON without braces. Aborts when the
// core does not come up.
void stage_init(struct stage *stage, const char *core_keys, const char *stage_keys);
// Another configuration; aborts where it is wrong.
void stage_reload(struct stage *stage, const char *core_keys, const char *stage_keys);
void stage_end(struct stage *stage);
void stage_run(struct stage *stage, uint64_t for_us);
uint64_t stage_wall(const struct stage *stage);
// Arrives with the next turn. crc NULL: the right one.
void stage_arrive(struct stage *stage, uint32_t address, const struct tapi_peer_id *sender,
	const uint8_t *payload, uint32_t size, bool is_encrypted, const uint32_t *crc);
// The session with this address, NULL: none. It may end in the next turn.
struct stage_session *stage_session(struct stage *stage, uint32_t address);
// A number of "core" in the statistics; aborts where there is none of this name.
uint64_t stage_counter(struct stage *stage, const char *name);

#endif
