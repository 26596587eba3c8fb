// SPDX-License-Identifier: BSD-3-Clause
// Encryption between peers, as the core does it (TA26): who has to encrypt, when a handshake
// begins, is sent again and is given up, which keys are in use. What the octets are: secure.h.
// Above the transports and below all else: keys belong to the pair of peers, whatever paths it
// uses, and one payload (a batch, a part) is one SEALED.
//
// PINGs, PONGs and handshakes are in clear and prove themselves; so do HELOs, which go sealed where
// a session stands. All else is sealed as soon as the peer has to: a HELO (signed) with
// TAPI_HELO_ENCRYPTS, or a session that stood once, says that it can.
#ifndef TRANSPORTAPI_CORE_SECURE_H
#define TRANSPORTAPI_CORE_SECURE_H

#include "transportapi/core/conf.h"
#include "transportapi/core/core.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/secure.h"

struct tapi_peer;

enum tapi_offer { TAPI_OFFER_UNKNOWN, TAPI_OFFER_NO, TAPI_OFFER_YES }; // of a peer, to encrypt
enum tapi_gate { TAPI_GATE_CLEAR, TAPI_GATE_SEALED, TAPI_GATE_WAIT };  // for what goes out

struct tapi_secure { // of one peer; there from its first handshake to the end of its last key
	struct tapi_keys *current;  // for what goes out
	struct tapi_keys *previous; // for what is still under way
	struct tapi_keys *next;     // we answered: it becomes current with the first SEALED
	struct tapi_initiation *begun;
	struct tapi_assemblies assemblies; // of parts that came sealed
	uint64_t sent_us, again_us;        // begun: sent last, and when it is again
	uint64_t stamp;                    // of the last INITIATE that was taken
	uint64_t wrong;                    // answers looked at in vain, since sent_us
	uint8_t tries;
	bool confirm;  // the peer has yet to see that its answer came
	bool answered; // `answer` is to the INITIATE with `ephemeral`
	uint8_t ephemeral[TAPI_KEY_BYTES];
	uint8_t answer[TAPI_RESPOND_BYTES];
};

// What is sealed is so much longer: what has to fit a path with what goes to this peer.
uint32_t tapi_secure_extra(const struct tapi_peer *peer);
// Has it to encrypt, and cannot, as it said itself?
bool tapi_secure_refused(const struct tapi_peer *peer);
enum tapi_secure_state tapi_secure_state_of(const struct tapi_peer *peer);
// It has to encrypt, and there are no keys for that now.
bool tapi_secure_waits(const struct tapi_peer *peer, uint64_t now_us);
// How a payload may leave now; begins a handshake where one is due. Of a peer with a path.
enum tapi_gate tapi_secure_gate(struct tapi_peer *peer, uint64_t now_us);
// After TAPI_GATE_SEALED: the payload sealed, in a buffer of the core; NULL: no memory.
const uint8_t *tapi_secure_seal(struct tapi_peer *peer, const uint8_t *payload, uint32_t size,
	bool is_encrypted, uint32_t crc, uint32_t *sealed_size);
uint64_t tapi_secure_turn(struct tapi_peer *peer, uint64_t now_us); // its next wish
// A HELO of the peer that was checked; the key in a PONG that was.
void tapi_secure_learn_helo(struct tapi_peer *peer, const struct tapi_helo *helo);
void tapi_secure_learn_key(struct tapi_peer *peer, const uint8_t key[TAPI_PUBLIC_KEY_BYTES]);
// A handshake as soon as there is a path, at most one in some seconds: the peer does not know that
// we encrypt, or we do not know its keys.
void tapi_secure_ask(struct tapi_peer *peer, uint64_t now_us);
struct tapi_secure *tapi_secure_get(struct tapi_peer *peer);
// A session that stands: `keys` (heap, taken) are used from now on.
void tapi_secure_stands(struct tapi_peer *peer, struct tapi_keys *keys, uint64_t now_us);
uint64_t tapi_secure_stamp(struct tapi_core *core); // never the same twice
void tapi_secure_forget(struct tapi_peer *peer);    // all keys; wiped
void tapi_core_secure_reload(struct tapi_core *core, enum tapi_encryption was);
uint64_t tapi_secure_share(const struct tapi_core *core); // of handshakes_per_s: one peer's
void tapi_keys_free(struct tapi_keys *keys);

#endif
