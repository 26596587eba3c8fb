// SPDX-License-Identifier: BSD-3-Clause
// What holds for each parser of configuration, whatever the text.
#ifndef SLUICE_CONFIG_CHECK_H
#define SLUICE_CONFIG_CHECK_H

#include <stdlib.h>
#include <string.h>
#include "config/error.h"

// A text of the input, to free().
static inline char *text_of(const uint8_t *bytes, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		abort();
	if (len)
		memcpy(text, bytes, len);
	text[len] = 0;
	return text;
}

// Refused with a reason, or taken without one; lines are short and have no control characters.
static inline void errors_check(const struct config_errors *errors, int rc, const void *object)
{
	if ((rc == 0) != (errors->n == 0) || (rc == 0) != (object != NULL))
		abort();
	for (size_t i = 0; i < errors->n; i++) {
		if (strlen(errors->lines[i]) > 4096)
			abort();
		for (const unsigned char *c = (const unsigned char *)errors->lines[i]; *c; c++)
			if (*c < ' ' || *c == 0x7f)
				abort();
	}
}

#endif
