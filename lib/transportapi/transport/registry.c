// SPDX-License-Identifier: BSD-3-Clause
// An object is asked for the same two functions that a built-in transport has, and what it answers
// is held against the contract before anybody calls through it: a table with a hole would be a jump
// to nowhere at three in the morning.
#include "transportapi/transport/registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transportapi/proto/helo.h"

// `symbol` stands beside ## only: "unix" alone is a macro of the compiler's.
#define BUILTIN(X)                            \
	X("chaos", chaos, tapi_chaos_keys)    \
	X("null", null, tapi_null_keys)       \
	X("raw-ip", raw_ip, tapi_raw_ip_keys) \
	X("tcp", tcp, tapi_tcp_keys)          \
	X("udp", udp, tapi_udp_keys)          \
	X("unix", unix, tapi_unix_keys)

#define X(name, symbol, keys)                            \
	TAPI_EXPORT tapi_init_fn inittransport_##symbol; \
	TAPI_EXPORT tapi_done_fn donetransport_##symbol; \
	extern const struct tapi_conf_key keys[];
BUILTIN(X)
#undef X

static const struct builtin {
	const char *name;
	tapi_init_fn *init;
	tapi_done_fn *done;
	const struct tapi_conf_key *keys;
} builtins[] = {
#define X(name, symbol, keys) {name, inittransport_##symbol, donetransport_##symbol, keys},
	BUILTIN(X)
#undef X
};
#define N_BUILTINS (sizeof(builtins) / sizeof(builtins[0]))

const char *tapi_transport_builtin(unsigned index)
{
	return index < N_BUILTINS ? builtins[index].name : NULL;
}

const struct tapi_conf_key *tapi_transport_builtin_keys(unsigned index)
{
	return index < N_BUILTINS ? builtins[index].keys : NULL;
}

static const struct builtin *builtin_find(const char *name)
{
	for (size_t i = 0; i < N_BUILTINS; i++)
		if (strcmp(builtins[i].name, name) == 0)
			return &builtins[i];
	return NULL;
}

static bool name_valid(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length < sizeof(((struct tapi_loaded *)NULL)->name) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

// The first method that is missing, or NULL.
static const char *method_missing(const struct tapi_transport_api *api)
{
#define NEEDED(method)    \
	if (!api->method) \
	return #method
	NEEDED(verify_helo);
	NEEDED(create_helo);
	NEEDED(connect);
	NEEDED(send);
	NEEDED(associate);
	NEEDED(disconnect);
	NEEDED(start_server);
	NEEDED(stop_server);
	NEEDED(reload_configuration);
	NEEDED(turn);
	NEEDED(address_to_string);
	NEEDED(string_to_address);
	NEEDED(session_info);
	NEEDED(stats);
#undef NEEDED
	return NULL;
}

// The version is looked at first and alone: with another one, the rest of the table lies elsewhere.
static bool contract_kept(const struct tapi_transport_api *api, const char *name, const char *where,
	struct tapi_error *error)
{
	const char *missing;

	if (api->version != TAPI_VERSION)
		tapi_error_format(error,
			"transport %s (%s) is of version %u of the contract, this program is of "
			"%u: build it anew against the installed headers",
			name, where, api->version, TAPI_VERSION);
	else if (!api->name || strcmp(api->name, name) != 0)
		tapi_error_format(error,
			"transport %s (%s) says that its name is %.40s: name the file after it",
			name, where, api->name ? api->name : "nothing");
	else if ((missing = method_missing(api)))
		tapi_error_format(error, "transport %s (%s) has no method %s: not usable", name,
			where, missing);
	else if (api->protocol <= TAPI_PROTOCOL_NAT)
		tapi_error_format(error,
			"transport %s (%s) has protocol number %u, which means something else",
			name, where, api->protocol);
	else if (api->mtu == 0)
		tapi_error_format(error, "transport %s (%s) has no mtu", name, where);
	else
		return true;
	return false;
}

// Calls init and looks at what it gives. `out` has name and object already.
static enum tapi_result loaded_begin(struct tapi_loaded *out, tapi_init_fn *init,
	tapi_done_fn *done, const char *where, const struct tapi_core_api *core,
	struct tapi_error *error)
{
	struct tapi_transport_api *api = init(core);

	if (!api) {
		tapi_error_format(error,
			"transport %s (%s) refused to begin; its reason is in the log above",
			out->name, where);
		return TAPI_ECONF;
	}
	if (!contract_kept(api, out->name, where, error)) {
		done(api);
		return TAPI_ECONF;
	}
	out->api = api;
	out->done = done;
	return TAPI_OK;
}

// A function of the object, by its name with the transport's after it. ISO C has no conversion from
// what dlsym gives, POSIX does.
static bool symbol_find(void *object, const char *prefix, const char *symbol, void *function)
{
	char whole[64];
	void *address;

	snprintf(whole, sizeof(whole), "%s%s", prefix, symbol);
	address = dlsym(object, whole);
	memcpy(function, &address, sizeof(address));
	return address != NULL;
}

// TAPI_ENOADDR: there is no such file.
static enum tapi_result object_load(struct tapi_loaded *out, const char *path, const char *symbol,
	const struct tapi_core_api *core, struct tapi_error *error)
{
	tapi_init_fn *init;
	tapi_done_fn *done;
	enum tapi_result result;

	if (access(path, F_OK) != 0)
		return TAPI_ENOADDR;
	out->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!out->object) {
		tapi_error_format(
			error, "transport %s: cannot be loaded: %s", out->name, dlerror());
		return TAPI_ECONF;
	}
	if (!symbol_find(out->object, "inittransport_", symbol, &init) ||
		!symbol_find(out->object, "donetransport_", symbol, &done)) {
		tapi_error_format(error,
			"transport %s: %s has not both functions inittransport_%s and "
			"donetransport_%s",
			out->name, path, symbol, symbol);
		result = TAPI_ECONF;
	} else {
		result = loaded_begin(out, init, done, path, core, error);
	}
	if (result != TAPI_OK) {
		dlclose(out->object);
		out->object = NULL;
	}
	return result;
}

enum tapi_result tapi_transport_load(struct tapi_loaded *out, const char *name,
	const char *directory, bool objects_first, const struct tapi_core_api *core,
	struct tapi_error *error)
{
	const struct builtin *builtin;
	char symbol[sizeof(out->name)], path[1024];
	enum tapi_result result;
	int length;

	*out = (struct tapi_loaded){0};
	if (!name_valid(name)) {
		tapi_error_format(error,
			"\"%.40s\" is not the name of a transport: lower-case letters, digits and "
			"'-', at most %zu",
			name, sizeof(out->name) - 1);
		return TAPI_ECONF;
	}
	memcpy(out->name, name, strlen(name)); // shorter than that, and the rest is zero
	builtin = builtin_find(name);
	if (builtin && !(objects_first && directory))
		return loaded_begin(out, builtin->init, builtin->done, "built in", core, error);
	if (!directory) {
		tapi_error_format(error,
			"transport %s: not built in (tcp, udp and others are), and "
			"core.module_path "
			"names no folder of libtransportapi_NAME.so: check its name, or say where",
			name);
		return TAPI_ENOADDR;
	}
	for (size_t i = 0; i <= strlen(name); i++) // a '-' cannot be in the name of a function
		symbol[i] = name[i] == '-' ? '_' : name[i];
	length = snprintf(path, sizeof(path), "%s/libtransportapi_%s.so", directory, symbol);
	if (length < 0 || (size_t)length >= sizeof(path)) {
		tapi_error_format(error,
			"transport %s: the path of the directory of transports is longer than %zu",
			name, sizeof(path));
		return TAPI_ECONF;
	}
	result = object_load(out, path, symbol, core, error);
	if (result != TAPI_ENOADDR)
		return result;
	if (builtin)
		return loaded_begin(out, builtin->init, builtin->done, "built in", core, error);
	tapi_error_format(error,
		"transport %s: neither built in nor at %.200s: check its name, or the directory",
		name, path);
	return TAPI_ENOADDR;
}

void tapi_transport_unload(struct tapi_loaded *loaded)
{
	if (loaded->api)
		loaded->done(loaded->api);
	if (loaded->object)
		dlclose(loaded->object);
	*loaded = (struct tapi_loaded){0};
}
