// SPDX-License-Identifier: BSD-3-Clause
// Reads gateway.json by the table of its keys, and checks what several keys say together.
#include "config/gateway.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/gateway_fields.h"
#include "config/http_address.h"
#include "base/suggest.h"

#define CPU_MAX 1023 // CPU_SETSIZE - 1

// Command line words; owned by whoever has `words`.
static void read_words(
	const struct json_at *at, size_t min, size_t max, char **words, unsigned *n_words)
{
	struct json_at item = {0};

	if (!json_want_array(at, min, max))
		return;
	while (json_at_next(at, &item)) {
		const char *text;
		char *copy;

		if (!json_want_text(&item, 1, 1023, &text))
			continue;
		copy = strdup(text);
		if (!copy) {
			json_at_error(&item, "no memory");
			return;
		}
		words[(*n_words)++] = copy;
	}
}

void gateway_read_eal(const struct json_at *at, void *ctx)
{
	struct gateway *gateway = ctx;

	read_words(at, 0, GATEWAY_EAL_MAX, gateway->eal, &gateway->n_eal);
}

void gateway_read_hook_command(const struct json_at *at, void *ctx)
{
	struct gateway *gateway = ctx;

	if (json_is_null(at->value))
		return;
	read_words(at, 1, GATEWAY_HOOK_MAX, gateway->hook.command, &gateway->hook.n_command);
}

void gateway_read_port_name(const struct json_at *at, void *ctx)
{
	struct gateway_port *port = ctx;
	const char *text;

	if (json_want_name(at, sizeof port->name - 1, "-_", false, &text))
		snprintf(port->name, sizeof port->name, "%s", text);
}

void gateway_read_port_device(const struct json_at *at, void *ctx)
{
	struct gateway_port *port = ctx;
	const char *text;

	if (!json_want_text(at, 1, sizeof port->device - 1, &text))
		return;
	for (const char *c = text; *c; c++) {
		if (*c <= ' ' || *c > '~') {
			json_at_error(at,
				"\"%.64s\" is not a device: no blanks; a PCI address "
				"(\"0000:3b:00.1\") or a virtual device "
				"(\"net_af_xdp0,iface=eth1\")",
				text);
			return;
		}
	}
	snprintf(port->device, sizeof port->device, "%s", text);
}

// What it is that a device string takes: an interface of the kernel (net_af_xdp0,iface=eth1), else
// the device itself. `length`: of what is returned.
static const char *device_taken(const char *device, size_t *length, bool *interface)
{
	static const char *const keys[] = {",iface=", ",rx_iface=", ",tx_iface="};

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const char *at = strstr(device, keys[i]);

		if (!at)
			continue;
		at += strlen(keys[i]);
		*length = strcspn(at, ",");
		*interface = true;
		return at;
	}
	// "3b:00.1" is "0000:3b:00.1"
	if (strncmp(device, "0000:", 5) == 0)
		device += 5;
	*length = strcspn(device, ",");
	*interface = false;
	return device;
}

static void check_device_unique(
	const struct json_at *at, const struct gateway_port *port, const struct gateway_port *other)
{
	size_t name = strcspn(port->device, ","), ours, theirs;
	bool interface, other_interface;
	const char *one = device_taken(port->device, &ours, &interface);
	const char *two = device_taken(other->device, &theirs, &other_interface);
	bool same = ours && ours == theirs && interface == other_interface &&
		    strncmp(one, two, ours) == 0;

	if (same && interface)
		json_at_error(at, "interface \"%.*s\" is port \"%s\" already: name another one",
			(int)ours, one, other->name);
	else if (same || (name && strcspn(other->device, ",") == name &&
				 strncmp(port->device, other->device, name) == 0))
		json_at_error(at,
			"device \"%.*s\" is port \"%s\" already: name another one (a second "
			"virtual "
			"device has another number)",
			(int)name, port->device, other->name);
}

// Two ports may not share a name or a device. A device is the same up to its arguments.
static void check_port_unique(
	const struct json_at *at, const struct gateway *gateway, struct gateway_port *port)
{
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		const struct gateway_port *other = &gateway->ports[i];

		if (port->name[0] && strcmp(port->name, other->name) == 0) {
			json_at_error(at,
				"port name \"%s\" is taken by $.ports[%u]: choose another",
				port->name, i);
			port->name[0] = 0; // or it would also be told to be in no pair
		}
		check_device_unique(at, port, other);
	}
}

void gateway_read_ports(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct gateway *gateway = ctx;

	if (!json_want_array(at, 2, GATEWAY_PORTS_MAX))
		return;
	while (json_at_next(at, &item)) {
		struct gateway_port port = {0};

		json_fields_default(gateway_port_fields, &port);
		json_fields_read(&item, gateway_port_fields, NULL, &port, &port);
		check_port_unique(&item, gateway, &port);
		gateway->ports[gateway->n_ports++] = port;
	}
}

// Names of ports are looked up when all ports are read, wherever they stand in the file.
static void read_pair_port(const struct json_at *at, char *out, size_t out_len)
{
	const char *text;

	if (json_want_text(at, 1, out_len - 1, &text))
		snprintf(out, out_len, "%s", text);
}

void gateway_read_pair_inside(const struct json_at *at, void *ctx)
{
	struct gateway_pair *pair = ctx;

	read_pair_port(at, pair->inside, sizeof pair->inside);
}

void gateway_read_pair_outside(const struct json_at *at, void *ctx)
{
	struct gateway_pair *pair = ctx;

	read_pair_port(at, pair->outside, sizeof pair->outside);
}

void gateway_read_pair_mode(const struct json_at *at, void *ctx)
{
	unsigned word;

	(void)ctx;
	json_want_word(at, gateway_pair_modes, &word);
}

void gateway_read_pairs(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct gateway *gateway = ctx;

	if (!json_want_array(at, 1, GATEWAY_PAIRS_MAX))
		return;
	while (json_at_next(at, &item)) {
		struct gateway_pair *pair = &gateway->pairs[gateway->n_pairs++];

		json_fields_read(&item, gateway_pair_fields, NULL, pair, pair);
	}
}

static unsigned read_cpus(const struct json_at *at, size_t min, unsigned *cpus)
{
	struct json_at item = {0};
	unsigned n = 0;

	if (!json_want_array(at, min, GATEWAY_LCORES_MAX))
		return 0;
	while (json_at_next(at, &item)) {
		uint64_t cpu;

		if (json_want_integer(&item, 0, CPU_MAX, &cpu))
			cpus[n++] = (unsigned)cpu;
	}
	return n;
}

void gateway_read_data_cpus(const struct json_at *at, void *ctx)
{
	struct gateway *gateway = ctx;

	gateway->n_data = read_cpus(at, 1, gateway->data_cpus);
}

void gateway_read_scan_cpus(const struct json_at *at, void *ctx)
{
	struct gateway *gateway = ctx;

	gateway->n_scan = read_cpus(at, 0, gateway->scan_cpus);
}

void gateway_read_control_cpu(const struct json_at *at, void *ctx)
{
	struct gateway *gateway = ctx;
	uint64_t cpu;

	if (json_want_integer(at, 0, CPU_MAX, &cpu))
		gateway->control_cpu = (unsigned)cpu;
}

void gateway_read_lcores(const struct json_at *at, void *ctx)
{
	json_fields_read(at, gateway_lcores_fields, NULL, ctx, ctx);
}

// The index of the port that a pair names, or -1 and an error with the nearest name.
static int pair_port(const struct json_doc *doc, const struct gateway *gateway, unsigned pair,
	const char *side, const char *name)
{
	struct suggestion suggestion = suggest_for(name);
	char path[JSON_PATH_MAX];

	if (!name[0]) // reported already
		return -1;
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		if (strcmp(gateway->ports[i].name, name) == 0)
			return (int)i;
		suggest_offer(&suggestion, gateway->ports[i].name);
	}
	snprintf(path, sizeof path, "$.pairs[%u].%s", pair, side);
	if (suggest_get(&suggestion))
		config_error_add(doc->errors, doc->file, path,
			"no port is named \"%s\"; did you mean \"%s\"?", name,
			suggest_get(&suggestion));
	else
		config_error_add(doc->errors, doc->file, path,
			"no port is named \"%s\": add it to $.ports", name);
	return -1;
}

// Each port belongs to one pair: what comes in has one way out.
static void check_pairs(const struct json_doc *doc, const struct gateway *gateway)
{
	int pair_of[GATEWAY_PORTS_MAX];
	bool broken = !gateway->n_ports; // told by $.ports: nothing can be looked up
	char path[JSON_PATH_MAX];

	for (unsigned i = 0; i < gateway->n_ports; i++)
		pair_of[i] = -1;
	for (unsigned i = 0; i < gateway->n_pairs && gateway->n_ports; i++) {
		const struct gateway_pair *pair = &gateway->pairs[i];
		int ends[2] = {pair_port(doc, gateway, i, "inside", pair->inside),
			pair_port(doc, gateway, i, "outside", pair->outside)};

		snprintf(path, sizeof path, "$.pairs[%u]", i);
		if (ends[0] >= 0 && ends[0] == ends[1]) {
			config_error_add(doc->errors, doc->file, path,
				"inside and outside are the same port \"%s\": name two",
				pair->inside);
			ends[1] = -1;
			broken = true;
		}
		for (unsigned end = 0; end < 2; end++) {
			if (ends[end] < 0)
				broken = true;
			else if (pair_of[ends[end]] >= 0)
				config_error_add(doc->errors, doc->file, path,
					"port \"%s\" is in $.pairs[%d] already: a port has one "
					"pair",
					gateway->ports[ends[end]].name, pair_of[ends[end]]);
			else
				pair_of[ends[end]] = (int)i;
		}
	}
	if (broken || !gateway->n_pairs) // what is missing is reported; do not tell it twice
		return;
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		if (pair_of[i] >= 0 || !gateway->ports[i].name[0])
			continue;
		snprintf(path, sizeof path, "$.ports[%u]", i);
		config_error_add(doc->errors, doc->file, path,
			"port \"%s\" is in no pair, all its packets would be dropped: add it to "
			"$.pairs or remove it",
			gateway->ports[i].name);
	}
}

// What the server shows is not for everybody: who is blocked, and by which rule.
static void check_http(const struct json_doc *doc, const struct gateway *gateway)
{
	struct http_address address = {0};

	if (!gateway->http.listen) {
		if (gateway->http.token_file)
			config_error_add(doc->errors, doc->file, "$.http.token_file",
				"there is no page to do anything from: name \"listen\", too, or "
				"set it "
				"to null");
		return;
	}
	if (http_address_parse(gateway->http.listen, &address) < 0)
		config_error_add(doc->errors, doc->file, "$.http.listen",
			"\"%.64s\" is no place to listen at: \"127.0.0.1:9111\", \"[::1]:9111\" or "
			"\"unix:/run/sluice/http.sock\"",
			gateway->http.listen);
	else if (!address.is_local && !gateway->http.allow_remote)
		config_error_add(doc->errors, doc->file, "$.http.listen",
			"\"%.64s\" can be reached by other machines, and HTTP asks nobody for a "
			"password: listen at 127.0.0.1 (a tunnel or a proxy leads there), or set "
			"\"allow_remote\": true beside it",
			gateway->http.listen);
	else if (!address.is_local && gateway->http.token_file)
		config_error_add(doc->errors, doc->file, "$.http.token_file",
			"\"%.64s\" can be reached by other machines, and the token would cross the "
			"network in clear: listen at 127.0.0.1 or a unix socket (ssh -L or a proxy "
			"with TLS leads there), or set it to null",
			gateway->http.listen);
	if (gateway->http.token_file && gateway->http.token_file[0] != '/')
		config_error_add(doc->errors, doc->file, "$.http.token_file",
			"\"%.64s\" is not a full path: begin it with /", gateway->http.token_file);
}

// What is locked away is the copy of a stored file.
static void check_quarantine(const struct json_doc *doc, const struct gateway *gateway)
{
	const char *quarantine = gateway->paths.quarantine;

	if (!quarantine)
		return;
	if (!gateway->paths.files)
		config_error_add(doc->errors, doc->file, "$.paths.quarantine",
			"no file is stored that could go there: name \"files\", too, or set it to "
			"null");
	else if (strcmp(quarantine, gateway->paths.files) == 0)
		config_error_add(doc->errors, doc->file, "$.paths.quarantine",
			"\"%.64s\" has the stored files (\"files\"): name another folder",
			quarantine);
}

// No shell and no PATH stand between us and the command.
static void check_hook(const struct json_doc *doc, const struct gateway *gateway)
{
	if (gateway->hook.n_command && gateway->hook.command[0][0] != '/')
		config_error_add(doc->errors, doc->file, "$.hook.command[0]",
			"\"%.64s\" is not the full path of a program: begin it with /",
			gateway->hook.command[0]);
	if (gateway->group && !gateway->user)
		config_error_add(doc->errors, doc->file, "$.group",
			"a group without a user is not taken: name \"user\", too");
}

int gateway_defaults(struct gateway *gateway)
{
	return json_fields_default(gateway_fields, gateway) < 0 ||
			       gateway_impairment_default(gateway) < 0
		       ? -ENOMEM
		       : 0;
}

static int gateway_read(const struct json_doc *doc, struct gateway **out)
{
	size_t before = doc->errors->n + doc->errors->dropped;
	struct gateway *gateway = calloc(1, sizeof *gateway);
	struct json_at root = json_at_root(doc);

	if (!gateway || gateway_defaults(gateway) < 0) {
		gateway_free(gateway);
		config_error_add(doc->errors, doc->file, "", "no memory");
		return -ENOMEM;
	}
	json_fields_read(&root, gateway_fields, NULL, gateway, gateway);
	check_pairs(doc, gateway);
	check_http(doc, gateway);
	gateway_check_scan(doc, gateway);
	check_quarantine(doc, gateway);
	check_hook(doc, gateway);
	if (doc->errors->n + doc->errors->dropped != before) {
		gateway_free(gateway);
		return -EINVAL;
	}
	*out = gateway;
	return 0;
}

static int gateway_finish(struct json_doc *doc, size_t before, char *const *sets, unsigned n_sets,
	struct gateway **out)
{
	int rc;

	for (unsigned i = 0; i < n_sets; i++)
		gateway_override(doc, sets[i]);
	rc = gateway_read(doc, out);
	json_doc_free(doc);
	if (!rc &&
		doc->errors->n + doc->errors->dropped != before) { // a duplicate key, an override
		gateway_free(*out);
		*out = NULL;
		rc = -EINVAL;
	}
	return rc;
}

int gateway_load(const char *path, char *const *sets, unsigned n_sets, struct gateway **out,
	struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;
	struct json_doc doc;
	int rc = json_doc_read(&doc, path, errors);

	*out = NULL;
	return rc < 0 ? rc : gateway_finish(&doc, before, sets, n_sets, out);
}

int gateway_parse(const char *text, const char *file, char *const *sets, unsigned n_sets,
	struct gateway **out, struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;
	struct json_doc doc;
	int rc = json_doc_parse(&doc, text, strlen(text), file, errors);

	*out = NULL;
	return rc < 0 ? rc : gateway_finish(&doc, before, sets, n_sets, out);
}

void gateway_free(struct gateway *gateway)
{
	if (!gateway)
		return;
	for (unsigned i = 0; i < gateway->n_eal; i++)
		free(gateway->eal[i]);
	for (unsigned i = 0; i < gateway->hook.n_command; i++)
		free(gateway->hook.command[i]);
	json_fields_free(gateway_fields, gateway);
	free(gateway);
}
