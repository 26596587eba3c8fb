// SPDX-License-Identifier: BSD-3-Clause
// What a file is, by its first bytes: an own table of the types that policies ask for. A name, its
// extension and what a server says of it are not looked at.
//
// Not told apart, as 512 bytes do not say it: what lies in an OLE2 file (.doc, .xls, .ppt, .msi,
// .msg: "ole2"); which of docx, xlsx and pptx a file is whose first entry is long ("ooxml", as
// Office writes them); an apk that begins as a jar does ("jar"). ISO 9660 images and Apple's disk
// images say what they are behind byte 32,768 or at their end: "unknown".
#ifndef SLUICE_CONTENT_FILE_TYPE_H
#define SLUICE_CONTENT_FILE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#define FILE_TYPE_BYTES 512 // of the file's beginning are looked at

// 0: not known (yet).
typedef uint16_t file_type;

// Pure, for any core; nothing behind `length` is read, nor behind FILE_TYPE_BYTES. `whole`: there
// is no more than this. With fewer than FILE_TYPE_BYTES and not `whole`, a type that only later
// bytes tell, or rule out, is not found yet: ask again with more. One that was found stays.
file_type file_type_find(const uint8_t *bytes, uint32_t length, bool whole);
// "pe", "elf", "zip", "docx", "pdf", "mp3" ...; "unknown" for 0.
const char *file_type_word(file_type type);
// "executable", "archive", "document", "image", "audio", "video", "script", "disk-image", "other";
// "unknown" for 0.
const char *file_type_group(file_type type);
file_type file_type_by_word(const char *word); // 0: there is none
unsigned file_type_count(void);                // types are 1 to this

#endif
