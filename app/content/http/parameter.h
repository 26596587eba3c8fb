// SPDX-License-Identifier: BSD-3-Clause
// Parameters of a field's value (RFC 9110 section 5.6.6): what is quoted is undone in its place.
#ifndef SLUICE_CONTENT_HTTP_PARAMETER_H
#define SLUICE_CONTENT_HTTP_PARAMETER_H

#include "content/http/text.h"

// The rest of a field's value, which is written to.
struct http_value {
	uint8_t *bytes;
	uint32_t length;
};

struct http_parameter {
	struct content_text name; // as it was sent
	struct http_value value;  // without quotes and backslashes
	bool quoted;
};

// What stands before the first parameter, trimmed; `rest` goes on behind it.
struct content_text http_value_word(struct http_value *rest);
// False: no more. Blanks around '=' are passed over, as hosts do; what is not quoted ends at ';'.
bool http_parameter_next(struct http_value *rest, struct http_parameter *out);

static inline struct content_text http_value_text(struct http_value value)
{
	return (struct content_text){value.bytes, value.length};
}

#endif
