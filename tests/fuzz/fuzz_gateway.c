// SPDX-License-Identifier: BSD-3-Clause
// gateway.json and --set: whatever the text, it is refused with reasons or gives a configuration
// whose dump reads back to itself. A first line that begins with '#' is a --set.
#include <stdint.h>
#include "config_check.h"
#include "config/gateway.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void gateway_check(const struct gateway *gateway)
{
	struct config_errors errors = {0};
	struct gateway *again = NULL;
	char *first = gateway_dump(gateway), *second;

	if (!first || gateway_parse(first, "dump", NULL, 0, &again, &errors) < 0)
		abort();
	second = gateway_dump(again);
	if (!second || strcmp(first, second) != 0 || gateway_restart_difference(gateway, again))
		abort();
	free(first);
	free(second);
	gateway_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct config_errors errors = {0};
	struct gateway *gateway = NULL;
	char *text = text_of(bytes, len), *json = text, *set = NULL;
	int rc;

	if (text[0] == '#') {
		char *end = strchr(text, '\n');

		set = text + 1;
		json = end ? end + 1 : text + strlen(text);
		if (end)
			*end = 0;
	}
	rc = gateway_parse(json, "fuzz", &set, set ? 1 : 0, &gateway, &errors);
	errors_check(&errors, rc, gateway);
	if (gateway)
		gateway_check(gateway);
	gateway_free(gateway);
	config_errors_free(&errors);
	free(text);
	return 0;
}
