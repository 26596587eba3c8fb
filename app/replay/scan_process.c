// SPDX-License-Identifier: BSD-3-Clause
// Runs sluice-scan for replay.
#include "replay/scan_process.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "process/launcher_process.h"

#define TIMEOUT_MAX_MS 600000u // as sluice-scan takes it
#define FOLDERS_MAX    16      // deep

struct scan_process {
	struct launcher_plan plan; // of the launcher's parts, the scanner alone
	int ours, theirs; // a socket to ourselves, where the launcher has one to the gateway
	char tmp[PATH_MAX];
};

static int refuse(char *err, size_t err_len, const char *key, const char *path, int error)
{
	snprintf(err, err_len, "%s %s: %s", key, path, strerror(error));
	return -error;
}

// It changes to / before it reads any.
static int make_absolute(char **path, const char *key, char *err, size_t err_len)
{
	char *full = realpath(*path, NULL);

	if (!full)
		return refuse(err, err_len, key, *path, errno);
	free(*path);
	*path = full;
	return 0;
}

static int check_program(const char *path, char *err, size_t err_len)
{
	char culprit[PATH_MAX] = "";

	if (access(path, X_OK) < 0)
		return refuse(err, err_len, "scan.program", path, errno);
	if (geteuid() == 0 && !launcher_only_root_changes(path, culprit)) {
		snprintf(err, err_len,
			"scan.program %s: it would be started as root, and others can change %s",
			path, culprit);
		return -EPERM;
	}
	return 0;
}

// A gateway's folder may be in use, or not ours.
static int make_folder(struct scan_process *own, char *err, size_t err_len)
{
	const char *base = getenv("TMPDIR");

	snprintf(own->tmp, sizeof(own->tmp), "%s/sluice-replay.XXXXXX",
		base && *base ? base : "/tmp");
	if (!mkdtemp(own->tmp) || chmod(own->tmp, 0755) < 0) {
		int rc = refuse(err, err_len, "a folder to unpack files in", own->tmp, errno);
		own->tmp[0] = '\0';
		return rc;
	}
	return 0;
}

static int prepare(struct scan_process *own, struct gateway *gateway, uint64_t file_ms, char *err,
	size_t err_len)
{
	int rc;

	if (!gateway->scan.program)
		gateway->scan.program = strdup(gateway_scan_program(gateway));
	if (!gateway->scan.program)
		return refuse(err, err_len, "scanner", "of replay", ENOMEM);
	rc = make_absolute(&gateway->scan.program, "scan.program", err, err_len);
	if (!rc)
		rc = make_absolute(&gateway->scan.database, "scan.database", err, err_len);
	if (!rc)
		rc = check_program(gateway->scan.program, err, err_len);
	if (!rc)
		rc = make_folder(own, err, err_len);
	if (rc)
		return rc;
	free(gateway->scan.tmp);
	gateway->scan.tmp = realpath(own->tmp, NULL);
	if (!gateway->scan.tmp)
		return refuse(err, err_len, "folder", own->tmp, errno);
	if (geteuid() != 0) { // who may not become another stays who they are
		free(gateway->scan.user);
		gateway->scan.user = NULL;
	}
	gateway->scan.timeout_ms = file_ms < TIMEOUT_MAX_MS ? (uint32_t)file_ms : TIMEOUT_MAX_MS;
	gateway->n_scan = 0; // one control socket
	return 0;
}

int scan_process_new(struct gateway *gateway, int arena, uint64_t file_ms,
	struct scan_process **out, char *err, size_t err_len)
{
	struct scan_process *own = calloc(1, sizeof(*own));
	int ends[2];

	*out = own;
	if (!own)
		return refuse(err, err_len, "scanner", "of replay", ENOMEM);
	own->ours = own->theirs = -1;
	own->plan.gateway = gateway;
	int rc = prepare(own, gateway, file_ms, err, err_len);

	if (rc < 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return refuse(err, err_len, "scanner", gateway->scan.program, errno);
	own->ours = ends[0];
	own->theirs = ends[1];
	launcher_plan_scan(&own->plan, arena, own->theirs);
	return scan_parent_begin(own->ours);
}

unsigned scan_process_step(struct scan_process *own, struct scan_news news[SCAN_PROCESS_NEWS_MAX])
{
	struct scan_parent_news said;
	int fds[SCAN_PARENT_CONTROLS_MAX];
	unsigned n = 0;

	launcher_plan_scan_step(&own->plan, 0);
	while (n < SCAN_PROCESS_NEWS_MAX && scan_parent_news(own->ours, &said, fds) == 0) {
		news[n++] =
			(struct scan_news){.fd = said.n_fds ? fds[0] : -1, .parent = said.parent};
		if (!said.n_fds) // once is enough: it is not started again
			own->plan.scan.is_begun = false;
	}
	return n;
}

void scan_process_kill(struct scan_process *own)
{
	scan_parent_end(&own->plan.scan, 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

void scan_process_free(struct scan_process *own)
{
	if (!own)
		return;
	launcher_plan_scan_end(&own->plan);
	if (own->ours >= 0) {
		close(own->ours);
		close(own->theirs);
	}
	if (own->tmp[0] && nftw(own->tmp, remove_one, FOLDERS_MAX, FTW_DEPTH | FTW_PHYS) < 0)
		fprintf(stderr, "sluice replay: warning: %s: cannot be removed: %s\n", own->tmp,
			strerror(errno));
	free(own);
}
