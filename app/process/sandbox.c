// SPDX-License-Identifier: BSD-3-Clause
// Builds the rules of Landlock and the filter of seccomp, and puts them in force.
#include "process/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "process/threads.h"

// Of kernels newer than the headers of Debian 12; numbers of the kernel's interface.
#define ACCESS_REFER    (1ull << 13) // version 2
#define ACCESS_TRUNCATE (1ull << 14) // version 3
#define NET_BIND_TCP    (1ull << 0)  // version 4
#define NET_CONNECT_TCP (1ull << 1)

struct ruleset { // struct landlock_ruleset_attr of version 4
	uint64_t files;
	uint64_t network;
};

#define ACCESS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_CHANGE                                                         \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |     \
		LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
		LANDLOCK_ACCESS_FS_MAKE_DIR | ACCESS_TRUNCATE)
#define ACCESS_VERSION_1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
// What a rule for something that is no folder may hold.
#define ACCESS_FILE (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)

void sandbox_add(struct sandbox *sandbox, const char *path, bool write)
{
	if (path && sandbox->n_paths < SANDBOX_PATHS_MAX)
		sandbox->paths[sandbox->n_paths++] =
			(struct sandbox_path){.path = path, .write = write};
}

// Kept until the process ends; there are a handful.
void sandbox_add_folder(struct sandbox *sandbox, const char *path, bool write)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char *folder = !path           ? NULL
		       : !slash        ? strdup(".")
		       : slash == path ? strdup("/.")
				       : strndup(path, (size_t)(slash - path));

	// Never the root itself: it would be all there is.
	if (folder && strcmp(folder, "/.") != 0)
		sandbox_add(sandbox, folder, write);
	else
		free(folder);
}

void sandbox_init(struct sandbox *sandbox, const struct gateway *gateway, const char *gateway_path,
	const char *policy_path)
{
	*sandbox = (struct sandbox){0};
	sandbox_add_folder(sandbox, gateway_path, false);
	sandbox_add_folder(sandbox, policy_path, false);
	sandbox_add(sandbox, gateway->paths.signatures, false);
	sandbox_add(sandbox, gateway->paths.cache, true);
	sandbox_add(sandbox, gateway->paths.state, true);
	sandbox_add(sandbox, gateway->paths.files, true);
	if (gateway->paths.files) // a file moves to its digest's folder when it is whole
		sandbox->paths[sandbox->n_paths - 1].moves = true;
	sandbox_add(sandbox, gateway->paths.quarantine, true);
	if (gateway->paths.quarantine) // likewise
		sandbox->paths[sandbox->n_paths - 1].moves = true;
	sandbox_add(sandbox, gateway->paths.evidence, true);
	if (gateway->paths.audit)
		sandbox_add_folder(sandbox, gateway->paths.audit, true);
	if (strcmp(gateway->paths.events, "-") != 0)
		sandbox_add_folder(sandbox, gateway->paths.events, true);
	sandbox_add_folder(sandbox, gateway->paths.control, true);
	if (gateway->scan.allow) // lists of hashes are read again, and replaced by a rename
		sandbox_add_folder(sandbox, gateway->scan.allow, false);
	if (gateway->scan.deny)
		sandbox_add_folder(sandbox, gateway->scan.deny, false);
	if (gateway->paths.pidfile)
		sandbox_add_folder(sandbox, gateway->paths.pidfile, true);
	// Drivers and the C library: what the machine is, and what time it is.
	sandbox_add(sandbox, "/sys", false);
	sandbox_add(sandbox, "/proc/self", false);
	sandbox_add(sandbox, "/usr/share/zoneinfo", false); // a reloaded policy's time_zone, too
	sandbox_add(sandbox, getenv("TZDIR"), false);
	sandbox_add(sandbox, "/etc/localtime", false);
	sandbox_add(sandbox, "/dev/urandom", false);
	sandbox_add(sandbox, "/dev/null", true);
	for (unsigned i = 0; i < gateway->n_ports; i++)
		sandbox_add_device(sandbox, gateway->ports[i].device);
}

static int add_rule(
	int ruleset, uint64_t handled, const struct sandbox_path *path, char *err, size_t err_len)
{
	uint64_t access =
		ACCESS_READ | (path->write ? ACCESS_CHANGE : 0) | (path->moves ? ACCESS_REFER : 0);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = access & handled,
		.parent_fd = open(path->path, O_PATH | O_CLOEXEC),
	};
	struct stat st;
	int rc = 0;

	if (rule.parent_fd < 0) // not there, or not for us: then nothing below it is, either
		return 0;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= ACCESS_FILE;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0) {
		rc = -errno;
		snprintf(err, err_len, "sandbox: %s: %s", path->path, strerror(-rc));
	}
	close(rule.parent_fd);
	return rc;
}

static int restrict_thread(void *ctx)
{
	return syscall(SYS_landlock_restrict_self, *(const int *)ctx, 0) < 0 ? -errno : 0;
}

int sandbox_files(const struct sandbox *sandbox, int *abi, char *err, size_t err_len)
{
	struct ruleset handled = {.files = ACCESS_VERSION_1};
	size_t size = sizeof(handled.files);
	int rc = 0;

	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	*abi = version > 0 ? (int)version : 0;
	if (version <= 0)
		return 0;
	if (version >= 2)
		handled.files |= ACCESS_REFER;
	if (version >= 3)
		handled.files |= ACCESS_TRUNCATE;
	if (version >= 4) { // no rule for it: no new listener, and connections to nobody
		handled.network = NET_BIND_TCP | NET_CONNECT_TCP;
		size = sizeof(handled);
	}
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
	if (ruleset < 0) {
		rc = -errno;
		snprintf(err, err_len, "sandbox: Landlock: %s", strerror(-rc));
		return rc;
	}
	for (unsigned i = 0; i < sandbox->n_paths && !rc; i++)
		rc = add_rule(ruleset, handled.files, &sandbox->paths[i], err, err_len);
	if (!rc) {
		rc = threads_each(restrict_thread, &ruleset);
		if (rc < 0)
			snprintf(err, err_len, "sandbox: Landlock refuses: %s", strerror(-rc));
	}
	close(ruleset);
	return rc;
}

int sandbox_enter(const struct sandbox *sandbox, char *err, size_t err_len)
{
	int abi, rc = 0;

	// The C library loads it when a thread is cancelled, as EAL does at its end.
	(void)!dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL);
	tzset(); // reads the zone's file, once
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		rc = -errno;
		snprintf(err, err_len, "sandbox: no_new_privs: %s", strerror(-rc));
		return rc;
	}
	rc = sandbox_files(sandbox, &abi, err, err_len);
	if (!rc)
		rc = sandbox_calls(sandbox, err, err_len);
	if (rc < 0)
		return rc;
	if (abi)
		log_notice("sandbox: files by Landlock (version %d), system calls by seccomp, %u "
			   "threads",
			abi, threads_count());
	else
		log_notice("sandbox: system calls by seccomp, %u threads; this kernel has no "
			   "Landlock (lsm= of its command line), so files are protected by their "
			   "permissions alone",
			threads_count());
	return 0;
}
