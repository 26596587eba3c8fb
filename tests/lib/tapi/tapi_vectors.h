// SPDX-License-Identifier: BSD-3-Clause
// What tests of HELO, PING and PONG share: the first two identities of RFC 8032, section 7.1, and
// messages that another implementation (Python's cryptography and hashlib) signed with the first.
#ifndef TAPI_VECTORS_H
#define TAPI_VECTORS_H

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/identity.h"

#define WALL_US UINT64_C(1800000000000000) // when they were signed

#define SEED_1   "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
#define PUBLIC_1 "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
#define ID_1     "7849ac3049680be1ef762efe0d36e01733c3464eb0c7c558138acf24bb263bd3"
#define SEED_2   "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"

// udp, NATED, 192.0.2.1:2086, mtu 1200, one hour, seq 7
#define HELO_HEX                                                           \
	"0086000101010011000004b000066517ff2c24000000000000000007d75a9801" \
	"82b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511ac4cb635d" \
	"e31e3d36a15ab88c04b5b4ff220e303acee07330f8e537fb0dcff4602c6f297d" \
	"a24db47316a85b533a6a6d888b10e19eeb63a05e208a7fd8997dfc0e00060000" \
	"c00002010826"
#define ADDRESS_HASH_HEX "64a1d05dfeebfaa0e033171c02ecb0e2" // of that HELO
// to identity 1 at that address, that HELO in it; challenge 00, 01, 02 ...
#define PING_HEX                                                           \
	"00de0002000102030405060708090a0b0c0d0e0f101112131415161718191a1b" \
	"1c1d1e1f7849ac3049680be1ef762efe0d36e01733c3464eb0c7c558138acf24" \
	"bb263bd30011000164a1d05dfeebfaa0e033171c02ecb0e2" HELO_HEX
// of identity 1 to identity 2 who sent that PING; observed 203.0.113.9:4242, valid one minute
#define PONG_HEX                                                           \
	"00a00003000102030405060708090a0b0c0d0e0f101112131415161718191a1b" \
	"1c1d1e1fd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68" \
	"f707511a04001092cb007109000000000000000000000000000665172c2c0700" \
	"f49d52b999735eff6afc800dcb1fbb89f0bc01cbacec2f74b435209b7a97ddf8" \
	"9e61be1493eb26e860152a29aa1395af1ad46f48fe71988c30d180b084ec6209"

// Octets of `hex` into `out`; how many.
static inline size_t from_hex(uint8_t *out, size_t room, const char *hex)
{
	size_t length;

	if (sodium_hex2bin(out, room, hex, strlen(hex), NULL, &length, NULL) != 0)
		abort();
	return length;
}

static inline void identity_of(struct tapi_identity *out, const char *seed_hex)
{
	uint8_t seed[TAPI_SEED_BYTES];

	from_hex(seed, sizeof(seed), seed_hex);
	tapi_identity_from_seed(out, seed);
}

#endif
