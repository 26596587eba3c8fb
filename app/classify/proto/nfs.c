// SPDX-License-Identifier: BSD-3-Clause
// NFS and the programs beside it, as calls of ONC RPC (RFC 5531 9): NFS 2 to 4 (RFC 1094, 1813,
// 7530), mount, the lock manager and its status monitor, access lists; and the question to the port
// mapper (RFC 1833) where one of them is to be found. Over TCP a record mark stands before the
// call (RFC 5531 11); a call that goes on in a second fragment begins like any other.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define CALL_BYTES     40  // up to the verifier, with empty credentials
#define AUTH_BYTES_MAX 400 // RFC 5531 8.2

struct program {
	uint32_t number;
	uint8_t first_version, last_version;
	uint8_t last_procedure;
};

static const struct program programs[] = {
	{100003, 2, 4, 21}, // NFS
	{100005, 1, 3, 5},  // mount
	{100021, 1, 4, 23}, // lock manager (NLM)
	{100024, 1, 1, 6},  // status monitor (NSM)
	{100227, 2, 3, 5},  // access lists
};

#define PORT_MAPPER    100000
#define MAPPER_GETPORT 3 // version 2; GETADDR of 3 and 4 has the same number

static const struct program *program_of(uint32_t number)
{
	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (programs[i].number == number)
			return &programs[i];
	return NULL;
}

// Credentials or verifier: flavour, length, body padded to four bytes.
static bool skip_auth(struct text *rest)
{
	if (rest->length < 8)
		return false;
	uint32_t length = octets_be32(rest->at + 4);

	if (octets_be32(rest->at) > 6 || length > AUTH_BYTES_MAX || 8 + length > rest->length)
		return false;
	*rest = text_from(*rest, 8 + ((length + 3) & ~3u));
	return true;
}

// The program that is asked for is the first argument in each version.
static bool asks_for_one(struct text rest, uint32_t version, uint32_t procedure)
{
	if (version < 2 || version > 4 || procedure != MAPPER_GETPORT || !skip_auth(&rest) ||
		!skip_auth(&rest) || rest.length < 8)
		return false;
	const struct program *program = program_of(octets_be32(rest.at));
	uint32_t wanted = octets_be32(rest.at + 4);

	return program && wanted <= program->last_version; // 0: any
}

static bool is_call(struct text rest)
{
	if (rest.length < CALL_BYTES)
		return false;
	uint32_t number = octets_be32(rest.at + 12), version = octets_be32(rest.at + 16);
	uint32_t procedure = octets_be32(rest.at + 20);

	if (octets_be32(rest.at + 4) != 0 || octets_be32(rest.at + 8) != 2 ||
		octets_be32(rest.at + 24) > 6)
		return false;
	if (number == PORT_MAPPER)
		return asks_for_one(text_from(rest, 24), version, procedure);
	const struct program *program = program_of(number);

	return program && version >= program->first_version && version <= program->last_version &&
	       procedure <= program->last_procedure;
}

static enum verify verify(const struct probe *probe)
{
	struct text rest = probe_text(probe);

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
