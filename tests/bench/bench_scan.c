// SPDX-License-Identifier: BSD-3-Clause
// Files looked at by N children of sluice-scan, asked as scan lcores ask them, beside the same
// files looked at by N threads of libclamav alone, in turns (ABBA). Both have their signatures
// loaded before; files lie in memory. Prints JSON: seconds of each round, the share of the
// children's processor time that they spend inside of libclamav, and messages a file.
#include <clamav.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "scan/arena.h"
#include "scan/wire.h"

#define WORKERS_MAX 16
#define ROUNDS_MAX  50
#define PATIENCE_MS 60000
#define NS          1e-9

struct child {
	int control, files;
	pid_t pid;
	uint64_t inside_ns; // of the engine, as it says itself
};

static const char *program, *database, *tmp;
static unsigned n_workers, n_files, n_rounds;
static size_t file_bytes;
static struct scan_arena arena;
static struct child children[WORKERS_MAX];
static struct cl_engine *engine;
static pid_t parent;
static unsigned long long n_messages, n_jobs;
static atomic_uint next_file;

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "bench_scan: %s: %s\n", what, strerror(errno));
	if (parent > 0)
		kill(parent, SIGTERM);
	exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * NS;
}

static size_t stride(void)
{
	return (file_bytes + SCAN_PAGE - 1) / SCAN_PAGE * SCAN_PAGE;
}

// Random bytes: what libclamav's matcher has to look at from the first to the last.
static void make_files(void)
{
	uint64_t state = 88172645463325252u;
	char err[200];

	if (scan_arena_new(&arena, stride() * n_files, SCAN_PAGE, 1, err, sizeof(err)))
		die(err);
	for (size_t i = 0; i + sizeof(state) <= arena.bytes; i += sizeof(state)) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		memcpy(arena.base + i, &state, sizeof(state));
	}
}

static void run_program(const int *theirs)
{
	char fds[2][WORKERS_MAX * 8] = {"", ""};
	size_t used = 0;

	snprintf(fds[0], sizeof(fds[0]), "%d", arena.fd);
	fcntl(arena.fd, F_SETFD, 0);
	for (unsigned i = 0; i < n_workers; i++) {
		used += (size_t)snprintf(
			fds[1] + used, sizeof(fds[1]) - used, "%s%d", i ? "," : "", theirs[i]);
		fcntl(theirs[i], F_SETFD, 0);
	}
	execl(program, program, "--database", database, "--arena", fds[0], "--control", fds[1],
		"--tmp", tmp, "--jobs", "1000000", NULL);
	_exit(127);
}

static void wait_for(int fd)
{
	if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS) != 1)
		die("the scanner says nothing");
}

static void start_children(void)
{
	int theirs[WORKERS_MAX];

	for (unsigned i = 0; i < n_workers; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			die("sockets");
		children[i].control = ends[0];
		theirs[i] = ends[1];
	}
	parent = fork();
	if (parent == 0)
		run_program(theirs);
	for (unsigned i = 0; i < n_workers; i++) {
		struct scan_wire_control born;

		close(theirs[i]);
		wait_for(children[i].control);
		if (scan_wire_receive(children[i].control, &born, sizeof(born),
			    &children[i].files) != sizeof(born) ||
			scan_wire_check_control(&born, sizeof(born), false) ||
			born.head.kind != SCAN_WIRE_BORN)
			die("no child");
		children[i].pid = born.pid;
	}
}

static void ask(const struct child *child, unsigned file)
{
	struct scan_wire_request request = {
		.bytes = file_bytes, .flags = SCAN_WIRE_WHOLE, .n_extents = 1};

	scan_wire_head_set(&request.head, SCAN_WIRE_REQUEST, file + 1);
	request.extents[0] = (struct scan_extent){
		.page = (uint32_t)(stride() / SCAN_PAGE * file), .bytes = (uint32_t)file_bytes};
	if (scan_wire_send(child->files, &request, sizeof(request), -1))
		die("a request");
	n_messages++;
}

// False: it has not answered.
static bool hear(struct child *child, unsigned file)
{
	struct scan_wire_verdict verdict;
	int fd;
	ssize_t n = scan_wire_receive(child->files, &verdict, sizeof(verdict), &fd);

	if (n == -EAGAIN)
		return false;
	if (n <= 0 || scan_wire_check_verdict(&verdict, (size_t)n, file + 1) ||
		verdict.value != SCAN_CLEAN)
		die("a verdict");
	child->inside_ns += verdict.scan_ns;
	n_messages++;
	n_jobs++;
	return true;
}

static double round_of_children(void)
{
	unsigned given = 0, done = 0, file[WORKERS_MAX];
	struct pollfd fds[WORKERS_MAX];
	double begin = seconds();

	for (unsigned i = 0; i < n_workers; i++) {
		fds[i] = (struct pollfd){.fd = children[i].files, .events = POLLIN};
		file[i] = n_files;
		if (given < n_files)
			ask(&children[i], file[i] = given++);
	}
	while (done < n_files) {
		if (poll(fds, n_workers, PATIENCE_MS) < 1)
			die("no verdict");
		for (unsigned i = 0; i < n_workers; i++) {
			if (!fds[i].revents || !hear(&children[i], file[i]))
				continue;
			done++;
			if (given < n_files)
				ask(&children[i], file[i] = given++);
		}
	}
	return seconds() - begin;
}

static void load_engine(void)
{
	unsigned signatures = 0;

	if (cl_init(CL_INIT_DEFAULT) != CL_SUCCESS || !(engine = cl_engine_new()))
		die("libclamav");
	// As sluice-scan has it: a file that was looked at before is looked at again.
	if (cl_engine_set_num(engine, CL_ENGINE_DISABLE_CACHE, 1) != CL_SUCCESS ||
		cl_engine_set_num(engine, CL_ENGINE_BYTECODE_MODE, CL_BYTECODE_MODE_INTERPRETER) !=
			CL_SUCCESS ||
		cl_load(database, engine, &signatures, CL_DB_STDOPT) != CL_SUCCESS || !signatures ||
		cl_engine_compile(engine) != CL_SUCCESS)
		die("signatures");
}

static void *scan_files(void *context)
{
	struct cl_scan_options options = {
		.general = CL_SCAN_GENERAL_HEURISTICS, .parse = ~0u, .heuristic = 0};
	unsigned file;

	while ((file = atomic_fetch_add(&next_file, 1)) < n_files) {
		const char *name = NULL;
		unsigned long scanned = 0;
		cl_fmap_t *map = cl_fmap_open_memory(arena.base + stride() * file, file_bytes);

		if (!map || cl_scanmap_callback(map, NULL, &name, &scanned, engine, &options,
				    NULL) != CL_SUCCESS)
			die("libclamav");
		cl_fmap_close(map);
	}
	return context;
}

static double round_of_threads(void)
{
	pthread_t threads[WORKERS_MAX];
	double begin = seconds();

	atomic_store(&next_file, 0);
	for (unsigned i = 0; i < n_workers; i++)
		if (pthread_create(&threads[i], NULL, scan_files, NULL))
			die("a thread");
	for (unsigned i = 0; i < n_workers; i++)
		pthread_join(threads[i], NULL);
	return seconds() - begin;
}

static double cpu_seconds(pid_t pid)
{
	unsigned long long ns = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	FILE *file = fopen(path, "re");

	if (!file || fscanf(file, "%llu", &ns) != 1)
		die(path);
	fclose(file);
	return (double)ns * NS;
}

static double cpu_of_children(void)
{
	double sum = 0;

	for (unsigned i = 0; i < n_workers; i++)
		sum += cpu_seconds(children[i].pid);
	return sum;
}

static void print_list(const char *name, const double *values, const char *end)
{
	printf("\"%s\": [", name);
	for (unsigned i = 0; i < n_rounds; i++)
		printf("%s%.6f", i ? ", " : "", values[i]);
	printf("]%s", end);
}

static void measure(void)
{
	double of_children[ROUNDS_MAX], of_threads[ROUNDS_MAX], inside = 0, cpu = 0;

	round_of_children(); // what is touched first is not measured
	round_of_threads();
	n_messages = n_jobs = 0;
	for (unsigned i = 0; i < n_workers; i++)
		children[i].inside_ns = 0;
	for (unsigned i = 0; i < n_rounds; i++) {
		if (i % 2)
			of_threads[i] = round_of_threads();
		cpu -= cpu_of_children();
		of_children[i] = round_of_children();
		cpu += cpu_of_children();
		if (i % 2 == 0)
			of_threads[i] = round_of_threads();
	}
	for (unsigned i = 0; i < n_workers; i++)
		inside += (double)children[i].inside_ns * NS;
	printf("{\"workers\": %u, \"files\": %u, \"bytes\": %zu, \"libclamav\": \"%s\", ",
		n_workers, n_files, file_bytes, cl_retver());
	printf("\"share\": %.4f, \"messages\": %.3f, \"seconds\": {", inside / cpu,
		(double)n_messages / (double)n_jobs);
	print_list("children", of_children, ", ");
	print_list("threads", of_threads, "}}\n");
}

static unsigned number(const char *text, unsigned max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || !n || n > max) {
		fprintf(stderr, "bench_scan: 1 to %u, not \"%s\"\n", max, text);
		exit(2);
	}
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	if (argc != 8) {
		fprintf(stderr,
			"usage: bench_scan PROGRAM DATABASE TMP WORKERS FILES BYTES ROUNDS\n");
		return 2;
	}
	program = argv[1];
	database = argv[2];
	tmp = argv[3];
	n_workers = number(argv[4], WORKERS_MAX);
	n_files = number(argv[5], 100000);
	file_bytes = number(argv[6], 64u << 20);
	n_rounds = number(argv[7], ROUNDS_MAX);
	make_files();
	start_children();
	load_engine();
	measure();
	for (unsigned i = 0; i < n_workers; i++) {
		close(children[i].files);
		close(children[i].control);
	}
	waitpid(parent, NULL, 0);
	cl_engine_free(engine);
	scan_arena_free(&arena);
	return 0;
}
