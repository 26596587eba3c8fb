// SPDX-License-Identifier: BSD-3-Clause
// What tools/tpbench measured, as the selection reads it (TB7): median round trip and loss of a
// transport by size of message. JSON: {"rows": [{"transport": "udp", "size": 407,
// "median_us": 21.5, "loss": 0.0}, ...]}; other members are not looked at. At most 4,096 rows, each
// transport and size once.
#ifndef TRANSPORTAPI_COST_TABLE_H
#define TRANSPORTAPI_COST_TABLE_H

#include "transportapi/base/identity.h"

struct tapi_cost_table;

enum tapi_result tapi_cost_table_load(
	struct tapi_cost_table **out, const char *path, struct tapi_error *error);
void tapi_cost_table_free(struct tapi_cost_table *measured);
// Between two sizes: linear; beyond the ends: the nearest. false: nothing is known of `transport`.
bool tapi_cost_table_at(const struct tapi_cost_table *measured, const char *transport,
	uint32_t size, double *median_us, double *loss);

#endif
