// SPDX-License-Identifier: BSD-3-Clause
// The reader of captures on record headers that are longer than their magic says, and on damaged
// files that must not be taken for such. Each file lies in a heap block of its exact size.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "replay/capture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define N_MAX        20
#define HEAD         24
#define NS_PER_S     1000000000ull

// As packets begin: hardware addresses.
static const char packet[] = "\x02\x42\xac\x11\x01\x02\x02\x42\xac\x11\x01\x03\x08\x01rest";
#define PACKET (sizeof(packet) - 1)

struct file {
	bool big;
	size_t len;
	uint8_t bytes[4096];
};

static void put(struct file *f, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		f->bytes[f->len + i] = (uint8_t)(v >> 8 * (f->big ? size - 1 - i : i));
	f->len += size;
}

// n packets, with `more` octets behind the usual 16 of each header.
static void make(struct file *f, uint32_t magic, unsigned more, unsigned n)
{
	put(f, magic, 4);
	put(f, 2, 2);
	put(f, 4, 2);
	put(f, 0, 8);
	put(f, 65535, 4);
	put(f, 1, 4);
	for (unsigned i = 1; i <= n; i++) {
		put(f, i, 4);
		put(f, 999999, 4);
		put(f, PACKET, 4);
		put(f, PACKET + i, 4);
		put(f, 2, 4 * (more > 0)); // interface
		if (more > 4)              // protocol, kind of packet, processors
			put(f, 0x0400000008, more - 4);
		memcpy(f->bytes + f->len, packet, PACKET);
		f->len += PACKET;
	}
}

static struct capture *open_exact(const struct file *f, size_t len, uint8_t **bytes)
{
	char err[CAPTURE_ERROR_LEN];
	struct capture *cap;

	*bytes = malloc(len);
	memcpy(*bytes, f->bytes, len);
	assert_int_equal(capture_open_memory("t.pcap", *bytes, len, &cap, err, sizeof err), 0);
	return cap;
}

static void longer_headers_are_told_by_the_records(void **state)
{
	static const struct {
		uint32_t magic;
		unsigned more;
	} forms[] = {{0xa1b2c3d4, 0}, {0xa1b2c3d4, 8}, {0xa1b2c3d4, 4}, {0xa1b2cd34, 8},
		{0xa1b2cd34, 12}};

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(forms); i++)
		for (unsigned n = 2; n <= N_MAX; n++) {
			struct file f = {.big = i & 1};
			struct capture_record rec;
			uint8_t *bytes;

			make(&f, forms[i / 2].magic, forms[i / 2].more, n);
			struct capture *cap = open_exact(&f, f.len, &bytes);

			for (unsigned at = 1; at <= 2 * n; at++) {
				unsigned second = at > n ? at - n : at;

				if (at == n + 1)
					assert_int_equal(capture_rewind(cap), 0);
				assert_int_equal(capture_next(cap, &rec), 1);
				assert_int_equal(rec.ts_ns, second * NS_PER_S + 999999000);
				assert_int_equal(rec.len, PACKET + second);
				assert_int_equal(rec.caplen, PACKET);
				assert_memory_equal(rec.bytes, packet, PACKET);
			}
			assert_int_equal(capture_next(cap, &rec), 0);
			capture_close(cap);
			free(bytes);
		}
}

static void a_damaged_file_keeps_its_form(void **state)
{
	struct file f = {0};
	struct capture_record rec;
	uint8_t *bytes;

	(void)state;
	make(&f, 0xa1b2c3d4, 0, 5);
	for (size_t len = HEAD; len <= f.len; len++) {
		struct capture *cap = open_exact(&f, len, &bytes);
		size_t n = 0;

		while (capture_next(cap, &rec) > 0 && rec.caplen == PACKET) {
			assert_memory_equal(rec.bytes, packet, PACKET);
			n++;
		}
		assert_int_equal(n, (len - HEAD) / (16 + PACKET));
		capture_close(cap);
		free(bytes);
	}
	f.bytes[HEAD + 2 * (16 + PACKET) + 6] = 0x7f; // the third one has too many microseconds
	struct capture *cap = open_exact(&f, f.len, &bytes);

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(capture_next(cap, &rec), 1);
	assert_int_equal(capture_next(cap, &rec), 0);
	capture_close(cap);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longer_headers_are_told_by_the_records),
		cmocka_unit_test(a_damaged_file_keeps_its_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
