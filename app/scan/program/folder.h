// SPDX-License-Identifier: BSD-3-Clause
// The folders that children unpack in: made by the parent, emptied when a child is gone.
#ifndef SLUICE_SCAN_PROGRAM_FOLDER_H
#define SLUICE_SCAN_PROGRAM_FOLDER_H

#include <stddef.h>
#include "scan/program/jail.h"

// The folder that they are made in: nobody but root and this process's user may write to it.
// 0, -errno with a message.
int scan_folder_check(const char *path, char *err, size_t len);

// Makes `path`, of mode 0700 and the user of the jail, and empties it. 0; -errno with a message.
int scan_folder_make(const char *path, const struct scan_jail *jail, char *err, size_t len);
// Removes everything in `path`, following no link. What cannot be removed is left; 0 or -errno.
int scan_folder_empty(const char *path);

#endif
