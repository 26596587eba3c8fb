// SPDX-License-Identifier: BSD-3-Clause
// Liveness: finds out by PINGs whether a validated path still works, and measures it.
#ifndef TRANSPORTAPI_CORE_LIVENESS_H
#define TRANSPORTAPI_CORE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

struct tapi_path;

uint64_t tapi_path_watch(struct tapi_path *path, uint64_t now_us);
void tapi_path_sample(struct tapi_path *path, bool answered, uint64_t rtt_us);

#endif
