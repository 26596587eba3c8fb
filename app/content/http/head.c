// SPDX-License-Identifier: BSD-3-Clause
// The block in which a head is kept while it is read.
#include "content/http/head.h"

#include <assert.h>

// What pieces hold at most, and a line, fit into the largest block.
static_assert(sizeof(struct http_head) + HTTP_LINE_BYTES + HTTP_HASHES_BYTES +
			      3 * CONTENT_NAME_BYTES + 2 * HTTP_NAMES_BYTES + 2 * HTTP_HOST_BYTES +
			      CONTENT_TYPE_BYTES + HTTP_BOUNDARY_BYTES + 2 * HTTP_VALIDATOR_BYTES +
			      CONTENT_METHOD_BYTES + CONTENT_AGENT_BYTES <
		      HTTP_HEAD_BLOCK_MAX,
	"the largest block");

bool http_head_reserve(struct http_head **head, struct content_memory *memory, uint32_t more)
{
	struct http_head *old = *head, *larger;
	uint32_t used = old ? old->kept + old->line : 0, bytes = HTTP_HEAD_BLOCK;

	if (old && more <= old->room - used)
		return true;
	while (bytes - sizeof(*old) < used + more)
		bytes *= 2;
	assert(bytes <= HTTP_HEAD_BLOCK_MAX);
	larger = content_take(memory, bytes);
	if (!larger)
		return false;
	if (old)
		memcpy(larger, old, sizeof(*old) + used);
	else
		*larger = (struct http_head){.range_total = CONTENT_SIZE_UNKNOWN};
	larger->room = bytes - (uint32_t)sizeof(*larger);
	content_give(memory, old);
	*head = larger;
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

static_assert(HTTP_HASHES_BYTES >= HTTP_LINE_BYTES, "no torrent of a request is left out");
static_assert(
	HTTP_NAMES - 1 < CONTENT_ALIASES_MAX, "all names of a head, and one of the path, are told");

void http_head_name(const struct http_head *head, struct content_file *file)
{
	file->name = http_head_text(head, head->name);
	file->name_source = head->name_source;
	file->name_cut = head->name_cut;
	file->n_aliases = head->n_aliases;
	for (unsigned i = 0; i < head->n_aliases; i++)
		file->aliases[i] = (struct content_alias){
			http_head_text(head, head->aliases[i]), head->alias_sources[i]};
}
