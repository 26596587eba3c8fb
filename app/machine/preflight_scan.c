// SPDX-License-Identifier: BSD-3-Clause
// Checks what the virus scanner needs: its program, signatures, user, and memory.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/options.h"
#include "machine/preflight.h"
#include "process/identity.h"
#include "process/launcher_process.h"
#include "process/scan_user.h"

#define MEANWHILE "until then files are unscanned (no_engine)"

static void check_user(const struct gateway *gateway, struct preflight *out)
{
	struct identity identity = {0};
	char text[SCAN_USER_TEXT], err[512];
	const char *user;
	int rc = scan_user_choose(gateway->scan.user, SCAN_USER_OWN, scan_user_can_change(), &user,
		text, sizeof(text));

	if (rc < 0) {
		preflight_note(out, rc == -ENOENT ? EXIT_CODE_CONFIG : EXIT_CODE_PERMISSION,
			"scan.user", "%s", text);
		return;
	}
	if (text[0]) {
		preflight_note(out, PREFLIGHT_WARNING, "scan.user", "%s", text);
		return;
	}
	if (identity_choose(gateway, &identity, err, sizeof(err)) == 0 &&
		!strcmp(identity.user, user))
		preflight_note(out, PREFLIGHT_WARNING, "scan.user",
			"%s is the gateway's user, too: its files are those of who reads hostile "
			"ones: name a user that owns nothing else",
			user);
	else
		preflight_note(out, 0, "scan.user", "%s", user);
}

static void check_program(const struct gateway *gateway, struct preflight *out)
{
	const char *program = gateway_scan_program(gateway);
	char culprit[PATH_MAX] = "";
	const char *where = culprit;

	if (access(program, X_OK) < 0) {
		preflight_note(out, PREFLIGHT_WARNING, "scan.program",
			"%s: %s: apt-get install sluice-scan, or name where it is; " MEANWHILE,
			program, strerror(errno));
	} else if (geteuid() == 0 && !launcher_only_root_changes(program, culprit)) {
		where = culprit[0] ? culprit : "/";
		preflight_note(out, PREFLIGHT_WARNING, "scan.program",
			"%s is started as root, and others can change %s: chown root: %s && chmod "
			"go-w %s; " MEANWHILE,
			program, where, where, where);
	} else {
		preflight_note(out, 0, "scan.program", "%s", program);
	}
}

// Whether they can be used is for sluice-scan --check to say; that takes half a minute.
static void check_database(const struct gateway *gateway, struct preflight *out)
{
	const char *folder = gateway->scan.database;
	DIR *dir = opendir(folder);
	int error = errno;
	bool any = false;

	for (const struct dirent *entry; dir && !any && (entry = readdir(dir));)
		any = entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	if (any)
		preflight_note(out, 0, "scan.database", "%s", folder);
	else
		preflight_note(out, PREFLIGHT_WARNING, "scan.database",
			"%s: %s: apt-get install clamav-freshclam fetches signatures into "
			"/var/lib/clamav, or put your own there; " MEANWHILE,
			folder, dir ? "there are no signatures" : strerror(error));
}

static void check_arena(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out)
{
	uint32_t arena_mb = gateway->scan.arena_mb + gateway->scan.swarm_mb;
	uint64_t taken_mb = gateway->memory.hugepages ? 0 : memory_mb; // of what is available
	uint64_t left_mb = host->available_mb > taken_mb ? host->available_mb - taken_mb : 0;

	if (!host->memory_mb)
		return;
	if (arena_mb > host->memory_mb)
		preflight_note(out, EXIT_CODE_UNAVAILABLE, "scan.arena_mb",
			"%u MB for files under scan, and the machine has %" PRIu64 " MB: take less",
			arena_mb, host->memory_mb);
	else if (arena_mb > left_mb)
		preflight_note(out, PREFLIGHT_WARNING, "scan.arena_mb",
			"up to %u MB for files under scan, and %" PRIu64
			" MB are left beside the gateway's own: when it fills up, the kernel ends "
			"a program: end others, or take less (signatures need memory, too)",
			arena_mb, left_mb);
	else
		preflight_note(out, 0, "scan.arena_mb",
			"up to %u MB for files under scan, of %" PRIu64 " MB", arena_mb, left_mb);
}

void preflight_scan(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out)
{
	if (gateway->scan.engine != SCAN_ENGINE_CLAMAV)
		return;
	check_program(gateway, out);
	check_database(gateway, out);
	check_user(gateway, out);
	check_arena(gateway, host, memory_mb, out);
}
