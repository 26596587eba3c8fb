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
#include <sys/stat.h>
#include <unistd.h>
#include "options.h"
#include "preflight.h"

#define CAP_NET_AND_ADMIN (1ull << 12 | 1ull << 13 | 1ull << 21)
#define CAP_IPC_LOCK_BIT  (1ull << 14)

static char sys[] = "/tmp/test_preflight.XXXXXX";
static struct preflight found;

static void make_dir(const char *path)
{
	char full[512], *slash;
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

static struct preflight_host host(void)
{
	return (struct preflight_host){.sys = sys,
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

static void test_all_is_well(void **state)
{
	(void)state;
	struct gateway gateway = gateway_with("net_null0");
	struct preflight_host h = host();
	h.capabilities = 0;
	gateway.memory.hugepages = true;
	assert_null(failure(&gateway, &h));
	assert_int_equal(preflight_code(&found), 0);
	assert_int_equal(found.n, 3); // each subject is told, also when it is fine
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

static void test_missing_device_texts(void **state)
{
	(void)state;
	char text[512];
	device_describe_missing("net_afxdp0,iface=lo", text, sizeof(text));
	assert_string_equal(text, "there is no driver \"net_afxdp\"; did you mean net_af_xdp?");
	device_describe_missing("net_pcap0,nonsense=1", text, sizeof(text));
	assert_non_null(strstr(text, "did not take the device"));
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
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
