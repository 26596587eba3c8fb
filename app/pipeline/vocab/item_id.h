// SPDX-License-Identifier: BSD-3-Clause
// What all records of one file or message are joined by: item_id in events (eve_item_id).
#ifndef SLUICE_ITEM_ID_H
#define SLUICE_ITEM_ID_H

#include <stdint.h>

// The flow that named it first, and a number that its lcore gives once. Of a file that a control
// connection has named, and a data connection carries, it is the control connection's.
struct item_id {
	uint64_t flow_id;
	uint32_t number; // 0: it is nothing's
};

#endif
