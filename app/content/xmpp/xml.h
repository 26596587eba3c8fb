// SPDX-License-Identifier: BSD-3-Clause
// An incremental reader of the XML that XMPP allows (RFC 6120 section 11): elements, attributes,
// CDATA, the five predefined entities and character references, and the XML declaration. A document
// type, a comment or another processing instruction is refused, as a receiver must refuse it.
//
// Bytes are read once, in pieces of any size; what goes on is kept in the reader, which has a fixed
// size. Names are compared without their prefix. One data lcore at a time; nothing is allocated.
#ifndef SLUICE_CONTENT_XMPP_XML_H
#define SLUICE_CONTENT_XMPP_XML_H

#include "content/content.h"

#define XML_DEPTH      64   // elements whose end tags are compared with their start tags
#define XML_NAME_BYTES 24   // of a local name; longer ones are no name that anybody looks for
#define XML_TAG_BYTES  8192 // a longer tag is reported (XML_LIMIT), and read on
#define XML_WANTED_MAX 20
#define XML_VALUE_ROOM 2048
#define XML_REFERENCE  12 // bytes between '&' and ';'

// Attributes whose values are kept, by their index. A prefixed attribute is another one.
struct xml_wanted {
	const char *name; // NULL ends the table
	uint16_t room;    // bytes of a value that are kept; the sum is at most XML_VALUE_ROOM
	uint8_t as;       // index of the value
	bool keeps_end;   // of a value that is too long the end is kept, else the beginning
};

struct xml_value {
	uint64_t hash; // of all of it, cut or not: FNV-1a
	uint16_t at, length;
	bool given, cut;
};

enum xml_event {
	XML_MORE,     // all bytes are taken, nothing is complete
	XML_TEXT,     // text of the innermost element
	XML_START,    // a start tag; `empty`: and its end
	XML_END,      // an end tag; `depth` is that of the element's parent
	XML_STRAY,    // an end tag without a start tag, at depth 0
	XML_DECLARED, // an XML declaration, at depth 0
	XML_LIMIT,    // a tag has become longer than XML_TAG_BYTES; it goes on
	XML_BAD,      // not well-formed, or not allowed; the byte is not taken
};

// What belongs to an event.
struct xml_token {
	uint32_t used;       // bytes that were taken
	const uint8_t *text; // XML_TEXT; valid until the next call
	uint32_t length;
	uint32_t raw;  // ... bytes of the stream that it stands for, maybe of earlier calls
	uint32_t back; // ... and bytes taken behind them
};

struct xml_reader {
	const struct xml_wanted *wanted;
	uint32_t depth; // elements that are open
	uint32_t tag_bytes;
	uint32_t hash; // of the whole name of the tag at hand
	uint32_t hashes[XML_DEPTH];
	uint8_t state;
	uint8_t quote;
	uint8_t matched; // bytes of "[CDATA["
	uint8_t n_reference;
	uint8_t name_length; // of the local name; XML_NAME_BYTES + 1: it is longer
	uint8_t attribute_length;
	uint8_t value;     // index of the one at hand; XML_WANTED_MAX: it is not wanted
	uint8_t value_row; // ... its row of the table
	bool empty;        // <name/>
	bool prefixed;     // the attribute's name has a prefix
	bool in_value;     // the reference at hand stands in a value
	bool declaration;  // the tag at hand is an XML declaration
	bool limited;      // XML_LIMIT was said of this tag
	uint8_t name[XML_NAME_BYTES];
	uint8_t attribute[XML_NAME_BYTES];
	uint8_t reference[XML_REFERENCE];
	uint8_t point[4]; // a character reference in UTF-8
	uint16_t values_length;
	struct xml_value values[XML_WANTED_MAX];
	uint8_t room[XML_VALUE_ROOM];
};

static inline bool xml_is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Not a character of XML 1.0 (section 2.2), as far as one byte shows it.
static inline bool xml_is_control(uint8_t c)
{
	return c < ' ' && !xml_is_space(c);
}

bool xml_is_name_byte(uint8_t c);
// The code point that "&name;" stands for; -1: none, or none that XML allows (reference.c).
int32_t xml_reference_point(struct content_text name);

void xml_begin(struct xml_reader *reader, const struct xml_wanted *wanted);
// Reads up to the next event. What was not taken is passed again.
enum xml_event xml_read(
	struct xml_reader *reader, const uint8_t *bytes, uint32_t length, struct xml_token *token);

// Of the tag that was reported last. Empty: it has none.
struct content_text xml_value_of(const struct xml_reader *reader, unsigned as);
// Without prefix. Empty: longer than XML_NAME_BYTES.
struct content_text xml_name_of(const struct xml_reader *reader);

#endif
