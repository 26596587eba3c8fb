// SPDX-License-Identifier: BSD-3-Clause
// The known peers of one core, read from their file at its start and written back.
#ifndef TRANSPORTAPI_CORE_STORE_H
#define TRANSPORTAPI_CORE_STORE_H

struct tapi_core;

void tapi_core_load_peers(struct tapi_core *core);
void tapi_core_store_peers(struct tapi_core *core);
void tapi_core_store_soon(struct tapi_core *core); // what must not be lost with the program

#endif
