// SPDX-License-Identifier: BSD-3-Clause
// HTTP whose client is the end that has accepted the connection: behind GIV of Gnutella and GIVE of
// Kazaa, by which a server that cannot be reached comes to its client.
#ifndef SLUICE_CONTENT_HTTP_REVERSED_H
#define SLUICE_CONTENT_HTTP_REVERSED_H

#include "content/content.h"

#define HTTP_REVERSED_NAME 512 // of a name that was announced; a longer one keeps its end

struct http_reversed {
	void *http;         // the state of content_http; NULL: it has not begun
	uint64_t from64[2]; // by half of the flow: where HTTP begins in it
	uint32_t open[2];   // ... and the file that it carries; 0: none
	uint16_t name_length;
	bool name_cut;
	uint8_t name[HTTP_REVERSED_NAME]; // by which the server says it brings a file
};

// False: no memory.
bool http_reversed_begin(struct http_reversed *reversed, struct content_memory *memory);
void http_reversed_name(struct http_reversed *reversed, struct content_text name);
// The span's bytes behind turn->taken, which are HTTP's.
enum content_fed http_reversed_feed(
	struct http_reversed *reversed, const struct span *span, struct content_turn *turn);
// Ends are reported, memory is given back.
void http_reversed_over(struct http_reversed *reversed, struct content_turn *turn);

#endif
