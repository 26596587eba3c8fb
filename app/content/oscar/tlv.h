// SPDX-License-Identifier: BSD-3-Clause
// Fields of OSCAR: type u16, length u16, value; names with a length of one octet. Pure; any core.
#ifndef SLUICE_CONTENT_OSCAR_TLV_H
#define SLUICE_CONTENT_OSCAR_TLV_H

#include "content/http/text.h"

struct oscar_tlv {
	uint16_t type;
	struct content_text value;
};

// The next one; false: none is there whole.
static inline bool oscar_tlv_next(struct content_text *rest, struct oscar_tlv *tlv)
{
	if (rest->length < 4)
		return false;
	uint32_t length = octets_be16(rest->bytes + 2);

	if (length > rest->length - 4)
		return false;
	tlv->type = octets_be16(rest->bytes);
	tlv->value = (struct content_text){rest->bytes + 4, length};
	*rest = http_text_from(*rest, 4 + length);
	return true;
}

// The first of that type; empty: there is none.
static inline struct content_text oscar_tlv_find(struct content_text rest, uint16_t type)
{
	struct oscar_tlv tlv;

	while (oscar_tlv_next(&rest, &tlv))
		if (tlv.type == type)
			return tlv.value;
	return (struct content_text){NULL, 0};
}

// A name behind its length; false: it is not there whole.
static inline bool oscar_name_take(struct content_text *rest, struct content_text *name)
{
	if (!rest->length || rest->bytes[0] >= rest->length)
		return false;
	*name = (struct content_text){rest->bytes + 1, rest->bytes[0]};
	*rest = http_text_from(*rest, 1 + name->length);
	if (name->length > CONTENT_PARTY_BYTES)
		name->length = CONTENT_PARTY_BYTES;
	return true;
}

#endif
