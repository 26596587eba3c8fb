// SPDX-License-Identifier: BSD-3-Clause
// The system calls of a scanning child: calls.txt has the reason of each. All others are refused
// (EPERM), and what only an intruder would try ends the child.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "scan/program/jail.h"

static const char *const allowed[] = {"access", "brk", "chmod", "clock_gettime", "clock_nanosleep",
	"close", "dup", "exit", "exit_group", "fchmod", "fstat", "ftruncate", "futex", "getdents64",
	"getpid", "getrandom", "gettid", "gettimeofday", "lseek", "lstat", "madvise", "mkdir",
	"mremap", "munmap", "newfstatat", "open", "openat", "pread64", "pwrite64", "read",
	"readlink", "rename", "restart_syscall", "rmdir", "rseq", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "sched_getaffinity", "sched_yield", "set_robust_list", "sigaltstack",
	"stat", "sysinfo", "umask", "unlink", "unlinkat", "write", "writev"};

static const char *const deadly[] = {"add_key", "bpf", "chroot", "execve", "execveat", "fork",
	"init_module", "io_uring_setup", "keyctl", "mount", "open_by_handle_at", "perf_event_open",
	"pivot_root", "process_vm_readv", "process_vm_writev", "ptrace", "setns", "umount2",
	"unshare", "userfaultfd", "vfork"};

static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);
		int rc =
			number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, action, number, 0);

		if (rc < 0)
			return rc;
	}
	return 0;
}

// Flags of a descriptor, and another one for it. Not: whom the kernel sends which signal when
// something comes by it (F_SETOWN, F_SETSIG), which is a way to end others of the same user.
static int add_fcntl(scmp_filter_ctx filter)
{
	static const int commands[] = {
		F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL};
	int rc = 0;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)commands[i], 0));
	return rc;
}

static int add_partly(scmp_filter_ctx filter)
{
	int rc = add_fcntl(filter);

	// Memory becomes no code.
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	// Threads of Rust's libraries, but no processes. clone3 hides its flags behind a pointer:
	// the C library then takes clone.
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	rc |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	// abort() of its own.
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
		SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	rc |= seccomp_rule_add(
		filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME, 0));
	rc |= seccomp_rule_add(
		filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_VMA, 0));
	return rc ? -EINVAL : 0;
}

static scmp_filter_ctx make(int *rc)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	*rc = filter ? 0 : -ENOMEM;
	if (!*rc) // a binary tree
		*rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!*rc) // a call of another machine's numbering
		*rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!*rc)
		*rc = add_names(
			filter, SCMP_ACT_ALLOW, allowed, sizeof(allowed) / sizeof(allowed[0]));
	if (!*rc)
		*rc = add_names(
			filter, SCMP_ACT_KILL_PROCESS, deadly, sizeof(deadly) / sizeof(deadly[0]));
	if (!*rc)
		*rc = add_partly(filter);
	return filter;
}

int scan_jail_calls(char *err, size_t len)
{
	int rc;
	scmp_filter_ctx filter = make(&rc);

	if (!rc)
		rc = seccomp_load(filter);
	if (rc)
		snprintf(err, len, "seccomp: %s", strerror(-rc));
	if (filter)
		seccomp_release(filter);
	return rc;
}

int scan_jail_calls_export(int fd)
{
	int rc;
	scmp_filter_ctx filter = make(&rc);

	if (!rc)
		rc = seccomp_export_pfc(filter, fd);
	if (filter)
		seccomp_release(filter);
	return rc;
}
