// SPDX-License-Identifier: BSD-3-Clause
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "directory.h"
#include "log.h"

#define LOOKUP_BYTES 16384

static int find_user(const char *user, struct identity *out, char *err, size_t err_len)
{
	static char buffer[LOOKUP_BYTES];
	struct passwd entry, *found = NULL;
	struct group group_entry, *group = NULL;

	if (getpwnam_r(user, &entry, buffer, sizeof(buffer), &found) || !found) {
		snprintf(err, err_len,
			"user: there is no user \"%s\"; make it (adduser --system --group "
			"--no-create-home %s), or name another",
			user, user);
		return -ENOENT;
	}
	out->uid = entry.pw_uid;
	out->gid = entry.pw_gid;
	snprintf(out->user, sizeof(out->user), "%s", user);
	if (getgrgid_r(out->gid, &group_entry, buffer, sizeof(buffer), &group) == 0 && group)
		snprintf(out->group, sizeof(out->group), "%s", group->gr_name);
	return 0;
}

static int find_group(const char *name, struct identity *out, char *err, size_t err_len)
{
	static char buffer[LOOKUP_BYTES];
	struct group entry, *found = NULL;

	if (getgrnam_r(name, &entry, buffer, sizeof(buffer), &found) || !found) {
		snprintf(err, err_len,
			"group: there is no group \"%s\"; make it (addgroup --system %s), or name "
			"another",
			name, name);
		return -ENOENT;
	}
	out->gid = entry.gr_gid;
	snprintf(out->group, sizeof(out->group), "%s", name);
	return 0;
}

int identity_find(
	const char *user, const char *group, struct identity *out, char *err, size_t err_len)
{
	*out = (struct identity){0};
	if (!user)
		return 0;
	int rc = find_user(user, out, err, err_len);
	if (!rc && group)
		rc = find_group(group, out, err, err_len);
	if (rc)
		return rc;
	if (geteuid() != 0 && (out->uid != geteuid() || out->gid != getegid())) {
		snprintf(err, err_len,
			"user \"%s\": only root can become another user: start it as root, or set "
			"\"user\" to null",
			user);
		return -EPERM;
	}
	out->change = geteuid() == 0 && out->uid != 0;
	return 0;
}

void identity_give(const struct identity *identity, const char *path, bool group)
{
	gid_t gid = group ? identity->gid : (gid_t)-1;

	if (identity->change && lchown(path, identity->uid, gid) < 0 && errno != ENOENT)
		log_warning("%s: cannot be given to user \"%s\": %s", path, identity->user,
			strerror(errno));
}

static void folder(const struct identity *identity, const char *path)
{
	struct stat st;

	if (!path || stat(path, &st) == 0 || directory_make(path) < 0)
		return;
	// Not what a link leads to: the folder above may be that of others.
	if (lchown(path, identity->uid, identity->gid) < 0)
		log_warning("%s: cannot be given to user \"%s\": %s", path, identity->user,
			strerror(errno));
}

static bool folder_of(const char *path, char *out, size_t out_len)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash || slash == path || (size_t)(slash - path) >= out_len)
		return false;
	snprintf(out, out_len, "%.*s", (int)(slash - path), path);
	return true;
}

static void folder_for(const struct identity *identity, const char *path)
{
	char name[PATH_MAX];

	if (folder_of(path, name, sizeof(name)))
		folder(identity, name);
}

// A regular file of root's, whether it was there (of a run as root) or is made here. Not what a
// link leads to: the name may be in a folder of others.
static void event_file(const struct identity *identity, const char *path)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 && st.st_nlink == 1 &&
		fchown(fd, identity->uid, st.st_gid ? (gid_t)-1 : identity->gid) < 0)
		log_warning("%s: cannot be given to user \"%s\": %s", path, identity->user,
			strerror(errno));
	close(fd);
}

void identity_prepare(const struct identity *identity, const struct gateway *gateway)
{
	if (!identity->change)
		return;
	folder_for(identity, gateway->paths.events);
	folder_for(identity, gateway->paths.control);
	folder(identity, gateway->paths.cache);
	folder(identity, gateway->paths.state);
	if (strcmp(gateway->paths.events, "-") != 0)
		event_file(identity, gateway->paths.events);
}

static void want(
	const struct identity *identity, const char *path, int mode, const char *consequence)
{
	if (!path || access(path, mode) == 0 || errno == ENOENT)
		return;
	int error = errno;

	if (mode & W_OK)
		log_warning("%s: user \"%s\" cannot write it (%s): %s; mend it: chown %s %s", path,
			identity->user, strerror(error), consequence, identity->user, path);
	else
		log_warning(
			"%s: user \"%s\" cannot read it (%s): %s; mend it: chgrp %s %s && chmod "
			"g+r%s %s",
			path, identity->user, strerror(error), consequence, identity->group, path,
			mode & X_OK ? "x" : "", path);
}

void identity_check(const struct identity *identity, const struct gateway *gateway,
	const char *gateway_path, const char *policy_path)
{
	char name[PATH_MAX];

	want(identity, gateway_path, R_OK, "every reload will be refused");
	want(identity, policy_path, R_OK, "every reload will be refused");
	want(identity, gateway->paths.signatures, R_OK | X_OK, "every reload will be refused");
	want(identity, gateway->paths.cache, W_OK | X_OK, "compiled signatures cannot be kept");
	want(identity, gateway->paths.state, W_OK | X_OK,
		"the connection cache will not outlive a restart");
	if (strcmp(gateway->paths.events, "-") == 0)
		return;
	want(identity, gateway->paths.events, W_OK, "it cannot be opened again after a rotation");
	if (access(gateway->paths.events, F_OK) < 0 &&
		folder_of(gateway->paths.events, name, sizeof(name)))
		want(identity, name, W_OK | X_OK, "the event file cannot be made after a rotation");
}
