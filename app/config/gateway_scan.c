// SPDX-License-Identifier: BSD-3-Clause
// The keys of gateway.json under `scan`.
#include "config/gateway_fields.h"

static const char *const half_words[] = {[HALF_C2S] = "c2s", [HALF_S2C] = "s2c", NULL};
static const char *const verdict_words[] = {[SCAN_SCRIPT_CLEAN] = "clean",
	[SCAN_SCRIPT_INFECTED] = "infected",
	[SCAN_SCRIPT_ERROR] = "error",
	[SCAN_SCRIPT_NEVER] = "never",
	NULL};

const struct json_field gateway_script_fields[] = {
	{.name = "scan.script[].half",
		.kind = JSON_KIND_WORD,
		.offset = offsetof(struct scan_script, half),
		.words = half_words,
		.required = true},
	{.name = "scan.script[].after_bytes",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct scan_script, after_bytes),
		.min = 1,
		.max = UINT32_MAX,
		.required = true},
	{.name = "scan.script[].every",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct scan_script, every)},
	{.name = "scan.script[].verdict",
		.kind = JSON_KIND_WORD,
		.offset = offsetof(struct scan_script, verdict),
		.words = verdict_words,
		.required = true},
	{.name = "scan.script[].delay_ms",
		.kind = JSON_KIND_U32,
		.offset = offsetof(struct scan_script, delay_ms),
		.max = 600000},
	JSON_FIELD_END,
};

void gateway_read_scan_script(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct gateway *gateway = ctx;

	if (!json_want_array(at, 0, SCAN_SCRIPT_MAX))
		return;
	while (json_at_next(at, &item)) {
		struct scan_script *line = &gateway->scan.script[gateway->scan.n_script++];

		json_fields_default(gateway_script_fields, line);
		json_fields_read(&item, gateway_script_fields, NULL, line, line);
	}
}

void gateway_check_scan(const struct json_doc *doc, const struct gateway *gateway)
{
	const char *path = "$.scan.script";

	if (gateway->scan.engine == SCAN_ENGINE_NULL && !gateway->scan.n_script)
		config_error_add(doc->errors, doc->file, path,
			"the engine \"null\" says what its script says, and there is none: write "
			"[{\"half\": \"s2c\", \"after_bytes\": 200000, \"verdict\": \"clean\"}]");
	if (gateway->scan.engine != SCAN_ENGINE_NULL && gateway->scan.n_script)
		config_error_add(doc->errors, doc->file, path,
			"a script is for the engine \"null\": set $.scan.engine to it, or remove "
			"the script");
}

const char *gateway_scan_program(const struct gateway *gateway)
{
	return gateway->scan.program ? gateway->scan.program : SCAN_PROGRAM_INSTALLED;
}

json_t *gateway_scan_script_json(const struct gateway *gateway)
{
	json_t *script = json_array();

	for (unsigned i = 0; script && i < gateway->scan.n_script; i++) {
		if (json_array_append_new(script, json_fields_dump(gateway_script_fields,
							  &gateway->scan.script[i])) < 0) {
			json_decref(script);
			return NULL;
		}
	}
	return script;
}

const char *gateway_scan_difference(const struct gateway *a, const struct gateway *b)
{
	if (a->scan.n_script != b->scan.n_script)
		return "scan.script";
	for (unsigned i = 0; i < a->scan.n_script; i++) {
		const struct json_field *field = json_fields_difference(
			gateway_script_fields, &a->scan.script[i], &b->scan.script[i]);

		if (field)
			return field->name;
	}
	return NULL;
}
