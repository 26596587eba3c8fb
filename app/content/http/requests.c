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

	return (struct http_subject){.path = http_head_text(head, head->path),
		.host = without_port(http_head_text(head, host)),
		.name = http_head_text(head, head->path_name),
		.verb = http_head_text(head, head->verb),
		.agent = http_head_text(head, head->agent),
		.name_cut = head->path_name_cut};
}

struct http_subject http_subject_of_request(const struct http_request *request)
{
	const uint8_t *host = request->text + request->path_length;
	const uint8_t *name = host + request->host_length, *verb = name + request->name_length;

	return (struct http_subject){.path = {request->text, request->path_length},
		.host = {host, request->host_length},
		.name = {name, request->name_length},
		.verb = {verb, request->verb_length},
		.agent = {verb + request->verb_length, request->agent_length},
		.name_cut = request->name_cut};
}

static uint8_t *put(uint8_t *to, struct content_text text)
{
	if (text.length)
		memcpy(to, text.bytes, text.length);
	return to + text.length;
}

bool http_requests_add(
	struct http_requests *requests, struct content_memory *memory, const struct http_head *head)
{
	struct http_subject subject = http_subject_of_head(head);
	struct http_request *request = content_take(
		memory, sizeof(*request) + subject.path.length + subject.host.length +
				subject.name.length + subject.verb.length + subject.agent.length);

	if (!request)
		return false;
	*request = (struct http_request){.method = head->method,
		.upgrade = head->upgrade,
		.name_cut = subject.name_cut,
		.has_range = head->has_range,
		.asks_part = head->asks_part,
		.bare = head->bare,
		.range_from = head->range_from,
		.path_length = (uint16_t)subject.path.length,
		.host_length = (uint16_t)subject.host.length,
		.name_length = (uint16_t)subject.name.length,
		.verb_length = (uint16_t)subject.verb.length,
		.agent_length = (uint16_t)subject.agent.length};
	uint8_t *at = put(put(put(request->text, subject.path), subject.host), subject.name);

	put(put(at, subject.verb), subject.agent);
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
