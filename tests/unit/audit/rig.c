// SPDX-License-Identifier: BSD-3-Clause
// A folder for each test, an audit log in it, and its lines.
#include "unit/audit/rig.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int rig_setup(void **state)
{
	char *folder = strdup("/tmp/sluice-audit.XXXXXX");

	*state = mkdtemp(folder);
	return *state ? 0 : -1;
}

int rig_teardown(void **state)
{
	int rc = nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	free(*state);
	return rc;
}

const char *rig_path(const char *folder, const char *name)
{
	static char paths[64][512];
	static unsigned next;
	char *path = paths[next++ % 64];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

int rig_try_open(const char *folder, const struct audit_log_options *more, struct audit_log **out,
	char *err, size_t err_len)
{
	struct audit_log_options options = *more;

	options.path = rig_path(folder, "audit.log");
	options.software = "sluice 0.1.0";
	memset(options.id, 0xab, sizeof(options.id));
	return audit_log_open(&options, NOW_US, out, err, err_len);
}

struct audit_log *rig_open(const char *folder, uint64_t file_bytes)
{
	struct audit_log *log;
	char err[256] = "";

	if (rig_try_open(folder, &(struct audit_log_options){.file_bytes = file_bytes}, &log, err,
		    sizeof(err)) < 0)
		fail_msg("%s", err);
	return log;
}

int rig_append(struct audit_log *log, unsigned n)
{
	char json[32];
	int length = snprintf(json, sizeof(json), "{\"n\":%u}", n);

	return audit_log_append(log, json, (size_t)length, NOW_US);
}

void rig_append_many(struct audit_log *log, unsigned n)
{
	for (unsigned i = 1; i <= n; i++)
		assert_int_equal(rig_append(log, i), 0);
}

char *rig_read(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	struct stat st;

	if (!file || fstat(fileno(file), &st) != 0)
		fail_msg("%s cannot be read", path);
	char *text = malloc((size_t)st.st_size + 1);
	assert_non_null(text);
	*length = fread(text, 1, (size_t)st.st_size, file);
	text[*length] = '\0';
	fclose(file);
	return text;
}

void rig_write(const char *path, const char *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

unsigned rig_count(const char *path, const char *text)
{
	size_t length;
	char *all = rig_read(path, &length);
	unsigned n = 0;

	for (char *rest = all, *line; (line = strsep(&rest, "\n"));)
		n += strstr(line, text) != NULL;
	free(all);
	return n;
}

static void note(void *ctx, const struct audit_fault *fault)
{
	struct rig_faults *faults = ctx;
	unsigned n = faults->n++;

	if (n >= 8)
		return;
	snprintf(faults->at[n].file, sizeof(faults->at[n].file), "%s",
		fault->file ? fault->file : "");
	snprintf(faults->at[n].what, sizeof(faults->at[n].what), "%s", fault->what);
	faults->at[n].line = fault->line;
	faults->at[n].seq = fault->seq;
}

int rig_verify(const char *path, const char *anchor, struct rig_faults *faults,
	struct audit_summary *summary)
{
	struct rig_faults none;
	struct audit_chain *chain = audit_chain_new(note, faults ? faults : &none, anchor);
	char *copy = strdup(path), err[256];

	if (!faults)
		faults = &none;
	faults->n = 0;
	assert_non_null(chain);
	int rc = audit_verify(&copy, 1, chain, err, sizeof(err));
	audit_chain_end(chain, summary);
	audit_chain_free(chain);
	free(copy);
	return rc;
}

uint64_t rig_is_good(const char *folder)
{
	struct rig_faults faults;
	struct audit_summary summary;

	assert_int_equal(rig_verify(folder, NULL, &faults, &summary), 0);
	if (faults.n)
		fail_msg("%s:%lu: %s", faults.at[0].file, (unsigned long)faults.at[0].line,
			faults.at[0].what);
	assert_int_equal(summary.first_seq, 1);
	return summary.last_seq;
}
