// SPDX-License-Identifier: BSD-3-Clause
// Reads a zone of the tz database (TZif, RFC 8536) into the changes of its offset. Control core
// only: a reload may do it inside the sandbox, which lets this folder be read
// (app/process/sandbox.c).
#ifndef SLUICE_ZONE_FILE_H
#define SLUICE_ZONE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pipeline/policy/time_window.h"

// What tzset(3) calls TZDIR: the environment's, else /usr/share/zoneinfo.
const char *zone_folder(void);
// Can it be the name of a zone? Letters, digits, _ + - and /, the first a letter; no part is empty.
bool zone_name_is_good(const char *name);
// 0; -ENOENT: there is none of this name; -ENOTDIR: there is no tz database; -EISDIR: it is a part
// of names ("Europe"); -ENOTSUP: it counts leap seconds ("right/..."); -EBADMSG: the file is
// damaged, or of version 1; -ENOMEM, or another -errno of the file. `zone` is written on 0 only.
int zone_file_read(const char *name, struct zone *zone);
// The same of the octets of such a file.
int zone_parse(const uint8_t *octets, size_t n, const char *name, struct zone *zone);
// The zone whose name is probably meant, if one is near enough.
bool zone_name_suggest(const char *name, char out[ZONE_NAME_SIZE]);

#endif
