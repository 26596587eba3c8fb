// SPDX-License-Identifier: BSD-3-Clause
// Keeps what is needed of a request until its response has come.
#include "content/http/requests.h"

// Without its port. An address of IPv6 keeps its brackets (RFC 3986 section 3.2.2).
static struct content_text without_port(struct content_text host)
{
	uint32_t i = host.length;

	while (i && octets_digit(host.bytes[i - 1]))
		i--;
	if (i && host.bytes[i - 1] == ':')
		host.length = i - 1;
	return host;
}

struct http_subject http_subject_of_head(const struct http_head *head)
{
	// RFC 9112 section 3.2.2: the host of an absolute form, whatever Host says
	struct http_piece host = head->authority.length ? head->authority : head->host;

	return (struct http_subject){
		.texts = {[HTTP_SUBJECT_PATH] = http_head_text(head, head->path),
			[HTTP_SUBJECT_HOST] = without_port(http_head_text(head, host)),
			[HTTP_SUBJECT_NAME] = http_head_text(head, head->path_name),
			[HTTP_SUBJECT_BARE] = http_head_text(head, head->path_bare),
			[HTTP_SUBJECT_QUERY] = http_head_text(head, head->path_query),
			[HTTP_SUBJECT_VERB] = http_head_text(head, head->verb),
			[HTTP_SUBJECT_AGENT] = http_head_text(head, head->agent)},
		.name_cut = head->path_name_cut};
}

struct http_subject http_subject_of_request(const struct http_request *request)
{
	struct http_subject subject = {.name_cut = request->name_cut};
	const uint8_t *at = request->text;

	for (unsigned i = 0; i < HTTP_SUBJECT_TEXTS; i++) {
		subject.texts[i] = (struct content_text){at, request->lengths[i]};
		at += request->lengths[i];
	}
	return subject;
}

struct urn_ids http_requests_urns(const struct http_head *head, bool *whole)
{
	struct urn_ids urns = head->urns;

	*whole = true;
	urn_read_path(http_head_text(head, head->path), &urns, whole);
	return urns;
}

bool http_requests_add(
	struct http_requests *requests, struct content_memory *memory, const struct http_head *head)
{
	struct http_subject subject = http_subject_of_head(head);
	uint32_t length = 0;

	for (unsigned i = 0; i < HTTP_SUBJECT_TEXTS; i++)
		length += subject.texts[i].length;
	struct http_request *request = content_take(memory, sizeof(*request) + length);

	if (!request)
		return false;
	*request = (struct http_request){.method = head->method,
		.upgrade = head->upgrade,
		.name_cut = subject.name_cut,
		.has_range = head->has_range,
		.asks_part = head->asks_part,
		.bare = head->bare,
		.range_from = head->range_from};
	bool whole;

	request->urns = http_requests_urns(head, &whole);
	if (!whole)
		request->urns = (struct urn_ids){0};
	uint8_t *at = request->text;

	for (unsigned i = 0; i < HTTP_SUBJECT_TEXTS; i++) {
		struct content_text text = subject.texts[i];

		request->lengths[i] = (uint16_t)text.length;
		if (text.length)
			memcpy(at, text.bytes, text.length);
		at += text.length;
	}
	if (requests->last)
		requests->last->next = request;
	else
		requests->first = request;
	requests->last = request;
	requests->n++;
	return true;
}

struct http_request *http_requests_take(struct http_requests *requests)
{
	struct http_request *request = requests->first;

	if (!request)
		return NULL;
	requests->first = request->next;
	if (!requests->first)
		requests->last = NULL;
	requests->n--;
	return request;
}

void http_requests_clear(struct http_requests *requests, struct content_memory *memory)
{
	struct http_request *request;

	while ((request = http_requests_take(requests)))
		content_give(memory, request);
}
