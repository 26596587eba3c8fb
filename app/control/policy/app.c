// SPDX-License-Identifier: BSD-3-Clause
// "applications" of policy.json: applications that the operator defines, by pattern, port, name of
// the host, or network.
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/host_text.h"
#include "control/policy/fields.h"
#include "control/policy/signature_load.h"

#define ID_MAX         40 // a signature's id holds it and a number
#define TITLE_MAX      80
#define REGEX_MAX      256 // of one application
#define SIGNATURES_MAX 1024
#define PORTS_MAX      256   // entries of one list
#define NETWORKS_MAX   65536 // of all applications

static const char *const protocol_words[] = {"tcp", "udp", NULL};
static const char *const regex_direction_words[] = {"both", "to_server", "to_client", NULL};

struct app_reader {
	struct policy_reader *reader;
	struct user_app *user;
	uint16_t app; // APP_NONE: its id is wrong, the rest is read for its errors
};

struct regex_reader {
	struct signature signature;
	bool reported;
};

static void read_pattern(const struct json_at *at, void *ctx)
{
	struct regex_reader *regex = ctx;
	const char *text;

	regex->reported |= !signature_want_pattern(at, &text);
	if (!regex->reported)
		snprintf(regex->signature.pattern, sizeof regex->signature.pattern, "%s", text);
}

static void read_protocol(const struct json_at *at, void *ctx)
{
	struct regex_reader *regex = ctx;
	unsigned word;

	if (json_want_word(at, protocol_words, &word))
		regex->signature.l4 = word ? IPPROTO_UDP : IPPROTO_TCP;
	else
		regex->reported = true;
}

static void read_direction(const struct json_at *at, void *ctx)
{
	static const uint8_t halves[] = {
		1 << HALF_C2S | 1 << HALF_S2C, 1 << HALF_C2S, 1 << HALF_S2C};
	struct regex_reader *regex = ctx;
	unsigned word;

	if (json_want_word(at, regex_direction_words, &word))
		regex->signature.halves = halves[word];
	else
		regex->reported = true;
}

#define REGEX_FLAG(key, member)                                                \
	{                                                                      \
		.name = "applications[].regex[]." key, .kind = JSON_KIND_FLAG, \
		.offset = offsetof(struct regex_reader, member), .live = true  \
	}
#define REGEX_READ(key, function, need)                                                          \
	{                                                                                        \
		.name = "applications[].regex[]." key, .kind = JSON_KIND_READ, .read = function, \
		.required = need, .live = true                                                   \
	}

const struct json_field policy_regex_fields[] = {
	REGEX_READ("pattern", read_pattern, true),
	REGEX_READ("protocol", read_protocol, true),
	REGEX_READ("direction", read_direction, false),
	REGEX_FLAG("caseless", signature.caseless),
	{.name = "applications[].regex[].min_length",
		.kind = JSON_KIND_U16,
		.offset = offsetof(struct regex_reader, signature.min_length),
		.max = CLASSIFY_PREFIX_BYTES,
		.live = true},
	JSON_FIELD_END,
};

// Room for one more; reported if there is none.
static struct signature *signature_room(const struct json_at *at, struct policy *policy)
{
	uint32_t n = policy->n_user_signatures;
	struct signature *grown;

	if (n == SIGNATURES_MAX) {
		json_at_error(at, "more than %u patterns in all", SIGNATURES_MAX);
		return NULL;
	}
	if (n & (n - 1) || n == 1) // else a power of two: full
		return &policy->user_signatures[n];
	grown = reallocarray(policy->user_signatures, n ? n * 2 : 2, sizeof *grown);
	if (!grown) {
		json_at_error(at, "no memory");
		return NULL;
	}
	policy->user_signatures = grown;
	return &grown[n];
}

static void read_regex(const struct json_at *at, struct app_reader *app, size_t number)
{
	struct policy *policy = app->reader->policy;
	struct regex_reader regex = {
		.signature =
			{
				.app = app->app,
				.halves = 1 << HALF_C2S | 1 << HALF_S2C,
				.confidence = CONFIDENCE_DPI,
				.rank = (uint16_t)policy->n_user_signatures,
				.dotall = true,
			},
	};
	struct signature *place;
	char err[256] = "";

	json_fields_read(at, policy_regex_fields, NULL, &regex, &regex);
	if (regex.reported || !regex.signature.pattern[0] || !regex.signature.l4 || !app->app)
		return;
	snprintf(regex.signature.id, sizeof regex.signature.id, "%s/%zu", app->user->name, number);
	if (sigdb_check_pattern(&regex.signature, err, sizeof err) < 0) {
		struct json_at pattern = json_at_key(at, "pattern", NULL);
		const char *reason = strstr(err, "pattern: ");

		json_at_error(&pattern, "%s", reason ? reason + strlen("pattern: ") : err);
		return;
	}
	place = signature_room(at, policy);
	if (!place)
		return;
	*place = regex.signature;
	policy->n_user_signatures++;
	app->user->n_signatures++;
}

static void read_regexes(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct app_reader *app = ctx;

	if (!json_want_array(at, 1, REGEX_MAX))
		return;
	app->user->first_signature = app->reader->policy->n_user_signatures;
	while (json_at_next(at, &item))
		read_regex(&item, app, item.index + 1);
}

static void read_port_list(const struct json_at *at, struct app_reader *app, unsigned udp)
{
	struct json_at item = {0};
	struct user_apps *apps = app->reader->policy->user_apps;
	size_t n;

	if (!json_want_array(at, 1, PORTS_MAX))
		return;
	n = json_array_size(at->value);
	app->user->ports[udp] = calloc(n, sizeof *app->user->ports[udp]);
	if (!app->user->ports[udp]) {
		json_at_error(at, "no memory");
		return;
	}
	while (json_at_next(at, &item)) {
		struct port_range range;

		if (!policy_read_port_range(&item, &range))
			continue;
		app->user->ports[udp][app->user->n_ports[udp]++] = range;
		if (app->app && user_apps_add_ports(apps, app->app, udp ? IPPROTO_UDP : IPPROTO_TCP,
					range.first, range.last) < 0)
			json_at_error(&item, "no memory");
	}
}

static void read_tcp_ports(const struct json_at *at, void *ctx)
{
	read_port_list(at, ctx, 0);
}

static void read_udp_ports(const struct json_at *at, void *ctx)
{
	read_port_list(at, ctx, 1);
}

const struct json_field policy_app_ports_fields[] = {
	{.name = "applications[].ports.tcp",
		.kind = JSON_KIND_READ,
		.read = read_tcp_ports,
		.live = true},
	{.name = "applications[].ports.udp",
		.kind = JSON_KIND_READ,
		.read = read_udp_ports,
		.live = true},
	JSON_FIELD_END,
};

static void read_ports(const struct json_at *at, void *ctx)
{
	json_fields_read(at, policy_app_ports_fields, NULL, NULL, ctx);
	if (json_is_object(at->value) && !json_object_size(at->value))
		json_at_error(at, "names no port: add \"tcp\" or \"udp\"");
}

static void read_host(const struct json_at *at, struct app_reader *app)
{
	char host[HOST_TEXT_BYTES];
	int rc;

	if (!host_want_suffix(at, host) || !app->app)
		return;
	rc = user_apps_add_host(app->reader->policy->user_apps, app->app, host);
	if (rc == -ENOSPC)
		json_at_error(at, "more than %u host names in all", USER_HOSTS_MAX);
	else if (rc < 0)
		json_at_error(at, "no memory");
	else
		app->user->n_hosts++;
}

static void read_hosts(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct app_reader *app = ctx;

	if (!json_want_array(at, 1, USER_HOSTS_MAX))
		return;
	app->user->first_host = user_apps_n_hosts(app->reader->policy->user_apps);
	while (json_at_next(at, &item))
		read_host(&item, app);
}

static void read_networks(const struct json_at *at, void *ctx)
{
	struct app_reader *app = ctx;
	struct policy_reader *reader = app->reader;
	struct address_set *set = &app->user->networks;

	app->user->has_networks = true;
	if (!json_want_array(at, 1, POLICY_LIST_MAX))
		return;
	policy_read_addresses(at, reader, set);
	reader->n_networks += set->n_v4 + set->n_v6;
	if (reader->n_networks > NETWORKS_MAX)
		json_at_error(at, "more than %u networks of applications in all", NETWORKS_MAX);
	else if (app->app && app_networks_add(&reader->policy->app_networks, set, app->app) < 0)
		json_at_error(at, "no memory");
}

#define BEFORE(key)                                                     \
	{                                                               \
		.name = "applications[]." key, .kind = JSON_KIND_IGNORE \
	}
#define READ(key, function)                                                              \
	{                                                                                \
		.name = "applications[]." key, .kind = JSON_KIND_READ, .read = function, \
		.live = true                                                             \
	}

const struct json_field policy_application_fields[] = {
	{.name = "applications[].id", .kind = JSON_KIND_IGNORE, .required = true},
	BEFORE("title"),
	BEFORE("category"),
	BEFORE("group"),
	READ("regex", read_regexes),
	READ("ports", read_ports),
	READ("sni", read_hosts),
	READ("networks", read_networks),
	JSON_FIELD_END,
};

// The text of a key that is a name or a title; NULL: absent, or wrong and reported.
static char *read_word(const struct json_at *up, const char *key, bool name, size_t max)
{
	struct json_at at = json_at_key(up, key, json_object_get(up->value, key));
	const char *text;
	char *copy;

	if (!at.value || !(name ? json_want_name(&at, max, "-", false, &text)
				: json_want_text(&at, 1, max, &text)))
		return NULL;
	copy = strdup(text);
	if (!copy)
		json_at_error(&at, "no memory");
	return copy;
}

static uint8_t read_category(const struct json_at *up)
{
	struct json_at at = json_at_key(up, "category", json_object_get(up->value, "category"));
	const char *words[APP_CATEGORY_OTHER + 2];
	unsigned word = APP_CATEGORY_OTHER;

	for (unsigned i = 0; i <= APP_CATEGORY_OTHER; i++)
		words[i] = app_category_word((enum app_category)i);
	words[APP_CATEGORY_OTHER + 1] = NULL;
	if (at.value)
		json_want_word(&at, words, &word);
	return (uint8_t)word;
}

// These words stand for something else where an application can be named.
static bool is_reserved(const char *id)
{
	return !strcmp(id, "unknown") || !strcmp(id, "failed") || app_category_find(id) >= 0;
}

// Its number, or APP_NONE and reported why there is none.
static uint16_t read_id(
	const struct json_at *up, struct policy_reader *reader, const struct user_app *user)
{
	struct json_at at = json_at_key(up, "id", json_object_get(up->value, "id"));
	const struct policy *policy = reader->policy;
	const struct app_proto label = {
		.name = user->name,
		.title = user->title,
		.group = user->group,
		.category = user->category,
	};
	uint16_t app = APP_NONE;
	int rc;

	if (!user->name)
		return APP_NONE;
	if (is_reserved(user->name)) {
		json_at_error(&at, "\"%s\" has a meaning of its own: choose another", user->name);
		return APP_NONE;
	}
	for (uint32_t i = 0; i < policy->n_applications; i++) {
		if (policy->applications[i].name &&
			!strcmp(policy->applications[i].name, user->name)) {
			json_at_error(&at,
				"application \"%s\" is defined by $.applications[%u]: choose "
				"another id, or put both together",
				user->name, i);
			return APP_NONE;
		}
	}
	rc = app_names_intern(reader->apps, &label, &app);
	if (rc == -EEXIST)
		json_at_error(&at,
			"application \"%s\" is built in (`sluice apps`): choose another id",
			user->name);
	else if (rc == -ENOSPC)
		json_at_error(&at,
			"no number is left for \"%s\": %u applications are built in, and %u other "
			"ids were given since the start; an id that is no longer defined keeps its "
			"number, so define fewer, or restart",
			user->name, app_count(), APPS_MAX - 1 - app_count());
	else if (rc < 0)
		json_at_error(&at, "no memory");
	return app;
}

static void read_application(const struct json_at *at, struct policy_reader *reader)
{
	struct user_app *user = &reader->policy->applications[reader->policy->n_applications];
	struct app_reader app = {.reader = reader, .user = user};

	if (!json_want_object(at))
		return;
	user->name = read_word(at, "id", true, ID_MAX);
	user->title = read_word(at, "title", false, TITLE_MAX);
	user->group = read_word(at, "group", true, ID_MAX);
	user->category = read_category(at);
	app.app = user->app = read_id(at, reader, user);
	reader->policy->n_applications++;
	if (app.app)
		user_apps_add(reader->policy->user_apps, app.app);
	json_fields_read(at, policy_application_fields, NULL, NULL, &app);
	if (!json_object_get(at->value, "regex") && !json_object_get(at->value, "ports") &&
		!json_object_get(at->value, "sni") && !json_object_get(at->value, "networks"))
		json_at_error(at, "there is nothing to know it by: add regex, ports, sni or "
				  "networks");
}

void policy_read_applications(const struct json_at *at, struct policy_reader *reader)
{
	struct json_at item = {0};
	struct policy *policy = reader->policy;
	size_t n;

	if (!at->value || !json_want_array(at, 0, APPS_MAX))
		return;
	n = json_array_size(at->value);
	if (!n)
		return;
	policy->applications = calloc(n, sizeof *policy->applications);
	policy->user_apps = user_apps_new();
	if (!policy->applications || !policy->user_apps) {
		json_at_error(at, "no memory");
		return;
	}
	while (json_at_next(at, &item))
		read_application(&item, reader);
}

bool policy_app_at(const struct policy *policy, unsigned index, struct app_view *out)
{
	unsigned builtin = app_count();

	if (index < builtin) {
		const struct app_proto *proto = app_get((uint16_t)(index + 1));

		*out = (struct app_view){.app = (uint16_t)(index + 1),
			.name = proto->name,
			.group = proto->group,
			.category = proto->category,
			.confidence = CONFIDENCE_VERIFIED};
		return true;
	}
	if (index - builtin >= policy->n_applications)
		return false;
	const struct user_app *user = &policy->applications[index - builtin];

	*out = (struct app_view){.app = user->app,
		.name = user->name ? user->name : "",
		.group = user->group,
		.category = user->category,
		.confidence = user->n_signatures || user->n_hosts ? CONFIDENCE_DPI
			      : user->has_networks                ? CONFIDENCE_IP
								  : CONFIDENCE_PORT};
	return true;
}
