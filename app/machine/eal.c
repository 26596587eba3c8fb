// SPDX-License-Identifier: BSD-3-Clause
// Starts EAL, and explains its failures.
#include "machine/eal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include "config/eal_args.h"
#include "base/log.h"
#include "base/options.h"

#define LINES_KEPT 8
#define LINE_BYTES 256

// The only DPDK log stream of the program. stdio's lock of the stream serialises its writers.
struct eal_log {
	FILE *stream;
	bool quiet; // until EAL is up, and when ports close: its chatter is for -vv
	unsigned n; // lines since eal_log_forget
	char lines[LINES_KEPT][LINE_BYTES];
	size_t used; // of the line at hand
	char line[LINE_BYTES];
};
static struct eal_log eal_log;
static struct eal_args eal_args; // EAL keeps pointers into it

static void line_end(void)
{
	if (!eal_log.used)
		return;
	eal_log.line[eal_log.used] = '\0';
	snprintf(eal_log.lines[eal_log.n++ % LINES_KEPT], LINE_BYTES, "%s", eal_log.line);
	if (eal_log.quiet)
		log_debug("dpdk: %s", eal_log.line);
	else
		log_info("dpdk: %s", eal_log.line);
	eal_log.used = 0;
}

static ssize_t log_write(void *cookie, const char *text, size_t length)
{
	(void)cookie;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\n')
			line_end();
		else if (eal_log.used < LINE_BYTES - 1)
			eal_log.line[eal_log.used++] = text[i];
	}
	return (ssize_t)length;
}

static void log_attach(void)
{
	static const cookie_io_functions_t functions = {.write = log_write};

	eal_log.stream = fopencookie(NULL, "w", functions);
	if (!eal_log.stream)
		return; // then DPDK writes to standard error itself
	setvbuf(eal_log.stream, NULL, _IOLBF, 0);
	rte_openlog_stream(eal_log.stream);
}

void eal_log_forget(void)
{
	if (!eal_log.stream)
		return;
	flockfile(eal_log.stream);
	eal_log.n = 0;
	funlockfile(eal_log.stream);
}

void eal_log_recall(char *out, size_t out_len)
{
	size_t used = 0;

	if (out_len)
		out[0] = '\0';
	if (!eal_log.stream)
		return;
	fflush(eal_log.stream);
	flockfile(eal_log.stream);
	unsigned first = eal_log.n > LINES_KEPT ? eal_log.n - LINES_KEPT : 0;
	for (unsigned i = first; i < eal_log.n && used < out_len; i++) {
		int n = snprintf(out + used, out_len - used, "%s%s", i > first ? "; " : "",
			eal_log.lines[i % LINES_KEPT]);
		if (n < 0)
			break;
		used += (size_t)n;
	}
	funlockfile(eal_log.stream);
}

void eal_log_closing(void)
{
	eal_log.quiet = true;
}

// The libraries below net_af_xdp write to standard error on their own, a dozen lines for each port.
// They are the driver's dependency, not ours: found only if it is loaded.
static int bpf_print(int level, const char *format, va_list args)
{
	if (level > 0)
		return 0; // information: what each of their calls did
	return eal_log.stream ? vfprintf(eal_log.stream, format, args) : 0;
}

static void bpf_quiet(const char *library, const char *setter)
{
	typedef void *(*set_print)(int (*print)(int, const char *, va_list));
	void *loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	if (!loaded)
		return;
	set_print set = (set_print)dlsym(loaded, setter);
	if (set)
		set(bpf_print);
	dlclose(loaded); // the driver's own reference remains
}

void signals_blockable(sigset_t *set)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

	sigfillset(set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
}

// rte_eal_init prints its usage to standard output when an option is wrong; the option itself is
// named on standard error by getopt. Only the second is for the operator's eyes.
static int init_quietly(struct eal_args *args)
{
	int out = dup(STDOUT_FILENO);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	if (out >= 0 && null >= 0)
		dup2(null, STDOUT_FILENO);
	int rc = rte_eal_init(args->argc, args->argv);
	fflush(stdout);
	if (out >= 0 && null >= 0)
		dup2(out, STDOUT_FILENO);
	if (out >= 0)
		close(out);
	if (null >= 0)
		close(null);
	return rc;
}

// What rte_eal_init's failure means. Its errno is of little help, its log lines are more.
static int explain(int error, char *err, size_t err_len)
{
	char lines[LINES_KEPT * LINE_BYTES];

	eal_log_recall(lines, sizeof(lines));
	if (strstr(lines, "Is another primary process running") ||
		strstr(lines, "Cannot create lock")) {
		snprintf(err, err_len,
			"another DPDK program runs with the same --file-prefix: stop it, or give "
			"another prefix in \"eal\" of gateway.json (%s)",
			lines);
		return EXIT_CODE_UNAVAILABLE;
	}
	if (strstr(lines, "Cannot allocate memory") || strstr(lines, "Not enough memory") ||
		strstr(lines, "hugepage") || error == ENOMEM) {
		snprintf(err, err_len,
			"EAL got no memory: reserve hugepages (echo 256 > "
			"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages), or set "
			"\"memory\": "
			"{\"hugepages\": false} and a \"mb\" that the machine has (%s)",
			lines);
		return EXIT_CODE_UNAVAILABLE;
	}
	if (error == EACCES || error == EPERM || strstr(lines, "Permission denied")) {
		snprintf(err, err_len, "EAL was refused: run as root (%s)", lines);
		return EXIT_CODE_PERMISSION;
	}
	if (error == EINVAL) {
		char line[1024];
		eal_args_line(&eal_args, line, sizeof(line));
		snprintf(err, err_len,
			"EAL does not take these options, see \"eal\" and \"lcores\" in "
			"gateway.json "
			"and what follows -- on the command line: %s (%s)",
			line, lines);
		return EXIT_CODE_CONFIG;
	}
	snprintf(err, err_len, "EAL did not start: %s (%s)", rte_strerror(error), lines);
	return EXIT_CODE_UNAVAILABLE;
}

static int start(char *err, size_t err_len)
{
	sigset_t all, before;
	char line[2048];

	eal_args_line(&eal_args, line, sizeof(line));
	log_info("EAL options: %s", line);
	log_attach();
	eal_log.quiet = true;
	// Threads inherit the mask: whatever EAL makes stays deaf, the control loop hears.
	signals_blockable(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = init_quietly(&eal_args);
	int error = rte_errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	eal_log.quiet = false;
	bpf_quiet("libbpf.so.1", "libbpf_set_print");
	bpf_quiet("libxdp.so.1", "libxdp_set_print");
	return rc < 0 ? explain(error, err, err_len) : EXIT_CODE_OK;
}

int eal_start(const struct gateway *gateway, char *const *extra, unsigned n_extra, unsigned mb,
	char *err, size_t err_len)
{
	if (eal_args_build(gateway, extra, n_extra, mb, &eal_args, err, err_len) < 0)
		return EXIT_CODE_CONFIG;
	return start(err, err_len);
}

int eal_start_private(unsigned mb, char *err, size_t err_len)
{
	char cpus[CPU_SETSIZE * 5] = "";
	size_t used = 0;
	cpu_set_t set;

	// All CPUs that we may use, so that EAL does not pin several replays to the same one.
	if (sched_getaffinity(0, sizeof(set), &set) < 0) {
		CPU_ZERO(&set);
		CPU_SET(0, &set);
	}
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && used < sizeof(cpus); cpu++) {
		if (CPU_ISSET(cpu, &set))
			used += (size_t)snprintf(
				cpus + used, sizeof(cpus) - used, "%s%u", used ? "," : "", cpu);
	}
	if (eal_args_private(mb, cpus, &eal_args) < 0) {
		snprintf(err, err_len, "the machine's CPU list is too long for EAL");
		return EXIT_CODE_UNAVAILABLE;
	}
	return start(err, err_len);
}

void eal_stop(void)
{
	rte_eal_cleanup();
	if (eal_log.stream) {
		rte_openlog_stream(NULL);
		fclose(eal_log.stream);
		eal_log.stream = NULL;
	}
}
