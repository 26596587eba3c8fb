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

#define TEXT_SET_PATTERNS_MAX 20000 // of a set
#define TEXT_SET_HITS_MAX     256   // that are told of a text

struct text_pattern {
	const char *text; // borrowed; bytes of a literal, or a regex (PCRE's syntax as Hyperscan
			  // takes it: no look-around, no back references), which may match anywhere
	uint32_t owner;   // what it is to the caller: many patterns may have the same
	bool regex;
};

struct text_hit {
	uint32_t pattern; // index
	uint32_t owner;
	// Bytes of the text. Of a literal where it stands: what overlaps or touches is one hit. Of
	// a regex, whose beginning Hyperscan does not tell, the whole text: one hit.
	uint32_t from, to;
};

struct text_set;

struct text_set_scratch; // of one lcore

// What went wrong with a set.
struct text_set_error {
	uint32_t pattern; // index; UINT32_MAX: none of them alone
	char message[256];
};

// The patterns are not kept. -EINVAL, -ENOMEM or -E2BIG with what is wrong in *error.
int text_set_new(const struct text_pattern *patterns, uint32_t n, struct text_set **out,
	struct text_set_error *error);
void text_set_free(struct text_set *set); // NULL is allowed
// Whether one regex is good, without making a set: that it compiles, and matches no empty text.
int text_set_check(const char *regex, struct text_set_error *error);
// `room`: bytes of the longest text.
int text_set_scratch_new(const struct text_set *set, uint32_t room, struct text_set_scratch **out);
void text_set_scratch_free(struct text_set_scratch *scratch); // NULL is allowed

// What a text has; in the scratch until its next scan.
struct text_hits {
	const struct text_hit *hits; // by no order
	uint32_t n;
	bool more;   // there are others: not all had room
	bool failed; // Hyperscan failed, the scratch is another set's or too small: nothing is
		     // known
};
struct text_hits text_set_scan(const struct text_set *set, struct text_set_scratch *scratch,
	const uint8_t *text, uint32_t length);

#endif
