// SPDX-License-Identifier: BSD-3-Clause
// Calls and replies of NFS 3 and 4 (RFC 5531, 1813, 7530), as far as a test of its decoder needs
// them.
#ifndef NFS_TALK_H
#define NFS_TALK_H

#include <string.h>

#include "unit/transfer/binary_talk.h"

static uint32_t record_at; // in the arena
static uint32_t fragment;  // bytes of one; 0: the record is one

static inline void put_be(uint64_t number, unsigned n)
{
	while (n--)
		put(&(uint8_t){(uint8_t)(number >> 8 * n)}, 1);
}

static inline void put_opaque(const void *bytes, uint32_t n)
{
	put_be(n, 4);
	put(bytes, n);
	zeros((4 - n % 4) % 4);
}

static inline void put_text(const char *text)
{
	put_opaque(text, (uint32_t)strlen(text));
}

static inline void put_handle(unsigned id)
{
	uint8_t fh[28];

	memset(fh, (int)id, sizeof(fh));
	put_opaque(fh, sizeof(fh));
}

static inline void put_attrs(uint64_t size)
{
	put_be(1, 4);
	put_be(1, 4);
	zeros(16);
	put_be(size, 8);
	zeros(56);
}

// ---- records ----

static inline void record(void)
{
	record_at = used;
}

// What the record has, with marks before its fragments.
static inline void say_record(unsigned half)
{
	static uint8_t copy[20000];
	uint32_t length = used - record_at, begin = used, at = 0;

	assert_true(length <= sizeof(copy));
	memcpy(copy, arena + record_at, length);
	do {
		uint32_t n = fragment && fragment < length - at ? fragment : length - at;

		put_be(n | (at + n == length ? 0x80000000u : 0), 4);
		put(copy + at, n);
		at += n;
	} while (at < length);
	say_bytes(half, 0, begin, used - begin);
}

static inline void say_datagram(unsigned half)
{
	say_bytes(half, SPAN_DATAGRAM, record_at, used - record_at);
}

#define C(...)                        \
	do {                          \
		record();             \
		__VA_ARGS__;          \
		say_record(HALF_C2S); \
	} while (0)
#define S(...)                        \
	do {                          \
		record();             \
		__VA_ARGS__;          \
		say_record(HALF_S2C); \
	} while (0)

static inline void call_head(uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure)
{
	put_be(xid, 4);
	put_be(0, 4);
	put_be(2, 4);
	put_be(program, 4);
	put_be(version, 4);
	put_be(procedure, 4);
}

static inline void call(uint32_t xid, uint32_t version, uint32_t procedure)
{
	call_head(xid, 100003, version, procedure);
	put_be(1, 4); // AUTH_SYS
	put_opaque("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	put_be(0, 8);
}

static inline void call_gss(uint32_t xid, uint32_t service)
{
	call_head(xid, 100003, 3, 6);
	put_be(6, 4);
	put_be(20, 4);
	put_be(1, 4);
	put_be(0, 4);
	put_be(7, 4);
	put_be(service, 4);
	put_be(0, 4);
	put_be(6, 4);
	put_opaque("checksum", 8);
}

static inline void reply(uint32_t xid)
{
	put_be(xid, 4);
	put_be(1, 4);
	put_be(0, 4);
	put_be(0, 8);
	put_be(0, 4);
}

// ---- version 3 ----

static inline void call_lookup(uint32_t xid, const char *name)
{
	call(xid, 3, 3);
	put_handle(1);
	put_text(name);
}

static inline void reply_lookup(uint32_t xid, unsigned fh, uint64_t size)
{
	reply(xid);
	put_be(0, 4);
	put_handle(fh);
	put_attrs(size);
	zeros(4);
}

static inline void reply_error(uint32_t xid)
{
	reply(xid);
	put_be(2, 4);
	zeros(4);
}

static inline void call_create(uint32_t xid, const char *name)
{
	call(xid, 3, 8);
	put_handle(1);
	put_text(name);
	zeros(28);
}

static inline void reply_create(uint32_t xid, unsigned fh)
{
	reply(xid);
	put_be(0, 4);
	put_be(1, 4);
	put_handle(fh);
	put_attrs(0);
	zeros(8);
}

static inline void read_args(unsigned fh, uint64_t offset, uint32_t count)
{
	put_handle(fh);
	put_be(offset, 8);
	put_be(count, 4);
}

static inline void call_read(uint32_t xid, unsigned fh, uint64_t offset, uint32_t count)
{
	call(xid, 3, 6);
	read_args(fh, offset, count);
}

static inline void read_results(const char *text, bool eof)
{
	put_be((uint32_t)strlen(text), 4);
	put_be(eof, 4);
	put_text(text);
}

static inline void reply_read(uint32_t xid, uint64_t size, const char *text, bool eof)
{
	reply(xid);
	put_be(0, 4);
	if (size)
		put_attrs(size);
	else
		zeros(4);
	read_results(text, eof);
}

static inline void call_write(uint32_t xid, unsigned fh, uint64_t offset, const char *text)
{
	call(xid, 3, 7);
	put_handle(fh);
	put_be(offset, 8);
	put_be((uint32_t)strlen(text), 4);
	put_be(0, 4);
	put_text(text);
}

static inline void call_commit(uint32_t xid, unsigned fh)
{
	call(xid, 3, 21);
	put_handle(fh);
	zeros(12);
}

static inline void put_entry(const char *name, unsigned fh, uint64_t size)
{
	put_be(1, 4);
	zeros(8);
	put_text(name);
	zeros(8);
	put_attrs(size);
	put_be(fh > 0, 4);
	if (fh)
		put_handle(fh);
}

// ---- version 4 ----

static inline void compound(uint32_t xid, uint32_t ops)
{
	call(xid, 4, 1);
	put_text("tag");
	put_be(1, 4);
	put_be(ops, 4);
}

static inline void results(uint32_t xid, uint32_t ops)
{
	reply(xid);
	put_be(0, 4);
	put_text("tag");
	put_be(ops, 4);
}

static inline void op(uint32_t number)
{
	put_be(number, 4);
}

static inline void result(uint32_t number)
{
	put_be(number, 4);
	put_be(0, 4);
}

static inline void op_sequence(void)
{
	op(53);
	zeros(32);
}

static inline void result_sequence(void)
{
	result(53);
	zeros(36);
}

static inline void op_putfh(unsigned fh)
{
	op(22);
	put_handle(fh);
}

// `how`: 0 it is there; 1 UNCHECKED, 3 EXCLUSIVE4 (its value and one).
static inline void op_open(const char *name, unsigned how)
{
	op(18);
	zeros(20);
	put_text("owner");
	put_be(how > 0, 4);
	if (how) {
		put_be(how - 1, 4);
		if (how == 3) {
			zeros(8);
		} else {
			put_be(1, 4);
			put_be(16, 4);
			put_opaque("\0\0\0\0\0\0\0\0", 8);
		}
	}
	put_be(0, 4);
	put_text(name);
}

static inline void result_open(unsigned delegation)
{
	result(18);
	zeros(16 + 20 + 4);
	put_be(2, 4);
	zeros(8);
	put_be(delegation, 4);
	if (delegation == 2)
		zeros(16 + 4 + 4 + 8 + 12);
	if (delegation == 1)
		zeros(16 + 4 + 12);
	if (delegation == 1 || delegation == 2)
		put_text("EVERYONE@");
	if (delegation == 3) {
		put_be(1, 4);
		put_be(1, 4);
	}
}

static inline void result_getfh(unsigned fh)
{
	result(10);
	put_handle(fh);
}

static inline void op_getattr(void)
{
	op(9);
	put_be(1, 4);
	put_be(0x1a, 4);
}

// Type, change and size.
static inline void result_getattr(uint64_t size)
{
	result(9);
	put_be(1, 4);
	put_be(0x1a, 4);
	put_be(20, 4);
	put_be(1, 4);
	put_be(77, 8);
	put_be(size, 8);
}

static inline void op_read(uint64_t offset, uint32_t count)
{
	op(25);
	zeros(16);
	put_be(offset, 8);
	put_be(count, 4);
}

static inline void result_read(const char *text, bool eof)
{
	result(25);
	put_be(eof, 4);
	put_text(text);
}

static inline void op_write(uint64_t offset, const char *text)
{
	op(38);
	zeros(16);
	put_be(offset, 8);
	zeros(4);
	put_text(text);
}

static inline void op_close(void)
{
	op(4);
	zeros(20);
}

#endif
