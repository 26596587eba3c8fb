// SPDX-License-Identifier: BSD-3-Clause
// Messages between gateway and scanner, of any content: each check reads no byte behind a message,
// and what it lets pass is what the readers rely on: extents that lie in the arena and fill the
// file, a verdict of one meaning, texts that can be printed. The first octet says which message it
// is, and how large the arena.
#include <stdlib.h>
#include <string.h>
#include "scan/arena.h"
#include "scan/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool good)
{
	if (!good)
		abort();
}

static void ends_and_prints(const char *text, size_t room)
{
	size_t n = strnlen(text, room);

	must(n < room);
	for (size_t i = 0; i < n; i++)
		must(text[i] >= ' ' && text[i] <= '~');
}

static void request(const struct scan_wire_request *in, size_t len, uint64_t arena)
{
	uint64_t sum = 0;

	if (scan_wire_check_request(in, len, arena))
		return;
	must(len == sizeof(*in) && in->head.kind == SCAN_WIRE_REQUEST && in->head.id);
	must(in->n_extents >= 1 && in->n_extents <= SCAN_EXTENTS_MAX);
	for (uint32_t i = 0; i < in->n_extents; i++) {
		// The child maps whole pages side by side: none may lie behind the arena's end.
		uint64_t end = (uint64_t)in->extents[i].page * SCAN_PAGE +
			       (in->extents[i].bytes + SCAN_PAGE - 1) / SCAN_PAGE * SCAN_PAGE;

		must(in->extents[i].bytes && end <= arena);
		must(i + 1 == in->n_extents || in->extents[i].bytes % SCAN_PAGE == 0);
		sum += in->extents[i].bytes;
	}
	must(sum == in->bytes && sum <= SCAN_FILE_MAX);
}

static void verdict(const struct scan_wire_verdict *in, size_t len, uint64_t id)
{
	if (scan_wire_check_verdict(in, len, id))
		return;
	must(len == sizeof(*in) && id && in->head.id == id);
	must(in->value < SCAN_VALUES_MAX && in->value != SCAN_TIMEOUT);
	must(in->reason < SCAN_REASONS_MAX);
	must((in->value == SCAN_INFECTED) == (in->name[0] != 0));
	must((in->value == SCAN_UNSCANNED) == (in->reason != SCAN_REASON_NONE));
	ends_and_prints(in->name, sizeof(in->name));
}

static void control(const struct scan_wire_control *in, size_t len, bool to_parent)
{
	if (scan_wire_check_control(in, len, to_parent))
		return;
	must(len == sizeof(*in));
	must((in->head.kind == SCAN_WIRE_REPLACE) == to_parent);
	must(in->head.kind != SCAN_WIRE_BORN || in->pid > 1);
	must(in->head.id || in->head.kind == SCAN_WIRE_FAILED);
	ends_and_prints(in->text, sizeof(in->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!len)
		return 0;
	const uint8_t choice = bytes[0];
	const uint64_t arena = (uint64_t)(1 + choice / 4) * 8 * SCAN_PAGE;
	void *message = malloc(len > 1 ? len - 1 : 1); // of its exact size
	uint64_t id = 0;

	must(message);
	memcpy(message, bytes + 1, len - 1);
	if (len - 1 >= sizeof(struct scan_wire_head) && choice & 4)
		id = ((const struct scan_wire_head *)message)->id;
	switch (choice % 4) {
	case 0: request(message, len - 1, arena); break;
	case 1: verdict(message, len - 1, id); break;
	default: control(message, len - 1, choice % 4 == 2);
	}
	free(message);
	return 0;
}
