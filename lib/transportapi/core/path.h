// SPDX-License-Identifier: BSD-3-Clause
// Paths: the sessions with a peer as the core knows them, opened by either side.
#ifndef TRANSPORTAPI_CORE_PATH_H
#define TRANSPORTAPI_CORE_PATH_H

#include "transportapi/base/transport.h"

#define TAPI_PEER_PATHS_MAX 16
#define TAPI_PATH_MTU_LEAST 256 // a PING and its PONG go in whole

struct tapi_address;
struct tapi_carrier;
struct tapi_peer;
struct tapi_probe;

// A session as the core knows it.
struct tapi_path {
	struct tapi_path *next; // of the peer
	struct tapi_peer *peer;
	struct tapi_carrier *carrier;
	struct tapi_session *session; // NULL: it is gone, the record goes in the peer's next turn
	struct tapi_address *address; // where it leads; NULL: the peer opened it
	struct tapi_probe *probe;     // NULL: no PING is out
	uint32_t references;          // that we hold
	uint32_t mtu;                 // the least of the transport's and the HELO's
	enum tapi_down why;           // of session == NULL
	bool inbound;
	bool broken;  // a send said so: to be closed
	bool one_way; // cannot answer
	bool by_size; // carries what the path in use has too small an mtu for
	bool trigger; // something came in: one PING is due, if it is not validated
	bool suspect; // its like failed: not used before a PONG, unless nothing else is left
	uint16_t failures;
	uint64_t next_ping_us;
	uint64_t valid_until_us;               // monotonic; 0: not validated
	uint64_t revalidate_us;                // when half of that is over
	uint64_t opened_us, heard_us, used_us; // used: by messages of applications, either way
	uint64_t asked_us;    // when what came in last was answered by a PING, or a PONG
	uint64_t measured_us; // the last PING of liveness
	uint64_t unheard_us;  // the first message sent since heard_us; 0: none
	uint32_t rtt_us;      // smoothed; 0: unknown
	uint32_t pings;       // whose answer counts in `loss`
	float loss;
};

struct tapi_path *tapi_path_open(struct tapi_peer *peer, struct tapi_address *address);
struct tapi_path *tapi_path_inbound(
	struct tapi_peer *peer, struct tapi_carrier *carrier, struct tapi_session *session);
bool tapi_path_hold(struct tapi_path *path);    // a reference, to send messages on it
void tapi_path_release(struct tapi_path *path); // all of ours
// For messages to a peer: what both sides can.
uint32_t tapi_path_mtu(const struct tapi_carrier *carrier, uint32_t helo_mtu);
void tapi_path_end(struct tapi_path *path); // and the record
enum tapi_result tapi_path_send(struct tapi_path *path, const uint8_t *payload, uint32_t size,
	bool is_encrypted, uint32_t crc);
void tapi_path_failed(struct tapi_path *path, uint64_t now_us);
void tapi_core_session_down(void *carrier, struct tapi_session *session, enum tapi_down why);
static inline bool tapi_path_valid(const struct tapi_path *path, uint64_t now_us)
{
	return path->session != NULL && !path->broken && path->valid_until_us > now_us;
}

#endif
