// SPDX-License-Identifier: BSD-3-Clause
// Messages of SMB 2 ([MS-SMB2] 2.2), as far as a test of its decoder needs them.
#ifndef SMB_TALK_H
#define SMB_TALK_H

#include <string.h>

#include "unit/transfer/binary_talk.h"

enum {
	NEGOTIATE = 0,
	TREE = 3,
	CREATE = 5,
	CLOSE = 6,
	READ = 8,
	WRITE = 9,
	SET_INFO = 17,
};
#define RELATED   4u
#define ANSWER    1u
#define ASYNC     2u
#define PENDING   0x103u
#define EOF_MET   0xc0000011u
#define DENIED    0xc0000022u
#define PREVIOUS  0xffu // file id: all ones
#define TREE_ID   5u
#define DIRECTORY 0x10u

static uint32_t frame_at, message_at; // in the arena

// ---- frames and messages ----

static inline void frame(void)
{
	frame_at = used;
	message_at = 0;
	zeros(4);
}

static inline void set_frame(uint32_t length)
{
	arena[frame_at + 1] = (uint8_t)(length >> 16);
	arena[frame_at + 2] = (uint8_t)(length >> 8);
	arena[frame_at + 3] = (uint8_t)length;
}

static inline void say(unsigned half)
{
	set_frame(used - frame_at - 4);
	say_bytes(half, 0, frame_at, used - frame_at);
}

// The next message of the frame.
static inline void head(unsigned command, uint64_t id, uint32_t flags, uint32_t status)
{
	if (message_at) {
		zeros((8 - (used - message_at) % 8) % 8);
		set_n(message_at + 20, used - message_at, 4);
	}
	message_at = used;
	put("\xfeSMB\x40\0", 6);
	put_n(1, 2);
	put_n(status, 4);
	put_n(command, 2);
	put_n(1, 2);
	put_n(flags, 4);
	put_n(0, 4);
	put_n(id, 8);
	put_n(0, 4);
	put_n(TREE_ID, 4);
	put_n(0x77, 8);
	zeros(16);
}

static inline void put_id(unsigned id)
{
	for (unsigned i = 0; i < 16; i++)
		put_n(id, 1);
}

static inline void put_utf16(const char *ascii)
{
	for (; *ascii; ascii++)
		put_n((uint8_t)*ascii, 2);
}

static inline void ask_tree(uint64_t id, const char *path)
{
	head(TREE, id, 0, 0);
	put_n(9, 2);
	put_n(0, 2);
	put_n(72, 2);
	put_n(2 * strlen(path), 2);
	put_utf16(path);
}

static inline void answer_tree(uint64_t id, unsigned type)
{
	head(TREE, id, ANSWER, 0);
	put_n(16, 2);
	put_n(type, 2);
	zeros(12);
}

static inline void ask_create_raw(
	uint64_t id, uint32_t flags, const void *name, uint32_t n, uint32_t option)
{
	head(CREATE, id, flags, 0);
	put_n(57, 2);
	zeros(38);
	put_n(option, 4);
	put_n(120, 2);
	put_n(n, 2);
	zeros(8);
	put(name, n);
}

static inline void ask_create(uint64_t id, const char *name)
{
	uint8_t units[512];
	uint32_t n = 0;

	for (; *name; name++) {
		units[n++] = (uint8_t)*name;
		units[n++] = 0;
	}
	ask_create_raw(id, 0, units, n, 0);
}

static inline void answer_create(uint64_t id, unsigned file, uint64_t size, uint32_t attributes)
{
	head(CREATE, id, ANSWER, 0);
	put_n(89, 2);
	zeros(46);
	put_n(size, 8);
	put_n(attributes, 4);
	zeros(4);
	put_id(file);
	zeros(8);
}

static inline void refused(unsigned command, uint64_t id, uint32_t flags, uint32_t status)
{
	head(command, id, ANSWER | flags, status);
	put_n(9, 2);
	zeros(7);
}

static inline void ask_read(
	uint64_t id, uint32_t flags, unsigned file, uint64_t offset, uint32_t length)
{
	head(READ, id, flags, 0);
	put_n(49, 2);
	zeros(2);
	put_n(length, 4);
	put_n(offset, 8);
	put_id(file);
	zeros(17);
}

static inline void answer_read(uint64_t id, const char *text)
{
	uint32_t n = (uint32_t)strlen(text);

	head(READ, id, ANSWER, 0);
	put_n(17, 2);
	put_n(80, 2);
	put_n(n, 4);
	zeros(8);
	put(text, n);
}

static inline void ask_write(
	uint64_t id, uint32_t flags, unsigned file, uint64_t offset, const char *text)
{
	uint32_t n = (uint32_t)strlen(text);

	head(WRITE, id, flags, 0);
	put_n(49, 2);
	put_n(112, 2);
	put_n(n, 4);
	put_n(offset, 8);
	put_id(file);
	zeros(16);
	put(text, n);
}

static inline void ask_close(uint64_t id, uint32_t flags, unsigned file)
{
	head(CLOSE, id, flags, 0);
	put_n(24, 2);
	zeros(6);
	put_id(file);
}

static inline void answer_close(uint64_t id)
{
	head(CLOSE, id, ANSWER, 0);
	put_n(60, 2);
	zeros(58);
}

static inline void ask_size(uint64_t id, unsigned file, uint64_t size)
{
	head(SET_INFO, id, 0, 0);
	put_n(33, 2);
	put_n(1, 1);
	put_n(20, 1);
	put_n(8, 4);
	put_n(96, 2);
	zeros(6);
	put_id(file);
	put_n(size, 8);
}

// A frame of one message.
#define C(message)             \
	do {                   \
		frame();       \
		message;       \
		say(HALF_C2S); \
	} while (0)
#define S(message)             \
	do {                   \
		frame();       \
		message;       \
		say(HALF_S2C); \
	} while (0)

#endif
