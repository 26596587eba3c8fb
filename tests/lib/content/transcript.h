// SPDX-License-Identifier: BSD-3-Clause
// Writes down what a content decoder tells, as lines of text that do not depend on how the bytes
// were cut: the bytes of a file stand together in the line of its end, as do the parts of a
// message.
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include "content/content.h"

#define TRANSCRIPT_FILES 256
#define TRANSCRIPT_SHOWN 96 // bytes of a file that are shown as they are

struct transcript_file {
	uint64_t begins64;
	uint64_t end;  // of what was told
	uint64_t lost; // bytes that were left out before that
	uint64_t hash;
	uint8_t shown[TRANSCRIPT_SHOWN];
	uint64_t came; // bytes, of one that is scattered
	bool named, wanted, ended, scattered;
};

struct transcript_message { // that goes on
	uint64_t begins64, ends64, unit64;
	uint32_t length;
	bool open;
	uint8_t text[CONTENT_TEXT_BYTES];
};

struct transcript {
	enum content_want want; // what is answered
	uint64_t told;          // bytes of all files
	uint32_t budget;        // that may be told in one turn, for check
	struct transcript_file files[TRANSCRIPT_FILES];
	uint32_t n_files; // ids so far
	struct transcript_message messages[2];
	char text[16384];
	uint32_t length;
};

void transcript_begin(struct transcript *transcript, enum content_want want);
struct content_sink transcript_sink(struct transcript *transcript);
// Lines of what is told of other flows: "expect ADDRESS:PORT from PEER as AS app=APP ...",
// "claim expect ..." where it is another's address.
struct decoder_sink transcript_others(struct transcript *transcript);

#endif
