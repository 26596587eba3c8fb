// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes the frame of a line of the audit log. Only the form that the writer gives it is
// taken: a line that says the same in another form is not one that was written.
#include "audit/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

const char audit_prev_none[AUDIT_HEX_BYTES] =
	"0000000000000000000000000000000000000000000000000000000000000000";

bool audit_is_hex(const char *text, size_t digits)
{
	for (size_t i = 0; i < digits; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	return true;
}

void audit_hex(const uint8_t *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

void audit_hash(const void *bytes, size_t length, char out[AUDIT_HEX_BYTES])
{
	uint8_t digest[32];

	if (EVP_Digest(bytes, length, digest, NULL, EVP_sha256(), NULL) != 1)
		abort(); // without memory for a digest no log can be kept
	audit_hex(digest, sizeof(digest), out);
}

size_t audit_frame_write(char *out, uint64_t seq, const char prev[AUDIT_HEX_BYTES])
{
	return (size_t)snprintf(
		out, AUDIT_FRAME_MAX, "{\"seq\":%" PRIu64 ",\"prev\":\"%s\"", seq, prev);
}

// A number as it is written: no sign, no leading zero.
static size_t read_seq(const char *at, size_t left, uint64_t *seq)
{
	size_t n = 0;

	*seq = 0;
	for (; n < left && at[n] >= '0' && at[n] <= '9'; n++)
		if (__builtin_mul_overflow(*seq, 10u, seq) ||
			__builtin_add_overflow(*seq, (uint64_t)(at[n] - '0'), seq))
			return 0;
	return n && at[0] != '0' ? n : 0;
}

static bool has_control(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] < 0x20)
			return true;
	return false;
}

const char *audit_frame_read(const char *line, size_t length, struct audit_frame *frame)
{
	static const char before[] = "{\"seq\":", between[] = ",\"prev\":\"";
	const size_t n_before = sizeof(before) - 1, n_between = sizeof(between) - 1;
	const size_t digits = AUDIT_HEX_BYTES - 1;
	const char *at = line, *end = line + length;

	if (length < n_before || memcmp(at, before, n_before) != 0)
		return "does not begin with {\"seq\":";
	at += n_before;
	size_t n = read_seq(at, (size_t)(end - at), &frame->seq);
	if (!n)
		return "has no number after \"seq\":";
	at += n;
	// the hash, its quote, and at least the brace
	if ((size_t)(end - at) < n_between + digits + 2 || memcmp(at, between, n_between) != 0 ||
		!audit_is_hex(at + n_between, digits) || at[n_between + digits] != '"')
		return "has no \"prev\" with a SHA-256 after its number";
	memcpy(frame->prev, at + n_between, digits);
	frame->prev[digits] = '\0';
	at += n_between + digits + 1;
	frame->length = (size_t)(at - line);
	if ((at[0] != ',' && at[0] != '}') || end[-1] != '}' || (at[0] == '}' && at + 1 != end))
		return "is not one JSON object";
	if (has_control(line, length))
		return "has control characters in it";
	return NULL;
}

bool audit_line_opens(const char *line, size_t length, const struct audit_frame *frame)
{
	static const char *const members[] = {"," AUDIT_OWN_MEMBERS "begin\"",
		"," AUDIT_OWN_MEMBERS "resume\"", "," AUDIT_OWN_MEMBERS "rotate\""};

	for (unsigned i = 0; i < 3; i++) {
		size_t n = strlen(members[i]);
		if (length - frame->length >= n && memcmp(line + frame->length, members[i], n) == 0)
			return true;
	}
	return false;
}
