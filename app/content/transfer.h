// SPDX-License-Identifier: BSD-3-Clause
// Files that one flow asks for and another carries: what their label says, and their bytes as they
// are on the wire. Any core.
#ifndef SLUICE_CONTENT_TRANSFER_H
#define SLUICE_CONTENT_TRANSFER_H

#include <string.h>

#include "content/content.h"

// A path as a command has it. Behind the last '/' or '\' is the name; the folder goes up to it.
struct content_path {
	struct content_text folder; // with its separator; may be empty
	struct content_text name;   // may be empty; of one that is too long its end
	bool cut;                   // the name's beginning is missing
};
struct content_path content_path_of(struct content_text path);

// What a policy is asked about when the command has been read. `user` may be empty.
struct content_file content_file_of_path(struct content_text path, struct content_text user);

// Of a path that is too long its end, where the name is.
void content_label_file(struct transfer_label *label, struct content_text path);

static inline struct content_text content_label_text(const char *text, uint32_t size)
{
	return (struct content_text){
		(const uint8_t *)text, text[0] ? (uint32_t)strnlen(text, size) : 0};
}

// One half's file, raw. `at` counts what this transfer brought, and what a gap took of it.
struct content_raw {
	uint64_t begins64; // in the half
	uint64_t at;
	uint32_t id; // 0: it is not open
	bool wanted;
	bool damaged; // a gap took something
};

// `what` says all but its id and `begins64`. `files`: of the flow so far.
void content_raw_open(struct content_raw *raw, const struct content_turn *turn,
	struct content_file *what, uint32_t *files, uint64_t begins64);
// How many were taken: fewer than `length` where the budget ended.
uint32_t content_raw_put(
	struct content_raw *raw, struct content_turn *turn, const uint8_t *bytes, uint32_t length);
void content_raw_lose(struct content_raw *raw, uint64_t length);
// Nothing, if it is not open. A file that is damaged is not CLOSED.
void content_raw_end(struct content_raw *raw, const struct content_turn *turn, enum content_end end,
	uint64_t ends64);

// What an announcement says of a file on `half`. `first`: no file of the flow was reported yet,
// which is the one that a label means that does not say which half. A file without a name, where it
// says nothing.
struct content_file content_announced_file(
	const struct transfer_label *label, unsigned half, bool first);
// Whether `label` says that it is on this half, and what.
static inline bool content_announced_as(
	const struct transfer_label *label, unsigned half, enum transfer_what what)
{
	return label && label->what == what && label->half == half;
}

#endif
