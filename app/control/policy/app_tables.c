// SPDX-License-Identifier: BSD-3-Clause
// Reads hosts and networks of built-in applications from the signature files.
#include "control/policy/app_tables.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "config/host_text.h"
#include "base/suggest.h"
#include "control/policy/fields.h"

#define ENTRIES_MAX  1024 // of one file
#define NETWORKS_MAX 65536
#define SOURCE_MAX   256
#define WHY_MAX      512

struct table_reader {
	struct app_tables *tables;
	struct app_table *table;
};

struct app_tables *app_tables_new(void)
{
	struct app_tables *tables = calloc(1, sizeof *tables);

	if (!tables)
		return NULL;
	tables->hosts = user_apps_new();
	if (tables->hosts)
		return tables;
	free(tables);
	return NULL;
}

void app_tables_free(struct app_tables *tables)
{
	if (!tables)
		return;
	for (uint32_t i = 0; i < tables->n_tables; i++)
		address_set_free(&tables->tables[i].networks);
	free(tables->tables);
	user_apps_free(tables->hosts);
	free(tables);
}

uint16_t app_want_builtin(const struct json_at *at)
{
	struct suggestion suggestion;
	const char *text;
	uint16_t app;

	if (!json_want_text(at, 1, 64, &text))
		return APP_NONE;
	app = app_find(text);
	if (app != APP_NONE)
		return app;
	suggestion = suggest_for(text);
	for (unsigned i = 1; i <= app_count(); i++)
		if (app_get((uint16_t)i))
			suggest_offer(&suggestion, app_get((uint16_t)i)->name);
	if (suggest_get(&suggestion))
		json_at_error(at, "unknown application \"%s\"; did you mean \"%s\"?", text,
			suggest_get(&suggestion));
	else
		json_at_error(at, "unknown application \"%s\"; `sluice apps` lists them", text);
	return APP_NONE;
}

static void read_host(const struct json_at *at, struct table_reader *reader, bool shared)
{
	char host[HOST_TEXT_BYTES];
	uint16_t other;
	int rc;

	if (!host_want_suffix(at, host) || !reader->table->app)
		return;
	if (user_apps_has_host(reader->tables->hosts, host, &other)) {
		json_at_error(at, "\"%s\" is listed before, for \"%s\": a host is listed once",
			host, app_get(other)->name);
		return;
	}
	rc = (shared ? user_apps_add_shared_host : user_apps_add_host)(
		reader->tables->hosts, reader->table->app, host);
	if (rc == -ENOSPC)
		json_at_error(at, "more than %u host names in all", USER_HOSTS_MAX);
	else if (rc < 0)
		json_at_error(at, "no memory");
	else if (shared)
		reader->table->n_shared_hosts++;
	else
		reader->table->n_hosts++;
}

static void read_list(const struct json_at *at, struct table_reader *reader, bool shared)
{
	struct json_at item = {0};

	if (!json_want_array(at, 1, USER_HOSTS_MAX))
		return;
	while (json_at_next(at, &item))
		read_host(&item, reader, shared);
}

static void read_hosts(const struct json_at *at, void *ctx)
{
	read_list(at, ctx, false);
}

static void read_shared_hosts(const struct json_at *at, void *ctx)
{
	read_list(at, ctx, true);
}

static void read_networks(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct table_reader *reader = ctx;
	struct address_set *set = &reader->table->networks;

	if (!json_want_array(at, 1, NETWORKS_MAX))
		return;
	while (json_at_next(at, &item)) {
		const char *text;
		int rc = json_want_text(&item, 1, POLICY_ADDRESS_TEXT - 1, &text)
				 ? address_set_add(set, text)
				 : 0;

		if (rc < 0)
			policy_address_error(&item, text, rc);
	}
	address_set_seal(set);
	reader->tables->n_networks += set->n_v4 + set->n_v6;
	if (reader->tables->n_networks > NETWORKS_MAX)
		json_at_error(at, "more than %u networks in all", NETWORKS_MAX);
}

static void read_why(const struct json_at *at, void *ctx)
{
	const char *text;

	(void)ctx;
	json_want_text(at, 1, WHY_MAX, &text);
}

static void read_source(const struct json_at *at, void *ctx)
{
	const char *text;

	(void)ctx;
	json_want_text(at, 1, SOURCE_MAX, &text);
}

// "2026-11": a month from 2000-01 to 2099-12.
static bool is_month(const char *text)
{
	static const char digits[] = "0123456789";
	unsigned month;

	if (strlen(text) != 7 || text[0] != '2' || text[1] != '0' || strspn(text, digits) != 4 ||
		text[4] != '-' || strspn(text + 5, digits) != 2)
		return false;
	month = (unsigned)(text[5] - '0') * 10 + (unsigned)(text[6] - '0');
	return month >= 1 && month <= 12;
}

static void read_date(const struct json_at *at, void *ctx)
{
	const char *text;

	(void)ctx;
	if (json_want_text(at, 7, 7, &text) && !is_month(text))
		json_at_error(at,
			"\"%s\" is no month: write YYYY-MM, when the source was read, as in "
			"\"2026-11\"",
			text);
}

#define READ(key, function, need)                                                        \
	{                                                                                \
		.name = "applications[]." key, .kind = JSON_KIND_READ, .read = function, \
		.required = need                                                         \
	}

static const struct json_field fields[] = {
	{.name = "applications[].app", .kind = JSON_KIND_IGNORE, .required = true},
	// For the build (app/classify/app_list.py).
	{.name = "applications[].built_in", .kind = JSON_KIND_IGNORE},
	READ("hosts", read_hosts, false),
	READ("shared_hosts", read_shared_hosts, false),
	READ("networks", read_networks, false),
	READ("source", read_source, false),
	READ("date", read_date, false),
	READ("why", read_why, true),
	JSON_FIELD_END,
};

// The build demands both of the files that it ships (app/classify/app_list.py); files of an
// operator's own may have neither.
static void check_origin(const struct json_at *at)
{
	bool source = json_object_get(at->value, "source");
	bool date = json_object_get(at->value, "date");

	if (source && !date)
		json_at_error(at, "has a source without a date: add \"date\", the month when it "
				  "was read (YYYY-MM)");
	if (date && !source)
		json_at_error(at, "has a date without a source: add \"source\", where the hosts "
				  "or networks are published");
}

// Hosts are entered under their application: it is read first, wherever it stands.
static void read_entry(const struct json_at *at, struct app_tables *tables)
{
	struct table_reader reader = {
		.tables = tables,
		.table = &tables->tables[tables->n_tables],
	};

	*reader.table = (struct app_table){0};
	if (!json_want_object(at))
		return;
	tables->n_tables++;
	struct json_at app = json_at_key(at, "app", json_object_get(at->value, "app"));

	if (app.value)
		reader.table->app = app_want_builtin(&app);
	json_fields_read(at, fields, NULL, NULL, &reader);
	if (!json_object_get(at->value, "hosts") && !json_object_get(at->value, "shared_hosts") &&
		!json_object_get(at->value, "networks") && !json_object_get(at->value, "built_in"))
		json_at_error(at, "there is nothing to know it by: add hosts or networks");
	check_origin(at);
}

void app_tables_read(const struct json_at *at, struct app_tables *tables)
{
	struct json_at item = {0};
	struct app_table *grown;
	size_t n;

	if (!json_want_array(at, 1, ENTRIES_MAX))
		return;
	n = json_array_size(at->value);
	grown = reallocarray(tables->tables, tables->n_tables + n, sizeof *grown);
	if (!grown) {
		json_at_error(at, "no memory");
		return;
	}
	tables->tables = grown;
	while (json_at_next(at, &item))
		read_entry(&item, tables);
}

int app_tables_apply(const struct app_tables *tables, struct policy *policy)
{
	int rc = 0;

	if (!policy->user_apps)
		policy->user_apps = user_apps_new();
	if (!policy->user_apps)
		return -ENOMEM;
	user_apps_set_files(policy->user_apps, tables->hosts);
	for (uint32_t i = 0; i < tables->n_tables && !rc; i++)
		rc = app_networks_add(
			&policy->app_networks, &tables->tables[i].networks, tables->tables[i].app);
	return rc;
}
