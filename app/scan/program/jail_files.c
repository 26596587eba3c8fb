// SPDX-License-Identifier: BSD-3-Clause
// The files of a scanning child: a small file system of its own to unpack in, and Landlock, which
// leaves nothing else.
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "scan/program/jail.h"

// Of kernels newer than the headers of Debian 12; numbers of the kernel's interface.
#define ACCESS_REFER     (1ull << 13) // version 2
#define ACCESS_TRUNCATE  (1ull << 14) // version 3
#define ACCESS_IOCTL_DEV (1ull << 15) // version 5
#define NET_TCP          3ull         // version 4: bind, connect
#define SCOPED           3ull         // version 6: abstract sockets, signals

#define ACCESS_VERSION_1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define ACCESS_UNPACK                                                            \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |            \
		LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
		LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
		LANDLOCK_ACCESS_FS_MAKE_DIR | ACCESS_TRUNCATE)

struct ruleset { // struct landlock_ruleset_attr of version 6
	uint64_t files, network, scoped;
};

// Only this child sees it, and it ends with the child. Without CAP_SYS_ADMIN the folder is what the
// parent made: of no limited size.
int scan_jail_folder(const struct scan_jail *jail, const char *folder, char *err, size_t len)
{
	char options[128];

	if (!scan_jail_can_mount()) {
		if (chdir(folder))
			return scan_jail_failed("the folder to unpack in", err, len);
		return 0;
	}
	if (unshare(CLONE_NEWNS))
		return scan_jail_failed("a mount namespace", err, len);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return scan_jail_failed("private mounts", err, len);
	snprintf(options, sizeof(options), "size=%llu,nr_inodes=65536,mode=0700,uid=%u,gid=%u",
		(unsigned long long)jail->tmp_bytes, jail->change_user ? jail->uid : geteuid(),
		jail->change_user ? jail->gid : getegid());
	if (mount("sluice-scan", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options))
		return scan_jail_failed("a tmpfs to unpack in", err, len);
	if (chdir(folder))
		return scan_jail_failed("the tmpfs to unpack in", err, len);
	return 0;
}

int scan_jail_landlock(void)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

int scan_jail_files(char *err, size_t len)
{
	int version = scan_jail_landlock();
	struct ruleset handled = {.files = ACCESS_VERSION_1};
	size_t size = sizeof(handled.files);

	if (!version) // the parent has said so
		return 0;
	if (version >= 2)
		handled.files |= ACCESS_REFER;
	if (version >= 3)
		handled.files |= ACCESS_TRUNCATE;
	if (version >= 4) {
		handled.network = NET_TCP;
		size = sizeof(handled.files) + sizeof(handled.network);
	}
	if (version >= 5)
		handled.files |= ACCESS_IOCTL_DEV;
	if (version >= 6) {
		handled.scoped = SCOPED;
		size = sizeof(handled);
	}
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);

	if (ruleset < 0)
		return scan_jail_failed("Landlock", err, len);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = ACCESS_UNPACK & handled.files,
		.parent_fd = open(".", O_PATH | O_CLOEXEC),
	};
	int rc = 0;

	if (rule.parent_fd < 0 ||
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ||
		syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		rc = scan_jail_failed("Landlock", err, len);
	if (rule.parent_fd >= 0)
		close(rule.parent_fd);
	close(ruleset);
	return rc;
}
