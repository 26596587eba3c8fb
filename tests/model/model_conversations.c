// SPDX-License-Identifier: BSD-3-Clause
// A fuzzer of conversations (README.md): captures whose packets are dropped, doubled, reordered,
// delayed, cut and forged, through the real path with real policies and signatures.
//
//   model_conversations [-n CASES] [-s SEED] [-t SECONDS] [-f FAILURES] [-e] CAPTURE...
//
// -e: with a rule in force that masks a keyword in messages, which must be seen to be masked.
// Cases run in children of 64 each, so that a crash ends one of them and its seed is known. What
// fails is cut down and printed. SLUICE_SEED=N runs one, and with SLUICE_TELL=1 prints its packets;
// 1 is returned if anything failed.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "conversation.h"
#ifdef SLUICE_FAULTS
#include "pipeline/vocab/fault.h"
#include "reassembly/mutation.h"
#endif

#define CASES_PER_CHILD 64 // of one policy (conversation_make)
#define CHILD_SECONDS   300

static struct shared {
	uint64_t seed, packets, cases, edited;
	char why[CONVERSATION_WHY];
} * shared;
static unsigned n_captures, failures_max = 20;
static bool edits;

static void child_case(const struct conversation_case *a_case)
{
	const uint64_t before = conversation_packets_run();
	const uint64_t edited = conversation_packets_edited();
	const char *bad;

	shared->seed = a_case->seed;
	bad = conversation_run(a_case);
	shared->packets += conversation_packets_run() - before;
	shared->edited += conversation_packets_edited() - edited;
	if (bad) {
		snprintf(shared->why, sizeof(shared->why), "%s", bad);
		_exit(3);
	}
}

// In a child: 0 if all is well, else its status; shared->why says why.
static int in_child(const struct conversation_case *one, uint64_t first, uint64_t last, bool quiet)
{
	struct conversation_case a_case;
	int status;
	pid_t child;

	shared->why[0] = 0;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		alarm(CHILD_SECONDS);
		if (quiet && !freopen("/dev/null", "w", stderr))
			_exit(4);
		conversation_make(&a_case, first, n_captures, conversation_policies());
		conversation_open(one ? one->policy : a_case.policy);
		if (one)
			child_case(one);
		for (uint64_t seed = first; !one && seed <= last; seed++) {
			conversation_make(&a_case, seed, n_captures, conversation_policies());
			child_case(&a_case);
			shared->cases++;
		}
		conversation_close();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	if (status && !shared->why[0])
		snprintf(shared->why, sizeof(shared->why), "%s %d",
			WIFSIGNALED(status) ? "ended by signal" : "ended with",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return status;
}

static bool same_words(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		while (isdigit((unsigned char)*a))
			a++;
		while (isdigit((unsigned char)*b))
			b++;
		if (*a != *b)
			return false;
	}
	return *a == *b;
}

static void shrink(struct conversation_case *a_case)
{
	struct conversation_case less;
	char problem[CONVERSATION_WHY];

	memcpy(problem, shared->why, sizeof(problem));
	for (unsigned i = 0; i < a_case->n_ops;) {
		less = *a_case;
		memmove(less.ops + i, less.ops + i + 1, (less.n_ops - i - 1) * sizeof(less.ops[0]));
		less.n_ops--;
		if (in_child(&less, less.seed, less.seed, true) && same_words(shared->why, problem))
			*a_case = less;
		else
			i++;
	}
	memcpy(shared->why, problem, sizeof(problem));
}

static void report(uint64_t seed)
{
	struct conversation_case a_case;

	conversation_make(&a_case, seed, n_captures, conversation_policies());
	shrink(&a_case);
	fprintf(stderr, "FAILED: %s\n", shared->why);
	conversation_print(&a_case);
	if (getenv("SLUICE_TELL"))
		in_child(&a_case, seed, seed, false);
}

// Runs the cases first .. first + n - 1 or until `seconds` have passed; returns the failures.
static unsigned campaign(uint64_t first, uint64_t n, time_t seconds)
{
	const time_t until = time(NULL) + seconds;
	unsigned failures = 0;

	for (uint64_t seed = first; seed < first + n && failures < failures_max;) {
		uint64_t last = seed / CASES_PER_CHILD * CASES_PER_CHILD + CASES_PER_CHILD - 1;

		if (seconds && time(NULL) >= until)
			break;
		last = last >= first + n ? first + n - 1 : last;
		if (in_child(NULL, seed, last, true)) {
			failures++;
			seed = shared->seed;
			report(seed);
			seed++;
		} else {
			seed = last + 1;
		}
	}
	return failures;
}

#ifdef SLUICE_FAULTS
#define FAULT_CASES 4480

enum gateway_fault gateway_fault;

// The case fails without a fault, too.
static bool fails_anyway(uint64_t seed)
{
	const enum gateway_fault fault = gateway_fault;
	const enum track_mutation mutation = track_mutation;
	bool fails;

	gateway_fault = FAULT_NONE;
	track_mutation = MUTATION_NONE;
	fails = in_child(NULL, seed, seed, true);
	gateway_fault = fault;
	track_mutation = mutation;
	return fails;
}

static bool is_found(const char *what)
{
	uint64_t seed = 1;

	for (uint64_t last; seed <= FAULT_CASES; seed = last + 1) {
		last = seed / CASES_PER_CHILD * CASES_PER_CHILD + CASES_PER_CHILD - 1;
		if (!in_child(NULL, seed, last, true))
			continue;
		char why[CONVERSATION_WHY];

		last = shared->seed;
		memcpy(why, shared->why, sizeof(why));
		if (fails_anyway(last))
			continue;
		printf("found: %s: seed %llu: %s\n", what, (unsigned long long)last, why);
		return true;
	}
	printf("NOT found: %s\n", what);
	return false;
}

// Faults that were mended, put back one at a time: at least FAULTS_FOUND of them are found.
static int find_faults(unsigned at_least)
{
	static const char *const names[GATEWAY_FAULTS_MAX] = {
#define X(name, what) what,
		GATEWAY_FAULTS(X)
#undef X
	};
	static const struct {
		enum track_mutation mutation;
		const char *what;
	} of_tracker[] = {
		{MUTATION_RESET, "a RST ends inspection"},
		{MUTATION_COPIES, "copies behind a hole are not inspected"},
	};
	unsigned found = 0, all = 0;

	for (unsigned i = FAULT_NONE + 1; i < GATEWAY_FAULTS_MAX; i++, all++) {
		gateway_fault = (enum gateway_fault)i;
		found += is_found(names[i]);
	}
	gateway_fault = FAULT_NONE;
	for (unsigned i = 0; i < sizeof(of_tracker) / sizeof(of_tracker[0]); i++, all++) {
		track_mutation = of_tracker[i].mutation;
		found += is_found(of_tracker[i].what);
	}
	printf("%u of %u faults are found\n", found, all);
	return found < at_least;
}
#endif

int main(int argc, char **argv)
{
	const char *one = getenv("SLUICE_SEED");
	uint64_t first = 1, n = 1500;
	time_t seconds = 0;
	unsigned failures;
	int option;

	while ((option = getopt(argc, argv, "n:s:t:f:e")) != -1) {
		if (option == 'n')
			n = strtoull(optarg, NULL, 10);
		else if (option == 's')
			first = strtoull(optarg, NULL, 10);
		else if (option == 't')
			seconds = (time_t)strtoull(optarg, NULL, 10);
		else if (option == 'f')
			failures_max = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'e')
			edits = true;
		else
			return 2;
	}
	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	conversation_edits(edits);
	n_captures = conversation_load(argv + optind, (unsigned)(argc - optind));
	if (shared == MAP_FAILED || !n_captures)
		return 2;
#ifdef SLUICE_FAULTS
	return find_faults((unsigned)n);
#endif
	if (one)
		first = strtoull(one, NULL, 10), n = 1;
	failures = campaign(first, n, seconds);
	printf("%llu cases of %u captures from seed %llu, %llu packets, %u failed\n",
		(unsigned long long)shared->cases, n_captures, (unsigned long long)first,
		(unsigned long long)shared->packets, failures);
	if (edits)
		printf("%llu packets left with the keyword masked\n",
			(unsigned long long)shared->edited);
	return failures != 0 || (edits && !one && !shared->edited);
}
