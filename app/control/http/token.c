// SPDX-License-Identifier: BSD-3-Clause
// Reads the token file, and compares a client's token by its digest.
#include "control/http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/vocab/tick.h"

static int refuse(char *err, size_t err_len, const char *path, const char *what)
{
	snprintf(err, err_len, "http.token_file: %s %s", path, what);
	return -EINVAL;
}

static int check_file(int fd, const char *path, char *err, size_t err_len)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(err, err_len, path, "is no ordinary file");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return refuse(err, err_len, path,
			"belongs to somebody else: make root its owner (chown root)");
	if (st.st_mode & (S_IWGRP | S_IRWXO))
		return refuse(err, err_len, path,
			"is open to others: chmod 600 (or 640), and write a new token into it");
	return 0;
}

// Printable, without blanks: what an HTTP header can hold.
static bool is_good(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return length >= HTTP_TOKEN_MIN && length <= HTTP_TOKEN_MAX;
}

int http_token_read(struct http_token *token, const char *path, char *err, size_t err_len)
{
	char text[HTTP_TOKEN_MAX + 2];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc;
	ssize_t n;

	if (fd < 0) {
		rc = -errno;
		snprintf(err, err_len,
			"http.token_file: cannot read %s: %s; make one: (umask 077; openssl rand "
			"-hex 32 >FILE), or set it to null",
			path, rc == -ELOOP ? "it is a symbolic link" : strerror(-rc));
		return rc == -EACCES ? rc : -EINVAL;
	}
	rc = check_file(fd, path, err, err_len);
	n = rc == 0 ? read(fd, text, sizeof text) : 0;
	close(fd);
	if (rc < 0)
		return rc;
	if (n > 0 && text[n - 1] == '\n')
		n--;
	if (n < 0 || !is_good(text, (size_t)n))
		rc = refuse(err, err_len, path,
			"holds no token: one line of 24 to 256 letters, digits and signs, without "
			"blanks (openssl rand -hex 32)");
	else
		*token = (struct http_token){0};
	if (rc == 0)
		token->set = SHA256((const uint8_t *)text, (size_t)n, token->digest) != NULL;
	OPENSSL_cleanse(text, sizeof text);
	return rc;
}

static void refill(struct http_token *token, uint64_t now_ns)
{
	const uint64_t step_ns = HTTP_TOKEN_REFILL_S * NS_PER_S;
	uint64_t steps = now_ns > token->since_ns ? (now_ns - token->since_ns) / step_ns : 0;

	if (!token->wrong || steps >= token->wrong) {
		token->wrong = 0;
		token->since_ns = now_ns;
		return;
	}
	token->wrong -= (unsigned)steps;
	token->since_ns += steps * step_ns;
}

enum http_token_answer http_token_try(
	struct http_token *token, const char *text, size_t length, uint64_t now_ns)
{
	uint8_t digest[32];

	// The digests have one length, and say nothing of how near a guess was.
	if (token->set && SHA256((const uint8_t *)text, length, digest) &&
		CRYPTO_memcmp(digest, token->digest, sizeof digest) == 0)
		return HTTP_TOKEN_RIGHT;
	refill(token, now_ns);
	if (token->wrong >= HTTP_TOKEN_TRIES)
		return HTTP_TOKEN_THROTTLED;
	token->wrong++;
	return HTTP_TOKEN_WRONG;
}
