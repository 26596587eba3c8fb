// SPDX-License-Identifier: BSD-3-Clause
// The token of the page: what file is taken, which text is right, and how many guesses are
// reported.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/http/token.h"

#define NS_PER_S UINT64_C(1000000000)
#define TOKEN    "0123456789abcdef0123456789abcdef"

static char folder[] = "/tmp/sluice-token.XXXXXX", path[64], err[512];

static void write_file(const char *text, mode_t mode)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int read_token(struct http_token *token)
{
	err[0] = '\0';
	return http_token_read(token, path, err, sizeof err);
}

static void expect_refusal(const char *text, mode_t mode, const char *word)
{
	struct http_token token = {0};

	write_file(text, mode);
	assert_true(read_token(&token) < 0);
	assert_false(token.set);
	if (!strstr(err, word) || !strstr(err, path))
		fail_msg("\"%s\" lacks \"%s\" or the path", err, word);
	assert_null(strstr(err, "0123456789abcdef")); // what is in it is nobody's business
}

static void test_which_file_is_taken(void **state)
{
	struct http_token token = {0};
	char longest[HTTP_TOKEN_MAX + 3], other[80];

	(void)state;
	write_file(TOKEN "\n", 0600);
	assert_int_equal(read_token(&token), 0);
	assert_true(token.set);
	write_file(TOKEN, 0640);
	assert_int_equal(read_token(&token), 0);
	expect_refusal(TOKEN "\n", 0604, "chmod 600");
	expect_refusal(TOKEN "\n", 0660, "chmod 600");
	expect_refusal(TOKEN "\n", 0644, "chmod 600");
	expect_refusal("", 0600, "holds no token");
	expect_refusal("0123456789abcdef0123456\n", 0600, "24 to 256"); // 23
	expect_refusal(TOKEN "\n" TOKEN "\n", 0600, "one line");
	expect_refusal(TOKEN " \n", 0600, "without blanks");
	expect_refusal(TOKEN "\r\n", 0600, "one line");
	memset(longest, 'a', sizeof longest);
	longest[HTTP_TOKEN_MAX] = '\0';
	write_file(longest, 0600);
	assert_int_equal(read_token(&token), 0);
	longest[HTTP_TOKEN_MAX] = 'a';
	longest[HTTP_TOKEN_MAX + 1] = '\0';
	expect_refusal(longest, 0600, "24 to 256");
	longest[HTTP_TOKEN_MAX + 1] = 'a';
	longest[HTTP_TOKEN_MAX + 2] = '\0';
	expect_refusal(longest, 0600, "24 to 256");
	write_file(TOKEN, 0600);
	snprintf(other, sizeof other, "%s.real", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(read_token(&token), -EINVAL);
	assert_non_null(strstr(err, "openssl rand"));
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(read_token(&token), -EINVAL);
	assert_non_null(strstr(err, "symbolic link"));
	unlink(path);
	unlink(other);
	assert_int_equal(mkfifo(path, 0600), 0); // nobody writes: it is not waited for
	assert_true(read_token(&token) < 0);
	assert_non_null(strstr(err, "no ordinary file"));
	unlink(path);
}

static enum http_token_answer try(struct http_token *token, const char *text, uint64_t now_s)
{
	return http_token_try(token, text, strlen(text), now_s * NS_PER_S);
}

static struct http_token good(void)
{
	struct http_token token = {0};

	write_file(TOKEN "\n", 0600);
	assert_int_equal(read_token(&token), 0);
	unlink(path);
	return token;
}

static void test_which_text_is_right(void **state)
{
	struct http_token token = good(), none = {0};

	(void)state;
	assert_int_equal(try(&token, TOKEN, 1000), HTTP_TOKEN_RIGHT);
	assert_int_equal(try(&token, TOKEN "\n", 1000), HTTP_TOKEN_WRONG);
	assert_int_equal(try(&token, TOKEN "0", 1000), HTTP_TOKEN_WRONG);
	assert_int_equal(try(&token, "0123456789abcdef0123456789abcde", 1000), HTTP_TOKEN_WRONG);
	assert_int_equal(try(&token, "", 1000), HTTP_TOKEN_WRONG);
	assert_int_equal(try(&token, "0123456789ABCDEF0123456789ABCDEF", 1000), HTTP_TOKEN_WRONG);
	assert_int_equal(try(&token, TOKEN, 1000), HTTP_TOKEN_RIGHT);
	// without a token nothing is right
	assert_int_equal(try(&none, "", 1000), HTTP_TOKEN_WRONG);
}

// Ten wrong ones are reported, and one more each six seconds; the right one is taken all the time.
static void test_guesses_are_few(void **state)
{
	struct http_token token = good();
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < HTTP_TOKEN_TRIES; i++)
		assert_int_equal(try(&token, "guess", 1000), HTTP_TOKEN_WRONG);
	assert_int_equal(try(&token, "guess", 1000), HTTP_TOKEN_THROTTLED);
	assert_int_equal(try(&token, TOKEN, 1000), HTTP_TOKEN_RIGHT);
	assert_int_equal(try(&token, "guess", 1005), HTTP_TOKEN_THROTTLED);
	assert_int_equal(try(&token, TOKEN, 1005), HTTP_TOKEN_RIGHT);
	assert_int_equal(try(&token, "guess", 1006), HTTP_TOKEN_WRONG);
	assert_int_equal(try(&token, "guess", 1006), HTTP_TOKEN_THROTTLED);
	assert_int_equal(try(&token, TOKEN, 1006), HTTP_TOKEN_RIGHT);
	for (uint64_t s = 1006; s < 1006 + 3600; s++) { // an hour of a hundred guesses a second
		for (unsigned i = 0; i < 100; i++)
			wrong += try(&token, "guess", s) == HTTP_TOKEN_WRONG;
		assert_int_equal(try(&token, TOKEN, s), HTTP_TOKEN_RIGHT);
	}
	assert_in_range(wrong, 590, 600);
	// rest does not save up more than all of them
	wrong = 0;
	for (unsigned i = 0; i < 100; i++)
		wrong += try(&token, "guess", 1000000) == HTTP_TOKEN_WRONG;
	assert_int_equal(wrong, HTTP_TOKEN_TRIES);
}

static int make_folder(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/token", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_file_is_taken),
		cmocka_unit_test(test_which_text_is_right),
		cmocka_unit_test(test_guesses_are_few),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
