// SPDX-License-Identifier: BSD-3-Clause
// What drivers may still ask the kernel for once the gateway forwards, by ioctl and by sockets of
// their own, argument by argument. Of the vdevs it is what strace shows behind the sandbox (ports
// in use, link down and up, stop); a driver of hardware has the whole range of its own interface.
#include "process/sandbox.h"

#include <errno.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <linux/vfio.h>
#include <linux/vhost.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "config/eal_args.h"

#define RDMA_IOCTL 0x1b // <rdma/rdma_user_ioctl_cmds.h>: of libibverbs, for mlx5

void sandbox_add_device(struct sandbox *sandbox, const char *device)
{
	// Not of hardware, and not in front of it as failsafe, bonding and netvsc are.
	static const char *const alone[] = {"net_af_packet", "net_af_xdp", "net_memif", "net_null",
		"net_pcap", "net_ring", "net_tap", "net_vhost", "net_virtio_user"};
	char driver[64];
	bool hardware = true;

	device_driver_of(device, driver, sizeof(driver));
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		hardware &= strcmp(driver, alone[i]) != 0;
	sandbox->has_hardware |= hardware;
	sandbox->asks_bpf |= strcmp(driver, "net_af_xdp") == 0;
	sandbox->asks_tap |= strcmp(driver, "net_tap") == 0;
	sandbox->asks_vhost |= !strcmp(driver, "net_virtio_user") || !strcmp(driver, "net_vhost");
	sandbox->may_connect |= sandbox->asks_vhost || strcmp(driver, "net_memif") == 0;
}

// The kernel takes the lower half of the number alone, so that the upper one must not hide any.
static int add_request(scmp_filter_ctx filter, unsigned long request)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
		SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, request & 0xffffffffu));
}

static int add_requests(scmp_filter_ctx filter, const unsigned long *requests, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		rc |= add_request(filter, requests[i]);
	return rc;
}

// All of a driver's own interface (its second octet).
static int add_interface(scmp_filter_ctx filter, unsigned type)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
		SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00u, type << 8));
}

#define ADD_REQUESTS(filter, table) add_requests(filter, table, sizeof(table) / sizeof((table)[0]))

static int add_ioctls(scmp_filter_ctx filter, const struct sandbox *sandbox)
{
	// libevent, stdio, and questions about an interface
	static const unsigned long all[] = {FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TCGETS,
		TIOCGWINSZ, SIOCGIFINDEX, SIOCGIFNAME, SIOCGIFFLAGS, SIOCGIFMTU, SIOCGIFHWADDR};
	static const unsigned long interfaces[] = {
		SIOCSIFFLAGS, SIOCSIFMTU, SIOCSIFHWADDR, SIOCETHTOOL};
	static const unsigned long tap[] = {TUNSETIFF, TUNGETIFF, TUNGETFEATURES, TUNSETQUEUE,
		TUNSETOFFLOAD, TUNSETPERSIST, TUNSETSNDBUF, TUNGETVNETHDRSZ, TUNSETVNETHDRSZ};
	int rc = ADD_REQUESTS(filter, all);

	if (sandbox->asks_tap || sandbox->has_hardware)
		rc |= ADD_REQUESTS(filter, interfaces);
	if (sandbox->asks_tap || sandbox->asks_vhost)
		rc |= ADD_REQUESTS(filter, tap);
	if (sandbox->asks_vhost)
		rc |= add_interface(filter, VHOST_VIRTIO);
	if (sandbox->has_hardware)
		rc |= add_interface(filter, VFIO_TYPE) | add_interface(filter, RDMA_IOCTL);
	return rc;
}

static int add_socket(scmp_filter_ctx filter, int family, int type)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
		SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family, 0),
		SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, (scmp_datum_t)type)); // flags are above
}

static int add_netlink(scmp_filter_ctx filter, int protocol)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3,
		SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW),
		SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)protocol, 0));
}

// Sockets are made for ioctl and netlink; packets are no socket's business.
static int add_sockets(scmp_filter_ctx filter, const struct sandbox *sandbox)
{
	int rc = add_socket(filter, AF_UNIX, SOCK_DGRAM);

	if (sandbox->may_connect)
		rc |= add_socket(filter, AF_UNIX, SOCK_STREAM) |
		      add_socket(filter, AF_UNIX, SOCK_SEQPACKET);
	if (sandbox->asks_tap || sandbox->asks_vhost || sandbox->has_hardware)
		rc |= add_socket(filter, AF_INET, SOCK_DGRAM);
	if (sandbox->asks_bpf || sandbox->asks_tap || sandbox->has_hardware)
		rc |= add_netlink(filter, NETLINK_ROUTE);
	if (sandbox->has_hardware)
		rc |= add_netlink(filter, NETLINK_RDMA);
	return rc;
}

int sandbox_devices(void *filter, const struct sandbox *sandbox)
{
	return add_ioctls(filter, sandbox) | add_sockets(filter, sandbox) ? -EINVAL : 0;
}
