// SPDX-License-Identifier: BSD-3-Clause
// The fields of a head that say what a body is, how long, how coded, and what it is called.
#ifndef SLUICE_CONTENT_HTTP_FIELD_H
#define SLUICE_CONTENT_HTTP_FIELD_H

#include "content/http/head.h"

#define HTTP_FIELD_NAME_BYTES 23 // the longest that is needed has 22

// The value is a list of codings that its sender can undo, looked at word by word (words.h).
static inline bool http_field_is_offer(enum http_field field)
{
	return field == HTTP_FIELD_ACCEPT_ENCODING || field == HTTP_FIELD_TE;
}

// It is looked at in requests alone.
static inline bool http_field_is_of_requests(enum http_field field)
{
	return http_field_is_offer(field) || field == HTTP_FIELD_USER_AGENT;
}

// The name in lower case.
enum http_field http_field_find(const char *name, uint32_t length);
// The name of one stands in it: that of a field which is needed may be meant.
bool http_field_is_within(const char *name, uint32_t length);

// The line in progress is the value of `field`: takes what it says into the head, and ends the
// line. Bits of enum content_note for what hosts may read otherwise.
uint64_t http_field_read(struct http_head *head, enum http_field field);

// The word says nothing of how bytes are coded, wherever it stands for a coding: all known clients
// take such a body as it is.
bool http_field_is_no_coding(struct content_text word);

#endif
