// SPDX-License-Identifier: BSD-3-Clause
// Files that datagrams of eDonkey, eMule and Kad name.
#include "content/edonkey/datagram.h"
#include "content/memory.h"
#include "lib/content/transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

// As the wire of Kad has it, and as a link has it.
#define FILE1 "\x33\x32\x31\x30\x37\x36\x35\x34\x3b\x3a\x39\x38\x3f\x3e\x3d\x3c"
#define FILE2 "\x43\x42\x41\x40\x47\x46\x45\x44\x4b\x4a\x49\x48\x4f\x4e\x4d\x4c"
#define NODE  "nodenodenodenode"
#define ID_1  "id c2s ed2k:303132333435363738393a3b3c3d3e3f\n"
#define ID_2  "id c2s ed2k:404142434445464748494a4b4c4d4e4f\n"
#define ID_N  "id c2s ed2k:65646f6e65646f6e65646f6e65646f6e\n" // NODE, read as Kad's
#define PLAIN "0123456789abcdef"
#define ID_P  "id c2s ed2k:30313233343536373839616263646566\n"
#define ID_Q  "id c2s ed2k:62313233343536373839616263646566\n"
#define OTHER "b123456789abcdef"

#define NAMED(name, size) "\2\2\1\0\1" name "\3\1\0\2" size
static const struct row {
	const char *name;
	const char *bytes;
	uint32_t length;
	const char *expected;
} rows[] = {
#define ROW(name, bytes, expected)                       \
	{                                                \
		name, bytes, sizeof(bytes) - 1, expected \
	}
	ROW("a search for sources", "\xe4\x34" FILE1 "\0\0\x10\0\0\0\0\0\0\0", ID_1),
	ROW("a search by word: its number is no file's", "\xe4\x33" NODE "\0\0", ID_N),
	ROW("who is near", "\xe4\x21\2" FILE1 NODE, ID_1),
	ROW("a source is published", "\xe4\x44" FILE1 NODE "\1\x89\xff\1", ID_1),
	ROW("a note is published", "\xe4\x45" FILE1 NODE "\2\2\1\0\1\5\0a.exe\3\1\0\2\x09\0\0\0",
		ID_1 "file 0 c2s offer elsewhere name=a.exe size=9 whole="
		     "ed2k:303132333435363738393a3b3c3d3e3f\n"),
	ROW("files under a word",
		"\xe4\x43" NODE "\2\0" FILE1 NAMED("\5\0a.exe", "\x09\0\0\0") FILE2 "\1\x95\1b.mp3",
		ID_N ID_1 "file 0 c2s offer elsewhere name=a.exe size=9 "
			  "whole=ed2k:303132333435363738393a3b3c3d3e3f\n" ID_2
			  "file 0 c2s offer elsewhere name=b.mp3 "
			  "whole=ed2k:404142434445464748494a4b4c4d4e4f\n"),
	ROW("what a search has found, a size of 64 bits",
		"\xe4\x3b" NODE FILE2 "\1\0" FILE1 "\2\x0b\1\0\2\0\0\0\0\1\0\0\0\2\1\0\1\3\0\xe9.x",
		ID_2 ID_1 "file 0 c2s offer elsewhere name=\\e9.x size=4294967296 "
			  "whole=ed2k:303132333435363738393a3b3c3d3e3f\n"),
	ROW("... which is cut in its second entry",
		"\xe4\x3b" NODE FILE2 "\2\0" FILE1 "\1\x95\1a.exe" FILE2 "\1\x95\1b.",
		ID_2 ID_1 "file 0 c2s offer elsewhere name=a.exe "
			  "whole=ed2k:303132333435363738393a3b3c3d3e3f\n" ID_2),
	ROW("... with a tag of no type", "\xe4\x3b" NODE FILE2 "\2\0" FILE1 "\2\xee\1\x95\1a.exe",
		ID_2 ID_1),
	ROW("... in the first generation", "\xe4\x38" FILE2 "\1\0" FILE1 "\1\x95\1a.exe",
		ID_2 ID_1 "file 0 c2s offer elsewhere name=a.exe "
			  "whole=ed2k:303132333435363738393a3b3c3d3e3f\n"),
	ROW("call me back for a file", "\xe4\x52" NODE FILE1 "\x36\x12", ID_1),
	ROW("sources wanted of a server", "\xe3\x9a" PLAIN OTHER, ID_P ID_Q),
	ROW("... with sizes, one of 64 bits",
		"\xe3\x94" PLAIN "\1\0\0\0" OTHER "\0\0\0\0\1\0\0\0\1\0\0\0" PLAIN "\1",
		ID_P ID_Q ID_P),
	ROW("sources found", "\xe3\x9b" PLAIN "\1\1\2\3\4\x36\x12\xe3\x9b" OTHER "\0", ID_P ID_Q),
	ROW("a server's results",
		"\xe3\x99" PLAIN "\1\2\3\4\x36\x12"
		"\1\0\0\0\x95\1a.exe"
		"\xe3\x99" OTHER "\1\2\3\4\x36\x12\0\0\0\0",
		ID_P "file 0 c2s offer elsewhere name=a.exe "
		     "whole=ed2k:30313233343536373839616263646566\n" ID_Q),
	ROW("still waiting for a file", "\xc5\x90" PLAIN "\0\0", ID_P),
	ROW("... told by another one", "\xc5\x94" NODE PLAIN "\0\0", ID_P),
	ROW("others", "\xe4\x01", ""),
	ROW("too short",
		"\xe4\x34"
		"123456789012345",
		""),
	ROW("another protocol", "\x01\x34" FILE1 "\0\0\0\0\0\0\0\0\0\0", ""),
	ROW("nothing in it", "\xe4\x3b" NODE FILE2 "\0\0", ID_2),
	ROW("more in it than is there", "\xe4\x3b" NODE FILE2 "\xff\xff", ID_2),
};

static struct content_memory *memory;
static struct transcript got;

// The numbers of files are none here.
static enum content_want file(void *ctx, const struct content_file *reported)
{
	struct content_file numbered = *reported;
	const struct content_sink sink = transcript_sink(ctx);

	numbered.id = got.n_files + 1;
	return sink.file(ctx, &numbered);
}

static bool read_it(const uint8_t *bytes, uint32_t length)
{
	uint8_t *exact = malloc(length);
	struct content_sink sink;
	bool done;

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	transcript_begin(&got, CONTENT_WANT_NAME);
	sink = transcript_sink(&got);
	sink.file = file;
	const struct span span = {.unchecked = exact, .extent = length, .flags = SPAN_DATAGRAM};

	done = ed2k_datagram(&span, memory, &sink);
	free(exact);
	return done;
}

// Of what is expected the number of a file does not count.
static void same(const struct row *row)
{
	char text[sizeof(got.text)];

	memcpy(text, got.text, sizeof(text));
	for (char *at = text; (at = strstr(at, "file ")); at += 5)
		at[5] = '0';
	assert_string_equal(text, row->expected);
}

static void datagrams_name_files(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(read_it((const uint8_t *)rows[i].bytes, rows[i].length));
		same(&rows[i]);
		// any beginning of it is read no further than it is
		for (uint32_t length = 1; length < rows[i].length; length++)
			read_it((const uint8_t *)rows[i].bytes, length);
	}
}

static void compressed_ones_do(void **state)
{
	uint8_t packed[2000] = {0xe5};
	struct content_memory_use use;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uLongf length = sizeof(packed) - 2;

		if ((uint8_t)rows[i].bytes[0] != 0xe4)
			continue;
		packed[1] = (uint8_t)rows[i].bytes[1];
		assert_int_equal(compress(packed + 2, &length, (const uint8_t *)rows[i].bytes + 2,
					 rows[i].length - 2),
			Z_OK);
		assert_true(read_it(packed, (uint32_t)length + 2));
		same(&rows[i]);
		content_memory_look(memory, &use);
		assert_int_equal(use.used, 0);
	}
}

static void without_memory_nothing_is_told(void **state)
{
	const uint8_t packed[] = "\xe5\x34x\x9c";
	struct content_memory_use use;
	uint8_t *all[8];
	unsigned n = 0;

	(void)state;
	while (n < 8 && (all[n] = content_take(memory, CONTENT_BLOCK_MAX)))
		n++;
	assert_false(read_it(packed, sizeof(packed) - 1));
	assert_string_equal(got.text, "");
	while (n)
		content_give(memory, all[--n]);
	content_memory_look(memory, &use);
	assert_int_equal(use.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_name_files),
		cmocka_unit_test(compressed_ones_do),
		cmocka_unit_test(without_memory_nothing_is_told),
	};

	memory = content_memory_new(1, -1);
	return memory ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
