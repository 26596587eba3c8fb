// SPDX-License-Identifier: BSD-3-Clause
// Resolves the user and group of the gateway, and checks what they may write.
#include "process/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/log.h"

#define LOOKUP_BYTES   16384
#define SYSTEM_UID_MAX 999 // login.defs, SYS_UID_MAX: services, not people

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

static bool folder_of(const char *path, char *out, size_t out_len)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash || slash == path || (size_t)(slash - path) >= out_len)
		return false;
	snprintf(out, out_len, "%.*s", (int)(slash - path), path);
	return true;
}

int identity_choose(const struct gateway *gateway, struct identity *out, char *err, size_t err_len)
{
	static char buffer[LOOKUP_BYTES];
	char events[PATH_MAX];
	const char *folders[] = {NULL, gateway->paths.state, gateway->paths.cache};
	const char *decisive = NULL;
	struct passwd entry, *found = NULL;
	struct stat st;
	uid_t owner = 0;

	if (gateway->user || geteuid() != 0)
		return identity_find(gateway->user, gateway->group, out, err, err_len);
	*out = (struct identity){0};
	if (gateway->paths.events && strcmp(gateway->paths.events, "-") != 0 &&
		folder_of(gateway->paths.events, events, sizeof(events)))
		folders[0] = events;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (!folders[i] || lstat(folders[i], &st) < 0 || !S_ISDIR(st.st_mode) ||
			st.st_uid == 0)
			continue;
		if (st.st_uid > SYSTEM_UID_MAX || (decisive && st.st_uid != owner))
			return 0; // a person's, or of several: not for us to choose
		owner = st.st_uid;
		decisive = folders[i];
	}
	if (!decisive || getpwuid_r(owner, &entry, buffer, sizeof(buffer), &found) || !found)
		return 0;
	char name[sizeof(out->user)];
	snprintf(name, sizeof(name), "%s", entry.pw_name);
	int rc = identity_find(name, NULL, out, err, err_len);
	snprintf(out->folder, sizeof(out->folder), "%s", decisive);
	return rc;
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

static void folder_for(const struct identity *identity, const char *path)
{
	char name[PATH_MAX];

	if (folder_of(path, name, sizeof(name)))
		folder(identity, name);
}

// Nothing but what a gateway itself puts into a folder: `prefix` begins each of its names.
static bool all_ours(DIR *entries, const char *prefix, bool empty)
{
	unsigned n = 0;

	rewinddir(entries);
	for (const struct dirent *entry; (entry = readdir(entries));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			return false;
		n++;
	}
	return n || empty;
}

static bool give_file(const struct identity *identity, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	bool given = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
		     st.st_nlink == 1 &&
		     fchown(fd, identity->uid, st.st_gid ? (gid_t)-1 : identity->gid) == 0;

	if (fd >= 0)
		close(fd);
	return given;
}

// What a start as root has left: a folder that nobody but root can write, or the user's own.
// `empty`: also one without anything, as it is for us alone. `files`: they, too.
static void take_over(const struct identity *identity, const char *path, const char *prefix,
	bool empty, bool files)
{
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	struct stat st;
	unsigned n = 0;

	if (!entries || fstat(fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != identity->uid) ||
		st.st_mode & S_IWOTH || (st.st_uid == 0 && st.st_mode & S_IWGRP))
		goto out;
	if (st.st_uid == 0 && !all_ours(entries, prefix, empty))
		goto out;
	rewinddir(entries);
	for (const struct dirent *entry; files && (entry = readdir(entries));) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			n += give_file(identity, fd, entry->d_name);
	}
	if (st.st_uid == 0 && fchown(fd, identity->uid, st.st_gid ? (gid_t)-1 : identity->gid) == 0)
		log_notice("%s%s root's, of a start as root: given to user \"%s\"", path,
			files ? " and what is in it were" : " was", identity->user);
	else if (n)
		log_notice("%u files in %s were root's, of a start as root: given to user \"%s\"",
			n, path, identity->user);
out:
	if (entries)
		closedir(entries);
	else if (fd >= 0)
		close(fd);
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
	char events[PATH_MAX];

	if (!identity->change) {
		// they are there before the sandbox names them
		if (gateway->paths.files)
			directory_make(gateway->paths.files);
		if (gateway->paths.quarantine)
			directory_make(gateway->paths.quarantine);
		if (gateway->paths.evidence)
			directory_make(gateway->paths.evidence);
		if (gateway->paths.audit)
			directory_make_for(gateway->paths.audit);
		return;
	}
	// Its files stay root's: root reads them at its next start, and believes nobody else's.
	take_over(identity, gateway->paths.cache, "sigdb-", true, false);
	take_over(identity, gateway->paths.state, "conn-cache.", true, true);
	if (strcmp(gateway->paths.events, "-") != 0 &&
		folder_of(gateway->paths.events, events, sizeof(events)))
		take_over(
			identity, events, gateway->paths.events + strlen(events) + 1, false, true);
	folder_for(identity, gateway->paths.events);
	folder_for(identity, gateway->paths.control);
	folder(identity, gateway->paths.cache);
	folder(identity, gateway->paths.state);
	folder(identity, gateway->paths.files);
	folder(identity, gateway->paths.quarantine);
	folder(identity, gateway->paths.evidence);
	if (gateway->paths.audit)
		folder_for(identity, gateway->paths.audit);
	if (strcmp(gateway->paths.events, "-") != 0)
		event_file(identity, gateway->paths.events);
}

static void want(
	const struct identity *identity, const char *path, int mode, const char *consequence)
{
	if (!path || access(path, mode) == 0 || errno == ENOENT)
		return;
	int error = errno;
	// Who was not to become anybody is root, or as the service manager started it.
	const char *user = identity->user[0] ? identity->user : "root";

	if (!identity->change && geteuid() != 0)
		return; // its own files: whoever opens them tells
	if (mode & W_OK)
		log_warning("%s: user \"%s\" cannot write it (%s): %s; mend it: chown %s %s", path,
			user, strerror(error), consequence, user, path);
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
