// SPDX-License-Identifier: BSD-3-Clause
// Entities of HTML that stand for letters of ISO 8859-1, or for nothing that anybody sees; XML's
// five and numbers are content/text_decode.h's.
#include "content/mime/work.h"

#include <string.h>

// From U+00A0 on; the sign of currencies is left out.
static const char *const latin1[] = {"nbsp", "iexcl", "cent", "pound", "", "yen", "brvbar", "sect",
	"uml", "copy", "ordf", "laquo", "not", "shy", "reg", "macr", "deg", "plusmn", "sup2",
	"sup3", "acute", "micro", "para", "middot", "cedil", "sup1", "ordm", "raquo", "frac14",
	"frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring",
	"AElig", "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml",
	"ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave",
	"Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig", "agrave", "aacute", "acirc",
	"atilde", "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc", "euml", "igrave",
	"iacute", "icirc", "iuml", "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml",
	"divide", "oslash", "ugrave", "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml"};

static const struct {
	const char *name;
	int32_t point;
} others[] = {
	{"NoBreak", 0x2060},
	{"ZeroWidthSpace", 0x200b},
	{"bull", 0x2022},
	{"emsp", 0x2003},
	{"ensp", 0x2002},
	{"euro", 0x20ac},
	{"hellip", 0x2026},
	{"ldquo", 0x201c},
	{"lrm", 0x200e},
	{"lsquo", 0x2018},
	{"mdash", 0x2014},
	{"ndash", 0x2013},
	{"period", '.'},
	{"rdquo", 0x201d},
	{"rlm", 0x200f},
	{"rsquo", 0x2019},
	{"thinsp", 0x2009},
	{"zwj", 0x200d},
	{"zwnj", 0x200c},
};

static bool is(const uint8_t *name, uint32_t length, const char *word)
{
	return strlen(word) == length && !memcmp(name, word, length);
}

int32_t mime_entity(const uint8_t *name, uint32_t length)
{
	for (unsigned i = 0; i < sizeof(latin1) / sizeof(latin1[0]); i++)
		if (is(name, length, latin1[i]))
			return (int32_t)(0xa0 + i);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is(name, length, others[i].name))
			return others[i].point;
	return -1;
}
