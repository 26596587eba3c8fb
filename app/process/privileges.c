// SPDX-License-Identifier: BSD-3-Clause
// Drops capabilities and changes the user in every thread.
#include "process/privileges.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/log.h"
#include "process/threads.h"

int privileges_limit(char *err, size_t err_len)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap) < 0)
			break; // not without CAP_SETPCAP; then no_new_privs alone has to do
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		int rc = -errno;
		snprintf(err, err_len, "no_new_privs: %s", strerror(-rc));
		return rc;
	}
	return 0;
}

static int capabilities_none(void *ctx)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	(void)ctx;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

// One thread's line of /proc/self/task/N/status as the kernel has it: ids, or a capability set.
static bool thread_is_bare(const char *thread, const struct identity *identity)
{
	char path[64 + 256], line[256];
	uint64_t caps = 0;
	unsigned uid[4], gid[4];
	bool ids = true;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
	FILE *file = fopen(path, "re");
	if (!file)
		return errno == ENOENT; // has ended meanwhile
	while (fgets(line, sizeof(line), file)) {
		uint64_t set;

		if (sscanf(line, "CapPrm: %" SCNx64, &set) == 1 ||
			sscanf(line, "CapEff: %" SCNx64, &set) == 1 ||
			sscanf(line, "CapAmb: %" SCNx64, &set) == 1)
			caps |= set;
		if (!identity->change)
			continue;
		if (sscanf(line, "Uid: %u %u %u %u", &uid[0], &uid[1], &uid[2], &uid[3]) == 4) {
			for (unsigned i = 0; i < 4; i++)
				ids &= uid[i] == identity->uid;
		} else if (sscanf(line, "Gid: %u %u %u %u", &gid[0], &gid[1], &gid[2], &gid[3]) ==
			   4) {
			for (unsigned i = 0; i < 4; i++)
				ids &= gid[i] == identity->gid;
		}
	}
	fclose(file);
	return ids && !caps;
}

static int verify(const struct identity *identity, char *err, size_t err_len)
{
	DIR *tasks = opendir("/proc/self/task");
	int rc = tasks ? 0 : -errno;

	for (const struct dirent *entry; tasks && (entry = readdir(tasks));) {
		if (entry->d_name[0] != '.' && !thread_is_bare(entry->d_name, identity)) {
			snprintf(err, err_len,
				"privileges: thread %s still has rights; please report this",
				entry->d_name);
			rc = -EPERM;
		}
	}
	if (tasks)
		closedir(tasks);
	else
		snprintf(err, err_len, "/proc/self/task: %s", strerror(-rc));
	return rc;
}

// glibc has every thread change its ids.
static int become(const struct identity *identity, char *err, size_t err_len)
{
	if (initgroups(identity->user, identity->gid) == 0 &&
		setresgid(identity->gid, identity->gid, identity->gid) == 0 &&
		setresuid(identity->uid, identity->uid, identity->uid) == 0)
		return 0;
	int rc = -errno;
	snprintf(err, err_len,
		"user \"%s\": cannot become it: %s; the gateway needs CAP_SETUID and CAP_SETGID "
		"for that (CapabilityBoundingSet= of the unit)",
		identity->user, strerror(-rc));
	return rc;
}

int privileges_drop(const struct identity *identity, char *err, size_t err_len)
{
	int rc = identity->change ? become(identity, err, err_len) : 0;

	if (rc < 0)
		return rc;
	rc = threads_each(capabilities_none, NULL);
	if (rc < 0) {
		snprintf(err, err_len, "privileges: capabilities cannot be dropped: %s",
			strerror(-rc));
		return rc;
	}
	rc = verify(identity, err, err_len);
	if (rc < 0)
		return rc;
	// A core dump has packets of users in it; as another user than at its start the kernel
	// has set this already.
	if (identity->change)
		prctl(PR_SET_DUMPABLE, 0);
	if (identity->change)
		log_notice("runs as user \"%s\", group \"%s\", without capabilities",
			identity->user, identity->group);
	else
		log_info("runs as user %u, without capabilities", geteuid());
	return 0;
}
