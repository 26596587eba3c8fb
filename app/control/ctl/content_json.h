// SPDX-License-Identifier: BSD-3-Clause
// How the content of a live flow stands, as the control socket shows it (docs/control-socket.md,
// "Files and messages of a flow").
#ifndef SLUICE_CONTENT_JSON_H
#define SLUICE_CONTENT_JSON_H

#include "control/ctl/command.h"
#include "pipeline/query.h"

// Puts `content` into the flow's object, if there is something to say; `look`: with its open files,
// or NULL.
void content_json_put(json_t **flow, const struct control_context *context,
	const struct flow_record *record, const struct content_look *look);
// Bytes from the wire as text: what is no character, or moves a cursor, is U+FFFD.
void content_json_put_bytes(json_t **parent, const char *key, const void *bytes, size_t length);

#endif
