// SPDX-License-Identifier: BSD-3-Clause
// What a process may do in the sandbox, and what not: each case is a child that enters it.
#include "process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <linux/tiocl.h>
#include <linux/vfio.h>
#include <linux/vhost.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/threads.h"

static char dir[] = "/tmp/sluice-sandbox.XXXXXX";
static bool asks_bpf;
static const char *device; // of the only port; NULL: there is none

static void path_in(const char *name, char *out, size_t out_len)
{
	snprintf(out, out_len, "%s/%s", dir, name);
}

static int make_places(void **state)
{
	static const char *const folders[] = {"events", "policy", "other"};
	char path[128];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < 3; i++) {
		path_in(folders[i], path, sizeof path);
		assert_int_equal(mkdir(path, 0755), 0);
		snprintf(path, sizeof path, "%s/%s/file", dir, folders[i]);
		int fd = open(path, O_CREAT | O_WRONLY, 0644);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "x\n", 2), 2);
		close(fd);
	}
	return 0;
}

static int remove_places(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static void enter(void)
{
	static struct gateway gateway;
	static char events[128], policy[128], control[128];
	static struct sandbox sandbox;
	char err[512] = "";

	path_in("events/eve.json", events, sizeof events);
	path_in("events/control.sock", control, sizeof control);
	path_in("policy/policy.json", policy, sizeof policy);
	gateway.paths.events = events;
	gateway.paths.control = control;
	gateway.paths.signatures = policy; // is not there
	sandbox_init(&sandbox, &gateway, policy, policy);
	sandbox.asks_bpf = asks_bpf;
	if (device)
		sandbox_add_device(&sandbox, device);
	if (sandbox_enter(&sandbox, err, sizeof err) < 0) {
		fprintf(stderr, "%s\n", err);
		_exit(99);
	}
}

// Runs `action` in the sandbox: its exit code, or minus the signal that ended it.
static int inside(int (*action)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		enter();
		_exit(action());
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// errno of an open, 0 if it went well.
static int opens(const char *name, int flags)
{
	char path[128];

	if (*name == '/')
		snprintf(path, sizeof path, "%s", name);
	else
		path_in(name, path, sizeof path);
	int fd = open(path, flags, 0640);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int allowed_files(void)
{
	char old[128], new[128];

	path_in("events/eve.json", old, sizeof old);
	path_in("events/eve.json.1", new, sizeof new);
	if (opens("events/eve.json", O_WRONLY | O_CREAT | O_APPEND) || rename(old, new) < 0 ||
		opens("events/eve.json", O_WRONLY | O_CREAT | O_APPEND) || unlink(new) < 0)
		return 1;
	if (opens("policy/file", O_RDONLY) || opens("/proc/self/status", O_RDONLY) ||
		opens("/sys/devices/system/cpu/online", O_RDONLY) || opens("/dev/null", O_WRONLY) ||
		opens("/dev/urandom", O_RDONLY))
		return 2;
	return 0;
}

static int forbidden_files(void)
{
	return opens("other/file", O_RDONLY) == EACCES &&
			       opens("/etc/passwd", O_RDONLY) == EACCES &&
			       opens("policy/file", O_WRONLY) == EACCES &&
			       opens("policy/new", O_WRONLY | O_CREAT) == EACCES &&
			       opens("other/new", O_WRONLY | O_CREAT) == EACCES &&
			       opens("/dev/zero", O_RDONLY) == EACCES
		       ? 0
		       : 1;
}

static void files_are_those_of_the_configuration(void **state)
{
	(void)state;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
		skip(); // no Landlock in this kernel
	assert_int_equal(inside(allowed_files), 0);
	assert_int_equal(inside(forbidden_files), 0);
}

static int tries_execve(void)
{
	char *argv[] = {NULL}, *envp[] = {NULL};

	execve("/bin/true", argv, envp);
	return 1;
}
static int tries_fork(void)
{
	return fork() >= 0 ? 1 : 2;
}
static int tries_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, 0, 0) + 3;
}
static int tries_mount(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL) + 3;
}
static int tries_module(void)
{
	return (int)syscall(SYS_finit_module, 0, "", 0) + 3;
}
static int tries_unshare(void)
{
	return unshare(CLONE_NEWUSER) + 3;
}
static int tries_bpf(void)
{
	union bpf_attr attr = {0};

	return syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof attr) < 0 ? errno : 1;
}
static int tries_namespace(void)
{
	return setns(0, 0) + 3;
}

static void what_only_an_intruder_would_do_ends_it(void **state)
{
	static int (*const tries[])(void) = {tries_execve, tries_fork, tries_ptrace, tries_mount,
		tries_module, tries_unshare, tries_bpf, tries_namespace};

	(void)state;
	for (unsigned i = 0; i < sizeof tries / sizeof *tries; i++)
		assert_int_equal(inside(tries[i]), -SIGSYS);
	asks_bpf = true; // af_xdp: it is refused, and the driver goes on
	assert_int_equal(inside(tries_bpf), EPERM);
	asks_bpf = false;
}

static int refused_calls(void)
{
	struct sockaddr_un peer = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0 || errno != EPERM)
		return 1;
	if (socket(AF_PACKET, SOCK_RAW, 0) >= 0 || errno != EPERM)
		return 2;
	if (kill(getppid(), 0) == 0 || errno != EPERM)
		return 3;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		MAP_FAILED)
		return 4;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0)
		return 5;
	if (setuid(getuid()) == 0)
		return 6;
	return 0;
}

static void what_is_not_needed_is_refused(void **state)
{
	(void)state;
	assert_int_equal(inside(refused_calls), 0);
}

// What the filter says of a request to no descriptor: EPERM, or the kernel's EBADF.
static bool may_ioctl(unsigned long request)
{
	return syscall(SYS_ioctl, -1, request, NULL) < 0 && errno == EBADF;
}

static bool may_socket(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EPERM;
}

// For whom: bits of drivers.
enum {
	ALL = 1 << 0,
	XDP = 1 << 1,
	MEMIF = 1 << 2,
	TAP = 1 << 3,
	VIRTIO = 1 << 4,
	NIC = 1 << 5,
};

static const struct request {
	unsigned long request;
	unsigned who;
} requests[] = {
	{FIONREAD, ALL},
	{FIONBIO, ALL},
	{TCGETS, ALL},
	{SIOCGIFINDEX, ALL},
	{SIOCGIFFLAGS, ALL},
	{SIOCSIFFLAGS, TAP | NIC},
	{SIOCETHTOOL, TAP | NIC},
	{TUNSETIFF, TAP | VIRTIO},
	{TUNSETOFFLOAD, TAP | VIRTIO},
	{VHOST_SET_OWNER, VIRTIO},
	{VFIO_DEVICE_SET_IRQS, NIC},
	{0xc0181b01, NIC}, // RDMA_VERBS_IOCTL
	// nobody's: what is typed for the user of a terminal, loop devices, routes, addresses
	{TIOCSTI, 0},
	{TIOCSTI | 1ul << 32, 0},
	{TIOCLINUX, 0},
	{TIOCSCTTY, 0},
	{SIOCADDRT, 0},
	{SIOCSIFADDR, 0},
	{SIOCSIFNAME, 0},
	{FS_IOC_SETFLAGS, 0},
	{0x4c00, 0}, // LOOP_SET_FD
	{0xae01, 0}, // KVM_CREATE_VM
	{0, 0},
};

static const struct opened_socket {
	int family, type, protocol;
	unsigned who;
} sockets[] = {
	{AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ALL},
	{AF_UNIX, SOCK_STREAM, 0, MEMIF | VIRTIO},
	{AF_UNIX, SOCK_SEQPACKET, 0, MEMIF | VIRTIO},
	{AF_INET, SOCK_DGRAM, 0, TAP | VIRTIO | NIC},
	{AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0, XDP | TAP | NIC}, // routes
	{AF_NETLINK, SOCK_RAW, 20, NIC},                           // RDMA
	{AF_NETLINK, SOCK_RAW, 9, 0},                              // audit
	{AF_NETLINK, SOCK_RAW, 12, 0},                             // netfilter
	{AF_NETLINK, SOCK_RAW, 16, 0},                             // generic
	{AF_NETLINK, SOCK_DGRAM, 0, 0},
	{AF_UNIX, SOCK_RAW, 0, 0},
	{AF_INET, SOCK_STREAM, 0, 0},
	{AF_INET, SOCK_RAW, IPPROTO_RAW, 0},
	{AF_INET6, SOCK_DGRAM, 0, 0},
	{AF_INET6, SOCK_RAW, IPPROTO_RAW, 0},
	{AF_PACKET, SOCK_RAW, 0, 0},
	{AF_XDP, SOCK_RAW, 0, 0},
	{AF_ALG, SOCK_SEQPACKET, 0, 0},
	{AF_VSOCK, SOCK_STREAM, 0, 0},
	{AF_KEY, SOCK_RAW, 2, 0},
	{AF_BLUETOOTH, SOCK_RAW, 0, 0},
};

static unsigned who;

static int asks_for_all(void)
{
	for (int i = 0; i < (int)(sizeof requests / sizeof *requests); i++)
		if (may_ioctl(requests[i].request) != !!(requests[i].who & who))
			return 1 + i;
	for (int i = 0; i < (int)(sizeof sockets / sizeof *sockets); i++)
		if (may_socket(sockets[i].family, sockets[i].type, sockets[i].protocol) !=
			!!(sockets[i].who & who))
			return 101 + i;
	return 0;
}

static void drivers_get_their_own_ioctls_and_sockets(void **state)
{
	static const struct {
		const char *device;
		unsigned who;
	} devices[] = {
		{NULL, ALL},
		{"net_af_packet0,iface=eth0", ALL},
		{"net_af_xdp0,iface=eth0", ALL | XDP},
		{"net_memif0,role=client", ALL | MEMIF},
		{"net_tap0,iface=tap0", ALL | TAP},
		{"net_virtio_user0,path=/dev/vhost-net", ALL | VIRTIO},
		{"0000:01:00.0", ALL | NIC},
		{"net_bonding0", ALL | NIC},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
		device = devices[i].device;
		who = devices[i].who;
		int rc = inside(asks_for_all);

		if (rc)
			fail_msg("%s: row %d", device ? device : "no device", rc);
	}
	device = NULL;
}

static void *a_thread(void *ctx)
{
	(void)ctx;
	return (void *)(uintptr_t)(opens("events/file", O_RDONLY) == 0 ? 7 : 0);
}

static void *waits_for_ever(void *ctx)
{
	(void)ctx;
	poll(NULL, 0, -1); // pause() is not among the permitted calls: it would return at once
	return NULL;
}

static int makes_and_cancels_threads(void)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, a_thread, NULL) || pthread_join(thread, &result) ||
		(uintptr_t)result != 7)
		return 1;
	if (pthread_create(&thread, NULL, waits_for_ever, NULL))
		return 2;
	pthread_cancel(thread);
	return pthread_join(thread, &result) || result != PTHREAD_CANCELED ? 3 : 0;
}

static void threads_come_and_go(void **state)
{
	(void)state;
	assert_int_equal(inside(makes_and_cancels_threads), 0);
}

static atomic_int go, refused;

// Was there before the sandbox, as EAL's threads are, and blocks what they block.
static void *old_thread(void *ctx)
{
	(void)ctx;
	while (!atomic_load(&go))
		usleep(1000);
	if (opens("other/file", O_RDONLY) == EACCES && socket(AF_PACKET, SOCK_RAW, 0) < 0 &&
		errno == EPERM)
		atomic_fetch_add(&refused, 1);
	return NULL;
}

static void threads_of_before_are_in_it_too(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
		skip();
	pid = fork();
	if (pid == 0) {
		pthread_t threads[5];
		sigset_t most;

		sigfillset(&most);
		sigdelset(&most, SIGSYS);
		pthread_sigmask(SIG_SETMASK, &most, NULL);
		for (unsigned i = 0; i < 5; i++)
			pthread_create(&threads[i], NULL, old_thread, NULL);
		if (threads_count() != 6)
			_exit(2);
		enter();
		atomic_store(&go, 1);
		for (unsigned i = 0; i < 5; i++)
			pthread_join(threads[i], NULL);
		_exit(atomic_load(&refused) == 5 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int count_thread(void *ctx)
{
	(void)ctx;
	return 1;
}

static int fail_here(void *ctx)
{
	(void)ctx;
	return -EPERM;
}

static void each_thread_is_asked_once(void **state)
{
	pthread_t threads[3];

	(void)state;
	atomic_store(&go, 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, old_thread, NULL);
	assert_int_equal(threads_each(count_thread, NULL), 4);
	assert_int_equal(threads_each(fail_here, NULL), -EPERM);
	atomic_store(&go, 1);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void the_root_is_never_opened_as_a_whole(void **state)
{
	static struct sandbox sandbox;

	(void)state;
	sandbox_add_folder(&sandbox, "/policy.json", false);
	assert_int_equal(sandbox.n_paths, 0);
	sandbox_add_folder(&sandbox, "policy.json", false);
	assert_string_equal(sandbox.paths[0].path, ".");
	sandbox_add_folder(&sandbox, "/etc/sluice/policy.json", true);
	assert_string_equal(sandbox.paths[1].path, "/etc/sluice");
	assert_true(sandbox.paths[1].write);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_those_of_the_configuration),
		cmocka_unit_test(what_only_an_intruder_would_do_ends_it),
		cmocka_unit_test(what_is_not_needed_is_refused),
		cmocka_unit_test(drivers_get_their_own_ioctls_and_sockets),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(threads_of_before_are_in_it_too),
		cmocka_unit_test(each_thread_is_asked_once),
		cmocka_unit_test(the_root_is_never_opened_as_a_whole),
	};

	return cmocka_run_group_tests(tests, make_places, remove_places);
}
