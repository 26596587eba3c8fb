// SPDX-License-Identifier: BSD-3-Clause
// Files of which this flow brings a part, and others bring the rest (pipeline/swarm). They have
// places among the files under scan (files.h), and who waits for one is told as for any other;
// their bytes and jobs are the swarm's. A segment that makes a file whole is held until the
// verdict, and so is any that brings bytes of it meanwhile, on whatever lcore. Nothing else of it
// is held. The owning data lcore only.
#ifndef SLUICE_SCAN_PARTS_H
#define SLUICE_SCAN_PARTS_H

#include "pipeline/scan/files.h"
#include "pipeline/swarm/swarm.h"

// The file as the swarm knows it, and where in it this transfer begins. Returns its number, or 0
// and a result, as scan_file_begin. There is a swarm (scan_parts_are_joined).
struct scan_part {
	const struct swarm_file *file;
	uint64_t from;
};
bool scan_parts_are_joined(const struct lcore *lcore);
uint32_t scan_part_begin(struct lcore *lcore, const struct scan_begin *begin,
	const struct scan_part *part, struct scan_result *result);
// As scan_file_add and scan_file_end, but that bytes may come in any order. The end of a transfer
// whose file is not whole is `unscanned(protocol)`; it counts as told where others bring more of
// it.
bool scan_part_add(struct lcore *lcore, uint32_t number, uint64_t at, const uint8_t *bytes,
	uint32_t length, struct scan_result *result);
bool scan_part_end(struct lcore *lcore, uint32_t number, struct scan_result *result);
// Then scan_file_drop, as for any file.

// Of file_verdicts.c. Its newest bytes have stood for long enough; false: there is a hole.
bool scan_part_tail(struct lcore *lcore, uint32_t number);
void scan_part_late(struct lcore *lcore, uint32_t number, scan_told_fn *obey);
void scan_parts_verdict(struct lcore *lcore, const struct scan_verdict *verdict);
void scan_parts_turn(struct lcore *lcore, scan_told_fn *obey);

#endif
