// SPDX-License-Identifier: BSD-3-Clause
// STUN (RFC 8489) and TURN (RFC 8656): how calls find their way through NAT; without the cookie, as
// RFC 3489 had it. What calls is told by its attributes (stun_message.h), or by what follows in the
// same flow: DTLS (RFC 5764), a protocol of the application's own.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/stun_message.h"

#define PORT 3478

static enum verify with_cookie(const struct stun_message *message)
{
	// A wrong one is no proof against: a NAT that helps may have changed an address inside, and
	// old ones of Microsoft's reckon it with another table ([MS-ICE2]).
	if (stun_fingerprint(message) == STUN_FINGERPRINT_RIGHT)
		return VERIFY_YES;
	return VERIFY_DPI;
}

static bool is_classic_type(uint16_t type)
{
	switch (type & ~0x0110) {
	case 0x0001:              // Binding
	case 0x0002:              // Shared Secret
	case 0x0003:              // Allocate, of the drafts of TURN
	case 0x0004:              // Send
	case 0x0005: return true; // Data
	default: return false;
	}
}

static enum verify verify(const struct probe *probe)
{
	const struct text bytes = probe_text(probe);
	struct stun_message message;

	if (probe->l4_proto == IPPROTO_TCP)
		return stun_read_stream(bytes, &message) ? with_cookie(&message) : VERIFY_NO;
	if (!stun_read(bytes, &message))
		return VERIFY_NO;
	if (message.cookie)
		return with_cookie(&message);
	if (!is_classic_type(message.type))
		return VERIFY_NO;
	if (stun_is_classic(&message))
		return VERIFY_DPI;
	// A request without an attribute is four bytes that mean something.
	return message.type == STUN_BINDING && !message.attributes.length &&
			       (probe->dport == PORT || probe->sport == PORT)
		       ? VERIFY_PARTIAL
		       : VERIFY_NO;
}

const struct app_proto app_proto_stun = {
	.name = "stun",
	.title = "STUN and TURN",
	.group = "voice",
	.category = APP_CATEGORY_NETWORK,
	.carrier = true,
	.opens = true,
	.verify = verify,
	.tcp_ports = {PORT},
	.udp_ports = {PORT},
};
