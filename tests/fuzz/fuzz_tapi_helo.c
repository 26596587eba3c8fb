// SPDX-License-Identifier: BSD-3-Clause
// HELOs of any content, one after another as in a PING or a file. Held, besides what the sanitizers
// see: what is decoded encodes to the same octets, whole and only with room for it; nothing is good
// that our two identities did not sign; what they sign is good, and good again after the wire.
#include <stdlib.h>
#include <string.h>

#include "lib/tapi/tapi_vectors.h"
#include "transportapi/proto/helo.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool good)
{
	if (!good)
		abort();
}

static void known_signature(const struct tapi_helo *helo, const struct tapi_identity *one,
	const struct tapi_identity *two)
{
	struct tapi_helo again = *helo;
	bool first = memcmp(helo->public_key, one->public_key, TAPI_PUBLIC_KEY_BYTES) == 0;

	tapi_helo_sign(&again, first ? one : two);
	must(memcmp(again.public_key, helo->public_key, TAPI_PUBLIC_KEY_BYTES) == 0);
	must(memcmp(again.signature, helo->signature, TAPI_SIGNATURE_BYTES) == 0);
}

static void check(const struct tapi_helo *helo, const uint8_t *octets, size_t size)
{
	static struct tapi_identity one, two;
	uint8_t out[TAPI_HELO_BYTES_MAX], hash[TAPI_ADDRESS_HASH_BYTES];
	const uint64_t times[] = {0, WALL_US, helo->expires_us, UINT64_MAX};
	struct tapi_helo own = *helo, back;
	struct tapi_peer_id id;
	size_t used;

	if (!one.public_key[0]) {
		identity_of(&one, SEED_1);
		identity_of(&two, SEED_2);
	}
	must(size >= TAPI_HELO_FIXED_BYTES && size <= TAPI_HELO_BYTES_MAX);
	must(tapi_helo_encode(helo, out, size - 1) == 0);
	must(tapi_helo_encode(helo, out, size) == size && memcmp(out, octets, size) == 0);
	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (tapi_helo_check(helo, times[i], false) != TAPI_OK)
			continue;
		must(tapi_helo_check(helo, times[i], true) == TAPI_OK);
		known_signature(helo, &one, &two);
	}
	must(tapi_helo_check(helo, helo->expires_us, false) != TAPI_EEXPIRED);
	tapi_helo_peer(helo, &id);
	tapi_helo_address_hash(helo, hash);

	tapi_helo_sign(&own, &one);
	must(tapi_helo_check(&own, own.expires_us, false) == TAPI_OK);
	must(tapi_helo_encode(&own, out, sizeof(out)) == size);
	must(tapi_helo_decode(&back, out, size, &used) == TAPI_OK && used == size);
	must(tapi_helo_check(&back, own.expires_us, false) == TAPI_OK);
	tapi_helo_peer(&back, &id);
	must(tapi_peer_id_equal(&id, &one.id));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	while (len) {
		struct tapi_helo helo;
		size_t used = 0;

		if (tapi_helo_decode(&helo, bytes, len, &used) != TAPI_OK)
			break;
		must(used <= len);
		check(&helo, bytes, used);
		bytes += used;
		len -= used;
	}
	return 0;
}
