// SPDX-License-Identifier: BSD-3-Clause
// Binary files that a few bytes at fixed places do not tell: functions for the rows of file_type.c.
//
// Each is pure and answers a type, TYPE_NONE (it is none of those that the function knows) or
// TYPE_WAIT (more bytes may tell; not of a head that is all). An answer other than TYPE_WAIT is the
// same whatever follows.
#ifndef SLUICE_CONTENT_FILE_TYPE_KIND_H
#define SLUICE_CONTENT_FILE_TYPE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "content/file_type_list.h"

struct file_head {
	const uint8_t *bytes;
	uint32_t length; // at most FILE_TYPE_BYTES
	bool is_all;     // nothing follows that is looked at
	bool is_whole;   // nothing follows
};

typedef enum file_type_symbol file_kind(const struct file_head *head);

// Behind "MZ"; CA FE BA BE; "PK" 3 4; "ftyp" at 4; 1A 45 DF A3; 00 01 00 00; "BM"; 00 00, 1 or 2,
// 00; FF; "FWS", "CWS" or "ZWS"; nothing.
file_kind kind_mz, kind_cafebabe, kind_zip, kind_ftyp, kind_ebml, kind_ttf, kind_bmp, kind_icon,
	kind_audio_frames, kind_swf, kind_boot_sector;

// Whether `n` bytes stand at `at`, where `mask` (NULL: all ones) has ones. HEAD_PART: as far as the
// bytes go, and more may come.
enum head_match { HEAD_NO, HEAD_PART, HEAD_YES };
enum head_match head_has(
	const struct file_head *head, uint32_t at, const char *bytes, uint32_t n, const char *mask);
// What is said for want of bytes.
static inline enum file_type_symbol head_lacks(
	const struct file_head *head, enum file_type_symbol otherwise)
{
	return head->is_all ? otherwise : TYPE_WAIT;
}

#endif
