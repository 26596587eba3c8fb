// SPDX-License-Identifier: BSD-3-Clause
// Builds EAL's argument vector from gateway.json and the words after `--`.
#include "config/eal_args.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum device_type device_type_of(const char *device)
{
	unsigned domain, bus, slot, function;
	int used = 0;

	if (sscanf(device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &used) == 4 &&
		(device[used] == '\0' || device[used] == ','))
		return DEVICE_PCI;
	used = 0;
	if (sscanf(device, "%2x:%2x.%1x%n", &bus, &slot, &function, &used) == 3 &&
		(device[used] == '\0' || device[used] == ','))
		return DEVICE_PCI;
	return DEVICE_VIRTUAL;
}

void device_name_of(const char *device, char *out, size_t out_len)
{
	unsigned domain = 0, bus, slot, function;

	if (device_type_of(device) == DEVICE_VIRTUAL) {
		snprintf(out, out_len, "%.*s", (int)strcspn(device, ","), device);
		return;
	}
	if (sscanf(device, "%4x:%2x:%2x.%1x", &domain, &bus, &slot, &function) != 4) {
		domain = 0;
		if (sscanf(device, "%2x:%2x.%1x", &bus, &slot, &function) != 3)
			bus = slot = function = 0; // not reached: it is a PCI address
	}
	snprintf(out, out_len, "%04x:%02x:%02x.%x", domain, bus, slot, function);
}

void device_driver_of(const char *device, char *out, size_t out_len)
{
	size_t length = strcspn(device, ",");

	while (length && isdigit((unsigned char)device[length - 1]))
		length--;
	snprintf(out, out_len, "%.*s", (int)length, device);
}

bool device_arg_of(const char *device, const char *key, char *out, size_t out_len)
{
	size_t key_length = strlen(key);

	for (const char *at = strchr(device, ','); at; at = strchr(at, ',')) {
		at++;
		if (strncmp(at, key, key_length) == 0 && at[key_length] == '=') {
			at += key_length + 1;
			snprintf(out, out_len, "%.*s", (int)strcspn(at, ","), at);
			return true;
		}
	}
	return false;
}

bool device_nth_interface_of(const char *device, unsigned nth, char *out, size_t out_len)
{
	static const struct {
		const char *driver, *key;
	} fronts[] = {{"net_af_xdp", "iface"}, {"net_af_packet", "iface"}, {"net_pcap", "iface"},
		{"net_pcap", "rx_iface"}, {"net_pcap", "tx_iface"}, {"net_tap", "iface"}};
	char driver[64];

	if (device_type_of(device) == DEVICE_PCI)
		return false;
	device_driver_of(device, driver, sizeof(driver));
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
		if (strcmp(fronts[i].driver, driver) == 0 &&
			device_arg_of(device, fronts[i].key, out, out_len) && !nth--)
			return true;
	}
	return false;
}

bool device_interface_of(const char *device, char *out, size_t out_len)
{
	return device_nth_interface_of(device, 0, out, out_len);
}

static int add(struct eal_args *args, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int add(struct eal_args *args, const char *format, ...)
{
	if (args->argc == EAL_ARGS_MAX)
		return -E2BIG;
	size_t room = sizeof(args->text) - args->used;
	va_list list;
	va_start(list, format);
	int n = vsnprintf(args->text + args->used, room, format, list);
	va_end(list);
	if (n < 0 || (size_t)n >= room)
		return -E2BIG;
	args->argv[args->argc++] = args->text + args->used;
	args->argv[args->argc] = NULL;
	args->used += (size_t)n + 1;
	return 0;
}

static bool is_option(const char *arg, const char *option)
{
	size_t length = strlen(option);

	if (strncmp(arg, option, length) != 0)
		return false;
	// "--file-prefix", "--file-prefix=x", "-m", "-m64"
	return arg[length] == '\0' || arg[length] == '=' || (length == 2 && option[1] != '-');
}

bool eal_args_has(const struct eal_args *args, const char *option)
{
	for (int i = 1; i < args->argc; i++) {
		if (is_option(args->argv[i], option))
			return true;
	}
	return false;
}

void eal_args_value(const struct eal_args *args, const char *option, char *out, size_t out_len)
{
	size_t length = strlen(option);

	snprintf(out, out_len, "%s", "");
	for (int i = 1; i < args->argc; i++) {
		if (strncmp(args->argv[i], option, length) != 0)
			continue;
		if (args->argv[i][length] == '=')
			snprintf(out, out_len, "%s", args->argv[i] + length + 1);
		else if (!args->argv[i][length] && i + 1 < args->argc)
			snprintf(out, out_len, "%s", args->argv[i + 1]);
	}
}

// Options that would say twice what gateway.json says once. EAL would take the last, or both.
static const struct {
	const char *option;
	const char *instead;
} refused[] = {
	{"--lcores", "\"lcores\""},
	{"-l", "\"lcores\""},
	{"-c", "\"lcores\""},
	{"--main-lcore", "\"lcores\": {\"control\"}"},
	{"--no-huge", "\"memory\": {\"hugepages\": false}"},
	{"--in-memory", "\"memory\": {\"hugepages\": true}"},
	{"-m", "\"memory\": {\"mb\"}"},
	{"--vdev", "\"ports\""},
	{"--proc-type", "nothing: there are no secondary instances"},
};

static int check_refused(const char *arg, const char *where, char *err, size_t err_len)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (!is_option(arg, refused[i].option))
			continue;
		snprintf(err, err_len, "EAL option %s %s is not taken; gateway.json says it by %s",
			refused[i].option, where, refused[i].instead);
		return -EINVAL;
	}
	return 0;
}

// Instances are told apart by their control socket, of which each has its own.
static uint32_t hash_path(const char *path)
{
	uint32_t hash = 2166136261u; // FNV-1a

	for (; *path; path++)
		hash = (hash ^ (uint8_t)*path) * 16777619u;
	return hash;
}

static int add_lcores(struct eal_args *args, const struct gateway *gateway)
{
	char list[GATEWAY_LCORES_MAX * 16];
	int n = snprintf(list, sizeof(list), "0@%u", gateway->control_cpu);

	// NAME@CPU: several data lcores may name one CPU, which -l cannot say.
	for (unsigned i = 0; i < gateway->n_data; i++) {
		n += snprintf(
			list + n, sizeof(list) - (size_t)n, ",%u@%u", i + 1, gateway->data_cpus[i]);
		if ((size_t)n >= sizeof(list))
			return -E2BIG;
	}
	return add(args, "--lcores=%s", list);
}

int eal_args_build(const struct gateway *gateway, char *const *extra, unsigned n_extra, uint32_t mb,
	struct eal_args *out, char *err, size_t err_len)
{
	bool pci = false;
	int rc = 0;

	out->argc = 0;
	out->used = 0;
	for (unsigned i = 0; i < gateway->n_eal && !rc; i++)
		rc = check_refused(gateway->eal[i], "in \"eal\"", err, err_len);
	for (unsigned i = 0; i < n_extra && !rc; i++)
		rc = check_refused(extra[i], "after --", err, err_len);
	if (rc)
		return rc;

	rc |= add(out, "sluice");
	rc |= add_lcores(out, gateway);
	if (gateway->memory.hugepages) {
		rc |= add(out, "--in-memory"); // nothing stays in hugetlbfs after a crash
	} else {
		if (gateway->memory.mb)
			mb = gateway->memory.mb;
		rc |= add(out, "--no-huge");
		rc |= add(out, "-m");
		rc |= add(out, "%u", mb ? mb : EAL_MEMORY_DEFAULT_MB);
		rc |= add(out, "--no-shconf"); // --in-memory is refused together with --no-huge
	}
	for (unsigned i = 0; i < gateway->n_eal; i++)
		rc |= add(out, "%s", gateway->eal[i]);
	for (unsigned i = 0; i < n_extra; i++)
		rc |= add(out, "%s", extra[i]);
	if (!eal_args_has(out, "--file-prefix"))
		rc |= add(out, "--file-prefix=sluice-%08x",
			hash_path(gateway->paths.control ? gateway->paths.control : ""));

	// Only the ports of gateway.json are taken, never every NIC that is bound to vfio.
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		if (device_type_of(gateway->ports[i].device) != DEVICE_PCI)
			continue;
		pci = true;
		rc |= add(out, "-a");
		rc |= add(out, "%s", gateway->ports[i].device);
	}
	bool no_pci = eal_args_has(out, "--no-pci");
	if (!rc && pci && no_pci) {
		snprintf(err, err_len,
			"\"eal\" has --no-pci, but a port of gateway.json is a PCI "
			"device: remove one of them");
		return -EINVAL;
	}
	if (!pci && !no_pci && !eal_args_has(out, "-a") && !eal_args_has(out, "--allow"))
		rc |= add(out, "--no-pci");
	if (rc) {
		snprintf(err, err_len, "too many or too long EAL options (at most %d, %d bytes)",
			EAL_ARGS_MAX, EAL_ARGS_TEXT);
		return -E2BIG;
	}
	return 0;
}

int eal_args_private(unsigned mb, const char *cpus, struct eal_args *out)
{
	int rc = 0;

	out->argc = 0;
	out->used = 0;
	rc |= add(out, "sluice");
	rc |= add(out, "--lcores=0@(%s)", cpus);
	rc |= add(out, "--no-huge");
	rc |= add(out, "-m");
	rc |= add(out, "%u", mb);
	rc |= add(out, "--no-shconf");
	rc |= add(out, "--no-pci");
	rc |= add(out, "--no-telemetry");
	return rc ? -E2BIG : 0;
}

void eal_args_line(const struct eal_args *args, char *out, size_t out_len)
{
	size_t used = 0;

	if (out_len)
		out[0] = '\0';
	for (int i = 1; i < args->argc && used < out_len; i++) {
		int n = snprintf(
			out + used, out_len - used, "%s%s", i > 1 ? " " : "", args->argv[i]);
		if (n < 0)
			return;
		used += (size_t)n;
	}
}
