// SPDX-License-Identifier: BSD-3-Clause
// Identities: keys and signatures as RFC 8032 has them, the id as BLAKE2b, and the file (TA26).
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/tapi/tapi_vectors.h"

static char folder[64], path[128];

static int folder_make(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/tapi_identity.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/identity", folder);
	return 0;
}

// Removes what is in it; how many files there were.
static int folder_empty(void)
{
	DIR *in = opendir(folder);
	const struct dirent *entry;
	int count = 0;

	assert_non_null(in);
	while ((entry = readdir(in)))
		if (entry->d_name[0] != '.') {
			count++;
			assert_int_equal(unlinkat(dirfd(in), entry->d_name, 0), 0);
		}
	closedir(in);
	return count;
}

static int folder_remove(void **state)
{
	(void)state;
	folder_empty();
	return rmdir(folder);
}

static void put_file(const char *text, size_t length, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static size_t get_file(char *text, size_t room)
{
	FILE *in = fopen(path, "r");
	size_t length;

	assert_non_null(in);
	length = fread(text, 1, room, in);
	fclose(in);
	return length;
}

// RFC 8032, 7.1, TEST 1 and 2.
static void test_vectors(void **state)
{
	static const struct {
		const char *seed, *public_key, *message, *signature;
	} vectors[] = {
		{SEED_1, PUBLIC_1, "",
			"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
			"5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
		{SEED_2, "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
			"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
			"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct tapi_identity identity;
		uint8_t want[64], message[8], got[64];
		size_t length = from_hex(message, sizeof(message), vectors[i].message);

		identity_of(&identity, vectors[i].seed);
		from_hex(want, sizeof(want), vectors[i].public_key);
		assert_memory_equal(identity.public_key, want, TAPI_PUBLIC_KEY_BYTES);
		crypto_sign_detached(got, NULL, message, length, identity.secret_key);
		from_hex(want, sizeof(want), vectors[i].signature);
		assert_memory_equal(got, want, TAPI_SIGNATURE_BYTES);
	}
}

static void test_peer_id(void **state)
{
	struct tapi_identity identity;
	struct tapi_peer_id id, other;
	char text[TAPI_PEER_TEXT_BYTES];

	(void)state;
	identity_of(&identity, SEED_1);
	tapi_peer_id_text(&identity.id, text);
	assert_string_equal(text, ID_1); // by Python's hashlib
	assert_int_equal(tapi_peer_id_parse(&id, text), TAPI_OK);
	assert_true(tapi_peer_id_equal(&id, &identity.id));
	for (unsigned bit = 0; bit < 8 * sizeof(id.octets); bit++) {
		other = id;
		other.octets[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(tapi_peer_id_equal(&id, &other));
	}
	assert_int_equal(tapi_peer_id_parse(&id, ""), TAPI_EFORMAT);
	assert_int_equal(tapi_peer_id_parse(&id, ID_1 "0"), TAPI_EFORMAT);
	assert_int_equal(tapi_peer_id_parse(&id, &ID_1[1]), TAPI_EFORMAT);
	text[63] = 'g';
	assert_int_equal(tapi_peer_id_parse(&id, text), TAPI_EFORMAT);
	text[63] = ' ';
	assert_int_equal(tapi_peer_id_parse(&id, text), TAPI_EFORMAT);
}

static void test_wipe(void **state)
{
	static const struct tapi_identity zeros;
	struct tapi_identity identity;

	(void)state;
	identity_of(&identity, SEED_1);
	tapi_identity_wipe(&identity);
	assert_memory_equal(&identity, &zeros, sizeof(zeros));
}

// Absent: made, whole, 0600 whatever the umask says; then read again.
static void test_made(void **state)
{
	struct tapi_identity first, again;
	struct tapi_error error = {""};
	struct stat st;
	mode_t mask = umask(0);

	(void)state;
	assert_int_equal(tapi_identity_load(&first, path, &error), TAPI_OK);
	umask(0777);
	assert_int_equal(tapi_identity_load(&again, path, &error), TAPI_OK);
	assert_memory_equal(&first, &again, sizeof(first));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(folder_empty(), 1);
	assert_int_equal(tapi_identity_load(&again, path, &error), TAPI_OK);
	umask(mask);
	assert_false(tapi_peer_id_equal(&first.id, &again.id)); // drawn anew
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(folder_empty(), 1);
}

static void refused(enum tapi_result want, const char *why)
{
	static const struct tapi_identity zeros;
	struct tapi_identity identity = zeros;
	struct tapi_error error = {""};

	assert_int_equal(tapi_identity_load(&identity, path, &error), want);
	if (!strstr(error.text, why) || !strstr(error.text, path))
		fail_msg("%s: not \"%s\"", error.text, why);
	assert_int_equal(tapi_identity_load(&identity, path, NULL), want);
	assert_memory_equal(&identity, &zeros, sizeof(zeros));
}

static void test_refused(void **state)
{
	static const mode_t modes[] = {0604, 0602, 0601, 0640, 0620, 0610, 0666};
	struct tapi_identity identity, again;
	char text[512], other[512], target[160];
	size_t length;

	(void)state;
	assert_int_equal(tapi_identity_load(&identity, path, NULL), TAPI_OK);
	length = get_file(text, sizeof(text));
	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		refused(TAPI_ECONF, "chmod 600");
	}
	put_file(text, length, 0400); // tighter is as good
	assert_int_equal(tapi_identity_load(&again, path, NULL), TAPI_OK);
	put_file(text, length, 0600);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 1, 1), 0);
		refused(TAPI_ECONF, "belongs to user 1");
		assert_int_equal(chown(path, 0, 0), 0);
	}
	put_file(text, length - 1, 0600);
	refused(TAPI_EFORMAT, "octets are no identity");
	text[length] = '\n';
	put_file(text, length + 1, 0600);
	refused(TAPI_EFORMAT, "octets are no identity");
	put_file(text, 0, 0600);
	refused(TAPI_EFORMAT, "0 octets are no identity");
	// what is not as it was written, octet by octet; a digit of either key says another key
	for (size_t i = 0; i < length; i++) {
		memcpy(other, text, length);
		other[i] = (char)(other[i] == '1' ? '2' : '1');
		put_file(other, length, 0600);
		refused(TAPI_EFORMAT, "identity");
		other[i] = '\0';
		put_file(other, length, 0600);
		refused(TAPI_EFORMAT, "is no identity");
	}
	// a link, also to what would be good, also to nothing
	put_file(text, length, 0600);
	snprintf(target, sizeof(target), "%s/there", folder);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	refused(TAPI_ECONF, "symbolic link");
	assert_int_equal(unlink(target), 0);
	refused(TAPI_ECONF, "symbolic link");
	assert_int_equal(access(target, F_OK), -1);
	folder_empty();
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(TAPI_ECONF, "no regular file");
	folder_empty();
	assert_int_equal(mkdir(path, 0700), 0);
	refused(TAPI_ECONF, "no regular file");
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/nowhere/identity", folder);
	refused(TAPI_ESYS, "folder has to exist");
	snprintf(path, sizeof(path), "%s/identity", folder);
	assert_int_equal(folder_empty(), 0);
}

// Many begin at once on one path: all are the same peer after it, and nothing is left.
static void test_race(void **state)
{
	enum { ROUNDS = 20, RACERS = 6 };

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		int gate[2], answers[2];
		uint8_t ids[RACERS][TAPI_PEER_ID_BYTES];

		assert_int_equal(pipe(gate), 0);
		assert_int_equal(pipe(answers), 0);
		for (unsigned i = 0; i < RACERS; i++) {
			if (fork() != 0)
				continue;
			struct tapi_identity identity = {.id = {{(uint8_t)(i + 1)}}};
			char go;

			close(gate[1]);
			if (read(gate[0], &go, 1) == 0)
				(void)!tapi_identity_load(&identity, path, NULL);
			_exit(write(answers[1], identity.id.octets, TAPI_PEER_ID_BYTES) !=
				TAPI_PEER_ID_BYTES);
		}
		close(gate[0]);
		close(gate[1]);
		for (unsigned i = 0; i < RACERS; i++) {
			assert_int_equal(
				read(answers[0], ids[i], TAPI_PEER_ID_BYTES), TAPI_PEER_ID_BYTES);
			assert_memory_equal(ids[i], ids[0], TAPI_PEER_ID_BYTES);
		}
		while (wait(NULL) > 0)
			;
		close(answers[0]);
		close(answers[1]);
		assert_int_equal(folder_empty(), 1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_peer_id),
		cmocka_unit_test(test_wipe),
		cmocka_unit_test_setup_teardown(test_made, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_refused, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_race, folder_make, folder_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
