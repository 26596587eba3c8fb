// SPDX-License-Identifier: BSD-3-Clause
// What docs/transports.md says, as the library has it (tests/cli/transport_docs.test): the tables
// of keys and counters; --transports: name, number, mtu and cost of each that is built in; --check:
// is standard input a configuration.
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/core/core.h"
#include "transportapi/base/acl.h"
#include "transportapi/core/conf.h"
#include "transportapi/core/counters.h"
#include "transportapi/core/queue.h"
#include "transportapi/transport/registry.h"

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

static void counter_print(const char *name, const char *help)
{
	printf("| %s | %s |\n", name, help);
}

static void group_print(const char *group)
{
	printf("\n### %s\n\n| counter | counts |\n|--|--|\n", group);
}

// Each group of tapi_core_stats_json().
static void counters_document(void)
{
	printf("## Counters\n\nWhat `tapi_core_stats_json` tells besides names and settings; all "
	       "of "
	       "them since the core was made, but those in brackets, which are how it is now.\n");
#define X(name, help) counter_print(#name, help);
	group_print("\"core\"");
	TAPI_CORE_COUNTERS(X)
	counter_print("(peers)", "peers that are known");
	counter_print("(reachable)", "of these, those with a validated path");
	counter_print("(memory_bytes, memory_bytes_max)",
		"octets of what waits, is not whole, or half a frame, and the limit");
	counter_print("(pings_out)", "PINGs that may still be answered");
	counter_print("(nated)", "no address of ours can be reached unless we go first");
	group_print("\"queues\"");
	TAPI_QUEUE_COUNTERS(X)
	counter_print("(bytes, bytes_max)", "octets that wait for all peers, and the limit");
	group_print("\"fragments\"");
	TAPI_FRAGMENT_COUNTERS(X)
	counter_print(
		"(bytes, bytes_max)", "octets of messages that are not whole yet, and the limit");
	group_print("each of \"transports\"");
	TAPI_TRANSPORT_COUNTERS(X)
#undef X
}

static int keys_print(void)
{
	section_print("core", tapi_core_keys);
	section_print("acl", tapi_acl_keys);
	for (unsigned i = 0; tapi_transport_builtin(i); i++)
		section_print(tapi_transport_builtin(i), tapi_transport_builtin_keys(i));
	counters_document();
	return 0;
}

// A core with this configuration that is never started; NULL after saying why not.
static struct tapi_core *core_make(const char *text)
{
	static const uint8_t seed[TAPI_SEED_BYTES];
	struct tapi_core_options options = {.base = event_base_new()};
	struct tapi_identity identity;
	struct tapi_error error;
	struct tapi_core *core;

	tapi_identity_from_seed(&identity, seed);
	options.identity = &identity;
	options.conf = tapi_conf_parse(text, &error);
	if (options.conf && tapi_core_new(&core, &options, &error) == TAPI_OK)
		return core;
	fprintf(stderr, "%s\n", error.text);
	return NULL;
}

// With all that is built in; NULL after saying why not.
static struct tapi_core *core_of_all(void)
{
	char text[512] = "{\"transports\": [";
	const char *name;

	for (unsigned i = 0; (name = tapi_transport_builtin(i)); i++)
		snprintf(&text[strlen(text)], sizeof(text) - strlen(text), "%s\"%s\"",
			i ? ", " : "", name);
	snprintf(&text[strlen(text)], sizeof(text) - strlen(text), "]}");
	return core_make(text);
}

static int transports_print(struct tapi_core *core)
{
	const struct tapi_transport_api *api;
	const char *name;

	if (!core)
		return 1;
	for (unsigned i = 0; (name = tapi_transport_builtin(i)); i++) {
		api = tapi_core_transport(core, name);
		if (!api)
			return 1;
		printf("%s %u %u %u\n", name, api->protocol, api->mtu, api->cost);
	}
	return 0;
}

static int counters_print(struct tapi_core *core)
{
	char *text = core ? tapi_core_stats_json(core, false) : NULL;

	if (!text)
		return 1;
	puts(text);
	free(text);
	return 0;
}

static int check(void)
{
	static char text[65536];

	text[fread(text, 1, sizeof(text) - 1, stdin)] = 0;
	return core_make(text) ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return keys_print();
	if (strcmp(argv[1], "--transports") == 0)
		return transports_print(core_of_all());
	if (strcmp(argv[1], "--counters") == 0)
		return counters_print(core_of_all());
	return strcmp(argv[1], "--check") == 0 ? check() : 2;
}
