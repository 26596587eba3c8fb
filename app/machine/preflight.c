// SPDX-License-Identifier: BSD-3-Clause
// Checks users, CPUs, memory and permissions before EAL is started.
#include "machine/preflight.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>
#include "process/identity.h"
#include "process/launcher.h"
#include "base/options.h"

void preflight_note(struct preflight *out, int code, const char *what, const char *format, ...)
{
	if (out->n == PREFLIGHT_ITEMS_MAX)
		return;
	struct preflight_item *item = &out->items[out->n++];
	item->code = code == PREFLIGHT_WARNING ? 0 : code;
	item->warning = code == PREFLIGHT_WARNING;
	snprintf(item->what, sizeof(item->what), "%s", what);
	va_list args;
	va_start(args, format);
	vsnprintf(item->text, sizeof(item->text), format, args);
	va_end(args);
}

bool preflight_read(const char *path, char *text, size_t text_len)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	bool ok = fgets(text, (int)text_len, file);
	fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

static uint64_t meminfo_mb(const char *key)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kb = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0)
			kb = strtoull(line + strlen(key), NULL, 10);
	}
	if (file)
		fclose(file);
	return kb / 1024;
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
	static struct interfaces interfaces; // large
	// Without it nothing is warned of.
	if (interfaces_read(&interfaces) < 0)
		interfaces.n = 0;
	host->interfaces = &interfaces;
	host->memory_mb = meminfo_mb("MemTotal:");
	host->available_mb = meminfo_mb("MemAvailable:");
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

static void add_cpu(char *list, size_t list_len, unsigned cpu)
{
	size_t used = strlen(list);

	snprintf(list + used, list_len - used, "%s%u", used ? ", " : "", cpu);
}

// Several on one CPU take turns: what comes for one waits while another polls.
static void warn_of_shared_cpus(const struct gateway *gateway, struct preflight *out)
{
	char twice[256] = "", scan[256] = "";
	uint64_t seen[16] = {0}, reported[16] = {0};
	bool control = false;

	for (unsigned i = 0; i < gateway->n_data; i++) {
		unsigned cpu = gateway->data_cpus[i];
		uint64_t bit = 1ull << cpu % 64;
		control |= cpu == gateway->control_cpu;
		if (cpu / 64 >= 16)
			continue;
		if (seen[cpu / 64] & bit && !(reported[cpu / 64] & bit)) {
			add_cpu(twice, sizeof(twice), cpu);
			reported[cpu / 64] |= bit;
		}
		seen[cpu / 64] |= bit;
	}
	for (unsigned i = 0; i < gateway->n_scan; i++) {
		unsigned cpu = gateway->scan_cpus[i];
		if (cpu / 64 < 16 && seen[cpu / 64] >> cpu % 64 & 1)
			add_cpu(scan, sizeof(scan), cpu);
	}
	if (twice[0])
		preflight_note(out, PREFLIGHT_WARNING, "CPUs",
			"CPU %s is named more than once in \"lcores.data\": its data lcores take "
			"turns, "
			"which is slower than one of them: name each CPU once",
			twice);
	if (control)
		preflight_note(out, PREFLIGHT_WARNING, "CPUs",
			"CPU %u is \"lcores.control\" and in \"lcores.data\": a data lcore polls, "
			"and "
			"packets wait whenever the control core runs: give control another CPU",
			gateway->control_cpu);
	if (scan[0])
		preflight_note(out, PREFLIGHT_WARNING, "CPUs",
			"CPU %s is in \"lcores.scan\" and in \"lcores.data\": packets wait while a "
			"file is scanned: give scanning other CPUs",
			scan);
}

static void check_cpus(
	const struct gateway *gateway, const struct preflight_host *host, struct preflight *out)
{
	unsigned cpus[1 + 2 * GATEWAY_LCORES_MAX], n = 0;
	char missing[256] = "";

	cpus[n++] = gateway->control_cpu;
	for (unsigned i = 0; i < gateway->n_data; i++)
		cpus[n++] = gateway->data_cpus[i];
	for (unsigned i = 0; i < gateway->n_scan; i++)
		cpus[n++] = gateway->scan_cpus[i];
	for (unsigned i = 0; i < n; i++) {
		bool ours = cpus[i] / 64 < 16 && host->cpus[cpus[i] / 64] >> cpus[i] % 64 & 1;
		if (!ours)
			add_cpu(missing, sizeof(missing), cpus[i]);
	}
	if (missing[0])
		preflight_note(out, EXIT_CODE_UNAVAILABLE, "CPUs",
			"CPU %s of \"lcores\" is not here, is offline, or is not among those that "
			"this process may use (taskset, cgroup): name others (lscpu -e lists them)",
			missing);
	else
		preflight_note(out, 0, "CPUs", "control %u, %u data lcores", gateway->control_cpu,
			gateway->n_data);
	warn_of_shared_cpus(gateway, out);
}

#define LESS_MEMORY                                                                            \
	"take less: \"limits.flows\" (512 bytes each), \"limits.embryos\", \"memory.mbufs\", " \
	"\"reassembly.memory_mb\" (docs/operating.md has the table)"

static void check_plain_memory(
	const struct preflight_host *host, uint32_t memory_mb, struct preflight *out)
{
	if (host->memory_mb && memory_mb > host->memory_mb)
		preflight_note(out, EXIT_CODE_UNAVAILABLE, "memory",
			"about %u MB needed, and the machine has %" PRIu64 " MB: " LESS_MEMORY,
			memory_mb, host->memory_mb);
	else if (host->memory_mb && memory_mb > host->available_mb)
		preflight_note(out, PREFLIGHT_WARNING, "memory",
			"about %u MB needed, and %" PRIu64 " MB of the machine's %" PRIu64
			" MB are free: when the tables fill up, the kernel ends a program: end "
			"others, "
			"or " LESS_MEMORY,
			memory_mb, host->available_mb, host->memory_mb);
	else
		preflight_note(
			out, 0, "memory", "without hugepages, about %u MB needed", memory_mb);
}

static void check_hugepages(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out)
{
	char dir[PATH_MAX], path[PATH_MAX + 64], text[32];
	uint64_t free_kb = 0, total_kb = 0;

	if (!gateway->memory.hugepages) {
		check_plain_memory(host, memory_mb, out);
		return;
	}
	snprintf(dir, sizeof(dir), "%s/kernel/mm/hugepages", host->sys);
	DIR *sizes = opendir(dir);
	for (struct dirent *entry; sizes && (entry = readdir(sizes));) {
		uint64_t kb;
		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), "%.3000s/%.64s/free_hugepages", dir, entry->d_name);
		if (preflight_read(path, text, sizeof(text)))
			free_kb += kb * strtoull(text, NULL, 10);
		snprintf(path, sizeof(path), "%.3000s/%.64s/nr_hugepages", dir, entry->d_name);
		if (preflight_read(path, text, sizeof(text)))
			total_kb += kb * strtoull(text, NULL, 10);
	}
	if (sizes)
		closedir(sizes);
	uint64_t pages = ((uint64_t)memory_mb + 1) / 2 + (total_kb - free_kb) / 2048;
	// Pages that are reserved are no longer among what is available.
	uint64_t room_mb = free_kb / 1024 + host->available_mb;
	if (host->memory_mb && memory_mb > room_mb)
		preflight_note(out, EXIT_CODE_UNAVAILABLE, "hugepages",
			"%" PRIu64
			" MB free, about %u MB needed, and the machine, which has %" PRIu64
			" MB, has no more than %" PRIu64 " MB to give: " LESS_MEMORY,
			free_kb / 1024, memory_mb, host->memory_mb, room_mb);
	else if (free_kb / 1024 < memory_mb)
		preflight_note(out, EXIT_CODE_UNAVAILABLE, "hugepages",
			"%" PRIu64 " MB free, about %u MB needed: echo %" PRIu64
			" > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages; or set "
			"\"memory\": {\"hugepages\": false} (slower)",
			free_kb / 1024, memory_mb, pages);
	else
		preflight_note(out, 0, "hugepages", "%" PRIu64 " MB free, about %u MB needed",
			free_kb / 1024, memory_mb);
}

static void check_service(const struct gateway *gateway, struct preflight *out)
{
	struct identity identity;
	char err[512];
	int rc = identity_choose(gateway, &identity, err, sizeof(err));

	if (rc < 0)
		preflight_note(out, rc == -ENOENT ? EXIT_CODE_CONFIG : EXIT_CODE_PERMISSION, "user",
			"%s", err);
	else if (identity.folder[0])
		preflight_note(out, 0, "user", "%s, group %s: who %s belongs to", identity.user,
			identity.group, identity.folder);
	else if (gateway->user)
		preflight_note(out, 0, "user", "%s, group %s", identity.user, identity.group);
	if (!gateway->hook.n_command)
		return;
	rc = launcher_check_hook(gateway, err, sizeof(err));
	if (rc < 0)
		preflight_note(out, rc == -ENOENT ? EXIT_CODE_CONFIG : EXIT_CODE_PERMISSION, "hook",
			"%s", err);
	else
		preflight_note(out, 0, "hook", "%s", gateway->hook.command[0]);
}

void preflight_run(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out)
{
	out->n = 0;
	check_service(gateway, out);
	check_cpus(gateway, host, out);
	check_hugepages(gateway, host, memory_mb, out);
	preflight_scan(gateway, host, memory_mb, out);
	preflight_ports(gateway, host, out);
}

int preflight_code(const struct preflight *preflight)
{
	for (unsigned i = 0; i < preflight->n; i++) {
		if (preflight->items[i].code)
			return preflight->items[i].code;
	}
	return 0;
}
