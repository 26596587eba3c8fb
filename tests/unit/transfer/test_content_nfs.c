// SPDX-License-Identifier: BSD-3-Clause
// NFS 3 and 4 as clients and servers speak it: files that are read and written, their names by
// lookups, listings and compounds; fragments, datagrams, and what lies about lengths and numbers.
#include <stdio.h>

#include "content/decoders.h"
#include "unit/transfer/nfs_talk.h"

static void hold(const char *expected)
{
	fragment = 0;
	hold_as(&content_nfs, expected);
}

static void open_file(const char *name, uint64_t size)
{
	C(call_lookup(1, name));
	S(reply_lookup(1, 7, size));
}

// ---- version 3 ----

static void test_reads(void **state)
{
	(void)state;
	begin("a file is read");
	open_file("plan.pdf", 10);
	C(call_read(2, 7, 0, 6));
	S(reply_read(2, 10, "%PDF-1", false));
	C(call_read(3, 7, 6, 6));
	S(reply_read(3, 10, "last", true));
	hold("file 1 s2c command name=plan.pdf size=10\n"
	     "end 1 CLOSED 288+144 %PDF-1last\n");

	begin("in fragments of three octets");
	fragment = 3;
	open_file("plan.pdf", 10);
	C(call_read(2, 7, 0, 10));
	S(reply_read(2, 10, "%PDF-1last", true));
	hold("file 1 s2c command name=plan.pdf size=10\n"
	     "end 1 CLOSED 656+22 %PDF-1last\n");

	begin("three reads in flight, answered in any order");
	open_file("a.bin", 9);
	C(call_read(2, 7, 0, 3));
	C(call_read(3, 7, 3, 3));
	C(call_read(4, 7, 6, 3));
	S(reply_read(4, 9, "ghi", true));
	S(reply_read(2, 9, "abc", false));
	S(reply_read(3, 9, "def", false));
	hold("file 1 s2c command name=a.bin size=9\n"
	     "end 1 CLOSED 288+275 abcdefghi\n");

	begin("a part, and what is asked for again");
	open_file("a.bin", 9);
	C(call_read(2, 7, 3, 3));
	S(reply_read(2, 9, "def", false));
	C(call_read(3, 7, 3, 6));
	S(reply_read(3, 9, "DEFGHI", true));
	hold("file 1 s2c command name=a.bin size=9 from=3\n"
	     "end 1 TRUNCATED 288+3 def\n"
	     "file 2 s2c command name=a.bin size=9 from=3\n"
	     "end 2 CLOSED 424+6 DEFGHI\n");

	begin("nobody names it, or says its size");
	C(call_read(2, 7, 0, 3));
	S(reply_read(2, 0, "abc", false));
	C(call_read(3, 7, 3, 3));
	S(reply_read(3, 0, "d", true));
	hold("file 1 s2c none\n"
	     "end 1 CLOSED 48+53 abcd\n");
}

static void test_names(void **state)
{
	(void)state;
	begin("a name that is not there, and one that is longer than any");
	C(call_lookup(1, "gone"));
	S(reply_error(1));
	record();
	call(2, 3, 3);
	put_handle(1);
	put_be(300, 4);
	for (unsigned i = 0; i < 300; i++)
		put("n", 1);
	say_record(HALF_C2S);
	S(reply_lookup(2, 7, 1));
	C(call_read(3, 7, 0, 3));
	S(reply_read(3, 1, "M", true));
	hold("file 1 s2c command name=(255)..nnnnnnnn cut size=1\n"
	     "end 1 CLOSED 324+1 M\n");

	begin("names of a listing");
	C(call(1, 3, 17); put_handle(1); zeros(24));
	S(reply(1); put_be(0, 4); zeros(4); zeros(8); put_entry(".", 0, 4096);
		put_entry("x.exe", 8, 2); put_entry("y", 9, 5); zeros(4); put_be(1, 4));
	C(call_read(2, 8, 0, 3));
	S(reply_read(2, 2, "MZ", true));
	C(call_read(3, 9, 0, 5));
	S(reply_read(3, 5, "hello", true));
	hold("file 1 s2c command name=x.exe size=2\n"
	     "end 1 CLOSED 612+2 MZ\n"
	     "file 2 s2c command name=y size=5\n"
	     "end 2 CLOSED 748+5 hello\n");

	begin("two names of one handle: the newer one counts");
	open_file("a", 2);
	C(call_lookup(2, "b"));
	S(reply_lookup(2, 7, 2));
	C(call_read(3, 7, 0, 3));
	S(reply_read(3, 2, "MZ", true));
	hold("file 1 s2c command name=b size=2\n"
	     "end 1 CLOSED 444+2 MZ\n");
}

static void test_writes(void **state)
{
	(void)state;
	begin("a file is made and written, out of order");
	C(call_create(1, "up.txt"));
	S(reply_create(1, 7));
	C(call_write(2, 7, 6, "world"));
	C(call_write(3, 7, 0, "hello "));
	C(call_commit(4, 7));
	hold("file 1 c2s command name=up.txt\n"
	     "end 1 CLOSED 252+130 hello world\n");

	begin("behind its end, and the client leaves");
	open_file("log", 100);
	C(call_write(2, 7, 100, "more"));
	say_bytes(HALF_C2S, SPAN_FIN, 0, 0);
	hold("file 1 c2s command name=log from=100\n"
	     "end 1 CLOSED 220+4 more\n");

	begin("the last part is missing");
	C(call_create(1, "up.txt"));
	S(reply_create(1, 7));
	C(call_write(2, 7, 6, "world"));
	C(call_commit(4, 7));
	hold("file 1 c2s command name=up.txt\n"
	     "end 1 TRUNCATED 252+5 lost=6 ______world\n");
}

// ---- version 4 ----

static void open4(unsigned how, unsigned delegation, uint64_t size)
{
	C(compound(1, 5); op_sequence(); op_putfh(1); op_open("plan.pdf", how); op(10);
		op_getattr());
	S(results(1, 5); result_sequence(); result(22); result_open(delegation); result_getfh(7);
		result_getattr(size));
}

static void test_version_4(void **state)
{
	(void)state;
	begin("open, read, close, of version 4");
	open4(0, 0, 5);
	C(compound(2, 3); op_sequence(); op_putfh(7); op_read(0, 100));
	S(results(2, 3); result_sequence(); result(22); result_read("hello", true));
	hold("file 1 s2c command name=plan.pdf size=5\n"
	     "end 1 CLOSED 352+5 hello\n");

	begin("with a delegation, in two reads of one compound");
	open4(0, 1, 7);
	C(compound(2, 4); op_sequence(); op_putfh(7); op_read(0, 3); op_read(3, 4));
	S(results(2, 4); result_sequence(); result(22); result_read("sun", false);
		result_read("rise", true));
	hold("file 1 s2c command name=plan.pdf size=7\n"
	     "end 1 CLOSED 400+24 sunrise\n");

	begin("a file is written");
	open4(1, 2, 0);
	C(compound(2, 3); op_sequence(); op_putfh(7); op_write(0, "sun"));
	C(compound(3, 4); op_sequence(); op_putfh(7); op_write(3, "rise"); op_getattr());
	C(compound(4, 3); op_sequence(); op_putfh(7); op_close());
	hold("file 1 c2s command name=plan.pdf\n"
	     "end 1 CLOSED 436+196 sunrise\n");

	begin("open and write, and read, in one compound");
	C(compound(1, 5); op(24); op_open("x.exe", 3); op(10); op_write(0, "MZ"); op_close());
	C(compound(2, 5); op(24); op(15); put_text("folder"); op_open("y.exe", 0); op(32);
		op_read(0, 9));
	S(results(2, 5); result(24); result(15); result_open(3); result(32);
		result_read("MZ", true));
	hold("file 1 c2s command name=x.exe\n"
	     "end 1 CLOSED 192+2 MZ\n"
	     "file 2 s2c command name=y.exe\n"
	     "end 2 CLOSED 156+2 MZ\n");

	begin("a listing with handles");
	C(compound(1, 2); op_putfh(1); op(26); zeros(24); put_be(1, 4); put_be(0x80010, 4));
	S(results(1, 2); result(22); result(26); zeros(8); put_be(1, 4); zeros(8);
		put_text("x.exe"); put_be(1, 4); put_be(0x80010, 4); put_be(40, 4); put_be(2, 8);
		put_handle(9); zeros(4); put_be(1, 4));
	C(compound(2, 2); op_putfh(9); op_read(0, 9));
	S(results(2, 2); result(22); result_read("MZ", true));
	hold("file 1 s2c command name=x.exe size=2\n"
	     "end 1 CLOSED 220+2 MZ\n");

	begin("what fails, and what is not known");
	C(compound(1, 3); op_putfh(1); op_open("a", 0); op(10));
	S(results(1, 2); result(22); put_be(18, 4); put_be(13, 4));
	C(compound(2, 3); op_putfh(7); op(42); op_read(0, 9));
	C(compound(3, 3); op_putfh(7); op(200); op_read(0, 9));
	C(compound(4, 2); op_putfh(7); op(68); zeros(28));
	hold("note c2s bad_line @444\n"
	     "note c2s coding_unknown @624\n");
}

// ---- around them ----

static void test_gss(void **state)
{
	(void)state;
	begin("with integrity");
	open_file("a", 2);
	C(call_gss(2, 2); zeros(8); read_args(7, 0, 5); put_text("sum"));
	S(reply(2); zeros(8); put_be(0, 4); zeros(4); read_results("MZ", true); put_text("sum"));
	hold("file 1 s2c command name=a size=2\n"
	     "end 1 CLOSED 212+2 MZ\n");

	begin("with privacy");
	open_file("a", 2);
	C(call_gss(2, 3); put_text("sealed"));
	S(reply(2); put_text("sealed"));
	hold("note c2s encrypted @176\n");
}

static void test_others(void **state)
{
	(void)state;
	begin("other programs and versions, and calls of the server");
	C(call_head(1, 100005, 3, 1); zeros(16); put_text("/export"));
	C(call(2, 2, 6); zeros(44));
	C(call(3, 3, 1); put_handle(7));
	S(call(4, 4, 1); zeros(20));
	S(reply_read(3, 4, "none", true));
	C(put_be(5, 4); put_be(2, 4));
	hold("");

	begin("datagrams");
	record();
	call_lookup(1, "a");
	say_datagram(HALF_C2S);
	record();
	reply_lookup(1, 7, 2);
	say_datagram(HALF_S2C);
	record();
	put("x", 1);
	say_datagram(HALF_S2C);
	record();
	call_read(2, 7, 0, 2);
	say_datagram(HALF_C2S);
	record();
	reply_read(2, 2, "MZ", true);
	say_datagram(HALF_S2C);
	hold("file 1 s2c command name=a size=2\n"
	     "end 1 CLOSED 281+2 MZ\n");
}

// ---- what lies ----

static void test_lies(void **state)
{
	(void)state;
	begin("a fragment of 2^31 - 1, in the middle of a record and as one");
	open_file("a", 4);
	C(call_read(2, 7, 0, 4));
	record();
	reply_read(2, 4, "MZab", true);
	say_record(HALF_S2C);
	record();
	put("\xff\xff\xff\xff", 4);
	zeros(200);
	say_bytes(HALF_S2C, 0, record_at, used - record_at);
	hold("file 1 s2c command name=a size=4\n"
	     "end 1 CLOSED 288+4 MZab\n"
	     "note s2c bad_length @296\n");

	begin("more comes than was asked for, and than there is");
	open_file("a", 9);
	C(call_read(2, 7, 0, 2));
	S(reply_read(2, 9, "MZab", false));
	C(call_read(3, 7, 4, 2));
	record();
	reply_read(3, 9, "cd", false);
	memcpy(arena + used - 8, "\0\0\0\x04", 4);
	used -= 2;
	say_record(HALF_S2C);
	C(call_read(4, 7, 8, 2));
	S(reply_read(4, 9, "e", false));
	hold("note s2c bad_length @288\n"
	     "file 1 s2c command name=a size=9\n"
	     "end 1 TRUNCATED 288+271 lost=2 MZabcd__e\n");

	begin("an xid that is used again: the same call, and another one");
	open_file("a", 2);
	C(call_lookup(2, "b"));
	S(reply_lookup(2, 8, 4));
	C(call_read(3, 7, 0, 2));
	C(call_read(3, 7, 0, 2));
	S(reply_read(3, 2, "MZ", true));
	C(call_read(4, 7, 0, 4));
	C(call_read(4, 8, 0, 4));
	S(reply_read(4, 4, "abcd", true));
	S(reply_read(4, 4, "efgh", true));
	hold("file 1 s2c command name=a size=2\n"
	     "end 1 CLOSED 444+2 MZ\n"
	     "note c2s bad_line @640\n"
	     "file 2 s2c command name=b size=4\n"
	     "end 2 CLOSED 580+4 abcd\n");

	begin("handles, bitmaps and delegations that cannot be");
	record();
	call(1, 3, 6);
	put_be(0x7fffffff, 4);
	say_record(HALF_C2S);
	C(compound(2, 1); op(9); put_be(0xffffffff, 4));
	C(compound(3, 1); op(18); zeros(20); put_text("o"); put_be(7, 4));
	hold("note c2s bad_line @68\n");
}

static void test_gaps(void **state)
{
	(void)state;
	begin("a gap in a file's bytes");
	open_file("a", 9);
	C(call_read(2, 7, 0, 9));
	record();
	reply_read(2, 9, "abcdefghi", true);
	say_record(HALF_S2C);
	talk.said[n_said - 1].length -= 9;
	say_gap(HALF_S2C, 4);
	say_bytes(HALF_S2C, 0, used - 5, 5);
	C(call_read(3, 7, 9, 9));
	hold("file 1 s2c command name=a size=9\n"
	     "end 1 TRUNCATED 288+9 lost=4 abc____hi\n");

	begin("a gap in a call");
	open_file("a", 9);
	C(call_read(2, 7, 0, 9));
	S(reply_read(2, 9, "abc", false));
	say_gap(HALF_C2S, 9);
	hold("file 1 s2c command name=a size=9\n"
	     "note c2s lost @212\n"
	     "end 1 TRUNCATED 288+3 abc\n");
}

static void put_short_entries(unsigned page, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t fh[4] = {1, (uint8_t)page, (uint8_t)i, 1};

		put_be(1, 4);
		zeros(8);
		put_text("name");
		zeros(12);
		put_be(1, 4);
		put_opaque(fh, 4);
	}
}

static void test_tables(void **state)
{
	(void)state;
	begin("more files at a time than are followed: the oldest ends");
	for (unsigned i = 0; i < 7; i++) {
		C(call_read(2 + i, 10 + i, 0, 1));
		S(reply_read(2 + i, 9, "x", false));
	}
	hold("file 1 s2c none size=9\n"
	     "file 2 s2c none size=9\n"
	     "file 3 s2c none size=9\n"
	     "file 4 s2c none size=9\n"
	     "file 5 s2c none size=9\n"
	     "file 6 s2c none size=9\n"
	     "end 1 TRUNCATED 132+1 x\n"
	     "file 7 s2c none size=9\n"
	     "end 7 TRUNCATED 948+1 x\n"
	     "end 6 TRUNCATED 812+1 x\n"
	     "end 5 TRUNCATED 676+1 x\n"
	     "end 4 TRUNCATED 540+1 x\n"
	     "end 3 TRUNCATED 404+1 x\n"
	     "end 2 TRUNCATED 268+1 x\n");

	begin("more names than are kept: the oldest is forgotten");
	for (unsigned page = 0; page < 10; page++) {
		C(call(1, 3, 17); put_handle(1); zeros(24));
		S(reply(1); put_be(0, 4); zeros(12); put_short_entries(page, 120); zeros(8));
	}
	C(call(2, 3, 6); put_opaque("\1\0\0\1", 4); put_be(0, 8); put_be(9, 4));
	S(reply_read(2, 2, "MZ", true));
	C(call(3, 3, 6); put_opaque("\1\11\0\1", 4); put_be(0, 8); put_be(9, 4));
	S(reply_read(3, 2, "MZ", true));
	hold("file 1 s2c none size=2\n"
	     "end 1 CLOSED 53452+2 MZ\n"
	     "file 2 s2c command name=name size=2\n"
	     "end 2 CLOSED 53588+2 MZ\n");
}

static void test_calls(void **state)
{
	(void)state;
	begin("more calls than wait");
	for (unsigned k = 0; k < 2; k++) {
		uint32_t from = used;

		for (unsigned i = 0; i < 257; i++) {
			record();
			call_read(2 + 257 * k + i, 7, i, 1);
			uint32_t n = used - record_at;

			memmove(arena + record_at + 4, arena + record_at, n);
			used += 4;
			memcpy(arena + record_at, (uint8_t[]){0x80, 0, 0, (uint8_t)n}, 4);
		}
		say_bytes(HALF_C2S, 0, from, used - from);
	}
	hold("note c2s too_many_requests @55404\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_version_4),
		cmocka_unit_test(test_gss),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
