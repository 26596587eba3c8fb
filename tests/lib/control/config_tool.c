// SPDX-License-Identifier: BSD-3-Clause
// The configuration parsers for scripts: config_tool gateway|policy|signatures. One document per
// line on standard input; for each, one line of JSON on standard output:
// {"errors": ["..."], "dump": the effective document or null}.
// Applications are those of lib/control/fake_apps.h.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config/gateway.h"
#include "control/policy/load.h"
#include "control/policy/signature_load.h"

static char folder[] = "/tmp/config_tool_XXXXXX";

static char *try_gateway(const char *text, struct config_errors *errors)
{
	struct gateway *gateway = NULL;
	char *dump = NULL;

	if (!gateway_parse(text, "gateway.json", NULL, 0, &gateway, errors))
		dump = gateway_dump(gateway);
	gateway_free(gateway);
	return dump;
}

static char *try_policy(const char *text, struct config_errors *errors)
{
	struct rule_names *names = rule_names_new();
	struct policy *policy = NULL;
	char *dump = NULL;

	if (!policy_parse(text, "policy.json", names, &policy, errors))
		dump = policy_dump(policy, names);
	policy_free(policy);
	rule_names_free(names);
	return dump;
}

static char *try_signatures(const char *text, struct config_errors *errors)
{
	struct signature *list = NULL;
	char path[64];
	unsigned n;
	FILE *file;

	snprintf(path, sizeof path, "%s/a.json", folder);
	file = fopen(path, "w");
	if (!file)
		return NULL;
	fputs(text, file);
	fclose(file);
	signature_load_dir(folder, &list, &n, NULL, errors);
	free(list);
	unlink(path);
	return NULL;
}

static void answer(const struct config_errors *errors, const char *dump)
{
	json_t *list = json_array();
	char *text;

	for (size_t i = 0; i < errors->n; i++)
		json_array_append_new(list, json_string(errors->lines[i]));
	text = json_dumps(list, 0);
	json_decref(list);
	printf("{\"errors\": %s, \"dump\": ", text);
	free(text);
	for (const char *c = dump ? dump : "null"; *c; c++)
		putchar(*c == '\n' ? ' ' : *c);
	printf("}\n");
}

int main(int argc, char **argv)
{
	const char *kind = argc == 2 ? argv[1] : "";
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (strcmp(kind, "gateway") != 0 && strcmp(kind, "policy") != 0 &&
		strcmp(kind, "signatures") != 0) {
		fprintf(stderr, "usage: config_tool gateway|policy|signatures\n");
		return 2;
	}
	if (!mkdtemp(folder))
		return 1;
	while ((n = getline(&line, &room, stdin)) > 0) {
		struct config_errors errors = {0};
		char *dump;

		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		dump = kind[0] == 'g'   ? try_gateway(line, &errors)
		       : kind[0] == 'p' ? try_policy(line, &errors)
					: try_signatures(line, &errors);
		answer(&errors, dump);
		free(dump);
		config_errors_free(&errors);
	}
	free(line);
	rmdir(folder);
	return 0;
}
