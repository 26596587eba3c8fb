// SPDX-License-Identifier: BSD-3-Clause
// Against a /sys of its own, so that the findings do not depend on the machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/options.h"
#include "machine/port_claim.h"
#include "machine/preflight.h"

#define CAP_NET_AND_ADMIN (1ull << 12 | 1ull << 13 | 1ull << 21)
#define CAP_IPC_LOCK_BIT  (1ull << 14)

static char sys[] = "/tmp/test_preflight.XXXXXX";
static struct preflight found;

static void make_dir(const char *path)
{
	char full[1024], *slash;
	snprintf(full, sizeof(full), "%s/%s", sys, path);
	for (slash = full + strlen(sys) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	mkdir(full, 0700);
}

static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof(full), "%s/%s", sys, path);
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(sys))
		return -1;
	make_dir("kernel/mm/hugepages/hugepages-2048kB");
	put("kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "100\n");
	put("kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "60\n");
	make_dir("bus/pci/devices/0000:3b:00.0");
	make_dir("bus/pci/devices/0000:3b:00.1");
	make_dir("bus/pci/devices/0000:00:1f.0");
	make_dir("bus/pci/drivers/vfio-pci");
	make_dir("bus/pci/drivers/i40e");
	put("bus/pci/devices/0000:3b:00.0/class", "0x020000\n");
	put("bus/pci/devices/0000:3b:00.1/class", "0x020000\n");
	put("bus/pci/devices/0000:00:1f.0/class", "0x060100\n");
	char link[512];
	snprintf(link, sizeof(link), "%s/bus/pci/devices/0000:3b:00.0/driver", sys);
	if (symlink("../../../bus/pci/drivers/i40e", link))
		return -1;
	snprintf(link, sizeof(link), "%s/bus/pci/devices/0000:3b:00.1/driver", sys);
	return symlink("../../../bus/pci/drivers/vfio-pci", link);
}

static int teardown(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf -- '%s'", sys);
	return system(command);
}

// This machine: eth0 is a part of bond0, which has the default route; eth1 has nothing; vlan5
// stands on eth2; eth3 is bare, with jumbo frames; eth4 is down; eth5 has a program.
static const struct interfaces interfaces = {.n = 9,
	.items = {{.index = 1, .name = "lo", .mtu = 65536, .up = true, .carrier = true},
		{.index = 2,
			.name = "eth0",
			.part_of = 8,
			.mtu = 1500,
			.up = true,
			.carrier = true},
		{.index = 3, .name = "eth1", .mtu = 1500, .up = true, .carrier = true},
		{.index = 4, .name = "eth2", .mtu = 1500, .up = true, .carrier = true},
		{.index = 5, .name = "eth3", .mtu = 9000, .up = true},
		{.index = 6, .name = "eth4", .mtu = 1500},
		{.index = 7, .name = "eth5", .mtu = 1500, .up = true, .carrier = true, .xdp = true},
		{.index = 8,
			.name = "bond0",
			.mtu = 1500,
			.up = true,
			.carrier = true,
			.default_route = true,
			.address = "192.0.2.7/24"},
		{.index = 9,
			.name = "vlan5",
			.lower = 4,
			.mtu = 1500,
			.up = true,
			.carrier = true,
			.address = "2001:db8::1/64"}}};

static struct preflight_host host(void)
{
	return (struct preflight_host){.sys = sys,
		.interfaces = &interfaces,
		.memory_mb = 8000,
		.available_mb = 1000,
		.vfio = "/dev/null",
		.capabilities = UINT64_MAX,
		.memlock = UINT64_MAX,
		.cpus = {0x3}};
}

static struct gateway gateway_with(const char *device)
{
	struct gateway gateway = {.data_cpus = {1}, .n_data = 1, .n_ports = 1};
	snprintf(gateway.ports[0].name, sizeof(gateway.ports[0].name), "lan");
	snprintf(gateway.ports[0].device, sizeof(gateway.ports[0].device), "%s", device);
	return gateway;
}

// The first failure's text, or NULL.
static const char *failure(const struct gateway *gateway, const struct preflight_host *h)
{
	preflight_run(gateway, h, 64, &found);
	for (unsigned i = 0; i < found.n; i++) {
		if (found.items[i].code)
			return found.items[i].text;
	}
	return NULL;
}

// The warnings, one after the other.
static const char *warnings(const struct gateway *gateway, const struct preflight_host *h)
{
	static char text[4096];
	size_t used = 0;

	preflight_run(gateway, h, 64, &found);
	text[0] = '\0';
	for (unsigned i = 0; i < found.n; i++) {
		if (found.items[i].warning)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s: %s\n",
				found.items[i].what, found.items[i].text);
	}
	return text;
}
static void says(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in: %s", words, text);
}

static void test_all_is_well(void **state)
{
	(void)state;
	struct gateway gateway = gateway_with("net_null0");
	struct preflight_host h = host();
	h.capabilities = 0;
	gateway.memory.hugepages = true;
	assert_null(failure(&gateway, &h));
	assert_int_equal(preflight_code(&found), 0);
	assert_int_equal(found.n, 3); // each subject is reported, also when it is fine
	assert_string_equal(warnings(&gateway, &h), "");
}

static void test_hugepages(void **state)
{
	(void)state;
	struct gateway gateway = gateway_with("net_null0");
	struct preflight_host h = host();
	gateway.memory.hugepages = true;
	preflight_run(&gateway, &h, 200, &found);
	assert_int_equal(preflight_code(&found), EXIT_CODE_UNAVAILABLE);
	// 120 MB are free and 40 pages in use by others: 100 for us and those 40.
	assert_non_null(strstr(found.items[1].text,
		"echo 140 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"));
	gateway.memory.hugepages = false;
	preflight_run(&gateway, &h, 200, &found);
	assert_int_equal(preflight_code(&found), 0);
}

static void test_cpus(void **state)
{
	(void)state;
	struct gateway gateway = gateway_with("net_null0");
	struct preflight_host h = host();
	gateway.data_cpus[0] = 2;
	gateway.control_cpu = 2000; // beyond every table
	assert_non_null(strstr(failure(&gateway, &h), "CPU 2000, 2 "));
	assert_int_equal(preflight_code(&found), EXIT_CODE_UNAVAILABLE);
}

static void test_interface(void **state)
{
	(void)state;
	struct gateway gateway = gateway_with("net_af_xdp0,iface=no-such-if");
	struct preflight_host h = host();
	const char *text = failure(&gateway, &h);
	assert_non_null(strstr(text, "interface no-such-if does not exist; there are: lo"));
	assert_int_equal(preflight_code(&found), EXIT_CODE_UNAVAILABLE);
}

static void test_permissions(void **state)
{
	(void)state;
	struct gateway gateway = gateway_with("net_af_xdp0,iface=lo");
	struct preflight_host h = host();
	h.capabilities = 0;
	assert_non_null(strstr(failure(&gateway, &h), "CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN"));
	assert_int_equal(preflight_code(&found), EXIT_CODE_PERMISSION);
	h.capabilities = 1ull << 12 | 1ull << 13;
	assert_non_null(strstr(failure(&gateway, &h), "needs CAP_SYS_ADMIN:"));
	h.capabilities |= 1ull << 39; // CAP_BPF does not do
	assert_non_null(strstr(failure(&gateway, &h), "needs CAP_SYS_ADMIN:"));
	h.capabilities |= 1ull << 21;
	assert_null(failure(&gateway, &h));
	h.capabilities = CAP_NET_AND_ADMIN;
	h.memlock = 65536;
	assert_non_null(strstr(failure(&gateway, &h), "LimitMEMLOCK"));
	h.capabilities |= CAP_IPC_LOCK_BIT;
	assert_null(failure(&gateway, &h));
	// Capture files need no permission, capturing on an interface does.
	h.capabilities = 0;
	gateway = gateway_with("net_pcap0,rx_pcap=a.pcap,tx_pcap=b.pcap");
	assert_null(failure(&gateway, &h));
	gateway = gateway_with("net_pcap0,iface=lo");
	assert_non_null(strstr(failure(&gateway, &h), "CAP_NET_RAW"));
}

static void test_pci(void **state)
{
	(void)state;
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("3b:00.2");
	assert_non_null(strstr(failure(&gateway, &h),
		"no PCI device 0000:3b:00.2 that DPDK can use; network devices here: "
		"0000:3b:00.0, 0000:3b:00.1"));
	assert_null(strstr(failure(&gateway, &h), "1f.0")); // not a network device
	gateway = gateway_with("0000:3b:00.0");
	assert_non_null(strstr(
		failure(&gateway, &h), "bound to i40e: modprobe vfio-pci && dpdk-devbind.py"));
	assert_int_equal(preflight_code(&found), EXIT_CODE_UNAVAILABLE);
	gateway = gateway_with("0000:3b:00.1");
	assert_null(failure(&gateway, &h));
	h.vfio = "/nonexistent";
	assert_non_null(strstr(failure(&gateway, &h), "vfio"));
	assert_int_equal(preflight_code(&found), EXIT_CODE_PERMISSION);
}

static const char *missing(const char *device)
{
	static char text[512];
	struct gateway gateway = gateway_with(device);

	device_describe_missing(&gateway.ports[0], 2, text, sizeof(text));
	return text;
}

static void test_missing_device_texts(void **state)
{
	(void)state;
	assert_string_equal(missing("net_afxdp0,iface=lo"),
		"there is no driver \"net_afxdp\"; did you mean net_af_xdp?");
	says(missing("net_pcap0,nonsense=1"), "did not take the device");
	says(missing("lo"), "\"lo\" is an interface of the kernel: write \"net_af_xdp2,iface=lo\"");
	says(missing("0000:3b:00"), "\"0000:3b:00\" is neither a PCI address");
	says(missing("eth77"), "(\"net_af_xdp2,iface=eth1\"); interfaces here: lo");
}

// Found before EAL is: a driver that none can be, and one without its interface.
static void test_no_device(void **state)
{
	(void)state;
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("lo");
	says(failure(&gateway, &h), "write \"net_af_xdp0,iface=lo\"");
	assert_int_equal(preflight_code(&found), EXIT_CODE_UNAVAILABLE);
	gateway = gateway_with("net_af_xpd0,iface=lo");
	says(failure(&gateway, &h), "did you mean net_af_xdp?");
	gateway = gateway_with("net_af_packet0,interface=lo");
	says(failure(&gateway, &h),
		"names no interface: \"net_af_packet0,iface=NAME\"; there are: lo");
}

// A NIC that the machine is reached by is not advised to be bound without saying so.
static void test_pci_in_use(void **state)
{
	(void)state;
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("0000:3b:00.0");
	make_dir("bus/pci/devices/0000:3b:00.0/net/eth1");
	says(failure(&gateway, &h), "bound to i40e (eth1): modprobe");
	make_dir("bus/pci/devices/0000:3b:00.0/net/eth0");
	const char *text = failure(&gateway, &h);
	const char *use = strstr(text, "is eth0, which carries the default route and the address "
				       "192.0.2.7/24, by bond0: who is "
				       "logged in by it is cut off");
	assert_non_null(use);
	assert_non_null(
		strstr(use, "Name another NIC; or move that away from it first, then: modprobe"));
	// A NIC that its kernel driver keeps is a port all the same.
	char link[512];
	snprintf(link, sizeof(link), "%s/bus/pci/devices/0000:3b:00.0/driver", sys);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("../../../bus/pci/drivers/mlx5_core", link), 0);
	says(warnings(&gateway, &h), "interface eth0 carries the default route");
	assert_int_equal(preflight_code(&found), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("../../../bus/pci/drivers/i40e", link), 0);
}

// The interfaces of the table need not exist: pcap on files asks for none. So each is looked at by
// the PCI device that it is of.
static const char *warned_of(const char *interface)
{
	char path[512];
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("0000:5e:00.0");

	make_dir("bus/pci/devices/0000:5e:00.0/net");
	make_dir("bus/pci/drivers/mlx5_core");
	snprintf(path, sizeof(path), "bus/pci/devices/0000:5e:00.0/net/%s", interface);
	make_dir(path);
	char link[512];
	snprintf(link, sizeof(link), "%s/bus/pci/devices/0000:5e:00.0/driver", sys);
	unlink(link);
	assert_int_equal(symlink("../../../bus/pci/drivers/mlx5_core", link), 0);
	const char *text = warnings(&gateway, &h);
	snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:5e:00.0/net/%s", sys, interface);
	assert_int_equal(rmdir(path), 0);
	return text;
}

static void test_interface_in_use(void **state)
{
	(void)state;
	assert_string_equal(warned_of("eth1"), "");
	says(warned_of("eth0"),
		"eth0 carries the default route and the address 192.0.2.7/24, by bond0");
	says(warned_of("bond0"),
		"bond0 carries the default route and the address 192.0.2.7/24: while");
	says(warned_of("eth2"), "eth2 carries the address 2001:db8::1/64, by vlan5:");
	says(warned_of("eth3"), "eth3 has no carrier");
	says(warned_of("eth4"),
		"eth4 is down, and nothing passes until it is up: ip link set eth4 up");
}

static void test_shared_cpus(void **state)
{
	(void)state;
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("net_null0");
	gateway.n_data = 3;
	gateway.data_cpus[1] = 1;
	gateway.data_cpus[2] = 1;
	assert_string_equal(warnings(&gateway, &h),
		"CPUs: CPU 1 is named more than once in \"lcores.data\": its data lcores take "
		"turns, "
		"which is slower than one of them: name each CPU once\n");
	gateway.n_data = 1;
	gateway.control_cpu = 1;
	says(warnings(&gateway, &h), "CPU 1 is \"lcores.control\" and in \"lcores.data\"");
	gateway.control_cpu = 0;
	gateway.n_scan = 1;
	gateway.scan_cpus[0] = 1;
	says(warnings(&gateway, &h), "CPU 1 is in \"lcores.scan\" and in \"lcores.data\"");
	gateway.scan_cpus[0] = 5;
	says(failure(&gateway, &h), "CPU 5 of \"lcores\" is not here");
}

// 8,000 MB, 1,000 of them free; 200 MB of hugepages, 120 of them free.
static void test_memory_beyond_the_machine(void **state)
{
	(void)state;
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("net_null0");
	preflight_run(&gateway, &h, 9000, &found);
	assert_int_equal(preflight_code(&found), EXIT_CODE_UNAVAILABLE);
	says(found.items[1].text, "about 9000 MB needed, and the machine has 8000 MB: take less");
	preflight_run(&gateway, &h, 2000, &found);
	assert_int_equal(preflight_code(&found), 0);
	assert_true(found.items[1].warning);
	says(found.items[1].text, "2000 MB needed, and 1000 MB of the machine's 8000 MB are free");
	preflight_run(&gateway, &h, 900, &found);
	assert_false(found.items[1].warning);
	// Hugepages are not advised that cannot be had.
	gateway.memory.hugepages = true;
	preflight_run(&gateway, &h, 1119, &found);
	says(found.items[1].text, "echo ");
	preflight_run(&gateway, &h, 1121, &found);
	assert_int_equal(preflight_code(&found), EXIT_CODE_UNAVAILABLE);
	says(found.items[1].text, "has no more than 1120 MB to give: take less");
	assert_null(strstr(found.items[1].text, "echo "));
}

static void test_unequal_mtu(void **state)
{
	(void)state;
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("net_af_packet0,iface=eth1");
	gateway.n_ports = 2;
	gateway.ports[1] = gateway.ports[0];
	snprintf(gateway.ports[1].name, sizeof(gateway.ports[1].name), "wan");
	snprintf(gateway.ports[1].device, sizeof(gateway.ports[1].device),
		"net_af_packet1,iface=eth3");
	gateway.n_pairs = 1;
	snprintf(gateway.pairs[0].inside, sizeof(gateway.pairs[0].inside), "lan");
	snprintf(gateway.pairs[0].outside, sizeof(gateway.pairs[0].outside), "wan");
	says(warnings(&gateway, &h), "pair: the MTU of \"lan\" is 1500, that of \"wan\" 9000:");
	gateway.ports[0].mtu = 9000; // what it will be set to
	assert_null(strstr(warnings(&gateway, &h), "MTU"));
	gateway.ports[1].mtu = 1400;
	says(warnings(&gateway, &h), "is 9000, that of \"wan\" 1400:");
}

// A claim of another process; ours is no news. The port of a pair of our own is nobody else's.
static void test_claimed(void **state)
{
	(void)state;
	struct preflight_host h = host();
	struct gateway gateway = gateway_with("net_pcap0,iface=lo");
	struct port_claims claims = {0}, second = {0};
	char err[256] = "", text[64];
	int ready[2], done[2];
	assert_int_equal(pipe(ready) | pipe(done), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int rc = port_claims_take(&gateway, &claims, err, sizeof(err));
		if (write(ready[1], rc ? "n" : "y", 1) != 1)
			_exit(1);
		close(done[1]);
		_exit(read(done[0], text, 1) < 0);
	}
	close(done[0]);
	assert_int_equal(read(ready[0], text, 1), 1);
	assert_int_equal(text[0], 'y');
	assert_int_equal(port_claims_take(&gateway, &second, err, sizeof(err)), -EADDRINUSE);
	snprintf(text, sizeof(text), "port \"lan\": another gateway (process %d) has net_pcap0",
		pid);
	says(err, text);
	snprintf(text, sizeof(text), "another gateway (process %d) has net_pcap0,iface=lo", pid);
	says(warnings(&gateway, &h), text);
	assert_int_equal(preflight_code(&found), 0);
	close(done[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(port_claims_take(&gateway, &second, err, sizeof(err)), 0);
	assert_int_equal(second.n, 1);
	assert_null(strstr(warnings(&gateway, &h), "another gateway"));
	// Asked again and again: who asks is let go.
	for (unsigned i = 0; i < 3; i++) {
		assert_false(port_claim_held(gateway.ports[0].device, text, sizeof(text)));
		port_claims_tick(&second);
	}
	port_claims_drop(&second);
	gateway = gateway_with("net_ring0"); // of this process alone
	assert_int_equal(port_claims_take(&gateway, &second, err, sizeof(err)), 0);
	assert_int_equal(second.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_well),
		cmocka_unit_test(test_hugepages),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_interface),
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_pci),
		cmocka_unit_test(test_missing_device_texts),
		cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_pci_in_use),
		cmocka_unit_test(test_interface_in_use),
		cmocka_unit_test(test_shared_cpus),
		cmocka_unit_test(test_memory_beyond_the_machine),
		cmocka_unit_test(test_unequal_mtu),
		cmocka_unit_test(test_claimed),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
