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
// Those that begin with a member: nothing stands ahead of them.
static const char *const zips[] = {"CL_TYPE_ZIP", "CL_TYPE_OOXML_WORD", "CL_TYPE_OOXML_PPT",
	"CL_TYPE_OOXML_XL", "CL_TYPE_OOXML_HWP"};
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

// ---- ZIP: its catalogue is found from the end (APPNOTE.TXT 4.3.14 to 4.3.16) ----

#define ZIP_END         22 // bytes of the record at the end, without its comment
#define ZIP_END_MARK    "PK\5\6"
#define ZIP_TAIL        (UINT16_MAX + ZIP_END)
#define ZIP64_AHEAD     20 // of the record that says where the large one is, right before that
#define ZIP64_MARK      "PK\6\7"
#define ZIP64_END       56 // bytes of the large one, at least
#define ZIP64_END_MARK  "PK\6\6"
#define ZIP64_ELSEWHERE UINT32_MAX // the large one says it
#define ZIP_MARK_LEN    4

static uint64_t number(const uint8_t *at, unsigned n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | at[n];
	return value;
}

// The last record of an end; NULL: the archive is cut, or is none.
static const uint8_t *zip_end(const uint8_t *bytes, size_t n)
{
	size_t most = n < ZIP_TAIL ? n : ZIP_TAIL;

	for (size_t back = ZIP_END; back <= most; back++)
		if (!memcmp(bytes + n - back, ZIP_END_MARK, ZIP_MARK_LEN))
			return bytes + n - back;
	return NULL;
}

// Where the catalogue ends, which is where records of the end begin; UINT64_MAX: they contradict
// each other.
static uint64_t zip_catalogue_end(const uint8_t *bytes, const uint8_t *end)
{
	uint64_t at = (uint64_t)(end - bytes);

	if (at < ZIP64_AHEAD || memcmp(end - ZIP64_AHEAD, ZIP64_MARK, ZIP_MARK_LEN) != 0)
		return at;
	uint64_t large = number(end - ZIP64_AHEAD + 8, 8);

	if (at < ZIP64_AHEAD + ZIP64_END || large > at - ZIP64_AHEAD - ZIP64_END ||
		memcmp(bytes + large, ZIP64_END_MARK, ZIP_MARK_LEN) != 0 ||
		number(bytes + large + 4, 8) != at - ZIP64_AHEAD - large - 12 ||
		number(bytes + large + 48, 8) > large ||
		number(bytes + large + 40, 8) != large - number(bytes + large + 48, 8))
		return UINT64_MAX;
	return large;
}

#define ZIP_ENTRY       46 // bytes of an entry of the catalogue, without its texts
#define ZIP_HEADER      30 // ... of a member's own header
#define ZIP_SIZE_BEHIND 8u // flag: what the header says of sizes counts for nothing

// The engine unpacks by a member's header, programs by its entry.
static bool zip_header_fits(const uint8_t *entry, const uint8_t *header)
{
	uint64_t packed = number(header + 18, 4);

	if (number(header + 8, 2) != number(entry + 10, 2) || (header[6] ^ entry[8]) & 1)
		return false; // method; encrypted
	return header[6] & ZIP_SIZE_BEHIND || packed == ZIP64_ELSEWHERE ||
	       packed == number(entry + 20, 4);
}

static bool zip_headers_fit(const uint8_t *bytes, uint64_t from, uint64_t until)
{
	while (until - from >= ZIP_ENTRY) {
		const uint8_t *entry = bytes + from;
		uint64_t texts =
			number(entry + 28, 2) + number(entry + 30, 2) + number(entry + 32, 2);
		uint64_t at = number(entry + 42, 4);

		if (memcmp(entry, "PK\1\2", ZIP_MARK_LEN) != 0)
			return true; // the engine's matter
		if (at != ZIP64_ELSEWHERE && at + ZIP_HEADER <= until &&
			!memcmp(bytes + at, "PK\3\4", ZIP_MARK_LEN) &&
			!zip_header_fits(entry, bytes + at))
			return false;
		if (texts > until - from - ZIP_ENTRY)
			return true;
		from += ZIP_ENTRY + texts;
	}
	return true;
}

// The engine goes where the record says that the catalogue is; programs look before the record, and
// bytes may stand ahead of the archive for them. Where that is not the same they unpack other
// members than the engine, which is silent about a catalogue that it does not find.
static bool zip_has_two_readings(const uint8_t *bytes, size_t n)
{
	const uint8_t *end = zip_end(bytes, n);

	if (!end)
		return false;
	uint64_t catalogue = zip_catalogue_end(bytes, end);
	uint64_t size = number(end + 12, 4), from = number(end + 16, 4);

	if (catalogue == UINT64_MAX)
		return true;
	if (catalogue < (uint64_t)(end - bytes) &&
		(size == ZIP64_ELSEWHERE || from == ZIP64_ELSEWHERE))
		return !zip_headers_fit(bytes, number(bytes + catalogue + 48, 8), catalogue);
	return from + size != catalogue || !zip_headers_fit(bytes, from, catalogue);
}

// ---- bzip2: streams one behind the other are one file to programs ----

#define BZ_HEAD 10 // "BZh", how large blocks are, and what begins a block or the end of the stream

static bool begins_as_bzip2(const uint8_t *at)
{
	return !memcmp(at, "BZh", 3) && at[3] >= '1' && at[3] <= '9' &&
	       (!memcmp(at + 4, "1AY&SY", 6) || !memcmp(at + 4, "\x17rE8P\x90", 6));
}

// The engine unpacks the first alone, and is silent about the rest.
static bool has_more_bzip2(const uint8_t *bytes, size_t n)
{
	const uint8_t *at = bytes;

	if (n <= BZ_HEAD || !begins_as_bzip2(bytes))
		return false;
	const uint8_t *last = bytes + n - BZ_HEAD;

	while ((at = memchr(at + 1, 'B', (size_t)(last - at))))
		if (begins_as_bzip2(at))
			return true;
	return false;
}

// ---- layers ----

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
	if ((AMONG(type, zips) && zip_has_two_readings(bytes, n)) || has_more_bzip2(bytes, n))
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
