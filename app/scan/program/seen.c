// SPDX-License-Identifier: BSD-3-Clause
// Recognises formats that libclamav does not open, and members of archives that it did not unpack.
#include "scan/program/seen.h"

#include <string.h>

// What it does not know at all: to the engine these are bytes without a format.
static const struct {
	uint32_t at, n;
	const char *bytes;
	enum scan_reason reason;
} unknown[] = {
	{0, 4, "\x28\xb5\x2f\xfd", SCAN_REASON_FORMAT},          // Zstandard
	{0, 4, "\x04\x22\x4d\x18", SCAN_REASON_FORMAT},          // LZ4
	{0, 4, "\x02\x21\x4c\x18", SCAN_REASON_FORMAT},          // LZ4 of old
	{0, 4, "LZIP", SCAN_REASON_FORMAT},                      // lzip
	{0, 4, "LRZI", SCAN_REASON_FORMAT},                      // lrzip
	{0, 9, "\x89LZO\0\r\n\x1a\n", SCAN_REASON_FORMAT},       // lzop
	{0, 2, "\x1f\x9d", SCAN_REASON_FORMAT},                  // compress
	{0, 10, "\xff\x06\0\0sNaPpY", SCAN_REASON_FORMAT},       // Snappy, framed
	{0, 4, "7kSt", SCAN_REASON_FORMAT},                      // ZPAQ
	{0, 4, "zPQ\x01", SCAN_REASON_FORMAT},                   // ZPAQ without a locator
	{7, 7, "**ACE**", SCAN_REASON_FORMAT},                   // ACE
	{0, 8, "MSWIM\0\0\0", SCAN_REASON_FORMAT},               // Windows image
	{0, 4, "hsqs", SCAN_REASON_FORMAT},                      // SquashFS
	{0, 5, "SIT!\0", SCAN_REASON_FORMAT},                    // StuffIt
	{0, 7, "StuffIt", SCAN_REASON_FORMAT},                   // StuffIt 5
	{0, 6, "LUKS\xba\xbe", SCAN_REASON_ENCRYPTED},           // encrypted volume
	{0, 8, "Salted__", SCAN_REASON_ENCRYPTED},               // openssl enc
	{0, 21, "age-encryption.org/v1", SCAN_REASON_ENCRYPTED}, // age
	{0, 27, "-----BEGIN PGP MESSAGE-----", SCAN_REASON_ENCRYPTED},
};

#define RAR_MARK     "Rar!\x1a\x07"
#define RAR_MARK_LEN 6
#define RAR_HEAD     10 // up to the type of the header that follows

// Containers that announce each member before they unpack it (mail and HTML announce other things).
static const char *const archives[] = {"CL_TYPE_ZIP", "CL_TYPE_ZIPSFX", "CL_TYPE_OOXML_WORD",
	"CL_TYPE_OOXML_PPT", "CL_TYPE_OOXML_XL", "CL_TYPE_OOXML_HWP", "CL_TYPE_7Z", "CL_TYPE_7ZSFX",
	"CL_TYPE_ARJ", "CL_TYPE_ARJSFX"};
// libclamav passes over what is shorter: no signature fits.
#define MEMBER_MIN 6

// Programs that unpack themselves carry the archive at any place.
static const char *const carriers[] = {"CL_TYPE_MSEXE", "CL_TYPE_ELF", "CL_TYPE_MACHO",
	"CL_TYPE_MACHO_UNIBIN", "CL_TYPE_BINARY_DATA", "CL_TYPE_SCRIPT"};

static bool among(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

#define AMONG(word, words) among(word, words, sizeof(words) / sizeof((words)[0]))

void scan_seen_begin(struct scan_seen *seen, bool opens_rar)
{
	*seen = (struct scan_seen){.opens_rar = opens_rar};
}

// The mark alone also stands in programs that read RAR; a header must follow.
static bool has_rar(const uint8_t *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while ((at = memmem(at, n - (size_t)(at - bytes), RAR_MARK, RAR_MARK_LEN))) {
		size_t left = n - (size_t)(at - bytes);

		if (left >= RAR_HEAD && at[6] == 0 && at[9] == 0x73) // version 4: archive header
			return true;
		if (left > 16 && at[6] == 1 && at[7] == 0) // version 5
			return true;
		at += RAR_MARK_LEN;
	}
	return false;
}

static void look(const struct scan_seen *seen, struct scan_facts *facts, const char *type,
	const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (n >= unknown[i].at + unknown[i].n &&
			!memcmp(bytes + unknown[i].at, unknown[i].bytes, unknown[i].n))
			scan_facts_reason(facts, unknown[i].reason);
	if (!seen->opens_rar && ((n >= RAR_MARK_LEN && !memcmp(bytes, RAR_MARK, RAR_MARK_LEN)) ||
					(AMONG(type, carriers) && has_rar(bytes, n))))
		scan_facts_reason(facts, SCAN_REASON_FORMAT);
}

void scan_seen_layer(struct scan_seen *seen, struct scan_facts *facts, const char *type,
	uint32_t level, const uint8_t *bytes, size_t n)
{
	if (!seen->opens_rar && (!strcmp(type, "CL_TYPE_RAR") || !strcmp(type, "CL_TYPE_RARSFX")))
		scan_facts_reason(facts, SCAN_REASON_FORMAT);
	if (bytes)
		look(seen, facts, type, bytes, n);
	if (level >= SCAN_SEEN_LEVELS) {
		scan_facts_reason(facts, SCAN_REASON_TOO_DEEP);
		return;
	}
	// An archive within a program is no layer of its own: its members are two below.
	if (level > seen->level + 1)
		seen->archive[level - 1] = true;
	if (level && seen->archive[level - 1] && n >= MEMBER_MIN)
		seen->met++;
	memset(seen->archive + level, 0, sizeof(seen->archive) - level);
	seen->archive[level] = AMONG(type, archives);
	seen->level = level;
	seen->last = 0;
}

void scan_seen_member(struct scan_seen *seen, struct scan_facts *facts, const char *container,
	uint64_t size, bool encrypted, uint32_t position)
{
	if (encrypted)
		scan_facts_reason(facts, SCAN_REASON_ENCRYPTED);
	if (encrypted || size < MEMBER_MIN || !AMONG(container, archives))
		return;
	// A catalogue and a header announce the same one, which then has a position from 1.
	if (!position || position != seen->last)
		seen->announced++;
	seen->last = position;
}

void scan_seen_end(const struct scan_seen *seen, struct scan_facts *facts)
{
	if (seen->met < seen->announced)
		scan_facts_reason(facts, SCAN_REASON_FORMAT);
}
