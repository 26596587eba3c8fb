// SPDX-License-Identifier: BSD-3-Clause
// The system calls of a gateway that forwards. A list of what may be, not of what may not: what is
// not named is refused (EPERM), and what only an intruder would try ends the process.
#include "process/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *const allowed[] = {
	// files, within Landlock's bounds
	"access", "chdir", "chmod", "close", "close_range", "faccessat", "faccessat2", "fadvise64",
	"fallocate", "fchmod", "fchmodat", "fcntl", "fdatasync", "flock", "fstat", "fstatfs",
	"fsync", "ftruncate", "getcwd", "getdents64", "link", "linkat", "lseek", "lstat", "mkdir",
	"mkdirat", "newfstatat", "open", "openat", "pread64", "preadv", "pwrite64", "pwritev",
	"read", "readlink", "readlinkat", "readv", "rename", "renameat", "renameat2", "rmdir",
	"sendfile", "stat", "statfs", "statx", "sync_file_range", "umask", "unlink", "unlinkat",
	"utimensat", "write", "writev",
	// descriptors and waiting; epoll_create is what EAL's interrupt thread calls, and panics
	// without, whenever a driver adds a source (memif: when its peer comes)
	"dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "eventfd2", "memfd_create", "pipe", "pipe2", "poll", "ppoll",
	"pselect6", "select", "timerfd_create", "timerfd_gettime", "timerfd_settime",
	// sockets that are open already, and those that they accept
	"accept", "accept4", "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmmsg",
	"recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socketpair",
	// memory
	"brk", "get_mempolicy", "madvise", "mbind", "mincore", "mlock", "mlock2", "mremap", "msync",
	"munlock", "munlockall", "munmap",
	// threads, signals, time
	"clock_getres", "clock_gettime", "clock_nanosleep", "exit", "exit_group", "futex",
	"futex_waitv", "get_robust_list", "getcpu", "getegid", "geteuid", "getgid", "getgroups",
	"getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid",
	"getresuid", "getrlimit", "getrusage", "getsid", "gettid", "gettimeofday", "getuid",
	"membarrier", "nanosleep", "prlimit64", "restart_syscall", "rseq", "rt_sigaction",
	"rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
	"sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getparam",
	"sched_getscheduler", "sched_setaffinity", "sched_yield", "set_robust_list",
	"set_tid_address", "setitimer", "setpriority", "sigaltstack", "sysinfo", "time", "times",
	"uname", "wait4", "waitid"};

// Nobody of ours ever asks for these: who does is not us any more.
static const char *const deadly[] = {"acct", "add_key", "chroot", "delete_module", "execve",
	"execveat", "finit_module", "fork", "init_module", "ioperm", "iopl", "kcmp",
	"kexec_file_load", "kexec_load", "keyctl", "mount", "mount_setattr", "move_mount",
	"open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "process_vm_readv",
	"process_vm_writev", "ptrace", "quotactl", "reboot", "request_key", "setdomainname",
	"sethostname", "setns", "settimeofday", "swapoff", "swapon", "umount2", "unshare",
	"userfaultfd", "vfork"};

static int add_names(scmp_filter_ctx filter, uint32_t action, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);
		int rc;

		if (number == __NR_SCMP_ERROR)
			continue; // libseccomp is older than the call: then it is refused, too
		rc = seccomp_rule_add(filter, action, number, 0);
		if (rc < 0 && rc != -EEXIST)
			return rc;
	}
	return 0;
}

// Those of which only some uses are ours.
static int add_partly(scmp_filter_ctx filter, const struct sandbox *sandbox)
{
	static const int controls[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_TIMERSLACK,
		PR_GET_TIMERSLACK, PR_GET_DUMPABLE, PR_SET_VMA, PR_GET_NO_NEW_PRIVS};
	int rc = 0;

	// Threads, but no processes. clone3 hides its flags behind a pointer: the C library then
	// takes clone.
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	rc |= seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	rc |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	// Memory becomes no code.
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	rc |= sandbox_devices(filter, sandbox);
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
			SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)controls[i], 0));
	// To its own threads (cancelling one, abort); others belong to nobody here.
	rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
		SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	if (sandbox->may_connect) {
		rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(connect), 0);
		rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(bind), 0);
		rc |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(listen), 0);
	}
	if (!sandbox->asks_bpf)
		rc |= seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(bpf), 0);
	return rc ? -EINVAL : 0;
}

int sandbox_calls(const struct sandbox *sandbox, char *err, size_t err_len)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = filter ? 0 : -ENOMEM;

	if (!rc)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!rc) // a binary tree: every lcore pays for the way to its call
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	// The filter confines errors of ours, it runs nobody else's code: no need for the slow
	// mitigation of speculative stores, which some kernels would otherwise turn on with it.
	if (!rc)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	if (!rc) // a call of another machine's numbering
		rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!rc)
		rc = add_names(
			filter, SCMP_ACT_ALLOW, allowed, sizeof(allowed) / sizeof(allowed[0]));
	if (!rc)
		rc = add_names(
			filter, SCMP_ACT_KILL_PROCESS, deadly, sizeof(deadly) / sizeof(deadly[0]));
	if (!rc)
		rc = add_partly(filter, sandbox);
	if (!rc)
		rc = seccomp_load(filter);
	if (rc < 0)
		snprintf(err, err_len,
			"sandbox: seccomp: %s; \"sandbox\": false in gateway.json starts without",
			strerror(-rc));
	if (filter)
		seccomp_release(filter);
	return rc;
}
