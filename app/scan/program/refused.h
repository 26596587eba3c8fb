// SPDX-License-Identifier: BSD-3-Clause
// Whether the kernel refused memory, room in the folder or a descriptor while a file was scanned:
// libclamav goes on without, and then says "clean" of what it has not unpacked.
#ifndef SLUICE_SCAN_PROGRAM_REFUSED_H
#define SLUICE_SCAN_PROGRAM_REFUSED_H

#include <stdbool.h>

void scan_refused_forget(void);
bool scan_refused(void); // since the last scan_refused_forget

#endif
