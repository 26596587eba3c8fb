// SPDX-License-Identifier: BSD-3-Clause
// Writes the files that captures carry into a folder, for `--extract`: each under its SHA-256, and
// a row for each in files.csv there. Control core.
#ifndef SLUICE_REPLAY_EXTRACT_H
#define SLUICE_REPLAY_EXTRACT_H

#include <stddef.h>

struct content_record;
struct extract;

// The folder is made if it is not there; files.csv must not be. NULL with a message.
struct extract *extract_new(const char *folder, char *err, size_t err_len);
// What follows is of this capture.
void extract_input(struct extract *extract, const char *capture);
// A record of an lcore; `ctx` is the struct extract (content_reader_options.see).
void extract_see(void *ctx, unsigned lcore, const struct content_record *record);
// 0, or -errno of what failed first, with what that was.
int extract_end(struct extract *extract, const char **why);

#endif
