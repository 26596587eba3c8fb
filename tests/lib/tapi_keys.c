// SPDX-License-Identifier: BSD-3-Clause
// The keys of each section of a transports' configuration as the tables of docs/transports.md:
// tests/cli/transport_docs.test holds the one against the other.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "transportapi/registry.h"

extern const struct tapi_conf_key tapi_acl_keys[], tapi_core_keys[];

static void value_print(const struct tapi_conf_key *key)
{
	switch (key->kind) {
	case TAPI_CONF_UINT:
		printf("%" PRIu64 " to %" PRIu64 " | %" PRIu64, key->min, key->max,
			key->number_default);
		break;
	case TAPI_CONF_BOOL:
		printf("true, false | %s", key->number_default ? "true" : "false");
		break;
	case TAPI_CONF_TEXT:
		printf("text of at most %" PRIu64 " | %s", key->max,
			key->text_default ? key->text_default : "none");
		break;
	case TAPI_CONF_TEXTS: printf("at most %" PRIu64 " texts | none", key->max); break;
	case TAPI_CONF_UINTS:
		printf("numbers, %" PRIu64 " to %" PRIu64 " | none", key->min, key->max);
		break;
	case TAPI_CONF_CHOICE: {
		size_t first = strcspn(key->text_default, "|");

		for (const char *word = key->text_default; *word; word++)
			*word == '|' ? fputs(", ", stdout) : putchar(*word);
		printf(" | %.*s", (int)first, key->text_default);
		break;
	}
	}
}

static void section_print(const char *name, const struct tapi_conf_key *keys)
{
	printf("### Section \"%s\"\n\n| key | values | default | live | meaning "
	       "|\n|--|--|--|--|--|\n",
		name);
	for (const struct tapi_conf_key *key = keys; key->name; key++) {
		printf("| %s | ", key->name);
		value_print(key);
		printf(" | %s | %s |\n", key->live ? "yes" : "no", key->help);
	}
	printf("\n");
}

int main(void)
{
	section_print("core", tapi_core_keys);
	section_print("acl", tapi_acl_keys);
	for (unsigned i = 0; tapi_transport_builtin(i); i++)
		section_print(tapi_transport_builtin(i), tapi_transport_builtin_keys(i));
	return 0;
}
