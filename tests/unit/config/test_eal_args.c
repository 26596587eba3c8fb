// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "config/eal_args.h"

static struct eal_args args;
static char line[4096], err[512], control[] = "/run/sluice/control.sock";

static void add_port(struct gateway *gateway, const char *device)
{
	struct gateway_port *port = &gateway->ports[gateway->n_ports];
	snprintf(port->name, sizeof(port->name), "p%u", gateway->n_ports++);
	snprintf(port->device, sizeof(port->device), "%s", device);
}

static struct gateway example(void)
{
	struct gateway gateway = {.data_cpus = {1, 1, 3}, .n_data = 3, .control_cpu = 0};
	gateway.memory.mb = 256;
	gateway.paths.control = control;
	return gateway;
}

static const char *build(const struct gateway *gateway, char **extra, unsigned n_extra)
{
	assert_int_equal(eal_args_build(gateway, extra, n_extra, 0, &args, err, sizeof(err)), 0);
	assert_null(args.argv[args.argc]);
	eal_args_line(&args, line, sizeof(line));
	return line;
}

static void test_devices(void **state)
{
	(void)state;
	char text[64];
	assert_int_equal(device_type_of("0000:3b:00.1"), DEVICE_PCI);
	assert_int_equal(device_type_of("3b:00.1,arg=1"), DEVICE_PCI);
	assert_int_equal(device_type_of("net_af_xdp0,iface=3b:00.1"), DEVICE_VIRTUAL);
	assert_int_equal(device_type_of("3b:00.1x"), DEVICE_VIRTUAL);
	device_name_of("3b:00.1", text, sizeof(text));
	assert_string_equal(text, "0000:3b:00.1");
	device_name_of("net_tap12,iface=t", text, sizeof(text));
	assert_string_equal(text, "net_tap12");
	device_driver_of("net_tap12,iface=t", text, sizeof(text));
	assert_string_equal(text, "net_tap");
	assert_true(device_arg_of("net_pcap0,rx_iface=a,iface=bc", "iface", text, sizeof(text)));
	assert_string_equal(text, "bc");
	assert_false(device_arg_of("net_pcap0,rx_iface=a", "iface", text, sizeof(text)));
	assert_false(device_arg_of("iface=a", "iface", text, sizeof(text)));
}

static void test_lcores_share_cpus(void **state)
{
	(void)state;
	struct gateway gateway = example();
	assert_non_null(strstr(build(&gateway, NULL, 0), "--lcores=0@0,1@1,2@1,3@3 "));
	// As many lcores as there may be, with the largest numbers.
	gateway.n_data = GATEWAY_LCORES_MAX;
	for (unsigned i = 0; i < GATEWAY_LCORES_MAX; i++)
		gateway.data_cpus[i] = 1023;
	assert_non_null(strstr(build(&gateway, NULL, 0), ",64@1023 "));
}

static void test_memory(void **state)
{
	(void)state;
	struct gateway gateway = example();
	build(&gateway, NULL, 0);
	assert_non_null(strstr(line, "--no-huge -m 256 --no-shconf"));
	assert_null(strstr(line, "--in-memory"));
	gateway.memory.mb = 0;
	assert_int_equal(eal_args_build(&gateway, NULL, 0, 777, &args, err, sizeof(err)), 0);
	eal_args_line(&args, line, sizeof(line));
	assert_non_null(strstr(line, "-m 777"));
	gateway.memory.hugepages = true;
	build(&gateway, NULL, 0);
	assert_non_null(strstr(line, "--in-memory"));
	assert_null(strstr(line, "--no-huge"));
	assert_null(strstr(line, "-m "));
}

static void test_pci(void **state)
{
	(void)state;
	struct gateway gateway = example();
	static char no_pci[] = "--no-pci";
	add_port(&gateway, "net_af_xdp0,iface=gA");
	build(&gateway, NULL, 0);
	assert_non_null(strstr(line, "--no-pci"));
	assert_null(strstr(line, "iface")); // virtual devices are probed later, one by one
	add_port(&gateway, "0000:3b:00.1");
	build(&gateway, NULL, 0);
	assert_non_null(strstr(line, "-a 0000:3b:00.1"));
	assert_null(strstr(line, "--no-pci"));
	gateway.eal[gateway.n_eal++] = no_pci;
	assert_int_equal(eal_args_build(&gateway, NULL, 0, 0, &args, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "--no-pci"));
}

static void test_prefix(void **state)
{
	(void)state;
	struct gateway gateway = example();
	char first[64], *extra[] = {(char *)(uintptr_t) "--file-prefix=mine"};
	static char other[] = "/run/sluice/other.sock";
	const char *at = strstr(build(&gateway, NULL, 0), "--file-prefix=sluice-");
	assert_non_null(at);
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(at, " "), at);
	gateway.paths.control = other; // another instance
	assert_null(strstr(build(&gateway, NULL, 0), first));
	build(&gateway, extra, 1);
	assert_non_null(strstr(line, "--file-prefix=mine"));
	assert_null(strstr(line, "--file-prefix=sluice-"));
}

static void test_refused(void **state)
{
	(void)state;
	static const char *const options[] = {"--lcores=0", "-l", "-l0-3", "-c", "--no-huge", "-m",
		"-m64", "--in-memory", "--vdev=net_null0", "--proc-type=secondary"};
	struct gateway gateway = example();
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char *extra[] = {(char *)(uintptr_t)options[i]};
		assert_int_equal(
			eal_args_build(&gateway, extra, 1, 0, &args, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "gateway.json"));
		gateway.n_eal = 1;
		gateway.eal[0] = extra[0];
		assert_int_equal(
			eal_args_build(&gateway, NULL, 0, 0, &args, err, sizeof(err)), -EINVAL);
		gateway.n_eal = 0;
	}
	char *fine[] = {(char *)(uintptr_t) "--log-level=8", (char *)(uintptr_t) "--no-telemetry"};
	build(&gateway, fine, 2);
	assert_non_null(strstr(line, "--log-level=8 --no-telemetry"));
}

static void test_too_long(void **state)
{
	(void)state;
	struct gateway gateway = example();
	static char text[2000];
	memset(text, 'x', sizeof(text) - 1);
	for (unsigned i = 0; i < 10; i++)
		gateway.eal[gateway.n_eal++] = text;
	assert_int_equal(eal_args_build(&gateway, NULL, 0, 0, &args, err, sizeof(err)), -E2BIG);
}

static void test_private(void **state)
{
	(void)state;
	assert_int_equal(eal_args_private(96, "0,1", &args), 0);
	eal_args_line(&args, line, sizeof(line));
	assert_string_equal(line, "--lcores=0@(0,1) --no-huge -m 96 --no-shconf --no-pci "
				  "--no-telemetry");
	// one word that does not fit, in front of others that would
	static char cpus[EAL_ARGS_TEXT + 1];

	memset(cpus, '1', sizeof(cpus) - 1);
	assert_int_equal(eal_args_private(96, cpus, &args), -E2BIG);
}

static void test_value_of_an_option(void **state)
{
	char text[64], empty[] = "", first[] = "--file-prefix=a", option[] = "--file-prefix",
		       word[] = "b", longer[] = "--file-prefixes=c";
	struct eal_args given = {.argc = 2, .argv = {empty, first}};

	(void)state;
	eal_args_value(&given, "--file-prefix", text, sizeof(text));
	assert_string_equal(text, "a");
	given = (struct eal_args){.argc = 5, .argv = {empty, first, option, word, longer}};
	eal_args_value(&given, "--file-prefix", text, sizeof(text));
	assert_string_equal(text, "b");
	eal_args_value(&given, "--huge-dir", text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value_of_an_option),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_lcores_share_cpus),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_pci),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_private),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
