// SPDX-License-Identifier: BSD-3-Clause
// Maps VLAN tags, PPPoE sessions and tunnels to a number of 32 bits.
#include "pipeline/wire/realm.h"
#include "pipeline/vocab/fault.h"
#include <string.h>

enum { ADD_TAG = 1, ADD_SESSION, ADD_TUNNEL }; // what a hash is of

static uint32_t hashed(const struct parse_settings *settings, uint32_t realm, unsigned kind,
	uint64_t words[HASH_WORDS_MAX])
{
	words[0] = realm | (uint64_t)kind << 32;
	return REALM_HASHED | hash_words(&settings->seed, words, HASH_WORDS_MAX);
}

uint32_t realm_add_tag(const struct parse_settings *settings, uint32_t realm, uint16_t tag)
{
	uint64_t words[HASH_WORDS_MAX] = {0, tag};

	if (settings->vlan_shared || FAULT(REALM))
		return realm;
	if (!realm)
		return tag;
	if (realm <= 0xfff)
		return realm | (uint32_t)tag << 12;
	return hashed(settings, realm, ADD_TAG, words);
}

uint32_t realm_add_session(const struct parse_settings *settings, uint32_t realm, uint16_t session)
{
	uint64_t words[HASH_WORDS_MAX] = {0, session};

	if (realm <= 0xfff)
		return REALM_PPPOE | (uint32_t)session << 12 | realm;
	return hashed(settings, realm, ADD_SESSION, words);
}

uint32_t realm_add_tunnel(
	const struct parse_settings *settings, uint32_t realm, const struct realm_tunnel *tunnel)
{
	const size_t size = tunnel->v6 ? 16 : 4;
	const uint8_t *a = tunnel->ip + (tunnel->v6 ? 8 : 12), *b = a + size;
	uint64_t words[HASH_WORDS_MAX] = {0};
	const bool swap = memcmp(a, b, size) > 0;

	words[1] = tunnel->key | (uint64_t)tunnel->has_key << 32 | (uint64_t)tunnel->v6 << 33 |
		   (uint64_t)tunnel->proto << 40;
	memcpy(&words[2], swap ? b : a, size);
	memcpy(&words[4], swap ? a : b, size);
	return hashed(settings, realm, ADD_TUNNEL, words);
}
