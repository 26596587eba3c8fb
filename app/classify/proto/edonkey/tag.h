// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: tags of eDonkey and Kad (aMule's ECTagTypes and Tag): how hellos, logins
// and lists of sources end. Pure.
#ifndef SLUICE_EDONKEY_TAG_H
#define SLUICE_EDONKEY_TAG_H

#include <stdbool.h>
#include <stdint.h>

struct edonkey_reader {
	const uint8_t *at;
	uint32_t left;
};

// False: less is left; nothing is skipped.
static inline bool edonkey_skip(struct edonkey_reader *in, uint32_t n)
{
	if (in->left < n)
		return false;
	in->at += n;
	in->left -= n;
	return true;
}

struct edonkey_tag {
	uint8_t name; // 0: one of more octets than one
	bool is_number;
	uint32_t number;
};

// Takes one tag. False: it is not whole, or not one that can be passed.
bool edonkey_tag_take(struct edonkey_reader *in, struct edonkey_tag *tag);

static inline bool edonkey_skip_tags(struct edonkey_reader *in, uint32_t n)
{
	struct edonkey_tag tag;

	for (uint32_t i = 0; i < n; i++)
		if (!edonkey_tag_take(in, &tag))
			return false;
	return true;
}

#endif
