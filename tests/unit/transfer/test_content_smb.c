// SPDX-License-Identifier: BSD-3-Clause
// SMB 2 and 3 as clients and servers speak it: files that are read and written, in and out of
// order, in chains of messages; what lies about lengths, ids and messages.
#include <stdio.h>

#include "content/decoders.h"
#include "unit/transfer/smb_talk.h"

static void hold(const char *expected)
{
	hold_as(&content_smb, expected);
}

static void connect(void)
{
	C(ask_tree(1, "\\\\nas\\docs"));
	S(answer_tree(1, 1));
}

static void open_file(const char *name, uint64_t size)
{
	connect();
	C(ask_create(2, name));
	S(answer_create(2, 7, size, 0x20));
}
#define DOCS " path=\\5cdocs\\5c host=nas"

// ---- reading ----

static void test_reads_a_file(void **state)
{
	(void)state;
	begin("a file is read");
	open_file("work\\plan.pdf", 10);
	C(ask_read(3, 0, 7, 0, 6));
	S(answer_read(3, "%PDF-1"));
	C(ask_read(4, 0, 7, 6, 6));
	S(answer_read(4, "last"));
	C(ask_close(5, 0, 7));
	S(answer_close(5));
	hold("file 1 s2c command name=plan.pdf path=\\5cdocs\\5cwork\\5c host=nas size=10\n"
	     "end 1 CLOSED 324+94 %PDF-1last\n");
}

static void test_reads_out_of_order(void **state)
{
	(void)state;
	begin("four reads in flight, answered in any order");
	open_file("a.bin", 12);
	frame();
	for (unsigned i = 0; i < 4; i++)
		ask_read(3 + i, 0, 7, 3 * i, 3);
	say(HALF_C2S);
	S(refused(READ, 3, ASYNC, PENDING));
	S(answer_read(5, "ghi"));
	S(answer_read(3, "abc"));
	S(answer_read(6, "jkl"));
	S(answer_read(4, "def"));
	hold("file 1 s2c command name=a.bin" DOCS " size=12\n"
	     "end 1 CLOSED 401+264 abcdefghijkl\n");
}

static void test_reads_a_part(void **state)
{
	(void)state;
	begin("a part, then from the beginning, and it is closed before its end");
	open_file("a.bin", 12);
	C(ask_read(3, 0, 7, 6, 3));
	S(answer_read(3, "ghi"));
	C(ask_read(4, 0, 7, 0, 6));
	S(answer_read(4, "abcdef"));
	C(ask_close(5, 0, 7));
	S(answer_close(5));
	hold("file 1 s2c command name=a.bin" DOCS " size=12 from=6\n"
	     "end 1 TRUNCATED 324+3 ghi\n"
	     "file 2 s2c command name=a.bin" DOCS " size=12\n"
	     "end 2 TRUNCATED 411+6 abcdef\n");
}

static void test_reads_again(void **state)
{
	(void)state;
	begin("what is asked for again is another transfer");
	open_file("a.bin", 6);
	C(ask_read(3, 0, 7, 0, 3));
	S(answer_read(3, "abc"));
	C(ask_read(4, 0, 7, 0, 6));
	S(answer_read(4, "ABCDEF"));
	hold("file 1 s2c command name=a.bin" DOCS " size=6\n"
	     "end 1 TRUNCATED 324+3 abc\n"
	     "file 2 s2c command name=a.bin" DOCS " size=6\n"
	     "end 2 CLOSED 411+6 ABCDEF\n");
}

static void test_reads_compound(void **state)
{
	(void)state;
	begin("open, read and close in one chain");
	connect();
	frame();
	ask_create(2, "x.exe");
	ask_read(3, RELATED, PREVIOUS, 0, 64);
	ask_close(4, RELATED, PREVIOUS);
	say(HALF_C2S);
	frame();
	answer_create(2, 9, 2, 0);
	answer_read(3, "MZ");
	answer_close(4);
	say(HALF_S2C);
	hold("file 1 s2c command name=x.exe" DOCS " size=2\n"
	     "end 1 CLOSED 320+2 MZ\n");
}

static void test_no_files(void **state)
{
	(void)state;
	begin("folders, what is refused, the root of a share, a file that is only opened");
	connect();
	C(ask_create(2, "folder"));
	S(answer_create(2, 7, 0, DIRECTORY));
	C(ask_create_raw(3, 0, "", 0, 0));
	S(answer_create(3, 8, 0, DIRECTORY));
	C(ask_create_raw(4, 0, "d\0", 2, 1));
	C(ask_create(5, "secret"));
	S(refused(CREATE, 5, 0, DENIED));
	C(ask_create(6, "a.bin"));
	S(answer_create(6, 9, 100, 0));
	C(ask_read(7, 0, 9, 0, 10));
	S(refused(READ, 7, 0, DENIED));
	C(ask_close(8, 0, 9));
	S(answer_close(8));
	hold("");

	begin("a named pipe");
	C(ask_tree(1, "\\\\nas\\IPC$"));
	S(answer_tree(1, 2));
	C(ask_create(2, "srvsvc"));
	S(answer_create(2, 7, 0, 0));
	C(ask_write(3, 0, 7, 0, "bind"));
	C(ask_read(4, 0, 7, 0, 100));
	S(answer_read(4, "bound"));
	hold("");
}

static void test_nameless(void **state)
{
	(void)state;
	begin("a file that another connection has opened");
	C(ask_read(3, 0, 7, 0, 3));
	S(answer_read(3, "abc"));
	C(ask_read(4, 0, 7, 3, 3));
	S(answer_read(4, "d"));
	hold("file 1 s2c none\nend 1 CLOSED 84+88 abcd\n");

	begin("... whose end is told by a status");
	C(ask_read(3, 0, 7, 0, 3));
	S(answer_read(3, "abc"));
	C(ask_read(4, 0, 7, 3, 3));
	S(refused(READ, 4, 0, EOF_MET));
	hold("file 1 s2c none\nend 1 CLOSED 84+3 abc\n");
}

// ---- writing ----

static void test_writes(void **state)
{
	(void)state;
	begin("smbclient puts a file");
	open_file("up.txt", 0);
	C(ask_write(3, 0, 7, 0, "hello "));
	C(ask_write(4, 0, 7, 6, "world"));
	C(ask_close(5, 0, 7));
	S(answer_close(5));
	hold("file 1 c2s command name=up.txt" DOCS "\nend 1 CLOSED 348+127 hello world\n");

	begin("Windows sets the size first");
	open_file("up.txt", 0);
	C(ask_size(3, 7, 11));
	C(ask_write(4, 0, 7, 6, "world"));
	C(ask_write(5, 0, 7, 0, "hello "));
	C(ask_close(6, 0, 7));
	hold("file 1 c2s command name=up.txt" DOCS " size=11\nend 1 CLOSED 456+127 hello world\n");

	begin("in one chain");
	connect();
	frame();
	ask_create(2, "up.txt");
	ask_write(3, RELATED, PREVIOUS, 0, "hello");
	ask_close(4, RELATED, PREVIOUS);
	say(HALF_C2S);
	hold("file 1 c2s command name=up.txt" DOCS "\nend 1 CLOSED 348+5 hello\n");

	begin("behind the end of a file, and with a hole");
	open_file("log.txt", 100);
	C(ask_write(3, 0, 7, 100, "more"));
	C(ask_write(4, 0, 7, 110, "yet"));
	C(ask_close(5, 0, 7));
	hold("file 1 c2s command name=log.txt" DOCS " from=100\n"
	     "end 1 TRUNCATED 350+123 lost=6 more______yet\n");
}

// ---- names ----

static void test_names(void **state)
{
	(void)state;
	begin("surrogates, in pairs and alone");
	connect();
	C(ask_create_raw(2, 0, "\x3d\xd8\x00\xde.\0e\0x\0e\0\x3d\xd8", 14, 0));
	S(answer_create(2, 7, 1, 0));
	C(ask_read(3, 0, 7, 0, 3));
	S(answer_read(3, "M"));
	hold("file 1 s2c command name=\\f0\\9f\\98\\80.exe\\ef\\bf\\bd" DOCS " size=1\n"
	     "end 1 CLOSED 324+1 M\n");

	static uint8_t units[12000];

	for (unsigned i = 0; i < sizeof(units); i += 2)
		units[i] = i == sizeof(units) - 10 ? '.' : 'n';
	begin("a name that is too long keeps its end");
	connect();
	C(ask_create_raw(2, 0, units, sizeof(units), 0));
	S(answer_create(2, 7, 1, 0));
	C(ask_read(3, 0, 7, 0, 3));
	S(answer_read(3, "M"));
	hold("file 1 s2c command name=(1024)..nnn.nnnn cut" DOCS " size=1\n"
	     "end 1 CLOSED 324+1 M\n");
}

// ---- what lies ----

static void test_chains(void **state)
{
	(void)state;
	begin("a chain that would go round: its next message is odd, or within its own header");
	open_file("a", 2);
	for (unsigned next = 1; next < 64; next += 23) {
		frame();
		ask_read(3 + next, 0, 7, 0, 2);
		set_n(message_at + 20, next, 4);
		say(HALF_C2S);
	}
	frame();
	answer_read(4, "MZ");
	set_n(message_at + 20, 88, 4); // beyond the frame
	say(HALF_S2C);
	hold("note c2s bad_length @290\nnote s2c bad_length @308\n"
	     "file 1 s2c command name=a" DOCS " size=2\nend 1 CLOSED 324+2 MZ\n");
}

static void test_lengths(void **state)
{
	(void)state;
	begin("more comes than was asked for");
	open_file("a", 6);
	C(ask_read(3, 0, 7, 0, 2));
	S(answer_read(3, "abcdef"));
	hold("note s2c bad_length @324\n"
	     "file 1 s2c command name=a" DOCS " size=6\nend 1 CLOSED 324+6 abcdef\n");

	begin("bytes that would lie outside of their message, or in its head");
	open_file("a", 6);
	C(ask_read(3, 0, 7, 0, 2));
	frame();
	answer_read(3, "ab");
	set_n(message_at + 68, 3, 4);
	say(HALF_S2C);
	C(ask_read(4, 0, 7, 0, 2));
	frame();
	answer_read(4, "ab");
	set_n(message_at + 66, 79, 1);
	say(HALF_S2C);
	C(ask_read(5, 0, 7, 0, 2));
	S(answer_read(5, "xy"));
	hold("note s2c bad_length @324\n"
	     "file 1 s2c command name=a" DOCS " size=6\nend 1 TRUNCATED 496+2 xy\n");

	begin("a write beyond the last offset");
	open_file("a", 6);
	C(ask_write(3, 0, 7, UINT64_MAX, "ab"));
	hold("");

	begin("a frame that is no frame");
	frame();
	put("\xfeSMB", 4);
	arena[frame_at] = 0x16;
	say(HALF_C2S);
	hold("note c2s bad_length @4\n");

	begin("messages that are none");
	frame();
	put("GET / HTTP/1.1\r\n\r\n", 18);
	say(HALF_C2S);
	frame();
	put("\xfeSMB", 4);
	say(HALF_C2S);
	frame();
	say(HALF_C2S);
	open_file("a", 1);
	C(ask_read(3, 0, 7, 0, 2));
	S(answer_read(3, "a"));
	hold("note c2s bad_line @8\n"
	     "file 1 s2c command name=a" DOCS " size=1\nend 1 CLOSED 324+1 a\n");
}

static void test_ids(void **state)
{
	(void)state;
	begin("a MessageId that is used again");
	open_file("a", 4);
	C(ask_create(3, "b"));
	S(answer_create(3, 8, 4, 0));
	C(ask_read(4, 0, 7, 0, 2));
	C(ask_read(4, 0, 8, 0, 4));
	S(answer_read(4, "MZMZ"));
	S(answer_read(4, "MZMZ"));
	hold("note c2s bad_line @581\n"
	     "file 1 s2c command name=b" DOCS " size=4\nend 1 CLOSED 480+4 MZMZ\n");

	begin("an id of a file that was closed, or whose end nobody saw");
	open_file("a", 4);
	C(ask_close(3, 0, 7));
	S(answer_close(3));
	C(ask_create(4, "b"));
	S(answer_create(4, 7, 4, 0));
	C(ask_create(5, "c"));
	S(answer_create(5, 7, 3, 0));
	C(ask_read(6, 0, 7, 0, 4));
	S(answer_read(6, "MZx"));
	hold("file 1 s2c command name=c" DOCS " size=3\nend 1 CLOSED 764+3 MZx\n");
}

static void test_opaque(void **state)
{
	(void)state;
	begin("SMB 1 that asks for SMB 2");
	frame();
	put("\xffSMB\x72", 5);
	zeros(60);
	say(HALF_C2S);
	S(refused(NEGOTIATE, 0, 0, 0));
	open_file("a", 1);
	C(ask_read(3, 0, 7, 0, 2));
	S(answer_read(3, "a"));
	hold("file 1 s2c command name=a" DOCS " size=1\nend 1 CLOSED 401+1 a\n");

	begin("SMB 1, encryption, compression");
	frame();
	put("\xffSMB\x73", 5);
	zeros(60);
	say(HALF_C2S);
	frame();
	put("\xff"
	    "SMB",
		4);
	say(HALF_C2S);
	frame();
	put("\xfdSMB", 4);
	zeros(60);
	say(HALF_C2S);
	say_bytes(HALF_S2C, 0, frame_at, used - frame_at);
	frame();
	put("\xfc"
	    "SMB",
		4);
	zeros(60);
	say(HALF_S2C);
	say_bytes(HALF_S2C, 0, frame_at, used - frame_at);
	hold("note c2s smb1 @9\nnote c2s encrypted @85\nnote s2c encrypted @8\n"
	     "note s2c compressed @76\n");
}

// ---- gaps ----

static void test_gaps(void **state)
{
	(void)state;
	begin("a gap in a file's bytes");
	open_file("a", 10);
	C(ask_read(3, 0, 7, 0, 10));
	frame();
	answer_read(3, "abcdefghij");
	set_frame(used - frame_at - 4);
	say_bytes(HALF_S2C, 0, frame_at, used - frame_at - 7);
	say_gap(HALF_S2C, 4);
	say_bytes(HALF_S2C, 0, used - 3, 3);
	C(ask_close(4, 0, 7));
	S(answer_close(4));
	hold("file 1 s2c command name=a" DOCS " size=10\n"
	     "end 1 TRUNCATED 324+10 lost=4 abc____hij\n");

	begin("a gap in what is not read");
	C(head(NEGOTIATE, 0, 0, 0); zeros(36));
	say_bytes(HALF_C2S, 0, frame_at, used - frame_at - 36);
	say_gap(HALF_C2S, 36);
	C(ask_read(3, 0, 7, 0, 3));
	S(answer_read(3, "abc"));
	hold("file 1 s2c none\nend 1 TRUNCATED 84+3 abc\n");

	begin("a gap in a header");
	open_file("a", 10);
	C(ask_read(3, 0, 7, 0, 4));
	S(answer_read(3, "abcd"));
	say_gap(HALF_S2C, 36);
	hold("file 1 s2c command name=a" DOCS " size=10\n"
	     "note s2c lost @328\nend 1 TRUNCATED 324+4 abcd\n");
}

// ---- tables ----

static void test_tables(void **state)
{
	char text[16384];
	int n = 0;

	(void)state;
	begin("more files than are kept");
	connect();
	frame();
	for (unsigned i = 0; i < 257; i++)
		ask_create(10 + i, i ? "b" : "a");
	say(HALF_C2S);
	frame();
	for (unsigned i = 0; i < 257; i++) {
		answer_create(10 + i, 0, 1, 0);
		set_n(message_at + 128, 1000 + i, 4);
	}
	say(HALF_S2C);
	hold("note c2s too_many_requests @32990\n");

	begin("more files at a time than are followed: the oldest ends");
	connect();
	for (unsigned i = 0; i < 7; i++) {
		frame();
		ask_create(10 + i, "a");
		ask_read(50 + i, RELATED, PREVIOUS, 0, 1);
		say(HALF_C2S);
		frame();
		answer_create(10 + i, 20 + i, 2, 0);
		answer_read(50 + i, "x");
		say(HALF_S2C);
	}
	n = snprintf(text, sizeof(text), "%s", "");
	for (unsigned i = 1; i <= 7; i++) {
		if (i == 7)
			n += snprintf(
				text + n, sizeof(text) - (size_t)n, "end 1 TRUNCATED 320+1 x\n");
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			"file %u s2c command name=a" DOCS " size=2\n", i);
	}
	for (unsigned i = 7; i > 1; i--)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "end %u TRUNCATED %u+1 x\n", i,
			320 + 237 * (i - 1));
	hold(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_a_file),
		cmocka_unit_test(test_reads_out_of_order),
		cmocka_unit_test(test_reads_a_part),
		cmocka_unit_test(test_reads_again),
		cmocka_unit_test(test_reads_compound),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_opaque),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
