// SPDX-License-Identifier: BSD-3-Clause
// `sluice replay` again and again in one process: a line of standard input is a command line, its
// words separated by tabs; its first word may be 2>FILE. Prints "done CODE" for each. Linked with
// EAL's start and stop wrapped, so that EAL is started once (tests/lib/rig/replays.py).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "machine/eal.h"
#include "base/options.h"
#include "replay/replay.h"
#include "replay/plane.h"

#define WORDS_MAX 4096
#define EAL_MB    768

int __real_eal_start_private(unsigned mb, char *err, size_t err_len);
int __wrap_eal_start_private(unsigned mb, char *err, size_t err_len);
void __wrap_eal_stop(void);
void __real_replay_plane_free(struct replay_plane *plane, bool another);
void __wrap_replay_plane_free(struct replay_plane *plane, bool another);

int __wrap_eal_start_private(unsigned mb, char *err, size_t err_len)
{
	static bool started;

	(void)mb;
	if (started)
		return 0;
	started = true;
	return __real_eal_start_private(EAL_MB, err, err_len);
}

void __wrap_eal_stop(void)
{
}

void __wrap_replay_plane_free(struct replay_plane *plane, bool another)
{
	(void)another;
	__real_replay_plane_free(plane, true);
}

static void errors_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0) {
		perror(path);
		exit(1);
	}
	close(fd);
}

int main(void)
{
	static char *words[WORDS_MAX + 1];
	char *line = NULL;
	size_t room = 0;
	int n;

	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = 0;
		n = 1;
		words[0] = (char[]){"replay"};
		char *rest = line, *word;
		while (n < WORDS_MAX && (word = strsep(&rest, "\t"))) // one may be empty
			if (n == 1 && strncmp(word, "2>", 2) == 0)
				errors_to(word + 2);
			else
				words[n++] = word;
		words[n] = NULL;
		if (rest)
			fprintf(stderr, "replay_many: more than %d words\n", WORDS_MAX - 1);
		int code = rest ? EXIT_CODE_USAGE : replay_main(n, words);
		fflush(stdout);
		fflush(stderr);
		printf("done %d\n", code);
		fflush(stdout);
	}
	free(line);
	return 0;
}
