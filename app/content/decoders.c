// SPDX-License-Identifier: BSD-3-Clause
// Lists the decoders, and finds one by its application.
#include "content/decoders.h"
#include <stddef.h>
#include <string.h>

const struct content_decoder *content_decoder_of(const char *app)
{
	static const struct content_decoder *const decoders[] = {
#define X(symbol) &content_##symbol,
		CONTENT_DECODERS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++)
		if (!strcmp(decoders[i]->app, app))
			return decoders[i];
	return NULL;
}
