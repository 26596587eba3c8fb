// SPDX-License-Identifier: BSD-3-Clause
// Known peers over a restart: what was written is read, whatever is damaged ends it there, and a
// file is replaced whole or not at all.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_vectors.h"
#include "transportapi/proto/store.h"
#include "transportapi/base/wire.h"

#define PEERS      4
#define FILE_BYTES (1 << 12)

static char folder[64], path[128], fresh[160];
static struct tapi_store_record written[PEERS];

static int folder_make(void **state)
{
	struct tapi_identity identity;

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/tapi_store.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/peers", folder);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	identity_of(&identity, SEED_1);
	for (unsigned i = 0; i < PEERS; i++) {
		written[i] = (struct tapi_store_record){
			.helo = {.protocol = 17, .expires_us = WALL_US, .seq = i},
			.validated_us = WALL_US + i,
		};
		written[i].helo.address_size = (uint16_t)(i * TAPI_ADDRESS_BYTES / (PEERS - 1));
		memset(written[i].helo.address, (int)i, written[i].helo.address_size);
		tapi_helo_sign(&written[i].helo, &identity);
	}
	return 0;
}

static int folder_remove(void **state)
{
	(void)state;
	unlink(path);
	unlink(fresh);
	return rmdir(folder);
}

static void write_peers(unsigned count)
{
	struct tapi_store_writer *writer = NULL;
	struct tapi_error error = {""};

	assert_int_equal(tapi_store_begin(&writer, path, &error), TAPI_OK);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(tapi_store_add(writer, &written[i]), TAPI_OK);
	assert_int_equal(tapi_store_commit(writer, &error), TAPI_OK);
}

// Each that comes is the next of those that were written.
static void next(void *context, const struct tapi_store_record *record)
{
	uint8_t got[TAPI_HELO_BYTES_MAX], want[TAPI_HELO_BYTES_MAX];
	unsigned *count = context;
	size_t size;

	assert_true(*count < PEERS);
	size = tapi_helo_encode(&written[*count].helo, want, sizeof(want));
	assert_int_equal(tapi_helo_encode(&record->helo, got, sizeof(got)), size);
	assert_memory_equal(got, want, size);
	assert_true(record->validated_us == written[*count].validated_us);
	assert_int_equal(tapi_helo_check(&record->helo, WALL_US, false), TAPI_OK);
	++*count;
}

static unsigned read_peers(unsigned most, enum tapi_result want, struct tapi_error *error)
{
	unsigned count = 0;

	assert_int_equal(tapi_store_read(path, most, next, &count, error), want);
	return count;
}

static size_t get_file(uint8_t out[FILE_BYTES])
{
	FILE *in = fopen(path, "r");
	size_t length;

	assert_non_null(in);
	length = fread(out, 1, FILE_BYTES, in);
	fclose(in);
	assert_true(length < FILE_BYTES);
	return length;
}

static void put_file(const uint8_t *octets, size_t length)
{
	FILE *out;

	unlink(path); // some file systems flush what replaces a file's content
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(octets, 1, length, out), length);
	fclose(out);
}

static void test_kept(void **state)
{
	struct stat st;
	mode_t mask;

	(void)state;
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 0); // absent
	for (unsigned count = 0; count <= PEERS; count++) {
		write_peers(count);
		assert_int_equal(read_peers(9, TAPI_OK, NULL), count);
	}
	for (unsigned most = 0; most <= PEERS; most++)
		assert_int_equal(read_peers(most, TAPI_OK, NULL), most);
	write_peers(1); // a shorter one leaves nothing of the longer
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 1);
	assert_int_equal(access(fresh, F_OK), -1);
	mask = umask(0);
	write_peers(2);
	umask(0777);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	write_peers(3);
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 3);
}

// Where the records end in a file of PEERS.
static unsigned whole_before(size_t length)
{
	size_t end = strlen("transportapi peers 1\n");
	unsigned count = 0;

	for (; count < PEERS; count++) {
		end += 2 + 8 + TAPI_HELO_FIXED_BYTES + (size_t)written[count].helo.address_size + 4;
		if (end > length)
			break;
	}
	return count;
}

static void test_cut(void **state)
{
	uint8_t octets[FILE_BYTES];
	size_t length;

	(void)state;
	write_peers(PEERS);
	length = get_file(octets);
	for (size_t cut = 0; cut < length; cut++) {
		struct tapi_error error = {""};

		put_file(octets, cut);
		assert_int_equal(read_peers(9, TAPI_EFORMAT, &error), whole_before(cut));
		assert_non_null(strstr(error.text, path));
	}
	octets[length] = 0; // something behind the end
	put_file(octets, length + 1);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), PEERS);
}

static void test_flips(void **state)
{
	uint8_t octets[FILE_BYTES];
	size_t length;

	(void)state;
	write_peers(PEERS);
	length = get_file(octets);
	for (size_t i = 0; i < length; i++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			octets[i] ^= (uint8_t)(1u << bit);
			put_file(octets, length);
			octets[i] ^= (uint8_t)(1u << bit);
			assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL),
				i < strlen("transportapi peers 1\n") ? 0 : whole_before(i));
		}
}

// Whole records in another order, twice, or left out: what is read is what was written.
static void test_moved(void **state)
{
	const size_t head = strlen("transportapi peers 1\n"), size = 2 + 8 + 128 + 4;
	uint8_t octets[FILE_BYTES], other[FILE_BYTES];
	struct tapi_identity identity;
	size_t length;

	(void)state;
	identity_of(&identity, SEED_1);
	for (unsigned i = 0; i < PEERS; i++) { // all of one size
		written[i].helo.address_size = 0;
		memset(written[i].helo.address, 0, sizeof(written[i].helo.address));
		tapi_helo_sign(&written[i].helo, &identity);
	}
	write_peers(PEERS);
	length = get_file(octets);
	assert_int_equal(length, head + PEERS * size + 14);
	memcpy(other, octets, length); // the second and third change places
	memcpy(other + head + size, octets + head + 2 * size, size);
	memcpy(other + head + 2 * size, octets + head + size, size);
	put_file(other, length);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), 1);
	memcpy(other, octets, length); // the second in the third's place
	memcpy(other + head + 2 * size, octets + head + size, size);
	put_file(other, length);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), 2);
	memcpy(other + head + size, octets + head + 2 * size, length - head - 2 * size);
	put_file(other, length - size); // the second is missing
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), 1);
	memcpy(other, octets, head + (PEERS - 1) * size); // the last is missing
	memcpy(other + head + (PEERS - 1) * size, octets + head + PEERS * size, 14);
	put_file(other, length - size);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), PEERS - 1);
}

// What somebody makes who knows the form: sums that are right, and what they stand for is not.
static void test_crafted(void **state)
{
	const size_t head = strlen("transportapi peers 1\n");
	uint8_t octets[FILE_BYTES];
	uint32_t crc;

	(void)state;
	write_peers(1);
	assert_int_equal(get_file(octets), head + 142 + 14);
	// another number of records
	octets[head + 142 + 9] = 2;
	crc = (uint32_t)crc32(crc32(0, octets, (uInt)(head + 138)), octets + head + 142, 10);
	tapi_put32(octets + head + 152, crc);
	put_file(octets, head + 156);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), 1);
	octets[head + 142 + 9] = 1;
	crc = (uint32_t)crc32(crc32(0, octets, (uInt)(head + 138)), octets + head + 142, 10);
	tapi_put32(octets + head + 152, crc);
	put_file(octets, head + 156);
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 1);
	// a record with something behind its HELO
	octets[head + 1]++;
	memmove(octets + head + 139, octets + head + 138, 18);
	octets[head + 138] = 0;
	tapi_put32(octets + head + 139, (uint32_t)crc32(0, octets, (uInt)(head + 139)));
	put_file(octets, head + 157);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), 0);
	// one whose HELO has no shape
	write_peers(1);
	get_file(octets);
	octets[head + 10 + 4]++;
	tapi_put32(octets + head + 138, (uint32_t)crc32(0, octets, (uInt)(head + 138)));
	put_file(octets, head + 156);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, NULL), 0);
}

static void test_refused(void **state)
{
	struct tapi_store_writer *writer = NULL;
	struct tapi_error error = {""};
	struct tapi_store_record bad = {.helo = {.address_size = TAPI_ADDRESS_BYTES + 1}};
	char victim[128];

	(void)state;
	put_file((const uint8_t *)"{\"peers\": []} and more of it", 28);
	assert_int_equal(read_peers(9, TAPI_EFORMAT, &error), 0);
	assert_non_null(strstr(error.text, "holds no peers"));
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(read_peers(9, TAPI_ESYS, &error), 0);
	assert_non_null(strstr(error.text, "no regular file"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(read_peers(9, TAPI_ESYS, &error), 0);
	assert_int_equal(unlink(path), 0);

	// a malformed one is left out, the others are kept
	assert_int_equal(tapi_store_begin(&writer, path, NULL), TAPI_OK);
	assert_int_equal(tapi_store_add(writer, &written[0]), TAPI_OK);
	assert_int_equal(tapi_store_add(writer, &bad), TAPI_EFORMAT);
	assert_int_equal(tapi_store_add(writer, &written[1]), TAPI_OK);
	assert_int_equal(tapi_store_commit(writer, NULL), TAPI_OK);
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 2);

	// a link in the way of the new file leads nowhere
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	assert_int_equal(symlink(victim, fresh), 0);
	write_peers(3);
	assert_int_equal(access(victim, F_OK), -1);
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 3);
	put_file((const uint8_t *)"", 0);
	assert_int_equal(rename(path, fresh), 0); // what a crash left
	write_peers(2);
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 2);
	assert_int_equal(tapi_store_begin(&writer, "/tmp/no/such/folder/peers", &error), TAPI_ESYS);
	assert_null(writer);
	assert_non_null(strstr(error.text, "/tmp/no/such/folder/peers"));
}

// The disk is full: an error, the old file, nothing left beside it.
static void test_full(void **state)
{
	struct tapi_store_writer *writer = NULL;
	struct tapi_error error = {""};
	struct rlimit before, little;
	bool failed = false;

	(void)state;
	write_peers(2);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = before;
	little.rlim_cur = 8192;
	assert_int_equal(tapi_store_begin(&writer, path, NULL), TAPI_OK);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (unsigned i = 0; i < 1000; i++)
		failed = tapi_store_add(writer, &written[PEERS - 1]) == TAPI_ESYS || failed;
	assert_true(failed);
	assert_int_equal(tapi_store_commit(writer, &error), TAPI_ESYS);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(error.text, "what was there stays"));
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 2);
	assert_int_equal(access(fresh, F_OK), -1);
	// before the commit nothing has changed
	assert_int_equal(tapi_store_begin(&writer, path, NULL), TAPI_OK);
	assert_int_equal(tapi_store_add(writer, &written[0]), TAPI_OK);
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 2);
	assert_int_equal(tapi_store_commit(writer, NULL), TAPI_OK);
	assert_int_equal(read_peers(9, TAPI_OK, NULL), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
	static const struct CMUnitTest tests[] = {
		TEST(test_kept),
		TEST(test_cut),
		TEST(test_flips),
		TEST(test_moved),
		TEST(test_crafted),
		TEST(test_refused),
		TEST(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
