// SPDX-License-Identifier: BSD-3-Clause
// What is written of a text that somebody has sent: as it came, masked, or nothing.
#ifndef SLUICE_REDACT_H
#define SLUICE_REDACT_H

#include "base/json_out.h"

enum redact { // in the order of the words of gateway.json
	REDACT_KEEP,
	REDACT_MASK, // a star for each character, at most REDACT_STARS_MAX
	REDACT_OMIT, // no member
};
#define REDACT_STARS_MAX     256
#define REDACT_EXTENSION_MAX 12 // with its dot; a longer one tells more than a type
#define REDACT_ROOM          (REDACT_STARS_MAX + REDACT_EXTENSION_MAX)

struct redact_rules {      // zeroed: all is kept
	enum redact text;  // of messages
	enum redact names; // of files, with their paths; their extension is kept
	enum redact users; // who sends a message, and to whom; who transfers a file
};

// A star for each character; of the name of a file the extension stays. Never longer than the text;
// returns the length.
size_t redact_mask(const uint8_t *bytes, size_t length, bool name, uint8_t masked[REDACT_ROOM]);
void json_out_redacted(struct json_out *out, const char *key, const uint8_t *bytes, size_t length,
	enum redact how);
// The name of a file: a mask leaves the extension.
void json_out_redacted_name(struct json_out *out, const char *key, const uint8_t *bytes,
	size_t length, enum redact how);

#endif
