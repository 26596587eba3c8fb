// SPDX-License-Identifier: BSD-3-Clause
// Reads one tag of eDonkey or Kad: its name, its type and the size of its value.
#include "classify/proto/edonkey/tag.h"
#include "pipeline/vocab/octets.h"

enum tag_type {
	TAG_HASH = 0x01,
	TAG_STRING = 0x02, // behind its length in two octets
	TAG_UINT32 = 0x03,
	TAG_FLOAT = 0x04,
	TAG_BOOL = 0x05,
	TAG_UINT16 = 0x08,
	TAG_UINT8 = 0x09,
	TAG_OCTETS = 0x0a, // behind their length in one octet
	TAG_UINT64 = 0x0b,
	TAG_STRING_1 = 0x11, // of 1 ... 16 octets
	TAG_STRING_16 = 0x20,
	TAG_SHORT_NAME = 0x80, // its name is one octet
};

// Octets of the value; false: they cannot be known.
static bool value_size(uint8_t type, const struct edonkey_reader *in, uint32_t *size)
{
	static const uint8_t sizes[] = {[TAG_HASH] = 16,
		[TAG_UINT32] = 4,
		[TAG_FLOAT] = 4,
		[TAG_BOOL] = 1,
		[TAG_UINT16] = 2,
		[TAG_UINT8] = 1,
		[TAG_UINT64] = 8};

	if (type == TAG_STRING && in->left >= 2)
		*size = 2u + octets_le16(in->at);
	else if (type == TAG_OCTETS && in->left >= 1)
		*size = 1u + in->at[0];
	else if (type >= TAG_STRING_1 && type <= TAG_STRING_16)
		*size = type - TAG_STRING_1 + 1u;
	else
		*size = type < sizeof(sizes) ? sizes[type] : 0;
	return *size > 0;
}

static bool take_name(struct edonkey_reader *in, bool is_short, uint8_t *name)
{
	uint32_t length = 1;

	if (!is_short) {
		if (in->left < 2)
			return false;
		length = octets_le16(in->at);
		edonkey_skip(in, 2);
	}
	if (!length || in->left < length)
		return false;
	*name = length == 1 ? in->at[0] : 0;
	return edonkey_skip(in, length);
}

bool edonkey_tag_take(struct edonkey_reader *in, struct edonkey_tag *tag)
{
	uint8_t type = in->left ? in->at[0] : 0;
	uint32_t size;

	*tag = (struct edonkey_tag){0};
	if (!edonkey_skip(in, 1) || !take_name(in, type & TAG_SHORT_NAME, &tag->name))
		return false;
	type &= (uint8_t)~TAG_SHORT_NAME;
	if (!value_size(type, in, &size) || in->left < size)
		return false;
	tag->is_number = type == TAG_UINT32 || type == TAG_UINT16 || type == TAG_UINT8;
	if (type == TAG_UINT32)
		tag->number = octets_le32(in->at);
	else if (type == TAG_UINT16)
		tag->number = octets_le16(in->at);
	else if (type == TAG_UINT8)
		tag->number = in->at[0];
	return edonkey_skip(in, size);
}
