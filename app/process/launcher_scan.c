// SPDX-License-Identifier: BSD-3-Clause
// The command line of the scanner, as gateway.json has it.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "process/launcher_process.h"
#include "process/scan_user.h"
#include "base/log.h"

#define NUMBERS 9
#define END_MS  500 // in which it ends by itself

// Of the launcher's process, which lives as long as they are used.
static char *words[SCAN_PARENT_WORDS_MAX + 1];
static char numbers[NUMBERS][16];
static char user[65]; // "": none

static void add(unsigned *n, char *option, char *value)
{
	words[(*n)++] = option;
	words[(*n)++] = value;
}

static void add_number(unsigned *n, unsigned index, char *option, uint32_t value)
{
	snprintf(numbers[index], sizeof(numbers[0]), "%u", value);
	add(n, option, numbers[index]);
}

// What is wrong with it the preflight has said.
static void choose_user(const struct gateway *gateway)
{
	char text[SCAN_USER_TEXT];
	const char *chosen;

	if (scan_user_choose(gateway->scan.user, SCAN_USER_OWN, scan_user_can_change(), &chosen,
		    text, sizeof(text)) < 0)
		chosen = gateway->scan.user; // sluice-scan refuses it
	snprintf(user, sizeof(user), "%s", chosen ? chosen : "");
}

void launcher_plan_scan(struct launcher_plan *plan, int arena, int socket)
{
	static char options[][16] = {"--database", "--tmp", "--user", "--tmp-mb", "--memory-mb",
		"--jobs", "--max-scan-ms", "--max-file-mb", "--max-scan-mb", "--max-recursion",
		"--max-files", "--watch-s"};
	const struct gateway *gateway = plan->gateway;
	const uint32_t values[NUMBERS] = {gateway->scan.tmp_mb, gateway->scan.memory_mb,
		gateway->scan.jobs, gateway->scan.timeout_ms, gateway->scan.max_file_mb,
		gateway->scan.max_scan_mb, gateway->scan.max_recursion, gateway->scan.max_files,
		gateway->scan.watch ? gateway->scan.watch_s : 0};
	struct scan_parent_plan scan = {.program = gateway_scan_program(gateway),
		.words = words,
		.arena = arena,
		.n_controls = gateway->n_scan ? gateway->n_scan : 1};
	unsigned n = 0;

	choose_user(gateway);
	add(&n, options[0], gateway->scan.database);
	add(&n, options[1], gateway->scan.tmp);
	if (user[0])
		add(&n, options[2], user);
	for (unsigned i = 0; i < NUMBERS; i++)
		add_number(&n, i, options[3 + i], values[i]);
	if (mkdir(gateway->scan.tmp, 0755) < 0 && errno != EEXIST)
		log_error("scan.tmp %s: %s; make it, or name another folder", gateway->scan.tmp,
			strerror(errno));
	scan_parent_init(&plan->scan, &scan, socket);
	plan->has_scan = true;
}

int launcher_plan_scan_step(struct launcher_plan *plan, pid_t hook)
{
	if (!plan->has_scan)
		return -1;
	// One whose end is closed is the gateway's, and that is heard of elsewhere.
	scan_parent_hear(&plan->scan);
	return scan_parent_step(&plan->scan, hook, launcher_now_ms());
}

void launcher_plan_scan_end(struct launcher_plan *plan)
{
	if (plan->has_scan)
		scan_parent_end(&plan->scan, END_MS);
}
