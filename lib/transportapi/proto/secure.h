// SPDX-License-Identifier: BSD-3-Clause
// Session keys between two peers, and what is sealed with them (TA26). No core in here: who sends
// what, and when, is transportapi/core/secure.c's.
//
// The handshake is the pattern IK of the Noise framework (revision 34, 7.5) in all but names:
// X25519 between ephemeral keys and those of the identities (the X25519 form of an Ed25519 key), so
// that each end is authenticated by its identity and nothing that is stored opens what was sent
// before. KDF and transcript are BLAKE2b (keyed with the chaining key), ciphers are
// ChaCha20-Poly1305 (RFC 8439). The transcript begins with the protocol's name and the ids of both
// ends; heads of the messages are in it. Wire, network order:
//
//   INITIATE  u16 size=112, u16 type=6 | u32 index of the initiator | ephemeral[32]
//             | sealed: Ed25519 key of the initiator, 32 + 16 | sealed: u64 stamp, 8 + 16
//   RESPOND   u16 size=60, u16 type=7 | u32 index of the responder | u32 index of the initiator
//             | ephemeral[32] | sealed: nothing, 16
//   SEALED    u16 size, u16 type=8 | u32 index of the receiver | u64 counter
//             | sealed: u8 flags, u32 crc where flags has bit 0, payload | 16
//
// The stamp is the initiator's wall clock in microseconds, never the same twice: an INITIATE that
// is not newer than the last one is a replay. An index says which of a peer's sessions it is. The
// nonce of SEALED is 4 zeros and the counter, little-endian; its head is authenticated. A payload
// is what would go in clear: messages one after another; bit 0 says that the application encrypted
// it itself, crc is of its plain text.
#ifndef TRANSPORTAPI_SECURE_H
#define TRANSPORTAPI_SECURE_H

#include "transportapi/base/identity.h"

#define TAPI_KEY_BYTES         32
#define TAPI_INITIATE_BYTES    112
#define TAPI_RESPOND_BYTES     60
#define TAPI_SEALED_HEAD_BYTES 16
#define TAPI_SEALED_BYTES      (TAPI_SEALED_HEAD_BYTES + 5 + 16) // more than in clear, at most
#define TAPI_WINDOW_COUNTERS   2048 // a payload that so many later ones overtook is lost

// Which counters came (RFC 6479: a ring of words, one of which is being emptied).
#define TAPI_WINDOW_WORDS (TAPI_WINDOW_COUNTERS / 64 + 1)
struct tapi_window {
	uint64_t next; // the highest that came, and one; 0: none did
	uint64_t words[TAPI_WINDOW_WORDS];
};
bool tapi_window_may(const struct tapi_window *window, uint64_t counter); // new, and not too old
void tapi_window_take(struct tapi_window *window, uint64_t counter);      // one that may

struct tapi_static { // the X25519 form of an identity
	uint8_t secret_key[TAPI_KEY_BYTES];
};
// false: the key is of no identity that libsodium made.
bool tapi_static_of(struct tapi_static *out, const struct tapi_identity *identity);

struct tapi_keys {            // of one session with one peer
	uint32_t here, there; // indexes: in what comes in, in what goes out
	bool initiator;       // we began it
	uint8_t send[TAPI_KEY_BYTES], receive[TAPI_KEY_BYTES];
	uint64_t sent;              // the next counter
	uint64_t made_us, heard_us; // heard: something was opened
	struct tapi_window window;
};

struct tapi_initiation { // of ours, that may be answered
	uint32_t here;
	uint8_t ephemeral[TAPI_KEY_BYTES]; // secret
	uint8_t chain[TAPI_KEY_BYTES], transcript[TAPI_KEY_BYTES];
	uint8_t message[TAPI_INITIATE_BYTES];
};

struct tapi_secure_message { // an INITIATE whose sender holds the key that it names
	uint32_t there;
	uint64_t stamp;
	uint8_t public_key[TAPI_PUBLIC_KEY_BYTES]; // Ed25519
	uint8_t static_key[TAPI_KEY_BYTES];        // the same for X25519
	uint8_t ephemeral[TAPI_KEY_BYTES];
	uint8_t chain[TAPI_KEY_BYTES], transcript[TAPI_KEY_BYTES];
};

// To the peer with the Ed25519 key `to`. `ephemeral`: 32 octets of chance. TAPI_ESIG: `to` is no
// key that could be agreed with.
enum tapi_result tapi_secure_initiate(struct tapi_initiation *out,
	const struct tapi_identity *identity, const struct tapi_static *mine,
	const uint8_t to[TAPI_PUBLIC_KEY_BYTES], const uint8_t ephemeral[TAPI_KEY_BYTES],
	uint32_t here, uint64_t stamp);
// TAPI_EFORMAT: malformed; TAPI_ESIG: not of `sender`, not for us, or altered.
enum tapi_result tapi_secure_parse(struct tapi_secure_message *out,
	const struct tapi_identity *identity, const struct tapi_static *mine,
	const struct tapi_peer_id *sender, const uint8_t *message, uint32_t size);
// The answer, and the keys of the session. That the other end lives is known with the first SEALED.
enum tapi_result tapi_secure_respond(const struct tapi_secure_message *heard,
	const uint8_t ephemeral[TAPI_KEY_BYTES], uint32_t here, uint8_t out[TAPI_RESPOND_BYTES],
	struct tapi_keys *keys);
// The answer to `initiation`: TAPI_EFORMAT, TAPI_ESIG.
enum tapi_result tapi_secure_finish(const struct tapi_initiation *initiation,
	const struct tapi_static *mine, const uint8_t *message, uint32_t size,
	struct tapi_keys *keys);

// Octets in `out`, at most TAPI_SEALED_BYTES more than `size`; the caller keeps that below 65536.
uint32_t tapi_seal(struct tapi_keys *keys, const uint8_t *payload, uint32_t size, bool is_encrypted,
	uint32_t crc, uint8_t *out);

struct tapi_opened {
	const uint8_t *payload; // in `out` of tapi_open
	uint32_t size, crc;
	bool is_encrypted;
};
// `out` has room for `size` octets. TAPI_EFORMAT: malformed; TAPI_ESIG: not of the peer, or
// altered; TAPI_DROPPED: it came before, or is too old.
enum tapi_result tapi_open(struct tapi_keys *keys, const uint8_t *message, uint32_t size,
	uint8_t *out, struct tapi_opened *opened);

#endif
