// SPDX-License-Identifier: BSD-3-Clause
// A cursor over bencoded values that stops at the end of the buffer.
#include "classify/proto/bittorrent/bencode.h"
#include <string.h>
#include "pipeline/vocab/octets.h"

#define NUMBER_MAX (INT64_C(1) << 48)

bool bencode_string(struct bencode *in, const uint8_t **text, uint32_t *length)
{
	uint32_t n = 0;

	if (in->at == in->end || !octets_digit(*in->at))
		return false;
	while (in->at < in->end && octets_digit(*in->at)) {
		n = n * 10 + (*in->at++ - '0');
		if (n > UINT16_MAX)
			return false;
	}
	if (in->at == in->end || *in->at++ != ':' || n > (uint32_t)(in->end - in->at))
		return false;
	*text = in->at;
	*length = n;
	in->at += n;
	return true;
}

bool bencode_number(struct bencode *in, int64_t *number)
{
	bool negative = false, any = false;

	if (in->at == in->end || *in->at++ != 'i')
		return false;
	if (in->at < in->end && *in->at == '-') {
		negative = true;
		in->at++;
	}
	for (*number = 0; in->at < in->end && octets_digit(*in->at); any = true) {
		*number = *number * 10 + (*in->at++ - '0');
		if (*number > NUMBER_MAX)
			return false;
	}
	if (!any || in->at == in->end || *in->at++ != 'e')
		return false;
	if (negative)
		*number = -*number;
	return true;
}

// A number of any size, which nobody wants to know.
static bool skip_number(struct bencode *in)
{
	in->at++;
	while (in->at < in->end && (octets_digit(*in->at) || *in->at == '-'))
		in->at++;
	return in->at < in->end && *in->at++ == 'e';
}

// A loop with a depth count instead of recursion: each level costs the sender an octet, so that the
// bytes at hand bound it (receivers differ in the depth that they accept: libtorrent 10, others
// any).
bool bencode_skip(struct bencode *in)
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
			if (!skip_number(in))
				return false;
		} else if (!bencode_string(in, &text, &length)) {
			return false;
		}
	} while (depth);
	return true;
}

bool bencode_key(struct bencode *in, const uint8_t **key, uint32_t *length)
{
	return in->at < in->end && *in->at != 'e' && bencode_string(in, key, length) &&
	       in->at < in->end;
}

bool bencode_find(struct bencode in, const char *key, struct bencode *value)
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
