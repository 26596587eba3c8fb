// SPDX-License-Identifier: BSD-3-Clause
#include "preflight.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>
#include "eal_args.h"
#include "identity.h"
#include "launcher.h"
#include "link.h"
#include "options.h"

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

static void note(struct preflight *out, int code, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void note(struct preflight *out, int code, const char *what, const char *format, ...)
{
	if (out->n == PREFLIGHT_ITEMS_MAX)
		return;
	struct preflight_item *item = &out->items[out->n++];
	item->code = code;
	item->warning = false;
	snprintf(item->what, sizeof(item->what), "%s", what);
	va_list args;
	va_start(args, format);
	vsnprintf(item->text, sizeof(item->text), format, args);
	va_end(args);
}

void preflight_host_init(struct preflight_host *host)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	cpu_set_t set;

	memset(host, 0, sizeof(*host));
	host->sys = "/sys";
	host->vfio = "/dev/vfio/vfio";
	if (syscall(SYS_capget, &header, caps) == 0)
		host->capabilities = caps[0].effective | (uint64_t)caps[1].effective << 32;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	host->memlock = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpu / 64 < 16; cpu++) {
		if (CPU_ISSET(cpu, &set))
			host->cpus[cpu / 64] |= 1ull << cpu % 64;
	}
}

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

static bool read_text(const char *path, char *out, size_t out_len)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	bool ok = fgets(out, (int)out_len, file);
	fclose(file);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

static bool is_network_class(const char *dir, const char *name)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), "%.3000s/%.64s/class", dir, name);
	return read_text(path, text, sizeof(text)) && strncmp(text, "0x02", 4) == 0;
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

void device_describe_missing(const char *device, char *out, size_t out_len)
{
	static const char *const drivers[] = {"net_af_xdp", "net_af_packet", "net_pcap", "net_ring",
		"net_null", "net_tap", "net_memif", "net_virtio_user", "net_vhost", "net_bonding",
		"net_failsafe", NULL};
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
	const char *near = nearest_word(driver, drivers);
	if (near && strcmp(near, driver) == 0)
		snprintf(out, out_len, "driver %s did not take the device; check its arguments",
			driver);
	else
		snprintf(out, out_len, "there is no driver \"%s\"%s%s%s", driver,
			near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static void check_cpus(
	const struct gateway *gateway, const struct preflight_host *host, struct preflight *out)
{
	char missing[256] = "";
	size_t used = 0;

	for (unsigned i = 0; i <= gateway->n_data; i++) {
		unsigned cpu = i ? gateway->data_cpus[i - 1] : gateway->control_cpu;
		bool ours = cpu / 64 < 16 && host->cpus[cpu / 64] >> cpu % 64 & 1;
		if (!ours && used < sizeof(missing))
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%u",
				used ? ", " : "", cpu);
	}
	if (used)
		note(out, EXIT_CODE_UNAVAILABLE, "CPUs",
			"CPU %s of \"lcores\" is not here, is offline, or is not among those that "
			"this process may use (taskset, cgroup): name others (lscpu -e lists them)",
			missing);
	else
		note(out, 0, "CPUs", "control %u, %u data lcores", gateway->control_cpu,
			gateway->n_data);
}

static void check_hugepages(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out)
{
	char dir[PATH_MAX], path[PATH_MAX + 64], text[32];
	uint64_t free_kb = 0, total_kb = 0;

	if (!gateway->memory.hugepages) {
		note(out, 0, "memory", "without hugepages");
		return;
	}
	snprintf(dir, sizeof(dir), "%s/kernel/mm/hugepages", host->sys);
	DIR *sizes = opendir(dir);
	for (struct dirent *entry; sizes && (entry = readdir(sizes));) {
		uint64_t kb;
		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), "%.3000s/%.64s/free_hugepages", dir, entry->d_name);
		if (read_text(path, text, sizeof(text)))
			free_kb += kb * strtoull(text, NULL, 10);
		snprintf(path, sizeof(path), "%.3000s/%.64s/nr_hugepages", dir, entry->d_name);
		if (read_text(path, text, sizeof(text)))
			total_kb += kb * strtoull(text, NULL, 10);
	}
	if (sizes)
		closedir(sizes);
	uint64_t pages = ((uint64_t)memory_mb + 1) / 2 + (total_kb - free_kb) / 2048;
	if (free_kb / 1024 < memory_mb)
		note(out, EXIT_CODE_UNAVAILABLE, "hugepages",
			"%" PRIu64 " MB free, about %u MB needed: echo %" PRIu64
			" > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages; or set "
			"\"memory\": {\"hugepages\": false} (slower)",
			free_kb / 1024, memory_mb, pages);
	else
		note(out, 0, "hugepages", "%" PRIu64 " MB free, about %u MB needed", free_kb / 1024,
			memory_mb);
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
		note(out, EXIT_CODE_PERMISSION, what,
			"%s needs %s: run as root, or give the program these capabilities "
			"(AmbientCapabilities= of its systemd unit)",
			port->device, names);
	else if (locks && !(have & CAP_BIT(CAP_IPC_LOCK)) && host->memlock < UINT64_MAX)
		note(out, EXIT_CODE_PERMISSION, what,
			"%s locks its packet memory, and the limit is %" PRIu64
			" bytes: run as root, or raise it (ulimit -l unlimited; "
			"LimitMEMLOCK=infinity)",
			port->device, host->memlock);
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
		note(out, EXIT_CODE_UNAVAILABLE, what, "%s", text);
		return;
	}
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
			note(out, EXIT_CODE_PERMISSION, what,
				"%s is bound to vfio-pci, but %s cannot be opened: run as root, or "
				"give the user the group's file in /dev/vfio",
				name, host->vfio);
		else
			note(out, 0, what, "%s, driver %s", name, driver);
		return;
	}
	note(out, EXIT_CODE_UNAVAILABLE, what,
		"%s is bound to %s: modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci %s "
		"(without an IOMMU also: echo 1 > "
		"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode)",
		name, driver[0] ? driver : "no driver", name);
}

// It starts all the same: the interface may come up later.
static void warn_of_link(const char *interface, const char *what, struct preflight *out)
{
	struct link_state link;
	unsigned before = out->n;

	if (link_query(interface, &link) < 0 || !link.ifindex)
		return;
	if (!link.up)
		note(out, 0, what,
			"interface %s is down, and nothing passes until it is up: ip link set %s "
			"up",
			interface, interface);
	else if (!link.carrier)
		note(out, 0, what,
			"interface %s has no carrier, and nothing passes without: look at its "
			"cable and at the other end",
			interface);
	for (unsigned i = before; i < out->n; i++)
		out->items[i].warning = true;
}

static void check_virtual(const struct gateway_port *port, const struct preflight_host *host,
	const char *what, struct preflight *out)
{
	char driver[64], interface[64], text[512];
	unsigned before = out->n;
	bool present = true;

	if (interface_of(port->device, interface, sizeof(interface)) &&
		!if_nametoindex(interface)) {
		device_describe_missing(port->device, text, sizeof(text));
		note(out, EXIT_CODE_UNAVAILABLE, what, "%s", text);
		present = false;
	} else if (interface_of(port->device, interface, sizeof(interface)))
		warn_of_link(interface, what, out);
	device_driver_of(port->device, driver, sizeof(driver));
	for (size_t i = 0; present && i < KERNEL_DRIVERS; i++) {
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
		note(out, 0, what, "%s", port->device);
}

static void check_service(const struct gateway *gateway, struct preflight *out)
{
	struct identity identity;
	char err[512];
	int rc = identity_find(gateway->user, gateway->group, &identity, err, sizeof(err));

	if (rc < 0)
		note(out, rc == -ENOENT ? EXIT_CODE_CONFIG : EXIT_CODE_PERMISSION, "user", "%s",
			err);
	else if (gateway->user)
		note(out, 0, "user", "%s, group %s", identity.user, identity.group);
	if (!gateway->hook.n_command)
		return;
	rc = launcher_check_hook(gateway, err, sizeof(err));
	if (rc < 0)
		note(out, rc == -ENOENT ? EXIT_CODE_CONFIG : EXIT_CODE_PERMISSION, "hook", "%s",
			err);
	else
		note(out, 0, "hook", "%s", gateway->hook.command[0]);
}

void preflight_run(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out)
{
	char what[96];

	out->n = 0;
	check_service(gateway, out);
	check_cpus(gateway, host, out);
	check_hugepages(gateway, host, memory_mb, out);
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		const struct gateway_port *port = &gateway->ports[i];
		snprintf(what, sizeof(what), "port \"%s\"", port->name);
		if (device_type_of(port->device) == DEVICE_PCI)
			check_pci(port, host, what, out);
		else
			check_virtual(port, host, what, out);
	}
}

int preflight_code(const struct preflight *preflight)
{
	for (unsigned i = 0; i < preflight->n; i++) {
		if (preflight->items[i].code)
			return preflight->items[i].code;
	}
	return 0;
}
