// SPDX-License-Identifier: BSD-3-Clause
// Whom we do not talk to: networks by longest prefix, ports, peers (TA6, TA17). Section "acl":
//
//   { "deny": ["10.0.0.0/8", "2001:db8::/32"], "allow": ["10.1.0.0/16"], "private": true,
//     "local": false, "deny_ports": [53], "deny_peers": ["<hex>", "<hex> 2027-01-31T00:00:00Z"] }
//
// Denied by default, unless `allow` has a longer or equal prefix: 0/8, 127/8, 169.254/16,
// 192.0.2/24, 224/3, ::/127, ff00::/8, fe80::/10; "local": true lifts 127/8 and ::1 (tests,
// benches); "private": false denies RFC 1918, RFC 6598 and fc00::/7. The longest prefix decides;
// the same one in `deny` and `allow` is wrong. IPv4-mapped IPv6 counts as IPv4, "::/0" means IPv6
// alone. Ports: {0,19,53,111,123,137,161,389,1900,5353,11211}, and `deny_ports`.
#ifndef TRANSPORTAPI_ACL_H
#define TRANSPORTAPI_ACL_H

#include "transportapi/base/conf.h"

struct tapi_acl;

extern TAPI_EXPORT const struct tapi_conf_key tapi_acl_keys[]; // of section "acl"

// An immutable one from the configuration; TAPI_ECONF with the place of what is wrong.
TAPI_EXPORT enum tapi_result tapi_acl_new(
	struct tapi_acl **out, const struct tapi_conf *conf, struct tapi_error *error);
TAPI_EXPORT void tapi_acl_free(struct tapi_acl *acl);
// TAPI_OK or TAPI_EACL; family 0 is never denied. Port 0 in `source` is not asked for where
// check_port is false (raw-ip).
TAPI_EXPORT enum tapi_result tapi_acl_address(
	const struct tapi_acl *acl, const struct tapi_source *source, bool check_port);
TAPI_EXPORT enum tapi_result tapi_acl_peer(
	const struct tapi_acl *acl, const struct tapi_peer_id *peer, uint64_t wall_us);

#endif
