// SPDX-License-Identifier: BSD-3-Clause
// Opens the control socket, accepts its clients and closes it.
#include "control/ctl/socket.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/ctl/client.h"
#include "base/directory.h"
#include "base/log.h"

#define BACKLOG 64

struct control_socket {
	struct control_clients *clients;
	struct evconnlistener *listener;
	struct event *pause; // accept again after descriptors ran out
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t device; // of the socket file that we made
	ino_t inode;
};

static void accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
	int length, void *ctx)
{
	struct control_socket *control = ctx;

	(void)listener;
	(void)address;
	(void)length;
	control_client_new(control->clients, fd);
}

// Out of descriptors or memory: the connection stays in the backlog, so that libevent would call
// again at once, for ever.
static void accept_failed(struct evconnlistener *listener, void *ctx)
{
	struct control_socket *control = ctx;
	struct timeval delay = {.tv_sec = 1};

	log_warning("control socket: cannot accept: %s", strerror(errno));
	evconnlistener_disable(listener);
	event_add(control->pause, &delay);
}

static void accept_again(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	evconnlistener_enable(((struct control_socket *)ctx)->listener);
}

// Is anybody there? 0: no, the place is free; else -errno and a message.
static int place_free(const struct sockaddr_un *address, char *err, size_t err_len)
{
	struct stat st;
	int fd, rc;

	if (lstat(address->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(err, err_len,
			"%s: is in the way and no socket; remove it or change "
			"paths.control",
			address->sun_path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)address, sizeof *address);
	rc = rc < 0 ? errno : 0;
	close(fd);
	if (rc == 0 || rc == EAGAIN) { // EAGAIN: its backlog is full
		snprintf(err, err_len,
			"%s: another gateway answers there; stop it, or give this "
			"one its own paths.control",
			address->sun_path);
		return -EADDRINUSE;
	}
	// What a gateway that was killed left behind.
	if (rc == ECONNREFUSED && unlink(address->sun_path) == 0)
		return 0;
	snprintf(err, err_len, "%s: cannot replace the old socket: %s", address->sun_path,
		strerror(rc == ECONNREFUSED ? errno : rc));
	return -rc;
}

// /run/sluice is gone after every boot.
static int group_set(const char *path, const char *group, char *err, size_t err_len)
{
	struct group entry, *found = NULL;
	char buffer[4096];

	if (!group)
		return 0;
	if (getgrnam_r(group, &entry, buffer, sizeof buffer, &found) || !found) {
		snprintf(err, err_len,
			"control_group: there is no group \"%s\"; create it "
			"(groupadd --system %s) or name another",
			group, group);
		return -ENOENT;
	}
	if (lchown(path, (uid_t)-1, entry.gr_gid) < 0) { // the folder may be another user's
		int rc = -errno;

		snprintf(err, err_len, "%s: cannot give it to group \"%s\": %s", path, group,
			strerror(-rc));
		return rc;
	}
	return 0;
}

// A listening descriptor, its file 0660, or -errno.
static int listen_at(struct control_socket *control, const char *group, char *err, size_t err_len)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	mode_t mask;
	int fd, rc;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", control->path);
	rc = place_free(&address, err, err_len);
	if (rc < 0)
		return rc;
	directory_make_for(control->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		rc = -errno;
		snprintf(err, err_len, "socket: %s", strerror(-rc));
		return rc;
	}
	mask = umask(0117); // never wider than it stays
	rc = bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
	umask(mask);
	if (rc < 0) {
		snprintf(err, err_len,
			"%s: cannot make the control socket: %s; change "
			"paths.control",
			control->path, strerror(-rc));
		close(fd);
		return rc;
	}
	if (lstat(control->path, &st) == 0) {
		control->device = st.st_dev;
		control->inode = st.st_ino;
	}
	rc = group_set(control->path, group, err, err_len);
	if (rc == 0 && listen(fd, BACKLOG) < 0) {
		rc = -errno;
		snprintf(err, err_len, "%s: %s", control->path, strerror(-rc));
	}
	if (rc < 0) {
		unlink(control->path);
		close(fd);
		return rc;
	}
	return fd;
}

int control_socket_new(struct control_context *context, const char *path, const char *group,
	struct control_socket **out, char *err, size_t err_len)
{
	struct control_socket *control = calloc(1, sizeof *control);
	int fd, rc;

	snprintf(err, err_len, "no memory for the control socket");
	if (!control)
		return -ENOMEM;
	if (strlen(path) >= sizeof control->path) {
		snprintf(err, err_len,
			"%s: longer than the %zu bytes that a socket's name may "
			"have",
			path, sizeof control->path - 1);
		free(control);
		return -ENAMETOOLONG;
	}
	rc = control_clients_new(context, &control->clients);
	control->pause = evtimer_new(context->base, accept_again, control);
	if (rc < 0 || !control->pause) {
		control_socket_free(control);
		return -ENOMEM;
	}
	snprintf(control->path, sizeof control->path, "%s", path);
	fd = listen_at(control, group, err, err_len);
	if (fd < 0) {
		control->path[0] = '\0'; // not ours to remove
		control_socket_free(control);
		return fd;
	}
	control->listener = evconnlistener_new(context->base, accepted, control,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!control->listener) {
		close(fd);
		control_socket_free(control);
		return -ENOMEM;
	}
	evconnlistener_set_error_cb(control->listener, accept_failed);
	*out = control;
	return 0;
}

void control_socket_free(struct control_socket *control)
{
	struct stat st;

	if (!control)
		return;
	if (control->listener)
		evconnlistener_free(control->listener);
	if (control->pause)
		event_free(control->pause);
	control_clients_free(control->clients);
	// Somebody may have put another one there meanwhile.
	if (control->path[0] && lstat(control->path, &st) == 0 && st.st_dev == control->device &&
		st.st_ino == control->inode)
		unlink(control->path);
	free(control);
}
