// SPDX-License-Identifier: BSD-3-Clause
// As much of XML 1.0 as XMPP needs to be read: names, attributes, tags. Nothing is copied, and no
// function reads beyond the text.
#ifndef SLUICE_XML_H
#define SLUICE_XML_H

#include "classify/text.h"

static inline bool xml_is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline struct text xml_skip_space(struct text rest)
{
	while (rest.length && xml_is_space(rest.at[0]))
		rest = text_from(rest, 1);
	return rest;
}

static inline bool xml_is_name_char(uint8_t c)
{
	return text_is_letter(c) || octets_digit(c) || c == ':' || c == '-' || c == '_' ||
	       c == '.' || c >= 0x80;
}

static inline struct text xml_take_name(struct text *rest)
{
	uint32_t i = 0;

	while (i < rest->length && xml_is_name_char(rest->at[i]))
		i++;
	struct text name = {rest->at, i};

	*rest = text_from(*rest, i);
	return name;
}

enum xml_parse {
	XML_WRONG,
	XML_SHORT, // ends inside the tag
	XML_DONE,  // no further attribute
	XML_ATTRIBUTE,
};

struct xml_attribute {
	struct text name;
	struct text value;
};

// Production 40: STag ::= '<' Name (S Attribute)* S? '>'
static inline enum xml_parse xml_take_attribute(struct text *rest, struct xml_attribute *attribute)
{
	struct text at = xml_skip_space(*rest);
	bool spaced = at.length != rest->length;
	uint8_t quote;

	if (!at.length)
		return XML_SHORT;
	if (at.at[0] == '>' || at.at[0] == '/')
		return XML_DONE;
	attribute->name = xml_take_name(&at);
	if (!attribute->name.length || !spaced)
		return XML_WRONG;
	at = xml_skip_space(at);
	if (!at.length)
		return XML_SHORT;
	if (at.at[0] != '=')
		return XML_WRONG;
	at = xml_skip_space(text_from(at, 1));
	if (!at.length)
		return XML_SHORT;
	quote = at.at[0];
	if (quote != '\'' && quote != '"')
		return XML_WRONG;
	at = text_from(at, 1);
	if (!text_contains_byte(at, quote))
		return XML_SHORT;
	attribute->value = text_take(&at, quote);
	*rest = at;
	return text_contains_byte(attribute->value, '<') ? XML_WRONG : XML_ATTRIBUTE;
}

// The value of an attribute of a tag, from behind its name on; empty: it has none.
static inline struct text xml_attribute_of(struct text rest, const char *name)
{
	struct xml_attribute attribute;

	while (xml_take_attribute(&rest, &attribute) == XML_ATTRIBUTE)
		if (text_is(attribute.name, name))
			return attribute.value;
	return (struct text){rest.at, 0};
}

#endif
