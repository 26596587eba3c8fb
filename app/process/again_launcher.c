// SPDX-License-Identifier: BSD-3-Clause
// The launcher's half of again.h. What is handed over serves one interface: who has taken over the
// gateway gains no other one by it. But for AF_PACKET: such a socket, though bound, sends by any
// interface that its owner names. Only a port of af_packet gets one, whose gateway had the like of
// its driver before.
#include "process/again.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "config/eal_args.h"
#include "process/link.h"

#define PACKET_ROOM (8 << 20)

enum again_kind again_kind_of(const char *device)
{
	char text[64];

	device_driver_of(device, text, sizeof(text));
	if (strcmp(text, "net_af_packet") == 0)
		return AGAIN_PACKET;
	if (strcmp(text, "net_tap") == 0)
		return AGAIN_TAP;
	// A program of the operator's own would have to be loaded as the driver does it.
	if (strcmp(text, "net_af_xdp") == 0 &&
		!device_arg_of(device, "xdp_prog", text, sizeof(text)))
		return AGAIN_XDP;
	return AGAIN_NONE;
}

bool again_interface_of(const char *device, char *out)
{
	return device_arg_of(device, "iface", out, IF_NAMESIZE);
}

static uint32_t number_of(const char *device, const char *key, uint32_t without)
{
	char text[16];

	return device_arg_of(device, key, text, sizeof(text)) ? (uint32_t)strtoul(text, NULL, 10)
							      : without;
}

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	int rc = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	return rc < 0 ? -errno : rc;
}

// What is for one of the queues goes to its socket, the rest to the kernel:
// return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS);
static int program_load(int map)
{
	const struct bpf_insn code[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_W,
			.dst_reg = BPF_REG_2,
			.src_reg = BPF_REG_1,
			.off = offsetof(struct xdp_md, rx_queue_index)},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
			.dst_reg = BPF_REG_1,
			.src_reg = BPF_PSEUDO_MAP_FD,
			.imm = map},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.insns = (uint64_t)(uintptr_t)code,
		.license = (uint64_t)(uintptr_t) "Dual BSD/GPL",
		.prog_name = "sluice",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

// By a link, whose descriptor holds the program there: nobody has to take it off. The descriptor,
// or -errno.
static int program_link(unsigned ifindex, int program, uint32_t flags)
{
	union bpf_attr attr = {.link_create = {.prog_fd = (uint32_t)program,
				       .target_ifindex = ifindex,
				       .attach_type = BPF_XDP,
				       .flags = flags}};

	return bpf(BPF_LINK_CREATE, &attr);
}

static int program_attach(unsigned ifindex, const int *sockets, uint32_t first, uint32_t n)
{
	union bpf_attr map_attr = {.map_type = BPF_MAP_TYPE_XSKMAP,
		.key_size = 4,
		.value_size = 4,
		.max_entries = first + n,
		.map_name = "sluice"};
	int map = bpf(BPF_MAP_CREATE, &map_attr), rc = map < 0 ? map : 0, program = -1;

	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t key = first + i;
		union bpf_attr attr = {.map_fd = (uint32_t)map,
			.key = (uint64_t)(uintptr_t)&key,
			.value = (uint64_t)(uintptr_t)&sockets[i]};

		rc = bpf(BPF_MAP_UPDATE_ELEM, &attr);
	}
	if (!rc) {
		program = program_load(map);
		rc = program < 0 ? program : 0;
	}
	if (!rc) { // the driver's own mode if it has one, else the general one
		rc = program_link(ifindex, program, 0);
		if (rc < 0 && rc != -EBUSY)
			rc = program_link(ifindex, program, XDP_FLAGS_SKB_MODE);
	}
	if (program >= 0)
		close(program);
	if (map >= 0)
		close(map);
	return rc;
}

static int set(int fd, int level, int option, const void *value, size_t length)
{
	return setsockopt(fd, level, option, value, (socklen_t)length) < 0 ? -errno : 0;
}

static int xdp_socket(unsigned ifindex, uint32_t queue, uint16_t flags, char *memory)
{
	static const int rings[] = {
		XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING};
	const struct xdp_umem_reg umem = {.addr = (uint64_t)(uintptr_t)memory,
		.len = (uint64_t)AGAIN_FRAMES * AGAIN_FRAME,
		.chunk_size = AGAIN_FRAME};
	const struct sockaddr_xdp address = {.sxdp_family = AF_XDP,
		.sxdp_flags = flags,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue};
	uint32_t size = AGAIN_RING;
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	int rc = set(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem));
	for (unsigned i = 0; i < sizeof(rings) / sizeof(rings[0]) && !rc; i++)
		rc = set(fd, SOL_XDP, rings[i], &size, sizeof(size));
	if (!rc && bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		rc = -errno;
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

// Promiscuous for as long as the socket is open.
static int listen_to_all(int fd, unsigned ifindex)
{
	const struct packet_mreq all = {.mr_ifindex = (int)ifindex, .mr_type = PACKET_MR_PROMISC};

	return set(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
}

static int fail_at(struct again_sockets *out, enum again_step step, int rc)
{
	out->answer.step = step;
	return rc;
}

static void add(struct again_sockets *out, int fd)
{
	out->fds[out->n_fds++] = fd;
}

// Its queues, then the extras in their order.
static int open_xdp(const char *device, struct again_sockets *out, int *listener)
{
	uint32_t n = number_of(device, "queue_count", 1),
		 first = number_of(device, "start_queue", 0);
	size_t each = (size_t)AGAIN_FRAMES * AGAIN_FRAME;
	uint16_t flags = XDP_USE_NEED_WAKEUP;
	unsigned ifindex = out->answer.ifindex;
	char *map = MAP_FAILED;

	if (!n || n > AGAIN_QUEUES_MAX)
		return fail_at(out, AGAIN_SOCKET, -E2BIG);
	if (number_of(device, "force_copy", 0))
		flags |= XDP_COPY;
	int memory = memfd_create("sluice-port", MFD_CLOEXEC);
	if (memory < 0)
		return fail_at(out, AGAIN_SOCKET, -errno);
	if (ftruncate(memory, (off_t)(n * each)) == 0)
		map = mmap(NULL, n * each, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	int rc = map == MAP_FAILED ? -errno : 0;
	for (uint32_t i = 0; i < n && !rc; i++) {
		int fd = xdp_socket(ifindex, first + i, flags, map + i * each);
		if (fd < 0)
			rc = fd;
		else
			add(out, fd);
	}
	if (map != MAP_FAILED)
		munmap(map, n * each); // the sockets keep its pages
	add(out, memory);
	if (rc)
		return fail_at(out, AGAIN_SOCKET, rc);
	out->answer.queues = n;
	int link = program_attach(ifindex, out->fds, first, n);
	if (link < 0)
		return fail_at(out, AGAIN_PROGRAM, link);
	add(out, link);
	*listener = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); // receives nothing
	return fail_at(
		out, AGAIN_PROMISCUOUS, *listener < 0 ? -errno : listen_to_all(*listener, ifindex));
}

static int open_packet(struct again_sockets *out)
{
	const struct sockaddr_ll address = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)out->answer.ifindex};
	int one = 1, room = PACKET_ROOM;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fail_at(out, AGAIN_SOCKET, -errno);
	add(out, fd);
	out->answer.queues = 1;
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	int rc = set(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one));
	if (!rc)
		rc = set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	if (!rc && bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		rc = -errno;
	if (rc)
		return fail_at(out, AGAIN_SOCKET, rc);
	return fail_at(out, AGAIN_PROMISCUOUS, listen_to_all(fd, out->answer.ifindex));
}

// A tap's interface is the gateway's own: it is made here, or not at all. One of that name that
// somebody else has made, perhaps of another port, is never joined.
static int open_tap(const char *interface, uint32_t mtu, struct again_sockets *out)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | (short)IFF_TUN_EXCL};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return fail_at(out, AGAIN_MAKE, -errno);
	add(out, fd);
	out->answer.queues = 1;
	memcpy(request.ifr_name, interface, strnlen(interface, IFNAMSIZ - 1));
	if (ioctl(fd, TUNSETIFF, &request) < 0) {
		int rc = if_nametoindex(interface) ? -EEXIST : -errno;
		return fail_at(out, AGAIN_MAKE, rc);
	}
	out->answer.ifindex = if_nametoindex(interface);
	return fail_at(out, AGAIN_SET_UP, link_up(out->answer.ifindex, mtu));
}

static uint32_t mtu_of(const char *interface)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t mtu = 0;

	memcpy(request.ifr_name, interface, strnlen(interface, IFNAMSIZ - 1));
	if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0)
		mtu = (uint32_t)request.ifr_mtu;
	if (fd >= 0)
		close(fd);
	return mtu;
}

void again_open(const char *device, const char *interface, uint32_t mtu, struct again_sockets *out,
	int *listener)
{
	enum again_kind kind = again_kind_of(device);
	int rc = -ENOTSUP;

	*listener = -1;
	*out = (struct again_sockets){
		.answer = {.ifindex = if_nametoindex(interface), .kind = kind}};
	if (kind != AGAIN_NONE && kind != AGAIN_TAP && !out->answer.ifindex)
		rc = -ENODEV;
	else if (kind == AGAIN_XDP)
		rc = open_xdp(device, out, listener);
	else if (kind == AGAIN_PACKET)
		rc = open_packet(out);
	else if (kind == AGAIN_TAP)
		rc = open_tap(interface, mtu, out);
	if (rc < 0) {
		again_close(out);
		if (*listener >= 0)
			close(*listener);
		*listener = -1;
	}
	out->answer.error = rc;
	out->answer.mtu = mtu_of(interface);
}

void again_close(struct again_sockets *sockets)
{
	for (unsigned i = 0; i < sockets->n_fds; i++)
		close(sockets->fds[i]);
	sockets->n_fds = 0;
}

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * (AGAIN_QUEUES_MAX + AGAIN_EXTRAS))];
};

int again_send_sockets(int fd, const struct again_sockets *sockets)
{
	struct again_answer answer = sockets->answer;
	struct iovec iov = {&answer, sizeof(answer)};
	union control control = {0};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (sockets->n_fds) {
		size_t length = sizeof(int) * sockets->n_fds;

		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(length);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(length),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), sockets->fds, length);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int again_receive_sockets(int fd, struct again_sockets *out)
{
	struct iovec iov = {&out->answer, sizeof(out->answer)};
	union control control;
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(out->fds))}; // its padding is room, too

	*out = (struct again_sockets){0};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		out->n_fds = (unsigned)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(out->fds, CMSG_DATA(header), out->n_fds * sizeof(int));
	}
	if (n == (ssize_t)sizeof(out->answer) && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	again_close(out);
	return n ? -EPROTO : -EPIPE;
}
