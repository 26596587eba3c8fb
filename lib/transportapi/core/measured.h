// SPDX-License-Identifier: BSD-3-Clause
// What tools/tpbench measured, as the selection reads it (TB7): median round trip and loss of a
// transport by size of message. JSON: {"rows": [{"transport": "udp", "size": 407,
// "median_us": 21.5, "loss": 0.0}, ...]}; other members are not looked at. At most 4,096 rows, each
// transport and size once.
#ifndef TRANSPORTAPI_MEASURED_H
#define TRANSPORTAPI_MEASURED_H

#include "transportapi/base/identity.h"

struct tapi_measured;

enum tapi_result tapi_measured_load(
	struct tapi_measured **out, const char *path, struct tapi_error *error);
void tapi_measured_free(struct tapi_measured *measured);
// Between two sizes: linear; beyond the ends: the nearest. false: nothing is known of `transport`.
bool tapi_measured_at(const struct tapi_measured *measured, const char *transport, uint32_t size,
	double *median_us, double *loss);

#endif
