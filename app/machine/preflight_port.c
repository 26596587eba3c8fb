// SPDX-License-Identifier: BSD-3-Clause
// The preflight of ports: whether a device is there and may be taken, and what this machine, or
// another gateway, uses it for.
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config/eal_args.h"
#include "machine/interfaces.h"
#include "base/options.h"
#include "machine/port_claim.h"
#include "machine/preflight.h"

#define CAP_BIT(cap) (1ull << (cap))

static const struct {
	uint64_t bit;
	const char *name;
} capability_names[] = {
	{CAP_BIT(CAP_NET_ADMIN), "CAP_NET_ADMIN"},
	{CAP_BIT(CAP_NET_RAW), "CAP_NET_RAW"},
	{CAP_BIT(CAP_SYS_ADMIN), "CAP_SYS_ADMIN"},
};

// Virtual devices that are a front of something in the kernel.
static const struct {
	const char *driver;
	const char *interface_key; // the argument that names an interface that must exist
	uint64_t capabilities;
	bool locks_memory; // pins its packet buffers
} kernel_drivers[] = {
	// CAP_BPF is not enough: libxdp finds its program by id (bpf(2), BPF_PROG_GET_FD_BY_ID).
	{"net_af_xdp", "iface",
		CAP_BIT(CAP_NET_ADMIN) | CAP_BIT(CAP_NET_RAW) | CAP_BIT(CAP_SYS_ADMIN), true},
	{"net_af_packet", "iface", CAP_BIT(CAP_NET_ADMIN) | CAP_BIT(CAP_NET_RAW), false},
	{"net_tap", NULL, CAP_BIT(CAP_NET_ADMIN), false},
	{"net_pcap", "iface", CAP_BIT(CAP_NET_RAW), false},
	{"net_pcap", "rx_iface", CAP_BIT(CAP_NET_RAW), false},
	{"net_pcap", "tx_iface", CAP_BIT(CAP_NET_RAW), false},
};
#define KERNEL_DRIVERS (sizeof(kernel_drivers) / sizeof(kernel_drivers[0]))

// A directory's names as "a, b, c"; `accept` may refuse some.
static void list_names(const char *dir, bool (*accept)(const char *dir, const char *name),
	char *out, size_t out_len)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, NULL, alphasort);
	size_t used = 0;

	out[0] = '\0';
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		if (name[0] != '.' && (!accept || accept(dir, name)) && used < out_len)
			used += (size_t)snprintf(
				out + used, out_len - used, "%s%s", used ? ", " : "", name);
		free(entries[i]);
	}
	free(entries);
	if (!used)
		snprintf(out, out_len, "none");
}

static bool is_network_class(const char *dir, const char *name)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), "%.3000s/%.64s/class", dir, name);
	return preflight_read(path, text, sizeof(text)) && strncmp(text, "0x02", 4) == 0;
}

static void list_interfaces(char *out, size_t out_len)
{
	struct if_nameindex *list = if_nameindex();
	size_t used = 0;

	snprintf(out, out_len, "none");
	for (struct if_nameindex *at = list; at && at->if_name && used < out_len; at++)
		used += (size_t)snprintf(
			out + used, out_len - used, "%s%s", used ? ", " : "", at->if_name);
	if (list)
		if_freenameindex(list);
}

// The interface that the device's arguments name, if its driver wants one.
static bool interface_of(const char *device, char *out, size_t out_len)
{
	char driver[64];

	device_driver_of(device, driver, sizeof(driver));
	for (size_t i = 0; i < KERNEL_DRIVERS; i++) {
		if (strcmp(kernel_drivers[i].driver, driver) == 0 &&
			kernel_drivers[i].interface_key &&
			device_arg_of(device, kernel_drivers[i].interface_key, out, out_len))
			return true;
	}
	return false;
}

static void describe_pci(const char *device, const char *sys, char *out, size_t out_len)
{
	char name[32], path[PATH_MAX], others[256];

	device_name_of(device, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/bus/pci/devices", sys);
	list_names(path, is_network_class, others, sizeof(others));
	snprintf(out, out_len,
		"there is no PCI device %s that DPDK can use; network devices here: %s", name,
		others);
}

static bool is_driver(const char *word)
{
	return strncmp(word, "net_", 4) == 0 || strncmp(word, "eth_", 4) == 0;
}

static const char *const drivers[] = {"net_af_xdp", "net_af_packet", "net_pcap", "net_ring",
	"net_null", "net_tap", "net_memif", "net_virtio_user", "net_vhost", "net_bonding",
	"net_failsafe", NULL};

static const char *nearest_driver(const char *driver)
{
	const char *near = nearest_word(driver, drivers);

	return near && strcmp(near, driver) != 0 ? near : NULL;
}

// No device string at all: the name of an interface, most likely.
static void describe_no_device(const char *device, unsigned index, char *out, size_t out_len)
{
	char name[64], others[256];

	device_name_of(device, name, sizeof(name));
	list_interfaces(others, sizeof(others));
	if (if_nametoindex(name))
		snprintf(out, out_len,
			"\"%s\" is an interface of the kernel: write \"net_af_xdp%u,iface=%s\"",
			name, index, name);
	else
		snprintf(out, out_len,
			"\"%s\" is neither a PCI address (\"0000:3b:00.1\") nor a virtual device "
			"(\"net_af_xdp%u,iface=eth1\"); interfaces here: %s",
			name, index, others);
}

void device_describe_missing(
	const struct gateway_port *port, unsigned index, char *out, size_t out_len)
{
	const char *device = port->device;
	char driver[64], name[64], others[256];

	if (device_type_of(device) == DEVICE_PCI) {
		describe_pci(device, "/sys", out, out_len);
		return;
	}
	if (interface_of(device, name, sizeof(name)) && !if_nametoindex(name)) {
		list_interfaces(others, sizeof(others));
		snprintf(out, out_len, "interface %s does not exist; there are: %s", name, others);
		return;
	}
	device_driver_of(device, driver, sizeof(driver));
	device_name_of(device, name, sizeof(name));
	const char *near = nearest_driver(driver);
	if (if_nametoindex(name) || (!near && !is_driver(driver)))
		describe_no_device(device, index, out, out_len);
	else if (near)
		snprintf(out, out_len, "there is no driver \"%s\"; did you mean %s?", driver, near);
	else
		snprintf(out, out_len, "driver %s did not take the device; check its arguments",
			driver);
}

static void check_capabilities(const struct gateway_port *port, uint64_t needed, bool locks,
	const struct preflight_host *host, const char *what, struct preflight *out)
{
	char names[128] = "";
	size_t used = 0;
	uint64_t have = host->capabilities;

	for (size_t i = 0; i < sizeof(capability_names) / sizeof(capability_names[0]); i++) {
		if (needed & ~have & capability_names[i].bit)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
				used ? ", " : "", capability_names[i].name);
	}
	if (used)
		preflight_note(out, EXIT_CODE_PERMISSION, what,
			"%s needs %s: run as root, or give the program these capabilities "
			"(AmbientCapabilities= of its systemd unit)",
			port->device, names);
	else if (locks && !(have & CAP_BIT(CAP_IPC_LOCK)) && host->memlock < UINT64_MAX)
		preflight_note(out, EXIT_CODE_PERMISSION, what,
			"%s locks its packet memory, and the limit is %" PRIu64
			" bytes: run as root, or raise it (ulimit -l unlimited; "
			"LimitMEMLOCK=infinity)",
			port->device, host->memlock);
}

// What this machine, or somebody else, uses a kernel's interface for that becomes a port.
static void warn_of_use(const char *interface, const char *driver,
	const struct preflight_host *host, const char *what, struct preflight *out)
{
	const struct interface *found = interfaces_find(host->interfaces, interface);
	char carries[160];

	if (!found)
		return;
	if (interfaces_carries(host->interfaces, interface, carries, sizeof(carries)))
		preflight_note(out, PREFLIGHT_WARNING, what,
			"interface %s carries %s: while the gateway runs %s; take another "
			"interface, or move that away from it first",
			interface, carries,
			strcmp(driver, "net_af_packet") == 0 || strcmp(driver, "net_pcap") == 0
				? "the machine answers by it, too, and what is for the machine is "
				  "forwarded"
				: "the machine is cut off from it");
	else if (found->part_of)
		preflight_note(out, PREFLIGHT_WARNING, what,
			"interface %s is a part of a bridge or bond, which takes its frames, too: "
			"ip link set %s nomaster",
			interface, interface);
	if (!found->up)
		preflight_note(out, PREFLIGHT_WARNING, what,
			"interface %s is down, and nothing passes until it is up: ip link set %s "
			"up",
			interface, interface);
	else if (!found->carrier)
		preflight_note(out, PREFLIGHT_WARNING, what,
			"interface %s has no carrier, and nothing passes without: look at its "
			"cable and at the other end",
			interface);
}

static void warn_of_holder(const struct gateway_port *port, const char *interface,
	const struct preflight_host *host, const char *what, struct preflight *out)
{
	const struct interface *found =
		interface ? interfaces_find(host->interfaces, interface) : NULL;
	char who[PORT_CLAIM_WHO];

	if (port_claim_held(port->device, who, sizeof(who)))
		preflight_note(out, PREFLIGHT_WARNING, what,
			"another gateway (%s) has %s: this one will not start beside it", who,
			port->device);
	else if (found && found->xdp && strncmp(port->device, "net_af_xdp", 10) == 0)
		preflight_note(out, PREFLIGHT_WARNING, what,
			"an XDP program is on interface %s already, of another program or left "
			"behind by one: end that, or: ip link set dev %s xdp off",
			interface, interface);
}

// What the kernel uses a PCI device for, while a driver of the kernel has it.
struct pci_use {
	const struct preflight_host *host;
	char interface[64]; // one that carries something; else any
	char carries[160];
};
static void find_pci_use(const char *path, struct pci_use *use)
{
	struct dirent **entries = NULL;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%.4000s/net", path);
	int n = scandir(dir, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		if (name[0] != '.' && !use->carries[0]) {
			snprintf(use->interface, sizeof(use->interface), "%.60s", name);
			interfaces_carries(
				use->host->interfaces, name, use->carries, sizeof(use->carries));
		}
		free(entries[i]);
	}
	free(entries);
}

// Binding takes the interface away from the kernel: never advised of one that is in use without
// saying what is lost.
static void note_unbound(const char *name, const char *driver, const struct pci_use *use,
	const char *what, struct preflight *out)
{
	char first[480];

	if (use->carries[0])
		snprintf(first, sizeof(first),
			"%s is %s, which carries %s: who is logged in by it is cut off when it is "
			"bound. Name another NIC; or move that away from it first, then: ",
			name, use->interface, use->carries);
	else
		snprintf(first, sizeof(first), "%s is bound to %s%s%s%s: ", name,
			driver[0] ? driver : "no driver", use->interface[0] ? " (" : "",
			use->interface, use->interface[0] ? ")" : "");
	preflight_note(out, EXIT_CODE_UNAVAILABLE, what,
		"%smodprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci %s "
		"(without an IOMMU also: echo 1 > "
		"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode)",
		first, name);
}

static void check_pci(const struct gateway_port *port, const struct preflight_host *host,
	const char *what, struct preflight *out)
{
	char name[32], path[PATH_MAX], link[PATH_MAX], text[512];
	ssize_t length;

	device_name_of(port->device, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", host->sys, name);
	if (access(path, F_OK) < 0) {
		describe_pci(port->device, host->sys, text, sizeof(text));
		preflight_note(out, EXIT_CODE_UNAVAILABLE, what, "%s", text);
		return;
	}
	struct pci_use use = {.host = host};
	find_pci_use(path, &use);
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", host->sys, name);
	length = readlink(path, link, sizeof(link) - 1);
	link[length > 0 ? length : 0] = '\0';
	const char *driver = strrchr(link, '/');
	driver = driver ? driver + 1 : "";
	static const char *const taken[] = {
		"vfio-pci", "igb_uio", "uio_pci_generic", "mlx4_core", "mlx5_core", "mana"};
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (strcmp(driver, taken[i]) != 0)
			continue;
		if (i == 0 && access(host->vfio, R_OK | W_OK) < 0)
			preflight_note(out, EXIT_CODE_PERMISSION, what,
				"%s is bound to vfio-pci, but %s cannot be opened: run as root, or "
				"give the user the group's file in /dev/vfio",
				name, host->vfio);
		else
			preflight_note(out, 0, what, "%s, driver %s", name, driver);
		if (use.interface[0]) // drivers that share it with the kernel
			warn_of_use(use.interface, driver, host, what, out);
		warn_of_holder(port, NULL, host, what, out);
		return;
	}
	note_unbound(name, driver, &use, what, out);
}

// Before EAL is up it cannot be asked which drivers there are: what is none for sure.
static bool is_no_device(const struct gateway_port *port)
{
	char driver[64];

	device_driver_of(port->device, driver, sizeof(driver));
	return !is_driver(driver) || nearest_driver(driver);
}

static bool needs_interface(const char *driver, const char *device)
{
	char name[64];

	return (strcmp(driver, "net_af_xdp") == 0 || strcmp(driver, "net_af_packet") == 0) &&
	       !device_arg_of(device, "iface", name, sizeof(name));
}

static void check_virtual(const struct gateway_port *port, unsigned index,
	const struct preflight_host *host, const char *what, struct preflight *out)
{
	char driver[64], interface[64], text[512];
	unsigned before = out->n;

	device_driver_of(port->device, driver, sizeof(driver));
	bool named = interface_of(port->device, interface, sizeof(interface));
	if (is_no_device(port) || (named && !if_nametoindex(interface))) {
		device_describe_missing(port, index, text, sizeof(text));
		preflight_note(out, EXIT_CODE_UNAVAILABLE, what, "%s", text);
		// It has just been advised.
		device_name_of(port->device, interface, sizeof(interface));
		warn_of_use(interface, "net_af_xdp", host, what, out);
		return;
	}
	if (needs_interface(driver, port->device)) {
		list_interfaces(text, sizeof(text));
		preflight_note(out, EXIT_CODE_UNAVAILABLE, what,
			"%s names no interface: \"%s%u,iface=NAME\"; there are: %s", port->device,
			driver, index, text);
		return;
	}
	warn_of_holder(port, named ? interface : NULL, host, what, out);
	if (named)
		warn_of_use(interface, driver, host, what, out);
	for (size_t i = 0; i < KERNEL_DRIVERS; i++) {
		if (strcmp(kernel_drivers[i].driver, driver) != 0)
			continue;
		// pcap files need no permission, pcap on an interface does.
		const char *key = kernel_drivers[i].interface_key;
		if (key && !device_arg_of(port->device, key, interface, sizeof(interface)))
			continue;
		check_capabilities(port, kernel_drivers[i].capabilities,
			kernel_drivers[i].locks_memory, host, what, out);
	}
	if (out->n == before)
		preflight_note(out, 0, what, "%s", port->device);
}

// 0: not known before the driver has it.
static uint32_t mtu_of(const struct gateway_port *port, const struct preflight_host *host)
{
	char interface[64];

	if (port->mtu || !device_interface_of(port->device, interface, sizeof(interface)))
		return port->mtu;
	const struct interface *found = interfaces_find(host->interfaces, interface);
	return found ? found->mtu : 0;
}

static void warn_of_mtu(
	const struct gateway *gateway, const struct preflight_host *host, struct preflight *out)
{
	for (unsigned i = 0; i < gateway->n_pairs; i++) {
		uint32_t mtus[2] = {0, 0};
		const char *names[2] = {gateway->pairs[i].inside, gateway->pairs[i].outside};

		for (unsigned port = 0; port < gateway->n_ports; port++) {
			for (unsigned end = 0; end < 2; end++) {
				if (strcmp(gateway->ports[port].name, names[end]) == 0)
					mtus[end] = mtu_of(&gateway->ports[port], host);
			}
		}
		if (mtus[0] && mtus[1] && mtus[0] != mtus[1])
			preflight_note(out, PREFLIGHT_WARNING, "pair",
				"the MTU of \"%s\" is %u, that of \"%s\" %u: longer packets are "
				"dropped "
				"(tx_oversize): make them equal (ip link set ... mtu, or \"mtu\" "
				"of the "
				"port)",
				names[0], mtus[0], names[1], mtus[1]);
	}
}

void preflight_ports(
	const struct gateway *gateway, const struct preflight_host *host, struct preflight *out)
{
	char what[96];

	for (unsigned i = 0; i < gateway->n_ports; i++) {
		const struct gateway_port *port = &gateway->ports[i];
		snprintf(what, sizeof(what), "port \"%s\"", port->name);
		if (device_type_of(port->device) == DEVICE_PCI)
			check_pci(port, host, what, out);
		else
			check_virtual(port, i, host, what, out);
	}
	warn_of_mtu(gateway, host, out);
}
