// SPDX-License-Identifier: BSD-3-Clause
// Lists the decoders, and finds one by its application.
#include "content/decoders.h"
#include <stddef.h>
#include <string.h>

static const struct content_decoder *const decoders[] = {
#define X(symbol) &content_##symbol,
	CONTENT_DECODERS(X)
#undef X
};

const struct content_decoder *content_decoder_at(unsigned index)
{
	return index < sizeof(decoders) / sizeof(decoders[0]) ? decoders[index] : NULL;
}

const struct content_decoder *content_decoder_of(const char *app)
{
	const struct content_decoder *decoder = NULL;

	for (unsigned i = 0; (decoder = content_decoder_at(i)); i++)
		if (!strcmp(decoder->app, app))
			break;
	return decoder;
}
