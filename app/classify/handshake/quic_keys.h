// SPDX-License-Identifier: BSD-3-Clause
// The keys of QUIC's Initial packets: they come from the connection id that the client has chosen
// and a salt of the version, so whoever sees the packet can open it (RFC 9001 5.2, RFC 9369 3.3).
// The one home of libcrypto's ciphers in this folder.
//
// A `quic_crypto` holds the contexts. It is made in the control core and belongs to one data lcore;
// only *_new and *_free allocate (a unit test counts).
#ifndef SLUICE_QUIC_KEYS_H
#define SLUICE_QUIC_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#define QUIC_CID_MAX         20 // RFC 9000 17.2
#define QUIC_TAG_BYTES       16
#define QUIC_SAMPLE_BYTES    16
#define QUIC_MASK_BYTES      5
#define QUIC_VERSION_2       0x6b3343cfu
#define QUIC_VERSION_2_DRAFT 0x709a50c4u // draft-ietf-quic-v2-01 to 05: ngtcp2 up to 0.13
#define QUIC_VERSION_Q050    0x51303530u

struct quic_crypto;
struct quic_crypto *quic_crypto_new(void); // NULL: no memory, or a libcrypto without AES-GCM
void quic_crypto_free(struct quic_crypto *crypto);

struct quic_keys { // of what one side sends
	uint8_t key[16];
	uint8_t iv[12];
	uint8_t header[16];
};

// False: a version whose salt is not known.
bool quic_version_known(uint32_t version);
static inline bool quic_is_version_2(uint32_t version)
{
	return version == QUIC_VERSION_2 || version == QUIC_VERSION_2_DRAFT;
}
// The keys of the client, or of its server, for this id, which is that of the client's first
// packet. False: version unknown.
enum quic_side {
	QUIC_CLIENT,
	QUIC_SERVER,
};
bool quic_keys_derive(uint32_t version, enum quic_side side, const uint8_t *cid,
	unsigned cid_length, struct quic_keys *keys);
// RFC 9001 5.4.3.
bool quic_header_mask(struct quic_crypto *crypto, const struct quic_keys *keys,
	const uint8_t sample[static QUIC_SAMPLE_BYTES], uint8_t mask[static QUIC_MASK_BYTES]);
// RFC 9001 5.3. `length` is that of the sealed bytes with their tag, at least QUIC_TAG_BYTES + 1;
// `out` takes them without it. False: not sealed with these keys; `out` is then undefined.
bool quic_open(struct quic_crypto *crypto, const struct quic_keys *keys, uint64_t number,
	const uint8_t *header, uint32_t header_length, const uint8_t *sealed, uint32_t length,
	uint8_t *out);

#endif
