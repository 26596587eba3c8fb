// SPDX-License-Identifier: BSD-3-Clause
// Where udp, tcp and raw-ip listen, and which addresses they advertise.
#ifndef TRANSPORTAPI_INET_OWN_H
#define TRANSPORTAPI_INET_OWN_H

#include "transportapi/base/acl.h"
#include "transportapi/base/conf.h"
#include "transportapi/base/inet_address.h"

#define TAPI_INET_LIST_MAX 32

struct tapi_inet_list {
	unsigned n;
	struct tapi_source address[TAPI_INET_LIST_MAX];
};

// Where to listen: the section's keys bind (TEXTS; empty: all addresses), port (UINT; 0: any;
// no such key: a transport without ports) and ipv6 (BOOL). The configuration was held against
// `keys` before.
TAPI_EXPORT enum tapi_result tapi_inet_binds(struct tapi_inet_list *out,
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys,
	struct tapi_error *error);
// What to advertise: the section's key advertise (TEXTS, endpoints; a port that is not said is that
// of `bound` of the family); else what is bound, and for an address of all (0.0.0.0, ::) those of
// the interfaces that the acl allows.
TAPI_EXPORT enum tapi_result tapi_inet_own(struct tapi_inet_list *out, const struct tapi_conf *conf,
	const char *section, const struct tapi_inet_list *bound, const struct tapi_acl *acl,
	bool has_port, struct tapi_error *error);

#endif
