// SPDX-License-Identifier: BSD-3-Clause
#ifndef TRANSPORTAPI_FOLDER_H
#define TRANSPORTAPI_FOLDER_H

// After a link() or rename() to `path`: the name is on the disk, too, where the system can do that.
void tapi_folder_sync(const char *path);

#endif
