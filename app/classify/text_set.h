// SPDX-License-Identifier: BSD-3-Clause
// A set of patterns that a text is held against at once: one call of Hyperscan, however many there
// are. Texts are valid UTF-8 in the form of content/name_text.h, and so are patterns: who makes a
// set brings them into that form.
//
// Threads: a set is made by the control core, then read by all lcores. A scratch belongs to one
// lcore and one set. text_set_scan() neither allocates nor locks.
#ifndef SLUICE_TEXT_SET_H
#define SLUICE_TEXT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_SET_PATTERNS_MAX 30000 // of a set
#define TEXT_SET_RANGES_MAX   256   // that are told of a text, beside the first of each pattern

struct text_pattern {
	const char *text; // borrowed. A literal, or a regex (of PCRE's syntax what Hyperscan takes:
			  // no look-around, no back references) that may match anywhere, in any
			  // case of letters; "." is any character
	uint32_t owner;   // what it is to the caller; many patterns may have the same
	bool regex;
};

struct text_hit {
	uint32_t pattern; // index
	uint32_t owner;
	// Bytes of the text. Of a literal, where it stands: places that overlap or touch are one
	// hit. Of a regex the whole text, once: Hyperscan does not tell where its match begins
	// (what would make it do so, HS_FLAG_SOM_LEFTMOST, is dear, refuses patterns that are
	// taken without it, and begins at the leftmost place of all, which may be far off).
	uint32_t from, to;
};

struct text_set;
struct text_set_scratch; // of one lcore

struct text_set_error {
	uint32_t pattern; // index; UINT32_MAX: none of them alone is wrong
	char message[256];
};

// The patterns are not kept. -EINVAL, -ENOMEM or -E2BIG with what is wrong in *error.
int text_set_new(const struct text_pattern *patterns, uint32_t n, struct text_set **out,
	struct text_set_error *error);
void text_set_free(struct text_set *set); // NULL is allowed
// Whether a regex can be in a set: it compiles, and does not match an empty text. -EINVAL.
int text_set_check(const char *regex, char *message, size_t message_len);

// `room`: bytes of the longest text.
int text_set_scratch_new(const struct text_set *set, uint32_t room, struct text_set_scratch **out);
void text_set_scratch_free(struct text_set_scratch *scratch); // NULL is allowed
// Where a text is written before it is scanned: Hyperscan reads behind the end of what it is given
// (sigdb.h), and behind this there is something.
uint8_t *text_set_room(struct text_set_scratch *scratch, uint32_t *size);

// What a text has, each pattern at least once; in the scratch until its next scan.
struct text_hits {
	const struct text_hit *hits; // by where they end
	uint32_t n;
	bool more;   // a pattern stands at other places, too
	bool failed; // Hyperscan failed, or the scratch is another set's: nothing is known
};
// `length` bytes of text_set_room() from `from`.
struct text_hits text_set_scan(const struct text_set *set, struct text_set_scratch *scratch,
	uint32_t from, uint32_t length);
uint64_t text_set_scans(const struct text_set_scratch *scratch); // calls of Hyperscan; NULL: 0

#endif
