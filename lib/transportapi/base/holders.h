// SPDX-License-Identifier: BSD-3-Clause
// Who holds most of a pool that many share (TA29): found without a walk over the holders. They
// stand in classes of size, eight to an octave, so the answer is the largest or within an eighth of
// it.
#ifndef TRANSPORTAPI_HOLDERS_H
#define TRANSPORTAPI_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define TAPI_HOLDER_CLASSES 257 // below 64 octets one class; 64 octets to 256 GiB: 32 octaves

struct tapi_holder { // embedded in what holds; zeros at birth
	LIST_ENTRY(tapi_holder) next;
	uint64_t bytes;
};
LIST_HEAD(tapi_holder_list, tapi_holder);

struct tapi_holders {
	struct tapi_holder_list lists[TAPI_HOLDER_CLASSES];
	uint64_t filled[(TAPI_HOLDER_CLASSES + 63) / 64]; // a bit per class
};

void tapi_holders_init(struct tapi_holders *holders);
// `holder` holds `bytes` from now on; 0: it leaves. O(1).
void tapi_holders_set(struct tapi_holders *holders, struct tapi_holder *holder, uint64_t bytes);
// NULL: nobody holds anything. O(1).
struct tapi_holder *tapi_holders_most(const struct tapi_holders *holders);

#endif
