// SPDX-License-Identifier: BSD-3-Clause
// Nothing is decided here by secret octets, and each secret that is done with is overwritten.
#include "transportapi/proto/secure.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "transportapi/base/wire.h"

static_assert(TAPI_KEY_BYTES == crypto_scalarmult_BYTES, "X25519");
static_assert(TAPI_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "RFC 8439");
static_assert(2 * TAPI_KEY_BYTES <= crypto_generichash_BYTES_MAX, "BLAKE2b gives two keys at once");

enum { TAG = crypto_aead_chacha20poly1305_ietf_ABYTES, CRC_FOLLOWS = 1 };

static const char NAME[] = "sluice-secure-v1 IK X25519 ChaCha20-Poly1305 BLAKE2b";

struct agreement { // as far as both ends have come
	uint8_t chain[TAPI_KEY_BYTES], transcript[TAPI_KEY_BYTES], key[TAPI_KEY_BYTES];
};

bool tapi_window_may(const struct tapi_window *window, uint64_t counter)
{
	if (counter >= window->next)
		return counter != UINT64_MAX;
	if (window->next - counter > TAPI_WINDOW_COUNTERS)
		return false;
	return (window->words[counter / 64 % TAPI_WINDOW_WORDS] >> counter % 64 & 1) == 0;
}

void tapi_window_take(struct tapi_window *window, uint64_t counter)
{
	uint64_t word = counter / 64;

	if (counter >= window->next) {
		uint64_t last = window->next != 0 ? (window->next - 1) / 64 : 0;
		uint64_t fresh = word - last;

		for (uint64_t i = 1; i <= fresh && i <= TAPI_WINDOW_WORDS; i++)
			window->words[(last + i) % TAPI_WINDOW_WORDS] = 0;
		window->next = counter + 1;
	}
	window->words[word % TAPI_WINDOW_WORDS] |= UINT64_C(1) << counter % 64;
}

bool tapi_static_of(struct tapi_static *out, const struct tapi_identity *identity)
{
	return crypto_sign_ed25519_sk_to_curve25519(out->secret_key, identity->secret_key) == 0;
}

static void hash_more(struct agreement *with, const void *octets, size_t length)
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, TAPI_KEY_BYTES);
	crypto_generichash_update(&state, with->transcript, TAPI_KEY_BYTES);
	crypto_generichash_update(&state, octets, length);
	crypto_generichash_final(&state, with->transcript, TAPI_KEY_BYTES);
}

static void agreement_begin(struct agreement *out, const struct tapi_peer_id *initiator,
	const struct tapi_peer_id *responder, const uint8_t responder_key[TAPI_PUBLIC_KEY_BYTES])
{
	crypto_generichash(
		out->chain, TAPI_KEY_BYTES, (const uint8_t *)NAME, sizeof(NAME), NULL, 0);
	memcpy(out->transcript, out->chain, TAPI_KEY_BYTES);
	hash_more(out, initiator->octets, sizeof(initiator->octets));
	hash_more(out, responder->octets, sizeof(responder->octets));
	hash_more(out, responder_key, TAPI_PUBLIC_KEY_BYTES);
}

// A point of small order agrees with anybody: refused.
static bool mix(struct agreement *with, const uint8_t secret_key[TAPI_KEY_BYTES],
	const uint8_t public_key[TAPI_KEY_BYTES])
{
	uint8_t shared[TAPI_KEY_BYTES], both[2 * TAPI_KEY_BYTES];
	bool good = crypto_scalarmult(shared, secret_key, public_key) == 0;

	crypto_generichash(both, sizeof(both), shared, sizeof(shared), with->chain, TAPI_KEY_BYTES);
	memcpy(with->chain, both, TAPI_KEY_BYTES);
	memcpy(with->key, &both[TAPI_KEY_BYTES], TAPI_KEY_BYTES);
	sodium_memzero(shared, sizeof(shared));
	sodium_memzero(both, sizeof(both));
	return good;
}

// Each key of the handshake seals once, so that its nonce is 0.
static const uint8_t NONCE_0[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

static uint8_t *put_sealed(struct agreement *with, uint8_t *p, const void *plain, size_t length)
{
	crypto_aead_chacha20poly1305_ietf_encrypt(
		p, NULL, plain, length, with->transcript, TAPI_KEY_BYTES, NULL, NONCE_0, with->key);
	hash_more(with, p, length + TAG);
	return p + length + TAG;
}

static bool get_sealed(struct agreement *with, const uint8_t *p, void *plain, size_t length)
{
	if (crypto_aead_chacha20poly1305_ietf_decrypt(plain, NULL, NULL, p, length + TAG,
		    with->transcript, TAPI_KEY_BYTES, NONCE_0, with->key) != 0)
		return false;
	hash_more(with, p, length + TAG);
	return true;
}

static void split(struct agreement *with, struct tapi_keys *out, bool initiator)
{
	uint8_t both[2 * TAPI_KEY_BYTES];

	crypto_generichash(
		both, sizeof(both), with->transcript, TAPI_KEY_BYTES, with->chain, TAPI_KEY_BYTES);
	memcpy(initiator ? out->send : out->receive, both, TAPI_KEY_BYTES);
	memcpy(initiator ? out->receive : out->send, &both[TAPI_KEY_BYTES], TAPI_KEY_BYTES);
	out->initiator = initiator;
	sodium_memzero(both, sizeof(both));
}

enum { EPHEMERAL_AT = 8, KEY_AT = 40, STAMP_AT = 88, ANSWER_AT = 12, PROOF_AT = 44 };
static_assert(KEY_AT + TAPI_PUBLIC_KEY_BYTES + TAG == STAMP_AT, "INITIATE");
static_assert(STAMP_AT + 8 + TAG == TAPI_INITIATE_BYTES, "INITIATE");
static_assert(PROOF_AT + TAG == TAPI_RESPOND_BYTES, "RESPOND");

enum tapi_result tapi_secure_initiate(struct tapi_initiation *out,
	const struct tapi_identity *identity, const struct tapi_static *mine,
	const uint8_t to[TAPI_PUBLIC_KEY_BYTES], const uint8_t ephemeral[TAPI_KEY_BYTES],
	uint32_t here, uint64_t stamp)
{
	uint8_t theirs[TAPI_KEY_BYTES], stamp_octets[8], *p = out->message;
	struct tapi_peer_id responder;
	struct agreement with;
	enum tapi_result result = TAPI_ESIG;

	if (crypto_sign_ed25519_pk_to_curve25519(theirs, to) != 0)
		return TAPI_ESIG;
	tapi_peer_id_of(&responder, to);
	agreement_begin(&with, &identity->id, &responder, to);
	out->here = here;
	memcpy(out->ephemeral, ephemeral, TAPI_KEY_BYTES);
	p = tapi_put16(p, TAPI_INITIATE_BYTES);
	p = tapi_put16(p, TAPI_TYPE_INITIATE);
	p = tapi_put32(p, here);
	crypto_scalarmult_base(p, ephemeral);
	p += TAPI_KEY_BYTES;
	hash_more(&with, out->message, KEY_AT);
	if (mix(&with, ephemeral, theirs)) {
		p = put_sealed(&with, p, identity->public_key, TAPI_PUBLIC_KEY_BYTES);
		if (mix(&with, mine->secret_key, theirs)) {
			tapi_put64(stamp_octets, stamp);
			put_sealed(&with, p, stamp_octets, sizeof(stamp_octets));
			memcpy(out->chain, with.chain, TAPI_KEY_BYTES);
			memcpy(out->transcript, with.transcript, TAPI_KEY_BYTES);
			result = TAPI_OK;
		}
	}
	sodium_memzero(&with, sizeof(with));
	return result;
}

enum tapi_result tapi_secure_parse(struct tapi_secure_message *out,
	const struct tapi_identity *identity, const struct tapi_static *mine,
	const struct tapi_peer_id *sender, const uint8_t *message, uint32_t size)
{
	struct tapi_peer_id initiator;
	struct agreement with;
	uint8_t stamp[8];
	enum tapi_result result = TAPI_ESIG;

	if (size != TAPI_INITIATE_BYTES || tapi_get16(message) != size ||
		tapi_get16(&message[2]) != TAPI_TYPE_INITIATE)
		return TAPI_EFORMAT;
	agreement_begin(&with, sender, &identity->id, identity->public_key);
	hash_more(&with, message, KEY_AT);
	out->there = tapi_get32(&message[4]);
	memcpy(out->ephemeral, &message[EPHEMERAL_AT], TAPI_KEY_BYTES);
	if (mix(&with, mine->secret_key, out->ephemeral) &&
		get_sealed(&with, &message[KEY_AT], out->public_key, TAPI_PUBLIC_KEY_BYTES)) {
		tapi_peer_id_of(&initiator, out->public_key);
		if (tapi_peer_id_equal(&initiator, sender) &&
			crypto_sign_ed25519_pk_to_curve25519(out->static_key, out->public_key) ==
				0 &&
			mix(&with, mine->secret_key, out->static_key) &&
			get_sealed(&with, &message[STAMP_AT], stamp, sizeof(stamp))) {
			out->stamp = tapi_get64(stamp);
			memcpy(out->chain, with.chain, TAPI_KEY_BYTES);
			memcpy(out->transcript, with.transcript, TAPI_KEY_BYTES);
			result = TAPI_OK;
		}
	}
	sodium_memzero(&with, sizeof(with));
	return result;
}

enum tapi_result tapi_secure_respond(const struct tapi_secure_message *heard,
	const uint8_t ephemeral[TAPI_KEY_BYTES], uint32_t here, uint8_t out[TAPI_RESPOND_BYTES],
	struct tapi_keys *keys)
{
	struct agreement with;
	uint8_t *p = out;
	bool good;

	*keys = (struct tapi_keys){.here = here, .there = heard->there};
	memcpy(with.chain, heard->chain, TAPI_KEY_BYTES);
	memcpy(with.transcript, heard->transcript, TAPI_KEY_BYTES);
	p = tapi_put16(p, TAPI_RESPOND_BYTES);
	p = tapi_put16(p, TAPI_TYPE_RESPOND);
	p = tapi_put32(p, here);
	p = tapi_put32(p, heard->there);
	crypto_scalarmult_base(p, ephemeral);
	hash_more(&with, out, PROOF_AT);
	good = mix(&with, ephemeral, heard->ephemeral) && mix(&with, ephemeral, heard->static_key);
	if (good) {
		put_sealed(&with, &out[PROOF_AT], NULL, 0);
		split(&with, keys, false);
	}
	sodium_memzero(&with, sizeof(with));
	return good ? TAPI_OK : TAPI_ESIG;
}

enum tapi_result tapi_secure_finish(const struct tapi_initiation *initiation,
	const struct tapi_static *mine, const uint8_t *message, uint32_t size,
	struct tapi_keys *keys)
{
	struct agreement with;
	uint8_t nothing[1];
	bool good;

	if (size != TAPI_RESPOND_BYTES || tapi_get16(message) != size ||
		tapi_get16(&message[2]) != TAPI_TYPE_RESPOND)
		return TAPI_EFORMAT;
	if (tapi_get32(&message[8]) != initiation->here)
		return TAPI_ESIG;
	*keys = (struct tapi_keys){.here = initiation->here, .there = tapi_get32(&message[4])};
	memcpy(with.chain, initiation->chain, TAPI_KEY_BYTES);
	memcpy(with.transcript, initiation->transcript, TAPI_KEY_BYTES);
	hash_more(&with, message, PROOF_AT);
	good = mix(&with, initiation->ephemeral, &message[ANSWER_AT]) &&
	       mix(&with, mine->secret_key, &message[ANSWER_AT]) &&
	       get_sealed(&with, &message[PROOF_AT], nothing, 0);
	if (good)
		split(&with, keys, true);
	sodium_memzero(&with, sizeof(with));
	return good ? TAPI_OK : TAPI_ESIG;
}

static void nonce_of(uint8_t out[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], uint64_t counter)
{
	memset(out, 0, 4);
	for (unsigned i = 0; i < 8; i++)
		out[4 + i] = (uint8_t)(counter >> 8 * i);
}

uint32_t tapi_seal(struct tapi_keys *keys, const uint8_t *payload, uint32_t size, bool is_encrypted,
	uint32_t crc, uint8_t *out)
{
	uint32_t plain = 1 + (is_encrypted ? 4u : 0u) + size;
	uint32_t all = TAPI_SEALED_HEAD_BYTES + plain + TAG;
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], *p = out;
	uint64_t counter = keys->sent++;

	p = tapi_put16(p, (uint16_t)all);
	p = tapi_put16(p, TAPI_TYPE_SEALED);
	p = tapi_put32(p, keys->there);
	p = tapi_put64(p, counter);
	*p++ = is_encrypted ? CRC_FOLLOWS : 0;
	if (is_encrypted)
		p = tapi_put32(p, crc);
	if (size != 0)
		memcpy(p, payload, size);
	nonce_of(nonce, counter);
	p = &out[TAPI_SEALED_HEAD_BYTES];
	crypto_aead_chacha20poly1305_ietf_encrypt(
		p, NULL, p, plain, out, TAPI_SEALED_HEAD_BYTES, NULL, nonce, keys->send);
	return all;
}

enum tapi_result tapi_open(struct tapi_keys *keys, const uint8_t *message, uint32_t size,
	uint8_t *out, struct tapi_opened *opened)
{
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
	uint32_t plain, head;
	uint64_t counter;

	if (size < TAPI_SEALED_HEAD_BYTES + 1 + TAG || tapi_get16(message) != size ||
		tapi_get16(&message[2]) != TAPI_TYPE_SEALED)
		return TAPI_EFORMAT;
	counter = tapi_get64(&message[8]);
	if (tapi_get32(&message[4]) != keys->here)
		return TAPI_ESIG;
	// Asked first: who replays costs no deciphering.
	if (!tapi_window_may(&keys->window, counter))
		return TAPI_DROPPED;
	plain = size - TAPI_SEALED_HEAD_BYTES - TAG;
	nonce_of(nonce, counter);
	if (crypto_aead_chacha20poly1305_ietf_decrypt(out, NULL, NULL,
		    &message[TAPI_SEALED_HEAD_BYTES], plain + TAG, message, TAPI_SEALED_HEAD_BYTES,
		    nonce, keys->receive) != 0)
		return TAPI_ESIG;
	tapi_window_take(&keys->window, counter);
	*opened = (struct tapi_opened){.is_encrypted = (out[0] & CRC_FOLLOWS) != 0};
	head = opened->is_encrypted ? 5 : 1;
	if ((out[0] & ~CRC_FOLLOWS) != 0 || plain < head)
		return TAPI_EFORMAT; // the peer itself wrote it so
	if (opened->is_encrypted)
		opened->crc = tapi_get32(&out[1]);
	opened->payload = &out[head];
	opened->size = plain - head;
	return TAPI_OK;
}
