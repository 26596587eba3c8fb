// SPDX-License-Identifier: BSD-3-Clause
// Prints what the table of recognition (config/recognition.json) says of an application.
#include "cmd/explain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "classify/classify.h"
#include "cmd/recognition.h"
#include "base/json_out.h"
#include "base/options.h"
#include "base/suggest.h"

#define JSON_BYTES (256u << 10)

static uint16_t app_called(const char *name)
{
	for (unsigned i = 1; i <= app_count(); i++) {
		const struct app_proto *proto = app_get((uint16_t)i);

		if (!strcasecmp(proto->name, name) || !strcasecmp(proto->title, name))
			return (uint16_t)i;
	}
	return APP_NONE;
}

// What stands in parentheses behind a name may be left out.
static bool is_called(const char *full, const char *name)
{
	size_t n = strlen(name);

	return !strncasecmp(full, name, n) && (!full[n] || !strncmp(full + n, " (", 2));
}

static const struct recognition_name *name_called(const char *name)
{
	const struct recognition_name *at = recognition_names;

	for (; at->names; at++)
		for (const char *const *each = at->names; *each; each++)
			if (is_called(*each, name))
				return at;
	return NULL;
}

static bool names_app(const struct recognition_name *name, const char *app)
{
	for (const char *const *each = name->apps; *each; each++)
		if (!strcmp(*each, app))
			return true;
	return false;
}

static void report_unknown(const char *name)
{
	struct suggestion suggestion = suggest_for(name);

	for (unsigned i = 1; i <= app_count(); i++)
		suggest_offer(&suggestion, app_get((uint16_t)i)->name);
	for (const struct recognition_name *at = recognition_names; at->names; at++)
		for (const char *const *each = at->names; *each; each++)
			suggest_offer(&suggestion, *each);
	fprintf(stderr, "sluice apps: unknown application \"%s\"", name);
	if (suggest_get(&suggestion))
		fprintf(stderr, "; did you mean \"%s\"?", suggest_get(&suggestion));
	else
		fprintf(stderr, ";");
	fprintf(stderr, " `sluice apps` lists them\n");
}

// ---- as text ----

static void print_list(const char *const *words)
{
	for (unsigned i = 0; words[i]; i++)
		printf("%s%s", i ? ", " : "", words[i]);
}

static void print_name(const struct recognition_name *name)
{
	print_list(name->names);
	if (name->apps[0]) {
		printf(": known as ");
		print_list(name->apps);
		printf(", by ");
		print_list(name->by);
		printf("\n");
	} else {
		printf(": not recognised\n");
	}
	if (*name->unknown)
		printf("   %s: %s\n", name->apps[0] ? "not known" : "why", name->unknown);
}

static void print_row(const struct recognition_row *row, unsigned number)
{
	printf("\n%u. %s\n", number, row->how);
	if (row->packet)
		printf("   known from: data packet %u of the flow\n", row->packet);
	else
		printf("   known from: the first packet, before any data\n");
	printf("   confidence: %s\n   seen with: %s\n", row->confidence, row->client);
	if (row->capture)
		printf("   tested with: the capture %s, %s\n", row->capture, row->flow);
	else
		printf("   tested with: packets made for the test, %s\n", row->made);
	printf("   defeated by: %s\n", row->defeats);
}

static void print_ports(const struct app_proto *proto)
{
	if (!proto->tcp_ports[0] && !proto->udp_ports[0])
		return;
	printf("\nBy port alone where payload says nothing, a guess (confidence port):");
	for (unsigned i = 0; i < 8 && proto->tcp_ports[i]; i++)
		printf(" tcp/%u", proto->tcp_ports[i]);
	for (unsigned i = 0; i < 8 && proto->udp_ports[i]; i++)
		printf(" udp/%u", proto->udp_ports[i]);
	printf("\n");
}

static void print_app(const struct app_proto *proto)
{
	unsigned n = 0;

	printf("%s: %s (%s%s%s)\n", proto->name, proto->title, app_category_word(proto->category),
		proto->group ? ", " : "", proto->group ? proto->group : "");
	for (const struct recognition_row *row = recognition_rows; row->app; row++)
		if (!strcmp(row->app, proto->name))
			print_row(row, ++n);
	print_ports(proto);
}

static void print_text(const struct app_proto *proto, const struct recognition_name *name)
{
	if (proto) {
		print_app(proto);
		for (name = recognition_names; name->names; name++)
			if (names_app(name, proto->name)) {
				printf("\n");
				print_name(name);
			}
		return;
	}
	print_name(name);
	for (const char *const *each = name->apps; *each; each++) {
		printf("\n");
		print_app(app_get(app_find(*each)));
	}
}

// ---- as JSON ----

static void put_list(struct json_out *out, const char *key, const char *const *words)
{
	json_out_open(out, key, '[');
	for (; *words; words++)
		json_out_string(out, NULL, *words);
	json_out_close(out, ']');
}

static void put_name(struct json_out *out, const struct recognition_name *name)
{
	json_out_open(out, NULL, '{');
	put_list(out, "names", name->names);
	put_list(out, "known_as", name->apps);
	put_list(out, "by", name->by);
	json_out_string(out, "not_known", name->unknown);
	json_out_close(out, '}');
}

static void put_row(struct json_out *out, const struct recognition_row *row)
{
	json_out_open(out, NULL, '{');
	json_out_string(out, "how", row->how);
	json_out_u64(out, "packet", row->packet);
	json_out_string(out, "confidence", row->confidence);
	json_out_string(out, "client", row->client);
	if (row->capture) {
		json_out_string(out, "capture", row->capture);
		json_out_string(out, "flow", row->flow);
	} else {
		json_out_string(out, "made", row->made);
	}
	json_out_string(out, "defeats", row->defeats);
	json_out_close(out, '}');
}

static void put_ports(struct json_out *out, const char *key, const uint16_t ports[8])
{
	json_out_open(out, key, '[');
	for (unsigned i = 0; i < 8 && ports[i]; i++)
		json_out_u64(out, NULL, ports[i]);
	json_out_close(out, ']');
}

static void put_app(struct json_out *out, const struct app_proto *proto)
{
	json_out_open(out, NULL, '{');
	json_out_string(out, "id", proto->name);
	json_out_string(out, "title", proto->title);
	json_out_string(out, "category", app_category_word(proto->category));
	if (proto->group)
		json_out_string(out, "group", proto->group);
	json_out_open(out, "ways", '[');
	for (const struct recognition_row *row = recognition_rows; row->app; row++)
		if (!strcmp(row->app, proto->name))
			put_row(out, row);
	json_out_close(out, ']');
	put_ports(out, "tcp_ports", proto->tcp_ports);
	put_ports(out, "udp_ports", proto->udp_ports);
	json_out_close(out, '}');
}

// The applications that are meant, then the names that people ask for.
static void put_all(
	struct json_out *out, const struct app_proto *proto, const struct recognition_name *name)
{
	json_out_open(out, NULL, '{');
	json_out_open(out, "applications", '[');
	if (proto)
		put_app(out, proto);
	for (const char *const *each = name ? name->apps : NULL; each && *each; each++)
		put_app(out, app_get(app_find(*each)));
	json_out_close(out, ']');
	json_out_open(out, "names", '[');
	if (name)
		put_name(out, name);
	for (const struct recognition_name *at = recognition_names; proto && at->names; at++)
		if (names_app(at, proto->name))
			put_name(out, at);
	json_out_close(out, ']');
	json_out_close(out, '}');
	json_out_newline(out);
}

static int print_json(const struct app_proto *proto, const struct recognition_name *name)
{
	char *buffer = malloc(JSON_BYTES);
	struct json_out out;

	if (!buffer)
		return EXIT_CODE_FAILURE;
	json_out_init(&out, buffer, JSON_BYTES);
	put_all(&out, proto, name);
	size_t length = json_out_length(&out);
	bool ok = !out.full && fwrite(buffer, 1, length, stdout) == length;
	free(buffer);
	return ok ? EXIT_CODE_OK : EXIT_CODE_FAILURE;
}

int explain_application(const char *name, bool json)
{
	const struct app_proto *proto = app_get(app_called(name));
	const struct recognition_name *asked = proto ? NULL : name_called(name);

	if (!proto && !asked) {
		report_unknown(name);
		return EXIT_CODE_USAGE;
	}
	if (json)
		return print_json(proto, asked);
	print_text(proto, asked);
	return EXIT_CODE_OK;
}
