// SPDX-License-Identifier: BSD-3-Clause
// Content ids as text, lines of files, and sets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "content/content_id.h"
#include "control/policy/id_lines.h"
#include "pipeline/policy/content_id_set.h"

#define HEX20 "0123456789abcdef0123456789abcdef01234567"
#define HEX32 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B32   "AERUKZ4JVPG66AJDIVTYTK6N54ASGRLH"        // of HEX20
#define TTH   "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ" // of no bytes

static void texts_that_are_ids(void **state)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
		{"btih:" HEX20, "btih:" HEX20},
		{"BTIH:" B32, "btih:" HEX20},
		{"urn:btih:" HEX20, "btih:" HEX20},
		{"urn:btmh:1220" HEX32, "btmh:1220" HEX32},
		{"ed2k:0123456789ABCDEF0123456789abcdef", "ed2k:0123456789abcdef0123456789abcdef"},
		{"urn:ed2khash:0123456789abcdef0123456789abcdef",
			"ed2k:0123456789abcdef0123456789abcdef"},
		{"ed2k://|file|a b#c.avi|123|0123456789abcdef0123456789abcdef|/",
			"ed2k:0123456789abcdef0123456789abcdef"},
		{"urn:sha1:" B32, "sha1:" B32},
		{"sha1:" HEX20, "sha1:" B32},
		{"urn:tree:tiger:" TTH, "tth:" TTH},
		{"tth:" TTH, "tth:" TTH},
		{"sha256:" HEX32, "sha256:" HEX32},
		{"kzhash:" HEX20, "kzhash:" HEX20},
		{"urn:kzhash:" HEX20, "kzhash:" HEX20},
		{"magnet:?dn=x&xt=urn:btih:" HEX20 "&tr=udp%3A", "btih:" HEX20},
	};
	struct content_id ids[CONTENT_ID_LINK_IDS];
	char text[CONTENT_ID_TEXT];
	const char *why;
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
			content_id_parse(rows[i].text, (uint32_t)strlen(rows[i].text), ids, &why),
			1);
		assert_string_equal(content_id_print(&ids[0], text), rows[i].printed);
		// what is printed is read as the same id
		struct content_id again[CONTENT_ID_LINK_IDS];

		assert_int_equal(content_id_parse(text, (uint32_t)strlen(text), again, &why), 1);
		assert_true(content_id_same(&ids[0], &again[0]));
	}
	static const char both[] =
		"magnet:?xt.1=urn:btih:" HEX20 "&xt.2=urn:btmh:1220" HEX32 "&xt=urn:btih:" HEX20;

	assert_int_equal(content_id_parse(both, sizeof(both) - 1, ids, &why), 2);
	assert_int_equal(ids[0].kind, CONTENT_ID_BTIH);
	assert_int_equal(ids[1].kind, CONTENT_ID_BTMH);
}

static void texts_that_are_none(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "is no content id"},
		{HEX20, "write btih: before it"},
		{"btih", "is no content id"},
		{"md5:0123456789abcdef0123456789abcdef", "is no content id"},
		{"btih:", "is no btih"},
		{"btih:" HEX20 "0", "is no btih"},
		{"btih: " HEX20, "is no btih"},
		{"btih:g123456789abcdef0123456789abcdef01234567", "is no btih"},
		{"btmh:" HEX32, "is no btmh"},
		{"btmh:1114" HEX20, "is no btmh"},
		{"ed2k:" HEX20, "is no ed2k"},
		{"sha1:0" B32, "is no sha1"},
		{"sha1:1ERUKZ4JVPG66AJDIVTYTK6N54ASGRLH", "is no sha1"},
		{"tth:LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNR", "is no tth"}, // bits left over
		{"sha256:" HEX20, "is no sha256"},
		{"kzhash:" HEX32, "is no kzhash"},
		{"magnet:?dn=x", "is a magnet link without"},
		{"magnet:?xt=urn:btih:12", "is no btih"},
		{"magnet:?xtra=urn:btih:" HEX20, "is a magnet link without"},
		{"ed2k://|file|a|1|12|/", "is no ed2k link"},
		{"ed2k://|server|1.2.3.4|4661|/", "is no ed2k"},
	};
	struct content_id ids[CONTENT_ID_LINK_IDS];
	const char *why;
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		why = NULL;
		assert_int_equal(
			content_id_parse(rows[i].text, (uint32_t)strlen(rows[i].text), ids, &why),
			0);
		assert_non_null(why);
		assert_non_null(strstr(why, rows[i].why));
	}
}

static void lines_of_files(void **state)
{
	static const struct {
		const char *line;
		unsigned n;
		bool wrong;
	} rows[] = {
		{"", 0, false},
		{"  \t\r", 0, false},
		{"# btih:" HEX20, 0, false},
		{"  btih:" HEX20 "\r", 1, false},
		{"btih:" HEX20 " # since May", 1, false},
		{"btih:" HEX20 "\t#", 1, false},
		{"btih:" HEX20 "#x", 0, true},
		{"btih:" HEX20 " x", 0, true},
		{"ed2k://|file|a #1.avi|1|0123456789abcdef0123456789abcdef|/", 0, true},
		{"ed2k://|file|a#1.avi|1|0123456789abcdef0123456789abcdef|/", 1, false},
		{"what", 0, true},
	};
	struct content_id ids[CONTENT_ID_LINK_IDS];
	const char *wrong;
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
			id_line_parse(rows[i].line, (uint32_t)strlen(rows[i].line), ids, &wrong),
			rows[i].n);
		assert_int_equal(wrong != NULL, rows[i].wrong);
	}
}

static struct content_id number(enum content_id_kind kind, uint32_t i)
{
	struct content_id id = {.kind = (uint8_t)kind};

	memcpy(id.bytes, &i, sizeof(i));
	return id;
}

static void sets(void **state)
{
	enum { N = 10000 };
	struct content_id *ids = calloc(2 * N, sizeof(*ids));
	(void)state;

	assert_non_null(ids);
	for (uint32_t i = 0; i < 2 * N; i++) // each twice
		ids[i] = number(CONTENT_ID_SHA1, i / 2);
	struct content_id_set *set = content_id_set_new(ids, 2 * N, &HASH_SEED_FIXED);

	assert_non_null(set);
	assert_int_equal(set->n, N);
	for (uint32_t i = 0; i < 2 * N; i++) {
		const struct content_id id = number(CONTENT_ID_SHA1, i);
		const struct content_id other = number(CONTENT_ID_BTIH, i);

		assert_int_equal(content_id_set_find(set, &id) != NULL, i < N);
		assert_null(content_id_set_find(set, &other)); // another kind
	}
	content_id_set_free(set);
	// of BitTorrent the wire has 20 bytes, whichever the version
	struct content_id v2 = number(CONTENT_ID_BTMH, 7), wire = number(CONTENT_ID_BTIH, 7);

	v2.bytes[31] = 0xff;
	set = content_id_set_new(&v2, 1, &HASH_SEED_FIXED);
	assert_non_null(set);
	assert_non_null(content_id_set_find(set, &wire));
	assert_non_null(content_id_set_find(set, &v2));
	content_id_set_free(set);
	set = content_id_set_new(ids, 0, &HASH_SEED_FIXED);
	assert_non_null(set);
	assert_null(content_id_set_find(set, &wire));
	content_id_set_free(set);
	free(ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_that_are_ids),
		cmocka_unit_test(texts_that_are_none),
		cmocka_unit_test(lines_of_files),
		cmocka_unit_test(sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
