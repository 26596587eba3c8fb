// SPDX-License-Identifier: BSD-3-Clause
// Sessions over stream sockets of AF_UNIX: peers in one machine, containers that share a folder.
// Frames, sessions and what is dropped are those of stream.h; here are paths and the listener.
//
// An address is a path, and comes from strangers: who could name any would have us knock on every
// socket of this machine (that of a database, of a supervisor) with octets of ours. So only sockets
// right inside one of `folders` are addresses that we connect to.
#include "transportapi/transport/unix_path.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <sys/socket.h>

#include "transportapi/transport/accept.h"
#include "transportapi/proto/helo.h"
#include "transportapi/transport/stream.h"

#define PROTOCOL      90
#define MTU           65000
#define SCHEME        "unix:"
#define FOLDERS_MAX   16
#define ADVERTISE_MAX 8
#define PATH_AT       sizeof(uint64_t) // in the key of a link, behind what stream.c has there

static_assert(PATH_AT + TAPI_UNIX_PATH_MAX < TAPI_LINK_KEY_BYTES, "and a NUL after it");

TAPI_EXPORT tapi_init_fn inittransport_unix;
TAPI_EXPORT tapi_done_fn donetransport_unix;

const struct tapi_conf_key tapi_unix_keys[] = {
	{"path", TAPI_CONF_TEXT, 1, 4096, 0, NULL, false,
		"where to listen, an absolute path; without it nobody connects to us"},
	{"mode", TAPI_CONF_CHOICE, 0, 0, 0, "0600|0660|0666", false,
		"of the socket's file: who may connect; owner, group, all"},
	{"advertise", TAPI_CONF_TEXTS, 0, ADVERTISE_MAX, 0, NULL, false,
		"paths under which others see the socket, instead of path"},
	{"folders", TAPI_CONF_TEXTS, 0, FOLDERS_MAX, 0, NULL, true,
		"sockets in these are connected to, no others; empty: in that of path"},
	{"cost", TAPI_CONF_UINT, 1, 1000000, 1, NULL, true, "lower is cheaper"},
	TAPI_STREAM_RATE_KEY,
	TAPI_LINK_KEYS_LOCAL,
	{0},
};

struct unix_folders {
	unsigned n;
	struct tapi_unix_path at[FOLDERS_MAX];
};

struct unix_server {
	struct tapi_streams streams; // first
	const struct tapi_core_api *core;
	const struct tapi_conf *conf; // in force: what a reload is held against
	struct tapi_accepting accepting;
	struct tapi_accept_socket socket; // where listening
	struct unix_folders folders;
	struct tapi_unix_path path; // length 0: none
	struct tapi_unix_path advertise[ADVERTISE_MAX];
	unsigned n_advertise;
	mode_t mode;
	struct stat made; // the file
	bool listening;
};

static const struct tapi_source nowhere; // family 0

static struct unix_server *unix_of(struct tapi_transport_api *api)
{
	return (struct unix_server *)(void *)api;
}

// What a section says.

static enum tapi_result path_read(struct tapi_unix_path *out, const struct tapi_conf *conf,
	const char *name, int index, const char *text, struct tapi_error *error)
{
	const char *why = tapi_unix_path_parse(out, text, strlen(text));

	return why ? tapi_conf_wrong(conf, "unix", name, index, error, "\"%.64s%s\" %s", text,
			     strlen(text) > 64 ? "..." : "", why)
		   : TAPI_OK;
}

static enum tapi_result folders_read(struct unix_folders *out, const struct tapi_conf *conf,
	const struct tapi_unix_path *path, struct tapi_error *error)
{
	const char *text, *why;

	out->n = 0;
	for (; (text = tapi_conf_item(conf, "unix", "folders", out->n)) != NULL; out->n++) {
		why = tapi_unix_folder_parse(&out->at[out->n], text, strlen(text));
		if (why)
			return tapi_conf_wrong(conf, "unix", "folders", (int)out->n, error,
				"\"%.64s%s\" %s", text, strlen(text) > 64 ? "..." : "", why);
	}
	if (out->n == 0 && path->length > 0)
		tapi_unix_path_folder(&out->at[out->n++], path);
	return TAPI_OK;
}

static enum tapi_result conf_read(struct unix_server *self, struct tapi_error *error)
{
	const struct tapi_conf *conf = *self->core->conf;
	enum tapi_result result = tapi_conf_check(conf, "unix", tapi_unix_keys, error);
	const char *text;

	if (result != TAPI_OK)
		return result;
	text = tapi_conf_text(conf, "unix", tapi_unix_keys, "path");
	if (text && (result = path_read(&self->path, conf, "path", -1, text, error)) != TAPI_OK)
		return result;
	self->mode = (mode_t)strtoul(tapi_conf_text(conf, "unix", tapi_unix_keys, "mode"), NULL, 8);
	for (unsigned i = 0; (text = tapi_conf_item(conf, "unix", "advertise", i)) != NULL; i++) {
		result = path_read(&self->advertise[i], conf, "advertise", (int)i, text, error);
		if (result != TAPI_OK)
			return result;
		self->n_advertise = i + 1;
	}
	if (self->n_advertise > 0 && self->path.length == 0)
		return tapi_conf_wrong(conf, "unix", "advertise", -1, error,
			"without unix.path nothing listens: give one, or advertise nothing");
	if (self->n_advertise == 0 && self->path.length > 0)
		self->advertise[self->n_advertise++] = self->path;
	return folders_read(&self->folders, conf, &self->path, error);
}

// Addresses.

static bool folder_allowed(const struct unix_folders *folders, const struct tapi_unix_path *path)
{
	struct tapi_unix_path folder;

	tapi_unix_path_folder(&folder, path);
	for (unsigned i = 0; i < folders->n; i++)
		if (strcmp(folders->at[i].text, folder.text) == 0)
			return true;
	return false;
}

static enum tapi_result address_read(
	struct unix_server *self, const struct tapi_helo *helo, struct tapi_unix_path *out)
{
	if (helo->address_size > TAPI_ADDRESS_BYTES ||
		tapi_unix_path_parse(out, helo->address, helo->address_size) != NULL)
		return TAPI_EADDR;
	return folder_allowed(&self->folders, out) ? TAPI_OK : TAPI_EACL;
}

static enum tapi_result unix_verify_helo(
	struct tapi_transport_api *api, const struct tapi_helo *helo)
{
	struct tapi_unix_path path;

	return address_read(unix_of(api), helo, &path);
}

static enum tapi_result unix_create_helo(
	struct tapi_transport_api *api, unsigned index, struct tapi_helo *out)
{
	struct unix_server *self = unix_of(api);

	if (!self->listening || index >= self->n_advertise)
		return TAPI_ENOADDR;
	out->protocol = api->protocol;
	out->mtu = api->mtu;
	out->address_size = (uint16_t)self->advertise[index].length;
	memcpy(out->address, self->advertise[index].text, out->address_size);
	return TAPI_OK;
}

static enum tapi_result unix_address_to_string(
	struct tapi_transport_api *api, const struct tapi_helo *helo, char *out, size_t size)
{
	struct tapi_unix_path path;

	(void)api;
	if (helo->address_size > TAPI_ADDRESS_BYTES ||
		tapi_unix_path_parse(&path, helo->address, helo->address_size) != NULL ||
		size <= strlen(SCHEME) + path.length)
		return TAPI_EADDR;
	snprintf(out, size, SCHEME "%s", path.text);
	return TAPI_OK;
}

static enum tapi_result unix_string_to_address(
	struct tapi_transport_api *api, const char *text, uint8_t *out, size_t *size)
{
	struct tapi_unix_path path;

	(void)api;
	if (strncmp(text, SCHEME, strlen(SCHEME)) != 0 ||
		tapi_unix_path_parse(&path, &text[strlen(SCHEME)], strlen(&text[strlen(SCHEME)])) !=
			NULL ||
		path.length > *size)
		return TAPI_EADDR;
	memcpy(out, path.text, path.length);
	*size = path.length;
	return TAPI_OK;
}

// Sessions.

static enum tapi_result unix_connect(
	struct tapi_transport_api *api, const struct tapi_helo *helo, struct tapi_session **out)
{
	struct unix_server *self = unix_of(api);
	struct tapi_unix_path path;
	struct sockaddr_un address;
	enum tapi_result result;
	struct tapi_link *link;
	int fd;

	if (!self->streams.running)
		return TAPI_EDOWN;
	result = address_read(self, helo, &path);
	if (result != TAPI_OK)
		return result;
	fd = tapi_stream_socket(&self->streams, AF_UNIX);
	if (fd < 0)
		return TAPI_ESYS;
	tapi_unix_path_sockaddr(&address, &path);
	// It stands at once, or not at all: a queue that is full (EAGAIN) is no connect under way.
	result = tapi_stream_connect(&self->streams, fd, (const struct sockaddr *)&address,
		sizeof(address), &nowhere, out);
	if (result != TAPI_OK)
		return result;
	link = (*out)->internal;
	memcpy(&link->key[PATH_AT], path.text, path.length); // zero behind it
	return TAPI_OK;
}

// The path that we connected to: not what the system calls the other end, which is the path that
// the listener gave, as seen from where it is (another container), if it gave a whole one at all.
static const char *remote_path(const struct tapi_link *link)
{
	return (const char *)&link->key[PATH_AT];
}

// Who connected to us has no path, but the kernel knows the process.
static void unix_session_info(struct tapi_transport_api *api, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	const struct tapi_link *link = session->internal;
	struct ucred who;
	socklen_t size = sizeof(who);

	(void)api;
	tapi_links_info(link, out);
	snprintf(out->remote, sizeof(out->remote), SCHEME "%s", remote_path(link));
	if (link->inbound &&
		getsockopt(tapi_stream_fd(session), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
		snprintf(out->remote, sizeof(out->remote), SCHEME " process %ld of user %lu",
			(long)who.pid, (unsigned long)who.uid);
}

// The server.

static void unix_taken(void *context, int fd, const struct sockaddr_storage *from, socklen_t length)
{
	struct unix_server *self = context;

	(void)from;
	(void)length;
	tapi_stream_accepted(&self->streams, fd, &nowhere); // a limit: closed, counted
}

static enum tapi_result unix_start_server(struct tapi_transport_api *api)
{
	struct unix_server *self = unix_of(api);
	struct tapi_error error;
	int fd;

	if (self->streams.running)
		return TAPI_OK;
	if (self->path.length > 0) {
		fd = tapi_unix_listen(&self->path, self->mode, &self->made, &error);
		if (fd < 0) {
			self->core->log(self->core->core, LOG_ERR, "unix: %s", error.text);
			return TAPI_ESYS;
		}
		self->listening = tapi_accepting_add(&self->accepting, &self->socket, fd);
		if (!self->listening) {
			tapi_unix_unlink(&self->path, &self->made);
			close(fd);
			return TAPI_ENOMEM;
		}
	}
	self->streams.running = true;
	return TAPI_OK;
}

static enum tapi_result unix_stop_server(struct tapi_transport_api *api)
{
	struct unix_server *self = unix_of(api);

	if (self->listening) {
		tapi_unix_unlink(&self->path, &self->made);
		tapi_accepting_remove(&self->socket);
		tapi_accepting_close(&self->accepting);
	}
	self->listening = false;
	tapi_streams_stop(&self->streams);
	return TAPI_OK;
}

static bool link_allowed(void *context, const struct tapi_link *link)
{
	struct unix_server *self = context;
	const char *text = remote_path(link);
	struct tapi_unix_path path;

	return link->inbound || (tapi_unix_path_parse(&path, text, strlen(text)) == NULL &&
					folder_allowed(&self->folders, &path));
}

static void limits_take(struct unix_server *self)
{
	const struct tapi_link_limits limits =
		tapi_link_limits_read(self->conf, "unix", tapi_unix_keys);

	self->streams.api.cost =
		(uint32_t)tapi_conf_uint(self->conf, "unix", tapi_unix_keys, "cost");
	tapi_streams_limit(&self->streams, &limits,
		tapi_conf_uint(self->conf, "unix", tapi_unix_keys, "rate_bytes_s"));
}

static enum tapi_result unix_reload_configuration(struct tapi_transport_api *api)
{
	struct unix_server *self = unix_of(api);
	const struct tapi_conf *fresh = *self->core->conf;
	struct unix_folders folders;
	struct tapi_error error;

	if (tapi_conf_check(fresh, "unix", tapi_unix_keys, &error) != TAPI_OK ||
		tapi_conf_compare(self->conf, fresh, "unix", tapi_unix_keys, &error) != TAPI_OK ||
		folders_read(&folders, fresh, &self->path, &error) != TAPI_OK) {
		self->core->log(self->core->core, LOG_ERR, "unix: %s", error.text);
		return TAPI_ECONF;
	}
	self->conf = fresh;
	self->folders = folders;
	limits_take(self);
	tapi_streams_deny(&self->streams, link_allowed, self);
	return TAPI_OK;
}

static const struct tapi_transport_api unix_api = {
	.version = TAPI_VERSION,
	.protocol = PROTOCOL,
	.mtu = MTU,
	.flags = TAPI_BIDIRECTIONAL | TAPI_STREAM | TAPI_ORDERED,
	.name = "unix",
	.verify_helo = unix_verify_helo,
	.create_helo = unix_create_helo,
	.connect = unix_connect,
	.send = tapi_stream_send,
	.associate = tapi_stream_associate,
	.disconnect = tapi_stream_disconnect,
	.start_server = unix_start_server,
	.stop_server = unix_stop_server,
	.reload_configuration = unix_reload_configuration,
	.turn = tapi_stream_turn,
	.address_to_string = unix_address_to_string,
	.string_to_address = unix_string_to_address,
	.send_estimate = tapi_stream_estimate,
	.session_info = unix_session_info,
	.stats = tapi_stream_stats,
};

struct tapi_transport_api *inittransport_unix(const struct tapi_core_api *core)
{
	struct tapi_link_limits limits;
	struct unix_server *self;
	struct tapi_error error;

	if (core->version != TAPI_VERSION)
		return NULL;
	if (!core->base) {
		core->log(core->core, LOG_ERR, "unix: needs an event loop, and the core has none");
		return NULL;
	}
	self = calloc(1, sizeof(*self));
	if (!self) {
		core->log(core->core, LOG_ERR, "unix: out of memory");
		return NULL;
	}
	self->core = core;
	self->conf = *core->conf;
	if (conf_read(self, &error) != TAPI_OK) {
		core->log(core->core, LOG_ERR, "unix: %s", error.text);
		goto refused;
	}
	limits = tapi_link_limits_read(self->conf, "unix", tapi_unix_keys);
	self->accepting = (struct tapi_accepting){.core = core,
		.name = unix_api.name,
		.taken = unix_taken,
		.context = self,
		.refused = &self->streams.stats.sessions_refused};
	if (tapi_accepting_init(&self->accepting) != TAPI_OK ||
		tapi_streams_init(&self->streams, core, &unix_api, &limits, 0) != TAPI_OK) {
		core->log(core->core, LOG_ERR, "unix: out of memory");
		goto refused;
	}
	if (self->path.length == 0)
		self->streams.api.flags |= TAPI_SEND_ONLY;
	limits_take(self);
	return &self->streams.api;

refused:
	free(self);
	return NULL;
}

void donetransport_unix(struct tapi_transport_api *api)
{
	struct unix_server *self = unix_of(api);

	unix_stop_server(api);
	tapi_streams_done(&self->streams);
	free(self);
}
