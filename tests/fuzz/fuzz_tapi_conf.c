// SPDX-License-Identifier: BSD-3-Clause
// Configuration of the transports' library, of any content; its section "acl" is made. Held,
// besides what the sanitizers see: each member of each section is found where it stands, on a line
// that has its name; each wrong value is reported with a place; what is taken answers every
// question.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/acl.h"
#include "transportapi/base/conf_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool good)
{
	if (!good)
		abort();
}

// Is "name" in quotes on that line, or is it written with escapes?
static bool stands_on(const char *text, unsigned line, const char *name)
{
	const char *end, *found = text;
	char *quoted = NULL;
	bool stands;

	while (--line && found)
		found = (found = strchr(found, '\n')) ? found + 1 : NULL;
	must(found && asprintf(&quoted, "\"%s\"", name) > 0);
	end = strchrnul(found, '\n');
	found = memmem(found, (size_t)(end - found), quoted, strlen(quoted));
	stands = found;
	free(quoted);
	return stands;
}

static void place(const char *text, const char *section, const char *name, const json_t *value)
{
	unsigned line = tapi_conf_line(text, section, name, -1), last;

	// a name that is written with escapes is not found; the message does without the line
	must(line || strchr(text, '\\'));
	if (!line)
		return;
	must(stands_on(text, line, name ? name : section));
	must(tapi_conf_line(text, section, name, (int)json_array_size(value)) == 0);
	if (!json_is_array(value))
		return;
	last = line;
	for (size_t i = 0; i < json_array_size(value) && i < 64; i++) {
		line = tapi_conf_line(text, section, name, (int)i);
		must(line >= last);
		last = line;
	}
}

static void places(const char *text, size_t len)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL), *section, *value;
	const char *section_name, *name;

	must(root);
	json_object_foreach (root, section_name, section) {
		if (!json_is_object(section)) {
			place(text, NULL, section_name, section);
			continue;
		}
		must(tapi_conf_line(text, section_name, NULL, -1) || strchr(text, '\\'));
		json_object_foreach (section, name, value)
			place(text, section_name, name, value);
	}
	json_decref(root);
}

static void questions(const struct tapi_conf *conf)
{
	struct tapi_error error = {""};
	struct tapi_acl *acl = NULL;
	uint64_t port;

	if (tapi_acl_new(&acl, conf, &error) != TAPI_OK) {
		must(!acl && strncmp(error.text, "configuration:", 14) == 0);
		must(strstr(error.text, "acl"));
		return;
	}
	for (unsigned i = 0; i < 256; i++) {
		struct tapi_source source = {i % 2 ? 4 : 6,
			{(uint8_t)i, 1, 2, 3, [15] = (uint8_t)i}, (uint16_t)(i * 257)};

		tapi_acl_address(acl, &source, i % 3 == 0);
	}
	for (unsigned i = 0; i < 8 && tapi_conf_number(conf, "acl", "deny_ports", i, &port); i++) {
		const struct tapi_source source = {4, {8, 8, 8, 8}, (uint16_t)port};

		must(tapi_acl_address(acl, &source, true) == TAPI_EACL);
	}
	must(tapi_conf_compare(conf, conf, "acl", tapi_acl_keys, NULL) == TAPI_OK);
	tapi_acl_free(acl);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct tapi_error error = {""};
	char *text = strndup((const char *)bytes, len);
	struct tapi_conf *conf;

	must(text);
	conf = tapi_conf_parse(text, &error);
	if (conf) {
		places(text, strlen(text));
		questions(conf);
	} else {
		must(strncmp(error.text, "configuration:", 14) == 0);
	}
	tapi_conf_free(conf);
	free(text);
	return 0;
}
