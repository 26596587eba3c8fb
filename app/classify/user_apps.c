// SPDX-License-Identifier: BSD-3-Clause
// Matches host names and ports against the applications of a policy and of the signature files.
#include "classify/user_apps.h"
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/vocab/octets.h"

static_assert(APPS_MAX <= 256, "an application is a byte in the table of ports");

#define PORTS 65536

struct host {
	uint32_t text; // offset of the suffix, which ends with 0
	uint32_t hash;
	uint16_t app;
	uint8_t length;
	bool shared;
};

struct user_apps {
	uint32_t n; // places given
	uint32_t place[APPS_MAX];
	struct host *hosts; // in the order of the document
	uint32_t n_hosts;
	uint32_t hosts_room;
	char *text;
	size_t text_length;
	size_t text_room;
	uint32_t *slots;   // open addressing: index of a host + 1, or 0
	uint32_t n_slots;  // a power of two, at least twice n_hosts
	uint8_t *ports[2]; // TCP, UDP: application by port, PORTS long; NULL if there is none
	const struct user_apps *files; // or NULL
};

struct user_apps *user_apps_new(void)
{
	struct user_apps *apps = calloc(1, sizeof(*apps));

	for (unsigned app = 0; apps && app < APPS_MAX; app++)
		apps->place[app] = UINT32_MAX;
	return apps;
}

void user_apps_free(struct user_apps *apps)
{
	if (!apps)
		return;
	free(apps->hosts);
	free(apps->text);
	free(apps->slots);
	free(apps->ports[0]);
	free(apps->ports[1]);
	free(apps);
}

void user_apps_add(struct user_apps *apps, uint16_t app)
{
	if (app < APPS_MAX && apps->place[app] == UINT32_MAX)
		apps->place[app] = apps->n++;
}

// FNV-1a from the end of the name to its begin: each label on the way ends the hash of a suffix.
#define HASH_START 2166136261u
static uint32_t hash_on(uint32_t hash, uint8_t byte)
{
	return (hash ^ byte) * 16777619u;
}

// The multiplication moves bits up only: the low ones, which choose the slot, need the high ones.
static uint32_t slot_of(const struct user_apps *apps, uint32_t hash)
{
	return (hash ^ hash >> 15) & (apps->n_slots - 1);
}

static const struct host *find(
	const struct user_apps *apps, const uint8_t *suffix, uint32_t length, uint32_t hash)
{
	uint32_t at = slot_of(apps, hash);

	for (; apps->slots[at]; at = (at + 1) & (apps->n_slots - 1)) {
		const struct host *host = &apps->hosts[apps->slots[at] - 1];

		if (host->hash == hash && host->length == length &&
			!memcmp(apps->text + host->text, suffix, length))
			return host;
	}
	return NULL;
}

static uint32_t hash_of(const char *suffix, size_t length)
{
	uint32_t hash = HASH_START;

	for (size_t i = length; i; i--)
		hash = hash_on(hash, (uint8_t)suffix[i - 1]);
	return hash;
}

static void enter(struct user_apps *apps, uint32_t index)
{
	uint32_t at = slot_of(apps, apps->hosts[index].hash);

	while (apps->slots[at])
		at = (at + 1) & (apps->n_slots - 1);
	apps->slots[at] = index + 1;
}

static int grow_slots(struct user_apps *apps)
{
	uint32_t n = apps->n_slots ? apps->n_slots * 2 : 64;
	uint32_t *slots = calloc(n, sizeof(*slots)), *old = apps->slots;

	if (!slots)
		return -ENOMEM;
	apps->slots = slots;
	uint32_t n_old = apps->n_slots;

	apps->n_slots = n;
	for (uint32_t i = 0; i < n_old; i++) // what an earlier one hides is in no slot
		if (old[i])
			enter(apps, old[i] - 1);
	free(old);
	return 0;
}

static int make_room(struct user_apps *apps, size_t length)
{
	if (apps->n_hosts == apps->hosts_room) {
		uint32_t room = apps->hosts_room ? apps->hosts_room * 2 : 16;
		struct host *hosts = reallocarray(apps->hosts, room, sizeof(*hosts));

		if (!hosts)
			return -ENOMEM;
		apps->hosts = hosts;
		apps->hosts_room = room;
	}
	if (apps->text_length + length + 1 > apps->text_room) {
		size_t room = apps->text_room ? apps->text_room * 2 : 1024;
		char *text = realloc(apps->text, room); // 1024 holds any name

		if (!text)
			return -ENOMEM;
		apps->text = text;
		apps->text_room = room;
	}
	return (apps->n_hosts + 1) * 2 > apps->n_slots ? grow_slots(apps) : 0;
}

static int add_host(struct user_apps *apps, uint16_t app, const char *suffix, bool shared)
{
	size_t length = strlen(suffix);
	int rc;

	if (!length || length > USER_HOST_NAME_MAX)
		return -EINVAL;
	if (apps->n_hosts == USER_HOSTS_MAX)
		return -ENOSPC;
	rc = make_room(apps, length);
	if (rc)
		return rc;
	uint32_t hash = hash_of(suffix, length);
	bool known = find(apps, (const uint8_t *)suffix, (uint32_t)length, hash);

	apps->hosts[apps->n_hosts++] = (struct host){
		.text = (uint32_t)apps->text_length,
		.hash = hash,
		.app = app,
		.length = (uint8_t)length,
		.shared = shared,
	};
	memcpy(apps->text + apps->text_length, suffix, length + 1);
	apps->text_length += length + 1;
	if (!known)
		enter(apps, apps->n_hosts - 1);
	return 0;
}

int user_apps_add_host(struct user_apps *apps, uint16_t app, const char *suffix)
{
	return add_host(apps, app, suffix, false);
}

int user_apps_add_shared_host(struct user_apps *apps, uint16_t app, const char *suffix)
{
	return add_host(apps, app, suffix, true);
}

int user_apps_add_ports(
	struct user_apps *apps, uint16_t app, uint8_t l4_proto, uint16_t first, uint16_t last)
{
	uint8_t **ports = &apps->ports[l4_proto == IPPROTO_UDP];

	if (!*ports)
		*ports = calloc(PORTS, 1);
	if (!*ports)
		return -ENOMEM;
	for (uint32_t port = first; port <= last; port++)
		if (!(*ports)[port])
			(*ports)[port] = (uint8_t)app;
	return 0;
}

void user_apps_set_files(struct user_apps *apps, const struct user_apps *files)
{
	apps->files = files;
}

// The longest suffix of the name, or NULL. `apps` may be NULL.
static const struct host *of_host(
	const struct user_apps *apps, const uint8_t *name, uint32_t length)
{
	uint8_t text[USER_HOST_NAME_MAX];
	const struct host *longest = NULL;
	uint32_t hash = HASH_START;

	if (!apps || !apps->n_hosts || !length)
		return NULL;
	// a port, which servers leave out
	const uint8_t *port = memchr(name, ':', length);

	if (port)
		length = (uint32_t)(port - name);
	if (length && name[length - 1] == '.')
		length--;
	if (length > sizeof(text))
		return NULL;
	for (uint32_t at = length; at; at--) {
		text[at - 1] = octets_lower(name[at - 1]);
		hash = hash_on(hash, text[at - 1]);
		if (at > 1 && name[at - 2] != '.')
			continue;
		const struct host *host = find(apps, text + at - 1, length - at + 1, hash);

		if (host)
			longest = host;
	}
	return longest;
}

uint16_t user_apps_of_host(const struct user_apps *apps, const uint8_t *name, uint32_t length)
{
	const struct host *host = of_host(apps, name, length);

	if (!host && apps)
		host = of_host(apps->files, name, length);
	return host && !host->shared ? host->app : APP_NONE;
}

uint16_t user_apps_of_shared_host(
	const struct user_apps *apps, const uint8_t *name, uint32_t length)
{
	const struct host *host = of_host(apps, name, length);

	if (!host && apps)
		host = of_host(apps->files, name, length);
	return host && host->shared ? host->app : APP_NONE;
}

uint16_t user_apps_of_port(const struct user_apps *apps, uint8_t l4_proto, uint16_t port)
{
	const uint8_t *ports = apps ? apps->ports[l4_proto == IPPROTO_UDP] : NULL;

	return ports ? ports[port] : APP_NONE;
}

bool user_apps_have_hosts(const struct user_apps *apps)
{
	return apps && (apps->n_hosts || (apps->files && apps->files->n_hosts));
}

uint32_t user_apps_place(const struct user_apps *apps, uint16_t app)
{
	return apps && app < APPS_MAX ? apps->place[app] : UINT32_MAX;
}

bool user_apps_has_host(const struct user_apps *apps, const char *suffix, uint16_t *app)
{
	uint32_t length = (uint32_t)strlen(suffix);
	const struct host *host = apps && apps->n_hosts ? find(apps, (const uint8_t *)suffix,
								  length, hash_of(suffix, length))
							: NULL;

	if (host)
		*app = host->app;
	return host;
}

uint32_t user_apps_n_hosts(const struct user_apps *apps)
{
	return apps ? apps->n_hosts : 0;
}

const char *user_apps_host(const struct user_apps *apps, uint32_t index, uint16_t *app)
{
	*app = apps->hosts[index].app;
	return apps->text + apps->hosts[index].text;
}
