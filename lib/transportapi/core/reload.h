// SPDX-License-Identifier: BSD-3-Clause
// Who is denied: by the deny list of the configuration, or by the program (tapi_core_deny_peer).
#ifndef TRANSPORTAPI_CORE_RELOAD_H
#define TRANSPORTAPI_CORE_RELOAD_H

#include "transportapi/base/table.h"

struct tapi_core;

struct tapi_denied { // by tapi_core_deny_peer
	struct tapi_peer_id id;
	uint64_t until_us;
	UT_hash_handle hh;
};

bool tapi_core_denied(struct tapi_core *core, const struct tapi_peer_id *peer);

#endif
