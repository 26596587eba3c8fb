// SPDX-License-Identifier: BSD-3-Clause
#ifndef SLUICE_FAKE_CONTENT_H
#define SLUICE_FAKE_CONTENT_H

#include "control/content/reader.h"

// The answer of content_reader_look, of whatever reader.
extern struct content_reader_counters fake_content_counters;

#endif
