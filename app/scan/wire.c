// SPDX-License-Identifier: BSD-3-Clause
// Checks of the messages between the gateway and the scanner.
#include "scan/wire.h"

#include <string.h>
#include "scan/arena.h"

static_assert(sizeof(struct scan_wire_request) == 40 + 8 * SCAN_EXTENTS_MAX, "no padding");
static_assert(sizeof(struct scan_wire_verdict) == 32 + SCAN_NAME_MAX, "no padding");
static_assert(
	sizeof(struct scan_wire_control) == 40 + SCAN_WIRE_DIGEST + SCAN_WIRE_TEXT, "no padding");

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

void scan_wire_head_set(struct scan_wire_head *head, enum scan_wire_kind kind, uint64_t id)
{
	*head = (struct scan_wire_head){.magic = SCAN_WIRE_MAGIC,
		.version = SCAN_WIRE_VERSION,
		.kind = (uint8_t)kind,
		.id = id};
}

void scan_wire_text(char *out, size_t out_len, const char *text)
{
	size_t n = strnlen(text, out_len - 1);

	memset(out, 0, out_len);
	for (size_t i = 0; i < n; i++)
		out[i] = is_printable(text[i]) ? text[i] : '?';
}

// Printable up to its end, and nothing behind that.
static bool is_text(const char *text, size_t room)
{
	size_t n = 0;

	while (n < room && is_printable(text[n]))
		n++;
	if (n == room)
		return false;
	while (n < room && !text[n])
		n++;
	return n == room;
}

static bool is_zero(const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const uint8_t *)bytes)[i])
			return false;
	return true;
}

static const char *check_head(const struct scan_wire_head *head)
{
	if (head->magic != SCAN_WIRE_MAGIC)
		return "it does not begin as a message";
	if (head->version != SCAN_WIRE_VERSION)
		return "it is of another version";
	if (head->zero)
		return "its head has bits that mean nothing";
	return NULL;
}

const char *scan_wire_check_request(const void *message, size_t bytes, uint64_t arena_bytes)
{
	const struct scan_wire_request *request = message;

	if (bytes != sizeof(*request))
		return "a request has another length";
	const char *wrong = check_head(&request->head);

	if (wrong)
		return wrong;
	if (request->head.kind != SCAN_WIRE_REQUEST || !request->head.id)
		return "it is no request";
	if (request->flags & ~(uint32_t)SCAN_WIRE_WHOLE)
		return "a request has unknown flags";
	if (request->zero)
		return "a request has bits that mean nothing";
	if (!scan_extents_fit(request->extents, request->n_extents, request->lead, request->bytes,
		    arena_bytes))
		return "the extents of a request do not fit the arena";
	if (!is_zero(request->extents + request->n_extents,
		    sizeof(request->extents[0]) * (SCAN_EXTENTS_MAX - request->n_extents)))
		return "a request has more extents than it says";
	return NULL;
}

const char *scan_wire_check_verdict(const void *message, size_t bytes, uint64_t id)
{
	const struct scan_wire_verdict *verdict = message;

	if (bytes != sizeof(*verdict))
		return "a verdict has another length";
	const char *wrong = check_head(&verdict->head);

	if (wrong)
		return wrong;
	if (verdict->head.kind != SCAN_WIRE_VERDICT)
		return "it is no verdict";
	if (!id || verdict->head.id != id)
		return "a verdict is for another request";
	if (verdict->value >= SCAN_VALUES_MAX || verdict->value == SCAN_TIMEOUT)
		return "a verdict has an unknown value";
	if (verdict->reason >= SCAN_REASONS_MAX ||
		(verdict->value == SCAN_UNSCANNED) != (verdict->reason != SCAN_REASON_NONE))
		return "a verdict's reason does not fit its value";
	if (verdict->last > 1 || !is_zero(verdict->zero, sizeof(verdict->zero)))
		return "a verdict has bits that mean nothing";
	if (!is_text(verdict->name, sizeof(verdict->name)) ||
		(verdict->value == SCAN_INFECTED) != (verdict->name[0] != 0))
		return "a verdict's name does not fit its value";
	return NULL;
}

const char *scan_wire_check_control(const void *message, size_t bytes, bool to_parent)
{
	const struct scan_wire_control *control = message;

	if (bytes != sizeof(*control))
		return "a control message has another length";
	const char *wrong = check_head(&control->head);

	if (wrong)
		return wrong;
	switch (control->head.kind) {
	case SCAN_WIRE_REPLACE:
		if (!to_parent)
			return "the parent asks for what it has to do itself";
		break;
	case SCAN_WIRE_BORN:
		if (control->pid <= 1)
			return "a child has no process";
		[[fallthrough]];
	case SCAN_WIRE_GONE:
	case SCAN_WIRE_FAILED:
	case SCAN_WIRE_FOLDER:
		if (to_parent)
			return "the gateway tells what the parent has to tell";
		break;
	default: return "it is no control message";
	}
	if (!control->head.id && control->head.kind != SCAN_WIRE_FAILED &&
		control->head.kind != SCAN_WIRE_FOLDER)
		return "a control message names no child";
	if (!is_text(control->text, sizeof(control->text)))
		return "the text of a control message cannot be printed";
	return NULL;
}
