// SPDX-License-Identifier: BSD-3-Clause
// What references of XML stand for: the five entities that need no declaration (XML 1.0 section
// 4.6), and numbers of characters (sections 4.1 and 2.2).
#include <string.h>
#include "content/http/text.h"
#include "content/xmpp/xml.h"

static int32_t named(struct content_text name)
{
	static const struct {
		const char *name;
		char is;
	} entities[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"apos", '\''}, {"quot", '"'}};

	for (unsigned i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (name.length == strlen(entities[i].name) &&
			!memcmp(name.bytes, entities[i].name, name.length))
			return entities[i].is;
	return -1;
}

static bool is_character(int32_t point)
{
	if (point < ' ')
		return point == '\t' || point == '\n' || point == '\r';
	return point < 0xd800 || (point >= 0xe000 && point < 0xfffe) ||
	       (point >= 0x10000 && point <= 0x10ffff);
}

// Of at most XML_REFERENCE digits.
static int32_t numbered(struct content_text number)
{
	bool hex = number.length && number.bytes[0] == 'x';
	int64_t point = 0;

	number = http_text_from(number, hex);
	for (uint32_t i = 0; i < number.length; i++) {
		int digit = octets_hex(number.bytes[i]);

		if (digit < 0 || (!hex && digit > 9))
			return -1;
		point = point * (hex ? 16 : 10) + digit;
	}
	return number.length && point <= INT32_MAX && is_character((int32_t)point) ? (int32_t)point
										   : -1;
}

int32_t xml_reference_point(struct content_text name)
{
	if (name.length && name.bytes[0] == '#')
		return numbered(http_text_from(name, 1));
	return named(name);
}
