// SPDX-License-Identifier: BSD-3-Clause
// Who holds most of a pool that many share (TA29): found without a walk over the holders. They
// stand in classes of size, eight to an octave, so the answer is the largest or within an eighth of
// it.
#ifndef TRANSPORTAPI_MEMORY_ACCOUNTING_H
#define TRANSPORTAPI_MEMORY_ACCOUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define TAPI_MEMORY_CLASSES 257 // below 64 octets one class; 64 octets to 256 GiB: 32 octaves

struct tapi_memory_user { // embedded in what holds; zeros at startup
	LIST_ENTRY(tapi_memory_user) next;
	uint64_t bytes;
};
LIST_HEAD(tapi_memory_list, tapi_memory_user);

struct tapi_memory { // zeros at startup
	struct tapi_memory_list lists[TAPI_MEMORY_CLASSES];
	uint64_t filled[(TAPI_MEMORY_CLASSES + 63) / 64]; // a bit per class
};

// `holder` holds `bytes` from now on; 0: it leaves. O(1).
void tapi_memory_set(struct tapi_memory *memory, struct tapi_memory_user *holder, uint64_t bytes);
// NULL: nobody holds anything. O(1).
struct tapi_memory_user *tapi_memory_largest(const struct tapi_memory *memory);

#endif
