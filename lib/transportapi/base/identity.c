// SPDX-License-Identifier: BSD-3-Clause
// Creates, reads and writes the key pair of a peer. The file, 186 octets:
//
//   transportapi identity 1: secret, keep it private
//   public <64 hex digits>
//   secret <64 hex digits: the seed of RFC 8032>
#include "transportapi/base/identity.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transportapi/base/atomic_file.h"

static_assert(TAPI_SEED_BYTES == crypto_sign_SEEDBYTES, "the seed is libsodium's");
static_assert(TAPI_PUBLIC_KEY_BYTES == crypto_sign_PUBLICKEYBYTES, "the key is libsodium's");
static_assert(TAPI_SECRET_KEY_BYTES == crypto_sign_SECRETKEYBYTES, "the key is libsodium's");

#define HEAD       "transportapi identity 1: secret, keep it private\n"
#define PUBLIC     "public "
#define SECRET     "secret "
#define HEX_DIGITS 64u
#define FILE_BYTES (sizeof(HEAD PUBLIC SECRET "\n\n") - 1 + 2 * HEX_DIGITS)
#define PUBLIC_AT  (sizeof(HEAD PUBLIC) - 1)
#define SECRET_AT  (sizeof(HEAD PUBLIC "\n" SECRET) - 1 + HEX_DIGITS)

void tapi_peer_id_of(struct tapi_peer_id *out, const uint8_t public_key[TAPI_PUBLIC_KEY_BYTES])
{
	crypto_generichash(
		out->octets, sizeof(out->octets), public_key, TAPI_PUBLIC_KEY_BYTES, NULL, 0);
}

bool tapi_peer_id_equal(const struct tapi_peer_id *a, const struct tapi_peer_id *b)
{
	return memcmp(a->octets, b->octets, sizeof(a->octets)) == 0;
}

void tapi_peer_id_text(const struct tapi_peer_id *id, char out[TAPI_PEER_TEXT_BYTES])
{
	sodium_bin2hex(out, TAPI_PEER_TEXT_BYTES, id->octets, sizeof(id->octets));
}

static bool parse_hex(uint8_t *out, const char *text)
{
	size_t length;

	return sodium_hex2bin(out, HEX_DIGITS / 2, text, HEX_DIGITS, NULL, &length, NULL) == 0 &&
	       length == HEX_DIGITS / 2;
}

enum tapi_result tapi_peer_id_parse(struct tapi_peer_id *out, const char *text)
{
	return strlen(text) == HEX_DIGITS && parse_hex(out->octets, text) ? TAPI_OK : TAPI_EFORMAT;
}

void tapi_identity_from_seed(struct tapi_identity *out, const uint8_t seed[TAPI_SEED_BYTES])
{
	crypto_sign_seed_keypair(out->public_key, out->secret_key, seed);
	tapi_peer_id_of(&out->id, out->public_key);
}

void tapi_identity_wipe(struct tapi_identity *identity)
{
	sodium_memzero(identity, sizeof(*identity));
}

static enum tapi_result from_text(
	struct tapi_identity *out, const char *text, const char *path, struct tapi_error *error)
{
	uint8_t seed[TAPI_SEED_BYTES], public_key[TAPI_PUBLIC_KEY_BYTES];
	bool good =
		memcmp(text, HEAD PUBLIC, PUBLIC_AT) == 0 &&
		memcmp(text + PUBLIC_AT + HEX_DIGITS, "\n" SECRET, sizeof("\n" SECRET) - 1) == 0 &&
		text[FILE_BYTES - 1] == '\n' && parse_hex(public_key, text + PUBLIC_AT) &&
		parse_hex(seed, text + SECRET_AT);

	if (good) {
		tapi_identity_from_seed(out, seed);
		good = memcmp(out->public_key, public_key, sizeof(public_key)) == 0;
		if (!good)
			tapi_error_format(error,
				"%s: the public key does not fit the secret one: restore the file, "
				"or remove it for a new identity",
				path);
	} else {
		tapi_error_format(error,
			"%s: is no identity: restore the file, or remove it for a new identity",
			path);
	}
	sodium_memzero(seed, sizeof(seed));
	if (!good)
		tapi_identity_wipe(out);
	return good ? TAPI_OK : TAPI_EFORMAT;
}

static enum tapi_result check_file(int fd, const char *path, struct tapi_error *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		tapi_error_format(error, "%s: %s", path, strerror(errno));
		return TAPI_ESYS;
	}
	if (!S_ISREG(st.st_mode)) {
		tapi_error_format(error, "%s: is no regular file", path);
		return TAPI_ECONF;
	}
	// who may write it may choose who we are
	if (st.st_uid != geteuid()) {
		tapi_error_format(error,
			"%s: belongs to user %u, not to user %u who runs this: chown", path,
			(unsigned)st.st_uid, (unsigned)geteuid());
		return TAPI_ECONF;
	}
	if (st.st_mode & 077) {
		tapi_error_format(error,
			"%s: others may get at it (mode %04o): chmod 600, and think of a new "
			"identity if it was read",
			path, (unsigned)st.st_mode & 07777);
		return TAPI_ECONF;
	}
	if (st.st_size != FILE_BYTES) {
		tapi_error_format(error,
			"%s: %lld octets are no identity, %zu are: restore the file, or remove it "
			"for a new identity",
			path, (long long)st.st_size, FILE_BYTES);
		return TAPI_EFORMAT;
	}
	return TAPI_OK;
}

// TAPI_ENOADDR: there is no such file.
static enum tapi_result read_file(
	struct tapi_identity *out, const char *path, struct tapi_error *error)
{
	// no link is followed: it would be somebody else's choice which file is read
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char text[FILE_BYTES];
	enum tapi_result result;

	if (fd < 0 && errno == ENOENT)
		return TAPI_ENOADDR;
	if (fd < 0 && errno == ELOOP) {
		tapi_error_format(error, "%s: is a symbolic link: name the file itself", path);
		return TAPI_ECONF;
	}
	if (fd < 0) {
		tapi_error_format(error, "%s: cannot be read: %s", path, strerror(errno));
		return TAPI_ESYS;
	}
	result = check_file(fd, path, error);
	if (result == TAPI_OK && read(fd, text, sizeof(text)) != (ssize_t)sizeof(text)) {
		tapi_error_format(error, "%s: cannot be read whole", path);
		result = TAPI_ESYS;
	}
	close(fd);
	if (result == TAPI_OK)
		result = from_text(out, text, path, error);
	sodium_memzero(text, sizeof(text));
	return result;
}

static bool write_fresh(int fd)
{
	uint8_t seed[TAPI_SEED_BYTES];
	char public_text[HEX_DIGITS + 1], secret_text[HEX_DIGITS + 1], text[FILE_BYTES + 1];
	struct tapi_identity fresh;
	bool written;

	randombytes_buf(seed, sizeof(seed));
	tapi_identity_from_seed(&fresh, seed);
	sodium_bin2hex(
		public_text, sizeof(public_text), fresh.public_key, sizeof(fresh.public_key));
	sodium_bin2hex(secret_text, sizeof(secret_text), seed, sizeof(seed));
	snprintf(text, sizeof(text), HEAD PUBLIC "%s\n" SECRET "%s\n", public_text, secret_text);
	written = write(fd, text, FILE_BYTES) == (ssize_t)FILE_BYTES && fsync(fd) == 0;
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(secret_text, sizeof(secret_text));
	sodium_memzero(text, sizeof(text));
	tapi_identity_wipe(&fresh);
	return written;
}

// Whole under a name of its own first, then linked to its place: link() never replaces a file, so
// of two processes that begin at once one wins, and the other reads what that one wrote.
static enum tapi_result make_file(const char *path, struct tapi_error *error)
{
	char *own = NULL;
	int fd;
	bool made;

	if (asprintf(&own, "%s.XXXXXX", path) < 0) {
		tapi_error_format(error, "%s: out of memory", path);
		return TAPI_ENOMEM;
	}
	fd = mkostemp(own, O_CLOEXEC); // O_EXCL, 0600
	if (fd < 0) {
		tapi_error_format(error,
			"%s: cannot be made: %s: its folder has to exist, and be ours to write",
			path, strerror(errno));
		free(own);
		return TAPI_ESYS;
	}
	made = fchmod(fd, 0600) == 0 && write_fresh(fd) &&
	       (link(own, path) == 0 || errno == EEXIST);
	if (!made)
		tapi_error_format(error, "%s: cannot be made: %s", path, strerror(errno));
	unlink(own);
	close(fd);
	free(own);
	if (made)
		tapi_atomic_file_sync(path);
	return made ? TAPI_OK : TAPI_ESYS;
}

enum tapi_result tapi_identity_load(
	struct tapi_identity *out, const char *path, struct tapi_error *error)
{
	enum tapi_result result;

	if (sodium_init() < 0) {
		tapi_error_format(error, "libsodium finds no source of chance");
		return TAPI_ESYS;
	}
	result = read_file(out, path, error);
	if (result != TAPI_ENOADDR)
		return result;
	result = make_file(path, error);
	if (result)
		return result;
	result = read_file(out, path, error);
	if (result == TAPI_ENOADDR) {
		tapi_error_format(error, "%s: was removed at once by somebody", path);
		result = TAPI_ESYS;
	}
	return result;
}
