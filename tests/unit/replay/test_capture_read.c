// SPDX-License-Identifier: BSD-3-Clause
// The reader of captures, on files made here, byte by byte. Each file lies in a heap block
// of its exact size, so that AddressSanitizer sees a read one byte behind it.
#include "replay/capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NS_PER_S 1000000000ull

// A file under construction, in the byte order it says.
struct file {
	bool big;
	size_t len;
	uint8_t bytes[4096];
};

static void put(struct file *f, uint64_t v, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		f->bytes[f->len + i] = (uint8_t)(v >> 8 * (f->big ? size - 1 - i : i));
	f->len += size;
}

static void put_bytes(struct file *f, const char *bytes)
{
	memcpy(f->bytes + f->len, bytes, strlen(bytes));
	f->len += strlen(bytes);
}

static void pad(struct file *f)
{
	while (f->len % 4)
		put(f, 0, 1);
}

static void pcap_head(struct file *f, uint32_t magic, uint32_t linktype)
{
	put(f, magic, 4);
	put(f, 2, 2);
	put(f, 4, 2);
	put(f, 0, 4);
	put(f, 0, 4);
	put(f, 65535, 4);
	put(f, linktype, 4);
}

static void pcap_record(struct file *f, uint32_t s, uint32_t frac, const char *text, uint32_t len)
{
	put(f, s, 4);
	put(f, frac, 4);
	put(f, strlen(text), 4);
	put(f, len, 4);
	put_bytes(f, text);
}

// Opens a block; block_end() writes both of its lengths.
static size_t block_begin(struct file *f, uint32_t type)
{
	size_t start = f->len;

	put(f, type, 4);
	put(f, 0, 4);
	return start;
}

static void block_end(struct file *f, size_t start)
{
	size_t total, end;

	pad(f);
	total = f->len + 4 - start;
	put(f, total, 4);
	end = f->len;
	f->len = start + 4;
	put(f, total, 4);
	f->len = end;
}

static void section(struct file *f, bool big)
{
	size_t start;

	f->big = big;
	start = block_begin(f, 0x0a0d0d0a);
	put(f, 0x1a2b3c4d, 4);
	put(f, 1, 2);
	put(f, 0, 2);
	put(f, UINT64_MAX, 8);
	block_end(f, start);
}

// resolution < 0: no if_tsresol; offset 0: no if_tsoffset.
static void interface(
	struct file *f, uint16_t linktype, uint32_t snaplen, int resolution, int64_t offset_s)
{
	size_t start = block_begin(f, 1);

	put(f, linktype, 2);
	put(f, 0, 2);
	put(f, snaplen, 4);
	if (resolution >= 0) {
		put(f, 9, 2);
		put(f, 1, 2);
		put(f, (uint64_t)resolution, 1);
		pad(f);
	}
	if (offset_s) {
		put(f, 14, 2);
		put(f, 8, 2);
		put(f, (uint64_t)offset_s, 8);
	}
	put(f, 0, 4);
	block_end(f, start);
}

static void packet(struct file *f, uint32_t iface, uint64_t ticks, const char *text, uint32_t len)
{
	size_t start = block_begin(f, 6);

	put(f, iface, 4);
	put(f, ticks >> 32, 4);
	put(f, (uint32_t)ticks, 4);
	put(f, strlen(text), 4);
	put(f, len, 4);
	put_bytes(f, text);
	block_end(f, start);
}

static void packet_old(struct file *f, uint16_t iface, uint64_t ticks, const char *text)
{
	size_t start = block_begin(f, 2);

	put(f, iface, 2);
	put(f, 7, 2); // drops: must not be read as a part of the interface's number
	put(f, ticks >> 32, 4);
	put(f, (uint32_t)ticks, 4);
	put(f, strlen(text), 4);
	put(f, strlen(text), 4);
	put_bytes(f, text);
	block_end(f, start);
}

static void packet_simple(struct file *f, const char *text, uint32_t len)
{
	size_t start = block_begin(f, 3);

	put(f, len, 4);
	put_bytes(f, text);
	block_end(f, start);
}

struct opened {
	struct capture *cap;
	uint8_t *exact;
};

static int open_file(const struct file *f, size_t len, struct opened *o, char *err)
{
	o->exact = malloc(len ? len : 1);
	assert_non_null(o->exact);
	memcpy(o->exact, f->bytes, len);
	return capture_open_memory("t.pcap", o->exact, len, &o->cap, err, CAPTURE_ERROR_LEN);
}

static struct opened open_good(const struct file *f)
{
	char err[CAPTURE_ERROR_LEN] = "";
	struct opened o;

	if (open_file(f, f->len, &o, err) != 0)
		fail_msg("%s", err);
	return o;
}

static void close_file(struct opened *o)
{
	capture_close(o->cap);
	free(o->exact);
}

static void expect_record(
	struct capture *cap, uint64_t ts_ns, uint16_t linktype, const char *text, uint32_t len)
{
	struct capture_record rec;

	assert_int_equal(capture_next(cap, &rec), 1);
	assert_int_equal(rec.ts_ns, ts_ns);
	assert_int_equal(rec.linktype, linktype);
	assert_int_equal(rec.caplen, strlen(text));
	assert_memory_equal(rec.bytes, text, strlen(text));
	assert_int_equal(rec.len, len);
}

static void expect_end(struct capture *cap)
{
	struct capture_record rec;

	assert_int_equal(capture_next(cap, &rec), 0);
	assert_int_equal(capture_next(cap, &rec), 0);
}

static void expect_broken(struct capture *cap, const char *where, const char *what)
{
	struct capture_record rec;

	assert_int_equal(capture_next(cap, &rec), -EBADMSG);
	assert_int_equal(capture_next(cap, &rec), -EBADMSG);
	assert_non_null(strstr(capture_error(cap), "t.pcap: "));
	if (!strstr(capture_error(cap), where) || !strstr(capture_error(cap), what))
		fail_msg("'%s' lacks '%s' or '%s'", capture_error(cap), where, what);
}

static void pcap_in_all_its_forms(void **state)
{
	static const struct {
		uint32_t magic;
		uint64_t unit_ns;
		bool extended;
	} forms[] = {{0xa1b2c3d4, 1000, false}, {0xa1b23c4d, 1, false}, {0xa1b2cd34, 1000, true}};

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		struct file f = {.big = i & 1};
		struct opened o;

		// 0x14000001: frame check sequences of 4 bytes, link type 1
		pcap_head(&f, forms[i / 2].magic, 0x14000001);
		for (uint32_t s = 1; s <= 2; s++) {
			put(&f, s, 4);
			put(&f, 250, 4);
			put(&f, 5, 4);
			put(&f, 100 * s, 4);
			if (forms[i / 2].extended)
				put(&f, 0x1122334455667788, 8);
			put_bytes(&f, s == 1 ? "first" : "other");
		}
		o = open_good(&f);
		assert_int_equal(capture_is_nano(o.cap), forms[i / 2].unit_ns == 1);
		expect_record(o.cap, NS_PER_S + 250 * forms[i / 2].unit_ns, 1, "first", 100);
		expect_record(o.cap, 2 * NS_PER_S + 250 * forms[i / 2].unit_ns, 1, "other", 200);
		expect_end(o.cap);
		close_file(&o);
	}
}

static void pcap_cut_anywhere_keeps_what_is_there(void **state)
{
	struct file f = {0};
	struct capture_record rec;
	char err[CAPTURE_ERROR_LEN];

	(void)state;
	pcap_head(&f, 0xa1b2c3d4, 101);
	pcap_record(&f, 1, 0, "abcd", 4);
	pcap_record(&f, 2, 0, "efghij", 6);
	for (size_t len = 0; len < f.len; len++) {
		struct opened o;
		int n = 0, rc;

		rc = open_file(&f, len, &o, err);
		assert_int_equal(rc, len < 24 ? -EBADMSG : 0);
		if (rc == 0) {
			while ((rc = capture_next(o.cap, &rec)) > 0)
				n++;
			assert_int_equal(n, len < 40 ? 0 : len < 60 ? 1 : 2);
			assert_int_equal(rc, len == 24 || len == 44 ? 0 : -EBADMSG);
			if (len == 62)
				assert_memory_equal(rec.bytes, "ef", rec.caplen);
		}
		close_file(&o);
	}
}

static void pcap_length_of_4_gib_is_not_believed(void **state)
{
	struct file f = {0};
	struct opened o;

	(void)state;
	pcap_head(&f, 0xa1b2c3d4, 1);
	put(&f, UINT64_C(5) << 32 | 9, 8);
	put(&f, UINT32_MAX, 4);
	put(&f, UINT32_MAX, 4);
	put_bytes(&f, "tail");
	o = open_good(&f);
	expect_record(o.cap, 9 * NS_PER_S + 5000, 1, "tail", UINT32_MAX);
	expect_broken(o.cap, "at byte 24:", "4294967295");
	close_file(&o);
}

static void pcapng_blocks_sections_and_orders(void **state)
{
	struct capture_counters counters;
	struct file f = {0};
	struct opened o;
	size_t start;

	(void)state;
	section(&f, false);
	interface(&f, 1, 0, -1, 0);
	interface(&f, 101, 3, 9, 0);
	start = block_begin(&f, 5); // statistics: to be skipped
	put_bytes(&f, "whatever");
	block_end(&f, start);
	packet(&f, 0, 1000001, "first", 60);
	packet(&f, 1, UINT64_C(0x1234567890), "raw", 3);
	packet(&f, 2, 1, "nobody", 6); // there is no interface 2
	packet_old(&f, 1, 5, "old");
	packet_simple(&f, "abc", 1400); // interface 0 has no snap length: 3 bytes and 1 of padding
	section(&f, true);
	packet(&f, 0, 1, "x", 1); // the section before took its interfaces along
	interface(&f, 113, 2, -1, 0);
	packet(&f, 0, 2, "big", 3);
	packet_simple(&f, "abcd", 90);
	o = open_good(&f);
	expect_record(o.cap, 1000001000, 1, "first", 60);
	expect_record(o.cap, UINT64_C(0x1234567890), 101, "raw", 3);
	expect_record(o.cap, 5, 101, "old", 3);
	{
		struct capture_record rec;

		assert_int_equal(capture_next(o.cap, &rec), 1);
		assert_int_equal(rec.caplen, 4);
		assert_int_equal(rec.len, 1400);
		assert_int_equal(rec.ts_ns, 5); // the last known time
	}
	expect_record(o.cap, 2000, 113, "big", 3);
	expect_record(o.cap, 2000, 113, "ab", 90);
	expect_end(o.cap);
	capture_counters_get(o.cap, &counters);
	assert_int_equal(counters.records, 6);
	assert_int_equal(counters.orphans, 2);
	assert_int_equal(counters.untimed, 2);
	assert_true(capture_is_nano(o.cap));
	assert_int_equal(capture_rewind(o.cap), 0);
	assert_false(capture_is_nano(o.cap));
	expect_record(o.cap, 1000001000, 1, "first", 60);
	close_file(&o);
}

static void pcapng_time_resolutions_and_offsets(void **state)
{
	static const struct {
		int resolution;
		int64_t offset_s;
		uint64_t ticks, ts_ns;
	} cases[] = {
		{-1, 0, 1500000, 1500000000},
		{0, 0, 7, 7 * NS_PER_S},
		{3, 0, 7, 7000000},
		{9, 0, 123456789123, 123456789123},
		{12, 0, 5999, 5},
		{127, 0, UINT64_MAX, 0},
		{0x80 | 10, 0, 1536, 1500000000},
		{0x80 | 32, 0, UINT64_C(3) << 31, 1500000000},
		{0x80 | 127, 0, UINT64_MAX, 0},
		{0, 0, UINT64_MAX, UINT64_MAX}, // saturated
		{6, 1000, 5, 1000 * NS_PER_S + 5000},
		{6, -1, 2500000, 1500000000},
		{6, -3, 2500000, 0},
		{6, INT64_MIN, 1, 0},
		{6, INT64_MAX, 1, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct file f = {0};
		struct opened o;

		section(&f, i & 1);
		interface(&f, 1, 0, cases[i].resolution, cases[i].offset_s);
		packet(&f, 0, cases[i].ticks, "p", 1);
		o = open_good(&f);
		expect_record(o.cap, cases[i].ts_ns, 1, "p", 1);
		assert_int_equal(capture_is_nano(o.cap),
			cases[i].resolution > 6 && (cases[i].resolution & 0x7f) > 6 &&
				cases[i].resolution != (0x80 | 10));
		close_file(&o);
	}
}

static void pcapng_cut_anywhere_ends_at_the_last_whole_block(void **state)
{
	struct file f = {0};
	struct capture_record rec;
	char err[CAPTURE_ERROR_LEN];
	size_t first, second;

	(void)state;
	section(&f, true);
	interface(&f, 1, 0, 9, 4);
	packet(&f, 0, 1, "abcd", 4);
	first = f.len;
	packet(&f, 0, 1, "ijklm", 5);
	second = f.len;
	for (size_t len = 0; len <= f.len; len++) {
		struct opened o;
		int n = 0, rc;

		rc = open_file(&f, len, &o, err);
		assert_int_equal(rc, len < 12 ? -EBADMSG : 0);
		if (rc == 0) {
			while ((rc = capture_next(o.cap, &rec)) > 0)
				n++;
			assert_int_equal(n, len < first ? 0 : len < second ? 1 : 2);
			if (len > first && len < second)
				assert_int_equal(rc, -EBADMSG);
		}
		close_file(&o);
	}
}

static void pcapng_broken_blocks_are_named(void **state)
{
	struct file f = {0}, g = {0};
	struct opened o;

	(void)state;
	section(&f, false);
	put(&f, 6, 4);
	put(&f, 8, 4);
	put(&f, 0, 4);
	o = open_good(&f);
	expect_broken(o.cap, "at byte 28:", "a length of 8 bytes");
	close_file(&o);

	section(&g, false);
	put(&g, 6, 4);
	put(&g, UINT32_MAX, 4);
	put(&g, 0, 4);
	o = open_good(&g);
	expect_broken(o.cap, "at byte 28:", "4294967295");
	close_file(&o);
}

static void every_byte_may_be_wrong(void **state)
{
	struct file f = {0};
	struct capture_record rec;
	char err[CAPTURE_ERROR_LEN];
	size_t total = 0;

	(void)state;
	section(&f, false);
	interface(&f, 1, 3, 0x8a, -4);
	packet(&f, 0, 1, "abcd", 4);
	packet_old(&f, 0, 1, "efg");
	packet_simple(&f, "hijk", 4);
	for (size_t at = 0; at < f.len; at++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			struct opened o;

			f.bytes[at] ^= (uint8_t)(1u << bit);
			if (open_file(&f, f.len, &o, err) == 0) {
				while (capture_next(o.cap, &rec) > 0) {
					assert_true(rec.bytes >= o.exact &&
						    rec.bytes + rec.caplen <= o.exact + f.len);
					for (uint32_t i = 0; i < rec.caplen; i++)
						total += rec.bytes[i];
				}
			}
			close_file(&o);
			f.bytes[at] ^= (uint8_t)(1u << bit);
		}
	}
	assert_true(total > 0);
}

static void what_is_no_capture_is_refused_by_name(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *says;
	} cases[] = {
		{"", 0, "too few"},
		{"\xd4\xc3\xb2", 3, "too few"},
		{"\x1f\x8b\x08\x00\x00", 5, "gzip"},
		{"\x28\xb5\x2f\xfd\x00", 5, "zstd"},
		{"GIF89a..", 8, "47494638 begins neither"},
		{"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x01\x02\x03\x04", 12, "01020304"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char err[CAPTURE_ERROR_LEN] = "";
		struct capture *cap;

		assert_int_equal(capture_open_memory("n.bin", cases[i].bytes, cases[i].len, &cap,
					 err, sizeof err),
			-EBADMSG);
		assert_null(cap);
		if (!strstr(err, "n.bin: ") || !strstr(err, cases[i].says))
			fail_msg("'%s' lacks '%s'", err, cases[i].says);
	}
}

static void files_that_cannot_be_opened(void **state)
{
	char err[CAPTURE_ERROR_LEN] = "";
	struct capture *cap;

	(void)state;
	assert_int_equal(capture_open("/proc/nonexistent/x.pcap", &cap, err, sizeof err), -ENOENT);
	assert_non_null(strstr(err, "/proc/nonexistent/x.pcap: cannot read: No such file"));
	assert_int_equal(capture_open("/", &cap, err, sizeof err), -EISDIR);
	assert_null(cap);
}

static void a_pipe_is_read_like_a_file(void **state)
{
	char err[CAPTURE_ERROR_LEN] = "", path[64];
	struct file f = {0};
	struct opened o = {0};
	int ends[2];

	(void)state;
	pcap_head(&f, 0xa1b2c3d4, 1);
	pcap_record(&f, 3, 0, "through a pipe", 14);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], f.bytes, f.len), f.len);
	close(ends[1]);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	if (capture_open(path, &o.cap, err, sizeof err) != 0)
		fail_msg("%s", err);
	close(ends[0]);
	expect_record(o.cap, 3 * NS_PER_S, 1, "through a pipe", 14);
	expect_end(o.cap);
	close_file(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pcap_in_all_its_forms),
		cmocka_unit_test(pcap_cut_anywhere_keeps_what_is_there),
		cmocka_unit_test(pcap_length_of_4_gib_is_not_believed),
		cmocka_unit_test(pcapng_blocks_sections_and_orders),
		cmocka_unit_test(pcapng_time_resolutions_and_offsets),
		cmocka_unit_test(pcapng_cut_anywhere_ends_at_the_last_whole_block),
		cmocka_unit_test(pcapng_broken_blocks_are_named),
		cmocka_unit_test(every_byte_may_be_wrong),
		cmocka_unit_test(what_is_no_capture_is_refused_by_name),
		cmocka_unit_test(files_that_cannot_be_opened),
		cmocka_unit_test(a_pipe_is_read_like_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
