// SPDX-License-Identifier: BSD-3-Clause
// The frame of a line of the audit log: its number and the hash of the line before it. Pure; used
// by the writer (log.h) and the verifier (verify.h).
//
//   {"seq":7,"prev":"<SHA-256 of line 6 without its newline, hex>",<the record's own members>}
#ifndef SLUICE_AUDIT_RECORD_H
#define SLUICE_AUDIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_HEX_BYTES 65            // SHA-256 in lower-case hex, with its NUL
#define AUDIT_LINE_MAX  (256u * 1024) // bytes of the longest line, without its newline
#define AUDIT_FRAME_MAX 112           // bytes of the longest frame, with its NUL

struct audit_frame {
	uint64_t seq; // from 1 on
	char prev[AUDIT_HEX_BYTES];
	size_t length; // of the frame: what follows is ",..." or "}"
};

// What the first line of a log names as the line before it.
extern const char audit_prev_none[AUDIT_HEX_BYTES];

// Reads the frame of a line (without its newline) and asks that the line has the form of a record:
// braces at both ends, no control characters. NULL, or what is wrong as a text to continue "the
// line ...".
const char *audit_frame_read(const char *line, size_t length, struct audit_frame *frame);
// Returns its length; `out` has AUDIT_FRAME_MAX bytes.
size_t audit_frame_write(char *out, uint64_t seq, const char prev[AUDIT_HEX_BYTES]);
// Is the line of that frame one that a file of the log begins with?
bool audit_line_opens(const char *line, size_t length, const struct audit_frame *frame);
// The members of each line that the log writes about itself begin with this text.
#define AUDIT_OWN_MEMBERS "\"event_type\":\"audit\",\"audit\":{\"action\":\""

bool audit_is_hex(const char *text, size_t digits); // lower case
void audit_hex(const uint8_t *bytes, size_t n, char *out);
void audit_hash(const void *bytes, size_t length, char out[AUDIT_HEX_BYTES]);

#endif
