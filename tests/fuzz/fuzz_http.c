// SPDX-License-Identifier: BSD-3-Clause
// The head of an HTTP request: the answer is one of the few, texts end, and pieces do not matter.
#include "control/http/parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static long find_in_pieces(const char *bytes, size_t length)
{
	size_t seen = 0;

	for (size_t i = 1; i <= length; i++) {
		long head = http_head_find(bytes, i, &seen);

		if (head)
			return head;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const int statuses[] = {0, 400, 405, 411, 413, 414, 431, 501, 505};
	size_t length = len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX, seen = 0, i = 0;
	char *text = calloc(1, length ? length : 1); // of exact size
	struct http_request request;
	long head;
	int status;

	if (!text)
		abort();
	memcpy(text, bytes, length);
	head = http_head_find(text, length, &seen);
	if (head != find_in_pieces(text, length) || (head < 0 && head != -400) ||
		head > (long)length)
		abort();
	if (head > 0) {
		status = http_head_parse(text, (size_t)head, &request);
		while (i < sizeof statuses / sizeof statuses[0] && statuses[i] != status)
			i++;
		if (i == sizeof statuses / sizeof statuses[0] ||
			!memchr(request.path, '\0', sizeof request.path) ||
			!memchr(request.host, '\0', sizeof request.host) ||
			!memchr(request.accept, '\0', sizeof request.accept) ||
			!memchr(request.authority, '\0', sizeof request.authority) ||
			!memchr(request.origin, '\0', sizeof request.origin) ||
			!memchr(request.token, '\0', sizeof request.token) ||
			(!status && request.length > (request.post ? HTTP_BODY_MAX : 0)) ||
			(!status && request.path[0] != '/'))
			abort();
		http_accepts_openmetrics(request.accept);
	}
	free(text);
	return 0;
}
