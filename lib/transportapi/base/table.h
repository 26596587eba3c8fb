// SPDX-License-Identifier: BSD-3-Clause
// Hash tables by uthash with a keyed hash: keys come from the wire, and nobody out there may choose
// collisions. Include this, never uthash.h.
#ifndef TRANSPORTAPI_TABLE_H
#define TRANSPORTAPI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "transportapi/base/transport.h"

// SipHash-2-4 with a key of this process, drawn once.
TAPI_EXPORT uint32_t tapi_table_hash(const void *key, size_t length);

#define HASH_NONFATAL_OOM                1 // an add that finds no memory leaves the element outside: check hh.tbl
#define HASH_FUNCTION(key, length, hash) ((hash) = tapi_table_hash((key), (length)))
#include <uthash.h>

#endif
