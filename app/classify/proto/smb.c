// SPDX-License-Identifier: BSD-3-Clause
// SMB 1 to 3 over TCP: on port 445 and behind a NetBIOS session (RFC 1002 4.3) on port 139, where
// the same four bytes stand before each message ([MS-SMB2] 2.1, [MS-CIFS] 2.1.2); and the
// browser's and mail slots' SMB 1 in NetBIOS datagrams (RFC 1002 4.4, UDP port 138). A session
// request names two hosts and not yet what they will talk: it is not SMB before SMB is seen.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define FRAME_BYTES  4    // NetBIOS session header: type, length
#define REQUEST      0x81 // RFC 1002 4.3.2: a session, with both names
#define ACCEPTED     0x82 // 4.3.3
#define SMB1_BYTES   32   // [MS-CIFS] 2.2.3.1
#define SMB2_BYTES   64   // [MS-SMB2] 2.2.1
#define SEALED_BYTES 52   // [MS-SMB2] 2.2.41, TRANSFORM_HEADER
#define PACKED_BYTES 16   // [MS-SMB2] 2.2.42, COMPRESSION_TRANSFORM_HEADER
#define LAST_COMMAND 0x13

#define DATAGRAM_BYTES 14
#define NAME_BYTES     32 // RFC 1001 14.1: sixteen characters, each as two letters A..P
#define NAMES_MAX      16 // labels of a name with its scope

// `length`: what the frame says; `rest` is what is here of it.
static enum verify verify_message(struct text rest, uint32_t length)
{
	if (rest.length < 20)
		return VERIFY_MORE;
	switch (rest.at[0]) {
	case 0xff: return length >= SMB1_BYTES ? VERIFY_YES : VERIFY_NO;
	case 0xfe:
		return length >= SMB2_BYTES && octets_le16(rest.at + 4) == SMB2_BYTES &&
				       octets_le16(rest.at + 12) <= LAST_COMMAND
			       ? VERIFY_YES
			       : VERIFY_NO;
	case 0xfd: return length > SEALED_BYTES ? VERIFY_DPI : VERIFY_NO;
	case 0xfc: return length > PACKED_BYTES ? VERIFY_DPI : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

static bool skip_name(struct text *rest)
{
	if (rest->length < 1 + NAME_BYTES || rest->at[0] != NAME_BYTES)
		return false;
	for (unsigned i = 1; i <= NAME_BYTES; i++)
		if (rest->at[i] < 'A' || rest->at[i] > 'P')
			return false;
	*rest = text_from(*rest, 1 + NAME_BYTES);
	for (unsigned i = 0; i < NAMES_MAX && rest->length; i++) {
		uint8_t label = rest->at[0];

		*rest = text_from(*rest, 1u + label);
		if (!label)
			return true;
		if (label > 63)
			return false;
	}
	return false;
}

static enum verify verify_datagram(struct text rest)
{
	static const uint8_t magic[] = {0xff, 'S', 'M', 'B'};

	if (rest.length < DATAGRAM_BYTES)
		return VERIFY_NO;
	uint32_t length = octets_be16(rest.at + 10);

	rest = text_from(rest, DATAGRAM_BYTES);
	if (length > rest.length || !skip_name(&rest) || !skip_name(&rest))
		return VERIFY_NO;
	return rest.length >= SMB1_BYTES && !memcmp(rest.at, magic, sizeof(magic)) ? VERIFY_YES
										   : VERIFY_NO;
}

// A frame of the session: a message, or one of RFC 1002 4.3.3 to 4.3.6.
static bool is_frame(struct text half)
{
	return half.length >= FRAME_BYTES &&
	       (!half.at[0] || (half.at[0] >= 0x81 && half.at[0] <= 0x85));
}

static bool is_port(uint16_t port)
{
	return port == 445 || port == 139;
}

// Who looks for open ports asks every server for SMB: elsewhere the answer decides.
static enum verify verify(const struct probe *probe)
{
	struct text rest = probe_text(probe);
	struct text peer = {probe->peer, probe->peer_length};

	if (probe->l4_proto == IPPROTO_UDP)
		return verify_datagram(rest);
	if (rest.length >= FRAME_BYTES && (rest.at[0] == REQUEST || rest.at[0] == ACCEPTED))
		rest = text_from(rest, FRAME_BYTES + (uint32_t)octets_be16(rest.at + 2));
	if (rest.length < FRAME_BYTES)
		return VERIFY_MORE;
	if (peer.length >= FRAME_BYTES ? !is_frame(peer)
				       : !is_port(probe->dport) && !is_port(probe->sport))
		return peer.length >= FRAME_BYTES ? VERIFY_NO : VERIFY_MORE;
	return verify_message(text_from(rest, FRAME_BYTES), text_be24(rest.at + 1));
}

const struct app_proto app_proto_smb = {
	.name = "smb",
	.title = "SMB (Windows file sharing)",
	.group = "file-sharing-lan",
	.category = APP_CATEGORY_FILE,
	.verify = verify,
	.tcp_ports = {445, 139},
};
