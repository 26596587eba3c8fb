// SPDX-License-Identifier: BSD-3-Clause
// The commands scan-show, and scan-test-begin, -add and -run: a file of the operator's, sent in
// pieces, is looked at by the engine in force.
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "control/ctl/arguments.h"
#include "control/ctl/client.h"
#include "control/ctl/scan_json.h"
#include "pipeline/vocab/tick.h"
#include "scan/trial.h"

#define PIECE_BYTES (44u << 10) // of a file; as base64, with what is around it, it is one line
#define LOOK_MS     10          // between two looks whether the verdict is there

static_assert(PIECE_BYTES / 3 * 4 + 1024 < CONTROL_LINE_MAX, "a piece is one line");

COMMAND(scan_show, "scan-show", "", "scan lcores, signatures, files under scan, the slowest ones")
{
	if (arguments_known(request, arguments))
		request_ok(request, scan_json(request->context, true));
}

static const struct scan_desk *desk_of(struct request *request)
{
	if (!request->context->scan)
		request_fail(request, "this gateway scans nothing: scan.engine of gateway.json is "
				      "\"none\"");
	return request->context->scan;
}

static void refuse(struct request *request, const struct scan_desk *desk, int error)
{
	switch (error) {
	case -EFBIG:
		request_fail(request,
			"too big: more than %" PRIu64 " MiB (scan.max_file_mb); a flow's file of "
			"that size is unscanned (too_big)",
			desk->config->max_file_bytes >> 20);
		break;
	case -ENODEV:
		request_fail(
			request, "the engine \"%s\" looks at no files", desk->config->ops->name);
		break;
	case -EBUSY:
		request_fail(request, "another file is being tested, or its verdict is late; try "
				      "again");
		break;
	case -ESTALE:
		request_fail(request, "no such test: it was silent for %u s, and another began",
			(unsigned)(TRIAL_IDLE_NS / NS_PER_S));
		break;
	case -EAGAIN: request_fail(request, "the scan lcore's queue is full; try again"); break;
	default: request_fail(request, "the file's bytes are not those that were announced"); break;
	}
}

COMMAND(scan_test_begin, "scan-test-begin", "bytes", "a file of so many bytes is to be tested")
{
	const struct scan_desk *desk;
	uint64_t bytes = 0, test;
	json_t *message;
	int rc;

	if (!arguments_known(request, arguments) ||
		!argument_number(request, arguments, "bytes", 0, INT64_MAX, &bytes) ||
		!(desk = desk_of(request)))
		return;
	if (!bytes) {
		request_fail(request, "the file is empty: there is nothing to look at");
		return;
	}
	rc = desk->begin(desk->ctx, bytes, request->context->now_ns(), &test);
	if (rc < 0) {
		refuse(request, desk, rc);
		return;
	}
	message = json_object();
	put_number(&message, "test", test);
	put_number(&message, "piece_bytes", PIECE_BYTES);
	request_ok(request, message);
}

// -EINVAL: it is no base64. `out` has room for three quarters of the text.
static int decode(const char *text, size_t length, uint8_t *out, size_t *n)
{
	size_t padding = 0;

	while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
		padding++;
	if (length % 4 || length > CONTROL_LINE_MAX || memchr(text, '=', length - padding) ||
		EVP_DecodeBlock(out, (const unsigned char *)text, (int)length) !=
			(int)(length / 4 * 3))
		return -EINVAL;
	*n = length / 4 * 3 - padding;
	return 0;
}

COMMAND(scan_test_add, "scan-test-add", "test, at, base64", "the file's next bytes")
{
	uint8_t bytes[CONTROL_LINE_MAX / 4 * 3];
	const struct scan_desk *desk;
	uint64_t test = 0, at = 0;
	const char *text = "";
	size_t n;
	int rc;

	if (!arguments_known(request, arguments) ||
		!argument_number(request, arguments, "test", 1, INT64_MAX, &test) ||
		!argument_number(request, arguments, "at", 0, INT64_MAX, &at) ||
		!argument_text(request, arguments, "base64", &text) || !(desk = desk_of(request)))
		return;
	if (decode(text, strlen(text), bytes, &n) < 0) {
		request_fail(request, "base64: it is not");
		return;
	}
	rc = desk->add(desk->ctx, test, at, bytes, n, request->context->now_ns());
	if (rc < 0)
		refuse(request, desk, rc);
	else
		request_ok(request, json_object());
}

struct running {
	const struct scan_desk *desk;
	uint64_t test;
	unsigned lcore;
};

static void leave(void *state)
{
	struct running *running = state;

	running->desk->drop(running->desk->ctx, running->test);
	free(running);
}

static json_t *verdict_json(const struct control_context *context, const struct running *running,
	const struct scan_verdict *verdict)
{
	const struct scan_desk *desk = running->desk;
	json_t *object = json_object(), *database;
	uint64_t taken_ns = verdict->taken_ns ? verdict->taken_ns : verdict->done_ns;
	struct scan_status status;

	put_text(&object, "verdict", scan_value_word(verdict->value));
	if (verdict->value == SCAN_UNSCANNED)
		put_text(&object, "reason", scan_reason_word(verdict->reason));
	if (verdict->value == SCAN_INFECTED)
		put_text(&object, "signature", verdict->name);
	put_number(&object, "bytes", verdict->job.to64);
	put_number(&object, "lcore", running->lcore);
	put_number(&object, "queue_ns", taken_ns - verdict->job.submitted_ns);
	put_number(&object, "scan_ns", verdict->done_ns - taken_ns);
	if (verdict->by == SCAN_BY_NOBODY)
		return object;
	put_text(&object, "engine", scan_by_word(verdict->by));
	if (!desk->status(desk->ctx, running->lcore, &status))
		return object;
	database = scan_json_database(context, &status);
	if (database)
		put_json(&object, "database", database);
	return object;
}

static void look(struct request *request)
{
	struct running *running = request->state;
	struct scan_verdict verdict;
	int rc = running->desk->verdict(
		running->desk->ctx, running->test, request->context->now_ns(), &verdict);

	if (rc == -EAGAIN)
		request_wait(request, LOOK_MS, look);
	else if (rc < 0)
		refuse(request, running->desk, rc);
	else
		request_ok(request, verdict_json(request->context, running, &verdict));
}

COMMAND(scan_test_run, "scan-test-run", "test",
	"has the file looked at, and answers with its verdict")
{
	const struct scan_desk *desk;
	struct running *running;
	uint64_t test = 0;
	int rc;

	if (!arguments_known(request, arguments) ||
		!argument_number(request, arguments, "test", 1, INT64_MAX, &test) ||
		!(desk = desk_of(request)))
		return;
	running = calloc(1, sizeof *running);
	if (!running) {
		request_fail(request, "no memory for the test");
		return;
	}
	*running = (struct running){.desk = desk, .test = test};
	rc = desk->run(desk->ctx, test, request->context->now_ns(), &running->lcore);
	if (rc < 0) {
		free(running);
		refuse(request, desk, rc);
		return;
	}
	request->state = running;
	request->state_free = leave;
	look(request);
}
