// SPDX-License-Identifier: BSD-3-Clause
// Bencoding (BEP 3) read in place: what BitTorrent's datagrams, trackers, peers and torrents are
// written in. A cursor never passes its end; a false answer leaves it anywhere, and the value is
// not to be used. Pure; any core.
#ifndef SLUICE_BENCODE_H
#define SLUICE_BENCODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "pipeline/vocab/octets.h"

struct bencode {
	const uint8_t *at;
	const uint8_t *end;
};

// A byte string; false if it is none or reaches beyond the end.
static inline bool bencode_string(struct bencode *in, const uint8_t **text, uint32_t *length)
{
	uint64_t n = 0;

	if (in->at == in->end || !octets_digit(*in->at))
		return false;
	while (in->at < in->end && octets_digit(*in->at)) {
		n = n * 10 + (*in->at++ - '0');
		if (n > UINT32_MAX)
			return false;
	}
	if (in->at == in->end || *in->at++ != ':' || n > (uint64_t)(in->end - in->at))
		return false;
	*text = in->at;
	*length = (uint32_t)n;
	in->at += n;
	return true;
}

// A number that fits; others are refused.
static inline bool bencode_number(struct bencode *in, int64_t *number)
{
	bool negative = false, any = false;

	if (in->at == in->end || *in->at++ != 'i')
		return false;
	if (in->at < in->end && *in->at == '-') {
		negative = true;
		in->at++;
	}
	for (*number = 0; in->at < in->end && octets_digit(*in->at); any = true) {
		int digit = *in->at++ - '0';

		if (*number > (INT64_MAX - digit) / 10)
			return false;
		*number = *number * 10 + digit;
	}
	if (!any || in->at == in->end || *in->at++ != 'e')
		return false;
	if (negative)
		*number = -*number;
	return true;
}

// A number of any size, which nobody wants to know.
static inline bool bencode_skip_number(struct bencode *in)
{
	in->at++;
	while (in->at < in->end && (octets_digit(*in->at) || *in->at == '-'))
		in->at++;
	return in->at < in->end && *in->at++ == 'e';
}

// One value of any type and depth: one pass over its bytes. A loop with a depth count instead of
// recursion: each level costs the sender an octet, so that the bytes at hand bound it (receivers
// differ in the depth that they accept: libtorrent 10 in datagrams, 100 in torrents, others any).
static inline bool bencode_skip(struct bencode *in)
{
	uint32_t depth = 0;

	do {
		const uint8_t *text;
		uint32_t length;

		if (in->at == in->end)
			return false;
		if (*in->at == 'd' || *in->at == 'l') {
			depth++;
			in->at++;
		} else if (*in->at == 'e') {
			if (!depth--)
				return false;
			in->at++;
		} else if (*in->at == 'i') {
			if (!bencode_skip_number(in))
				return false;
		} else if (!bencode_string(in, &text, &length)) {
			return false;
		}
	} while (depth);
	return true;
}

// Inside a dictionary (behind its 'd'): the next key, with the cursor at its value. False at the
// dictionary's end, or where it is broken.
static inline bool bencode_key(struct bencode *in, const uint8_t **key, uint32_t *length)
{
	return in->at < in->end && *in->at != 'e' && bencode_string(in, key, length) &&
	       in->at < in->end;
}

// The value of `key` in the dictionary that begins at the cursor (which is copied). False: there is
// none before what is here ends.
static inline bool bencode_find(struct bencode in, const char *key, struct bencode *value)
{
	size_t wanted = strlen(key);
	const uint8_t *name;
	uint32_t length;

	if (in.at == in.end || *in.at++ != 'd')
		return false;
	while (bencode_key(&in, &name, &length)) {
		if (length == wanted && !memcmp(name, key, wanted)) {
			*value = in;
			return true;
		}
		if (!bencode_skip(&in))
			return false;
	}
	return false;
}

#endif
