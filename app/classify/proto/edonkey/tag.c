// SPDX-License-Identifier: BSD-3-Clause
// Reads one tag of eDonkey or Kad: its name, its type and the size of its value.
#include "classify/proto/edonkey/tag.h"
#include "pipeline/vocab/edonkey_wire.h"
#include "pipeline/vocab/octets.h"

// Octets of the value, with its length if it has one; false: they cannot be known.
static bool value_size(uint8_t type, const struct edonkey_reader *in, uint32_t *size)
{
	uint32_t length = edonkey_value_length_bytes(type);

	*size = edonkey_value_bytes(type);
	if (!length)
		return *size > 0;
	if (in->left < length)
		return false;
	*size = length == 1 ? in->at[0] : length == 2 ? octets_le16(in->at) : octets_le32(in->at);
	*size = *size > UINT32_MAX - length ? UINT32_MAX : *size + length;
	return true;
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
	if (!edonkey_skip(in, 1) || !take_name(in, type & EDONKEY_TAG_SHORT_NAME, &tag->name))
		return false;
	type &= (uint8_t)~EDONKEY_TAG_SHORT_NAME;
	if (!value_size(type, in, &size) || in->left < size)
		return false;
	tag->is_number = type == EDONKEY_TAG_UINT32 || type == EDONKEY_TAG_UINT16 ||
			 type == EDONKEY_TAG_UINT8;
	if (type == EDONKEY_TAG_UINT32)
		tag->number = octets_le32(in->at);
	else if (type == EDONKEY_TAG_UINT16)
		tag->number = octets_le16(in->at);
	else if (type == EDONKEY_TAG_UINT8)
		tag->number = in->at[0];
	return edonkey_skip(in, size);
}
