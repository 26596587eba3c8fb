// SPDX-License-Identifier: BSD-3-Clause
// `sluice verify`: is an audit log as it was written? `sluicectl audit verify` runs it.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "audit/verify.h"
#include "base/json_out.h"
#include "base/options.h"
#include "base/plural.h"
#include "cmd/command.h"

#define FAULTS_SHOWN 100 // the rest is counted
#define OBJECT_MAX   (16 * 1024)

struct report {
	bool json;
	unsigned shown;
};

static void report_fault(void *ctx, const struct audit_fault *fault)
{
	struct report *report = ctx;
	char object[OBJECT_MAX];
	struct json_out out;

	if (report->shown++ >= FAULTS_SHOWN)
		return;
	if (!report->json) {
		if (fault->file)
			printf("%s:%" PRIu64 ": ", fault->file, fault->line);
		if (fault->seq)
			printf("record %" PRIu64 ": ", fault->seq);
		printf("%s\n", fault->what);
		return;
	}
	json_out_init(&out, object, sizeof(object));
	json_out_open(&out, NULL, '{');
	if (fault->file) {
		json_out_string(&out, "file", fault->file);
		json_out_u64(&out, "line", fault->line);
	}
	if (fault->seq)
		json_out_u64(&out, "seq", fault->seq);
	json_out_string(&out, "what", fault->what);
	json_out_close(&out, '}');
	printf("%s%.*s", report->shown > 1 ? "," : "", (int)json_out_length(&out), object);
}

static void print_json_end(const struct audit_summary *summary, const char *anchor, const char *err)
{
	char object[OBJECT_MAX];
	struct json_out out;

	json_out_init(&out, object, sizeof(object));
	json_out_open(&out, NULL, '{');
	json_out_bool(&out, "good", !summary->faults && !*err);
	if (*err)
		json_out_string(&out, "error", err);
	json_out_u64(&out, "fault_count", summary->faults);
	json_out_u64(&out, "files", summary->files);
	json_out_u64(&out, "records", summary->lines);
	json_out_u64(&out, "first_seq", summary->first_seq);
	json_out_u64(&out, "last_seq", summary->last_seq);
	json_out_string(&out, "head", summary->head);
	if (anchor)
		json_out_u64(&out, "anchor_seq", summary->anchor_seq);
	json_out_close(&out, '}');
	printf("],%.*s\n", (int)json_out_length(&out) - 1, object + 1);
}

static void print_end(const struct audit_summary *summary, const char *anchor)
{
	if (summary->faults > FAULTS_SHOWN)
		printf("... and %" PRIu64 " more\n", summary->faults - FAULTS_SHOWN);
	printf("%s: %" PRIu64 " %s in %u %s", summary->faults ? "broken" : "good", summary->lines,
		plural(summary->lines, "record", "records"), summary->files,
		plural(summary->files, "file", "files"));
	if (summary->lines)
		printf(", %" PRIu64 " to %" PRIu64, summary->first_seq, summary->last_seq);
	if (!summary->faults) // of one that was changed nothing is to be anchored
		printf("; head %s", summary->head);
	printf("\n");
	if (summary->first_seq > 1)
		printf("records before %" PRIu64 " are not in these files\n", summary->first_seq);
	if (anchor && summary->anchor_seq)
		printf("the given head is that of record %" PRIu64 "\n", summary->anchor_seq);
}

static int verify(char *const *paths, unsigned n, const char *anchor, bool json)
{
	struct report report = {.json = json};
	struct audit_summary summary = {0};
	struct audit_chain *chain = audit_chain_new(report_fault, &report, anchor);
	char err[OBJECT_MAX / 2] = "";

	if (!chain) {
		fprintf(stderr, "sluice verify: no memory\n");
		return EXIT_CODE_FAILURE;
	}
	if (json)
		printf("{\"faults\":[");
	int rc = audit_verify(paths, n, chain, err, sizeof(err));
	if (rc == 0)
		audit_chain_end(chain, &summary);
	audit_chain_free(chain);
	if (json)
		print_json_end(&summary, anchor, err);
	else if (rc == 0)
		print_end(&summary, anchor);
	if (rc < 0)
		fprintf(stderr, "sluice verify: %s\n", err);
	return rc < 0 || summary.faults ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

int verify_main(int argc, char **argv)
{
	const char *anchor = NULL;
	bool json = false;
	char **operands, **rest;
	int n_operands, n_rest;
	const struct option_row rows[] = {
		{0, "head", "HEX", OPTION_TEXT, &anchor,
			"a head that the log had once, as syslog has it: its record must be there"},
		{0, "json", NULL, OPTION_FLAG, &json, "as one JSON object"},
		{0},
	};
	const struct option_command command = {.name = "verify",
		.usage = "sluice verify PATH... [--head HEX] [--json]",
		.summary = "Verifies an audit log: files, or folders with audit.log and "
			   "audit.log.NUMBER. Prints\nwhere it was changed. Needs no gateway.",
		.rows = rows,
		.notes = "Ends 0 if the log is whole and unchanged, 1 if not or if it cannot be "
			 "read.",
		.takes_operands = true};
	int code = options_parse(&command, argc, argv, &operands, &n_operands, &rest, &n_rest);

	if (code >= 0)
		return code;
	if (!n_operands) {
		fprintf(stderr, "sluice verify: of what? A file or folder\n"
				"Try 'sluice verify --help'.\n");
		return EXIT_CODE_USAGE;
	}
	if (anchor && (strlen(anchor) != AUDIT_HEX_BYTES - 1 ||
			      !audit_is_hex(anchor, AUDIT_HEX_BYTES - 1))) {
		fprintf(stderr, "sluice verify: --head \"%s\" is no SHA-256: 64 digits of 0-9a-f\n",
			anchor);
		return EXIT_CODE_USAGE;
	}
	return verify(operands, (unsigned)n_operands, anchor, json);
}
