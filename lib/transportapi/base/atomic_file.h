// SPDX-License-Identifier: BSD-3-Clause
// Files that are replaced as a whole: whether that is possible, and that it is on the disk.
#ifndef TRANSPORTAPI_ATOMIC_FILE_H
#define TRANSPORTAPI_ATOMIC_FILE_H

#include <stdbool.h>

// After a link() or rename() to `path`: the name is on the disk, too, where the system can do that.
void tapi_atomic_file_sync(const char *path);
// Whether files can be made beside `path`; else errno says why not.
bool tapi_atomic_file_writable(const char *path);

#endif
