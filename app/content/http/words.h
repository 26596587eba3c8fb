// SPDX-License-Identifier: BSD-3-Clause
// Words of a request that its receiver need not know (struct content_word): the name Range, and
// codings in Accept-Encoding and TE that are not decoded here.
//
// Each is reported at its last byte: that is at hand when the word is known, so that nothing has to
// wait for the rest of a request, whose sender may wait in turn until what it has sent is
// acknowledged (RFC 9293 section 3.7.4). Where a span ends behind what may be one it is taken for
// one. A name that goes on there (Range-Unit) becomes one that nobody knows, too.
#ifndef SLUICE_CONTENT_HTTP_WORDS_H
#define SLUICE_CONTENT_HTTP_WORDS_H

#include "content/http/field.h"
#include "content/http/turn.h"

#define HTTP_WORD_BYTES 16 // the longest that is known has 11

struct http_word {       // of a list of codings, in progress
	uint64_t last64; // its newest byte
	uint8_t length;  // more than HTTP_WORD_BYTES is of no word that is known
	uint8_t newest;
	bool reported;
	bool behind; // parameters, up to the next comma
	char bytes[HTTP_WORD_BYTES];
};

// The name of HTTP_FIELD_RANGE begins at `at64`. `unsure`: struct content_word. True: the name is
// changed.
bool http_word_part(const struct http_turn *turn, const char *name, uint32_t length, uint64_t at64,
	bool unsure);

// One byte of such a list.
void http_word_byte(struct http_word *word, const struct http_turn *turn, enum http_field field,
	uint8_t byte, uint64_t at64, bool unsure);
// The list ends.
void http_word_end(
	struct http_word *word, const struct http_turn *turn, enum http_field field, bool unsure);
// The span ends, and the list may go on.
void http_word_cut(
	struct http_word *word, const struct http_turn *turn, enum http_field field, bool unsure);

#endif
