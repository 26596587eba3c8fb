// SPDX-License-Identifier: BSD-3-Clause
// The block in which a head is kept while it is read.
#include "content/http/head.h"

#include <assert.h>

// What pieces hold at most, and a line, fit into the largest block.
static_assert(sizeof(struct http_head) + HTTP_LINE_BYTES + HTTP_HASHES_BYTES +
			      2 * CONTENT_NAME_BYTES + 2 * HTTP_HOST_BYTES + CONTENT_TYPE_BYTES +
			      HTTP_BOUNDARY_BYTES + 2 * HTTP_VALIDATOR_BYTES <
		      HTTP_HEAD_BLOCK_MAX,
	"the largest block");

bool http_head_reserve(struct http_head **head, struct content_memory *memory)
{
	struct http_head *old = *head, *more;
	uint32_t used = old ? old->kept + old->line : 0, bytes = HTTP_HEAD_BLOCK;

	if (old && used < old->room)
		return true;
	if (old)
		bytes = 2 * (uint32_t)(sizeof(*old) + old->room);
	assert(bytes <= HTTP_HEAD_BLOCK_MAX);
	more = content_take(memory, bytes);
	if (!more)
		return false;
	if (old)
		memcpy(more, old, sizeof(*old) + used);
	else
		*more = (struct http_head){.range_total = CONTENT_SIZE_UNKNOWN};
	more->room = bytes - (uint32_t)sizeof(*more);
	content_give(memory, old);
	*head = more;
	return true;
}

struct http_piece http_head_keep(struct http_head *head, uint32_t length)
{
	struct http_piece piece = {(uint16_t)head->kept, (uint16_t)length};

	assert(length <= head->line);
	head->kept += length;
	head->line -= length;
	return piece;
}
