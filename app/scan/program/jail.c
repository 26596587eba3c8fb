// SPDX-License-Identifier: BSD-3-Clause
// Closes a child's jail, step by step: what takes rights first, then the rights themselves.
#include "scan/program/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES_MAX   256 // open at once: two for each layer, and some for databases in documents
#define THREADS_MAX 64  // of the user, with those of the other children

int scan_jail_failed(const char *what, char *err, size_t len)
{
	int rc = -errno;

	snprintf(err, len, "%s: %s", what, strerror(-rc));
	return rc;
}

static bool has_capability(unsigned capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, sets) == 0 &&
	       sets[capability / 32].effective & 1u << capability % 32;
}

bool scan_jail_can_mount(void)
{
	return has_capability(CAP_SYS_ADMIN);
}

int scan_jail_prepare(struct scan_jail *jail, const char *user, char *err, size_t len)
{
	if (!user)
		return 0;
	const struct passwd *entry = getpwnam(user);

	if (!entry) {
		snprintf(err, len, "there is no user \"%s\"", user);
		return -EINVAL;
	}
	if (entry->pw_uid == geteuid() && !has_capability(CAP_SETUID))
		return 0;
	if (!has_capability(CAP_SETUID) || !has_capability(CAP_SETGID)) {
		snprintf(err, len, "only root can have children become user \"%s\"", user);
		return -EPERM;
	}
	jail->change_user = true;
	jail->uid = entry->pw_uid;
	jail->gid = entry->pw_gid;
	return 0;
}

// The arena and the socket to their numbers, through ones that are neither's; then all others go.
static int descriptors(int arena, int files, int *ready, char *err, size_t len)
{
	const struct {
		int from, to;
	} moves[] = {{open("/dev/null", O_RDWR), SCAN_FD_NULL}, {arena, SCAN_FD_ARENA},
		{files, SCAN_FD_FILES}, {*ready, SCAN_FD_READY}};
	const unsigned n = sizeof(moves) / sizeof(moves[0]);
	int high[sizeof(moves) / sizeof(moves[0])];

	for (unsigned i = 0; i < n; i++) {
		high[i] = fcntl(moves[i].from, F_DUPFD, 64 + SCAN_FD_READY);
		if (high[i] < 0)
			return scan_jail_failed("descriptors", err, len);
	}
	for (unsigned i = n; i--;)
		if (dup2(high[i], moves[i].to) < 0)
			return scan_jail_failed("descriptors", err, len);
	*ready = SCAN_FD_READY;
	if (dup2(SCAN_FD_NULL, STDERR_FILENO) < 0 ||
		syscall(SYS_close_range, SCAN_FD_READY + 1, ~0u, 0) < 0)
		return scan_jail_failed("descriptors", err, len);
	return 0;
}

// Out of memory the kernel takes a child first: it is replaced, and holds nothing.
static void offer_to_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	close(fd);
}

static int become(const struct scan_jail *jail, char *err, size_t len)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap) < 0)
			break; // not without CAP_SETPCAP; then no_new_privs alone has to do
	if (jail->change_user &&
		(setgroups(0, NULL) || setresgid(jail->gid, jail->gid, jail->gid) ||
			setresuid(jail->uid, jail->uid, jail->uid)))
		return scan_jail_failed("another user", err, len);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) < 0)
		return scan_jail_failed("no capabilities", err, len);
	return 0;
}

static uint64_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int limits(const struct scan_jail *jail, uint64_t space, char *err, size_t len)
{
	const struct {
		int what;
		uint64_t most;
	} rows[] = {
		{RLIMIT_AS, space + jail->memory_bytes},
		{RLIMIT_FSIZE, jail->tmp_bytes},
		{RLIMIT_NOFILE, FILES_MAX},
		{RLIMIT_CORE, 0},
		{RLIMIT_MEMLOCK, 0},
		{RLIMIT_MSGQUEUE, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rlimit limit = {rows[i].most, rows[i].most};

		if (setrlimit((__rlimit_resource_t)rows[i].what, &limit))
			return scan_jail_failed("limits", err, len);
	}
	// Of the gateway's user it would count the gateway.
	if (jail->change_user) {
		const struct rlimit threads = {THREADS_MAX, THREADS_MAX};

		if (setrlimit(RLIMIT_NPROC, &threads))
			return scan_jail_failed("limits", err, len);
	}
	return 0;
}

int scan_jail_close(const struct scan_jail *jail, const char *folder, pid_t parent, int arena,
	int files, int *ready, char *err, size_t len)
{
	uint64_t space = address_space();
	int rc;

	if (!space) {
		snprintf(err, len, "/proc/self/statm cannot be read");
		return -EIO;
	}
	signal(SIGXFSZ, SIG_IGN); // a file that is too long is an error of write(), not the end
	offer_to_oom();
	rc = scan_jail_folder(jail, folder, err, len);
	if (!rc)
		rc = become(jail, err, len);
	if (rc)
		return rc;
	// After the user: the kernel forgets both when a process changes it.
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_DUMPABLE, 0) ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return scan_jail_failed("prctl", err, len);
	if (getppid() != parent) {
		snprintf(err, len, "the parent is dead");
		return -ESRCH;
	}
	rc = descriptors(arena, files, ready, err, len);
	if (!rc)
		rc = limits(jail, space, err, len);
	if (!rc)
		rc = scan_jail_files(err, len);
	if (!rc)
		rc = scan_jail_calls(err, len);
	return rc;
}
