// SPDX-License-Identifier: BSD-3-Clause
// What responses answer: the requests that are not answered yet, in order (RFC 9112 section 9.3.2),
// each in a block of content_memory.
#ifndef SLUICE_CONTENT_HTTP_REQUESTS_H
#define SLUICE_CONTENT_HTTP_REQUESTS_H

#include "content/http/head.h"

#define HTTP_REQUESTS_MAX 64 // servers answer, or stop reading, long before

// What a request says of a file.
enum http_subject_text {
	HTTP_SUBJECT_PATH,
	HTTP_SUBJECT_HOST,
	HTTP_SUBJECT_NAME, // these three as struct http_path_names
	HTTP_SUBJECT_BARE,
	HTTP_SUBJECT_QUERY,
	HTTP_SUBJECT_VERB,
	HTTP_SUBJECT_AGENT,
	HTTP_SUBJECT_TEXTS
};

struct http_request {
	struct http_request *next;
	uint64_t range_from;                  // that was asked for
	uint16_t lengths[HTTP_SUBJECT_TEXTS]; // of `text`
	uint8_t method;                       // enum http_method
	uint8_t upgrade;                      // enum http_upgrade that was asked for
	bool name_cut, has_range;
	bool asks_part;      // Range, whatever it says
	bool bare;           // what answers may be a file without a head
	struct urn_ids urns; // of the file that is asked for
	uint8_t text[];      // those of a subject, behind each other
};

struct http_requests {
	struct http_request *first, *last;
	uint32_t n;
};

// From its head, or as it was kept.
struct http_subject {
	struct content_text texts[HTTP_SUBJECT_TEXTS];
	bool name_cut;
};
// What names the file that a request asks for; *whole: all of it, not something about it.
struct urn_ids http_requests_urns(const struct http_head *head, bool *whole);
struct http_subject http_subject_of_head(const struct http_head *head);
struct http_subject http_subject_of_request(const struct http_request *request);

static inline bool http_requests_are_full(const struct http_requests *requests)
{
	return requests->n >= HTTP_REQUESTS_MAX;
}
// False: no memory.
bool http_requests_add(struct http_requests *requests, struct content_memory *memory,
	const struct http_head *head);
// The oldest, which the caller gives back; NULL: none.
struct http_request *http_requests_take(struct http_requests *requests);
void http_requests_clear(struct http_requests *requests, struct content_memory *memory);

#endif
