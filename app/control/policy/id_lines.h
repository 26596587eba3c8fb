// SPDX-License-Identifier: BSD-3-Clause
// Files of content ids: one id or link on a line, what is behind " #" is a comment, as is a line
// that begins with "#"; empty lines are nothing. Control core.
#ifndef SLUICE_ID_LINES_H
#define SLUICE_ID_LINES_H

#include "content/content_id.h"

// The ids of a line, or (n is 0) what is wrong with it. False: enough.
typedef bool id_line_fn(
	void *ctx, unsigned line, const struct content_id *ids, unsigned n, const char *wrong);
// -errno: it cannot be opened or read.
int id_lines_read(const char *path, id_line_fn *one, void *ctx);
// One line, without its end. The number of ids; 0 and *wrong NULL: it is empty.
unsigned id_line_parse(const char *line, uint32_t length,
	struct content_id ids[CONTENT_ID_LINK_IDS], const char **wrong);

#endif
