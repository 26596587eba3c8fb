// SPDX-License-Identifier: BSD-3-Clause
// Chooses the user of the virus scanner's children.
#include "process/scan_user.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKUP_BYTES 16384
#define MAKE_USER    "adduser --system --group --no-create-home --home /nonexistent %s"

bool scan_user_can_change(void)
{
	const uint32_t wanted = 1u << CAP_SETUID | 1u << CAP_SETGID;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & wanted) == wanted;
}

static bool find(const char *name, uid_t *uid)
{
	static char buffer[LOOKUP_BYTES];
	struct passwd entry, *found = NULL;

	if (getpwnam_r(name, &entry, buffer, sizeof(buffer), &found) || !found)
		return false;
	*uid = entry.pw_uid;
	return true;
}

static int choose_named(
	const char *named, bool can_change, const char **user, char *text, size_t text_len)
{
	uid_t uid;

	if (!find(named, &uid)) {
		snprintf(text, text_len,
			"there is no user \"%s\": make it (" MAKE_USER "), or name another", named,
			named);
		return -ENOENT;
	}
	if (!can_change && uid != geteuid()) {
		snprintf(text, text_len,
			"only root can have others become user \"%s\": start the gateway as root, "
			"or set \"scan\": {\"user\": null}",
			named);
		return -EPERM;
	}
	if (uid == 0 && can_change)
		snprintf(text, text_len,
			"hostile files are read as root, though without its capabilities: name a "
			"user that owns nothing else");
	*user = named;
	return 0;
}

int scan_user_choose(const char *named, const char *own, bool can_change, const char **user,
	char *text, size_t text_len)
{
	uid_t uid;

	*user = NULL;
	text[0] = 0;
	if (named)
		return choose_named(named, can_change, user, text, text_len);
	if (!can_change) {
		snprintf(text, text_len,
			"files are read by processes of the gateway's own user, as only root can "
			"have them become another: seccomp, and Landlock where the kernel has it, "
			"keep a hostile file from the gateway");
		return 0;
	}
	if (find(own, &uid)) {
		*user = own;
		return 0;
	}
	snprintf(text, text_len,
		"there is no user \"%s\", so files are read as root, though without its "
		"capabilities: seccomp, and Landlock where the kernel has it, keep a hostile file "
		"from what is root's: " MAKE_USER ", and restart",
		own, own);
	return 0;
}
