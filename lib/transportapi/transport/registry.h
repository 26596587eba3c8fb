// SPDX-License-Identifier: BSD-3-Clause
// Transports by name: built in, or from libtransportapi_NAME.so (TA1).
#ifndef TRANSPORTAPI_REGISTRY_H
#define TRANSPORTAPI_REGISTRY_H

#include "transportapi/base/conf.h"

struct tapi_loaded {
	char name[32];
	struct tapi_transport_api *api;
	tapi_done_fn *done;
	void *object; // of dlopen; NULL: built in
};

// Finds inittransport_NAME (NAME: [a-z0-9-]{1,31}), calls it, holds what comes back against the
// contract: version, name, methods, mtu, protocol. `directory` NULL: built in only.
// `objects_first`: an object stands before what is built in. TAPI_ENOADDR: no such transport;
// TAPI_ECONF: there is one, and it refused or is not as it has to be. *error says which, where it
// was looked for.
TAPI_EXPORT enum tapi_result tapi_transport_load(struct tapi_loaded *out, const char *name,
	const char *directory, bool objects_first, const struct tapi_core_api *core,
	struct tapi_error *error);
TAPI_EXPORT void tapi_transport_unload(struct tapi_loaded *loaded);
TAPI_EXPORT const char *tapi_transport_builtin(unsigned index);          // names, NULL at the end
const struct tapi_conf_key *tapi_transport_builtin_keys(unsigned index); // of the section NAME

#endif
