// SPDX-License-Identifier: BSD-3-Clause
// NFS and its mount protocol: calls of ONC RPC (RFC 5531 9) for the programs 100003 and 100005
// (RFC 1813, RFC 7530). Over TCP a record mark stands before the call (RFC 5531 11).
#include <netinet/in.h>
#include "app_proto.h"
#include "text.h"

#define CALL_BYTES 40 // up to the verifier, with empty credentials

enum {
	PROGRAM_NFS = 100003,
	PROGRAM_MOUNT = 100005,
};

static bool is_call(struct text rest)
{
	if (rest.length < CALL_BYTES)
		return false;
	uint32_t program = octets_be32(rest.at + 12), version = octets_be32(rest.at + 16);
	uint32_t procedure = octets_be32(rest.at + 20), flavour = octets_be32(rest.at + 24);

	if (octets_be32(rest.at + 4) != 0 || octets_be32(rest.at + 8) != 2 || flavour > 6)
		return false;
	if (program == PROGRAM_NFS)
		return version >= 2 && version <= 4 && procedure <= 21;
	return program == PROGRAM_MOUNT && version >= 1 && version <= 3 && procedure <= 5;
}

static enum verify verify(const struct probe *probe)
{
	struct text rest = {probe->bytes, probe->length};

	if (probe->l4_proto == IPPROTO_TCP) {
		if (rest.length < 4 + CALL_BYTES)
			return VERIFY_MORE;
		if ((octets_be32(rest.at) & 0x7fffffff) < CALL_BYTES)
			return VERIFY_NO;
		rest = text_from(rest, 4);
	}
	return is_call(rest) ? VERIFY_YES : VERIFY_NO;
}

const struct app_proto app_proto_nfs = {
	.name = "nfs",
	.title = "NFS",
	.group = "file-sharing-lan",
	.category = APP_CATEGORY_FILE,
	.verify = verify,
	.tcp_ports = {2049},
	.udp_ports = {2049},
};
