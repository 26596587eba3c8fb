// SPDX-License-Identifier: BSD-3-Clause
// Policies as text with single quotes, and what the loader says of them. For test programs of one
// file: they include it after cmocka.h.
#ifndef SLUICE_TEST_POLICY_TEXT_H
#define SLUICE_TEST_POLICY_TEXT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "error_list.h"
#include "control/policy/load.h"

static struct rule_names *names;

static char *quoted(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	return copy;
}

static struct policy *good(const char *text)
{
	struct config_errors errors = {0};
	struct policy *policy = NULL;
	char *json = quoted(text);
	int rc = policy_parse(json, "p.json", names, &policy, &errors);

	expect_count(&errors, 0);
	assert_int_equal(rc, 0);
	assert_non_null(policy);
	free(json);
	return policy;
}

__attribute__((unused)) static struct config_errors bad(const char *text)
{
	struct config_errors errors = {0};
	struct policy *policy = NULL;
	char *json = quoted(text);

	assert_int_equal(policy_parse(json, "p.json", names, &policy, &errors), -EINVAL);
	assert_null(policy);
	assert_true(errors.n > 0);
	free(json);
	return errors;
}

// One error with these words.
#define BAD(text, ...)                                    \
	do {                                              \
		struct config_errors errors_ = bad(text); \
		EXPECT_LINE(&errors_, __VA_ARGS__);       \
		expect_count(&errors_, 1);                \
		config_errors_free(&errors_);             \
	} while (0)

static int names_make(void **state)
{
	(void)state;
	names = rule_names_new();
	return names ? 0 : -1;
}

static int names_end(void **state)
{
	(void)state;
	rule_names_free(names);
	return 0;
}

#endif
