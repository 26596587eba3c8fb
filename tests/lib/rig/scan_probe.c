// SPDX-License-Identifier: BSD-3-Clause
// The program sluice-scan with another way to look at files: what a file says is done, from inside
// of the jail, as if libclamav had been taken over. "PROBE verb": the verdict is infected, and its
// name is what came of it ("done", or the error's name). All other files are scanned.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include "scan/program/program.h"
#include "scan/wire.h"

static uint8_t *file; // as it lies in the arena

static long try_open(void)
{
	return open("/etc/passwd", O_RDONLY);
}
static long try_create(void)
{
	return open("/tmp/sluice-scan-probe", O_WRONLY | O_CREAT, 0600);
}
static long try_up(void)
{
	return open("..", O_RDONLY | O_DIRECTORY);
}
static long try_proc(void)
{
	return open("/proc/self/mem", O_RDWR);
}
static long try_unlink(void)
{
	return unlink("/etc/passwd");
}
static long try_link(void)
{
	return symlink("/etc/passwd", "link");
}
static long try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}
static long try_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}
static long try_connect(void)
{
	const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};

	return connect(SCAN_FD_FILES, (const struct sockaddr *)&to, sizeof(to));
}
static long try_fork(void)
{
	return syscall(SYS_fork);
}
static long try_clone(void)
{
	return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}
static long try_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}
static long try_exec(void)
{
	char name[] = "/bin/true";
	char *const words[] = {name, NULL};

	return execve(name, words, NULL);
}
static long try_ptrace(void)
{
	return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}
static long try_peek(void)
{
	char byte;
	struct iovec mine = {&byte, 1}, theirs = {&byte, 1};

	return process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0);
}
static long try_kill(void)
{
	return kill(getppid(), SIGKILL);
}
static long try_kill_all(void)
{
	return kill(-1, SIGKILL);
}
static long try_tgkill(void)
{
	return syscall(SYS_tgkill, 1, 1, SIGKILL);
}
// Whoever is named gets a signal from the kernel when the next request comes.
static long try_signal_owner(void)
{
	return fcntl(SCAN_FD_FILES, F_SETOWN, getpid());
}
static long try_signal_owner_ex(void)
{
	const struct {
		int kind;
		pid_t pid;
	} owner = {F_OWNER_PID, getpid()};

	return fcntl(SCAN_FD_FILES, F_SETOWN_EX, &owner);
}
static long try_signal_kind(void)
{
	return fcntl(SCAN_FD_FILES, F_SETSIG, SIGKILL);
}
static long try_arena_write(void)
{
	return write(SCAN_FD_ARENA, "x", 1);
}
static long try_arena_pwrite(void)
{
	return pwrite(SCAN_FD_ARENA, "x", 1, 0);
}
static long try_arena_protect(void)
{
	return mprotect(file, SCAN_PAGE, PROT_READ | PROT_WRITE);
}
static long try_arena_map(void)
{
	return mmap(NULL, SCAN_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, SCAN_FD_ARENA, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}
static long try_arena_shrink(void)
{
	return ftruncate(SCAN_FD_ARENA, 0);
}
static long try_code_map(void)
{
	return mmap(NULL, SCAN_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}
static long try_code_protect(void)
{
	void *at =
		mmap(NULL, SCAN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(at, SCAN_PAGE, PROT_READ | PROT_EXEC);
}
static long try_setuid(void)
{
	return setuid(0);
}
static long try_mount(void)
{
	return mount("none", ".", "tmpfs", 0, NULL);
}
static long try_unmount(void)
{
	return umount2(".", MNT_DETACH);
}
static long try_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}
static long try_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}
static long try_limit(void)
{
	const struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_AS, &limit);
}
static long try_ioctl(void)
{
	return syscall(SYS_ioctl, SCAN_FD_FILES, 0, NULL);
}
static long try_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}
static long try_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}
static long try_memfd(void)
{
	return memfd_create("probe", 0);
}
static long try_parent_stat(void)
{
	return open("/proc/1/environ", O_RDONLY);
}

// Those that are allowed: the probe itself works.
static long try_unpack(void)
{
	int fd = open("unpacked", O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		return -1;
	return close(fd);
}
static long try_memory(void)
{
	void *at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? -1 : munmap(at, 1 << 16);
}

// Threads, as libraries start them. The jail is theirs, too.
static long in_thread(void *(*run)(void *))
{
	pthread_t thread;
	void *error = NULL;
	int rc = pthread_create(&thread, NULL, run, NULL);

	if (!rc)
		rc = pthread_join(thread, &error);
	errno = rc ? rc : (int)(intptr_t)error;
	return errno ? -1 : 0;
}
static void *works(void *arg)
{
	char *own = malloc(1 << 20);

	(void)arg;
	if (!own)
		return (void *)(intptr_t)ENOMEM;
	memset(own, 1, 1 << 20);
	free(own);
	return NULL;
}
static void *opens(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)(try_proc() < 0 ? errno : 0);
}
static void *forks(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)(try_fork() < 0 ? errno : 0);
}
static void *stays(void *arg)
{
	(void)arg;
	for (;;)
		sleep(1000);
	return NULL;
}
static long try_thread(void)
{
	return in_thread(works);
}
static long try_thread_open(void)
{
	return in_thread(opens);
}
static long try_thread_fork(void)
{
	return in_thread(forks);
}
// One that outlives the verdict.
static long try_thread_stays(void)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, stays, NULL);
	return errno ? -1 : 0;
}
// Until no more can be had, within the limit of memory: the library sees an error.
static long try_threads(void)
{
	long rc = 0;

	for (unsigned i = 0; i < 100000 && !rc; i++)
		rc = try_thread_stays();
	return rc;
}
// Of a thread's flags and a new namespace's together: no process, and no namespace.
static long try_thread_namespace(void)
{
	return syscall(SYS_clone, CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | CLONE_NEWUSER, NULL,
		NULL, NULL, NULL);
}

// Files until the folder is full, which are left for the parent to remove.
static long try_fill(void)
{
	static char block[1 << 20];
	char name[32];

	for (unsigned i = 0;; i++) {
		snprintf(name, sizeof(name), "full%u", i);
		int fd = open(name, O_WRONLY | O_CREAT, 0600);

		if (fd < 0)
			return -1;
		for (unsigned n = 0; n < 16; n++)
			if (write(fd, block, sizeof(block)) != sizeof(block))
				return -1;
		close(fd);
	}
}
static long try_eat(void)
{
	for (;;) {
		char *at = malloc(1 << 20);

		if (!at)
			return -1;
		memset(at, 1, 1 << 20);
	}
}
static long try_loop(void)
{
	for (volatile bool on = true; on;)
		;
	return 0;
}
static long try_abort(void)
{
	abort();
}
static long try_fault(void)
{
	*(volatile char *)file = 1;
	return 0;
}
static long try_exit(void)
{
	_exit(3);
}
static long try_close(void)
{
	close(SCAN_FD_FILES);
	return try_loop();
}
static long try_garbage(void)
{
	return write(SCAN_FD_FILES, "what no verdict begins with", 27) == 27 ? try_loop() : -1;
}
static long try_other(void) // a verdict for another job
{
	struct scan_wire_verdict verdict = {.value = SCAN_CLEAN};

	scan_wire_head_set(&verdict.head, SCAN_WIRE_VERDICT, 77777);
	return write(SCAN_FD_FILES, &verdict, sizeof(verdict)) > 0 ? try_loop() : -1;
}

static const struct {
	const char *verb;
	long (*run)(void);
} probes[] = {{"open", try_open}, {"create", try_create}, {"up", try_up}, {"proc", try_proc},
	{"unlink", try_unlink}, {"link", try_link}, {"socket", try_socket}, {"unix", try_unix},
	{"connect", try_connect}, {"fork", try_fork}, {"clone", try_clone}, {"clone3", try_clone3},
	{"exec", try_exec}, {"ptrace", try_ptrace}, {"peek", try_peek}, {"kill", try_kill},
	{"kill-all", try_kill_all}, {"tgkill", try_tgkill}, {"signal-owner", try_signal_owner},
	{"signal-owner-ex", try_signal_owner_ex}, {"signal-kind", try_signal_kind},
	{"arena-write", try_arena_write}, {"arena-pwrite", try_arena_pwrite},
	{"arena-protect", try_arena_protect}, {"arena-map", try_arena_map},
	{"arena-shrink", try_arena_shrink}, {"code-map", try_code_map},
	{"code-protect", try_code_protect}, {"setuid", try_setuid}, {"mount", try_mount},
	{"unmount", try_unmount}, {"unshare", try_unshare}, {"dumpable", try_dumpable},
	{"limit", try_limit}, {"ioctl", try_ioctl}, {"uring", try_uring}, {"bpf", try_bpf},
	{"memfd", try_memfd}, {"other", try_other}, {"other-process", try_parent_stat},
	{"unpack", try_unpack}, {"memory", try_memory}, {"thread", try_thread},
	{"thread-open", try_thread_open}, {"thread-fork", try_thread_fork},
	{"thread-stays", try_thread_stays}, {"threads", try_threads},
	{"thread-namespace", try_thread_namespace}, {"fill", try_fill}, {"eat", try_eat},
	{"loop", try_loop}, {"abort", try_abort}, {"fault", try_fault}, {"exit", try_exit},
	{"close", try_close}, {"garbage", try_garbage}};

static void look(struct scan_clam *clam, const uint8_t *bytes, size_t n, struct scan_outcome *out)
{
	char verb[32] = "";

	if (n < 7 || n > 38 || memcmp(bytes, "PROBE ", 6) != 0) {
		scan_clam_scan(clam, bytes, n, out);
		return;
	}
	memcpy(verb, bytes + 6, n - 6);
	file = (uint8_t *)(uintptr_t)bytes;
	*out = (struct scan_outcome){.value = SCAN_INFECTED, .name = "no such probe"};
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (!strcmp(verb, probes[i].verb))
			scan_wire_text(out->name, sizeof(out->name),
				probes[i].run() < 0 ? strerrorname_np(errno) : "done");
}

int main(int argc, char **argv)
{
	return scan_program(argc, argv, look);
}
