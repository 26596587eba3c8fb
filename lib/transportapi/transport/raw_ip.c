// SPDX-License-Identifier: BSD-3-Clause
// Messages right behind the IP header, protocol 253 (RFC 3692: for experiments). Text
// ip://192.0.2.1, ip://[2001:db8::1]; on the wire of a HELO 4 or 16 octets. A packet is an envelope
// and one message, with no checksum but the IPv4 header's: what is damaged below goes up as it is.
// Largest message 1440: 1500 of Ethernet without 20 (IPv6: 40) and 40.
//
// Session-less: what comes in has no session, and cannot be answered but by a connect() of one's
// own. The system hands each packet to every socket of the protocol that is bound to its
// destination: two instances on one host need addresses of their own.
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#include "transportapi/transport/udp.h"
#include "transportapi/base/wire.h"

#define RAW_PROTOCOL 253

const struct tapi_conf_key tapi_raw_ip_keys[] = {
	TAPI_DATAGRAM_KEYS(1440, 90, "ADDRESS"),
	TAPI_LINK_KEY_SESSIONS, // that connect makes; there are no others
	{.name = NULL},
};

// Nothing but envelopes of our version costs a wake-up. IPv4 is filtered with its header, IPv6
// without.
static bool raw_prepare(int fd, uint8_t family)
{
	struct sock_filter v4[] = {
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_filter v6[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {
		.len = family == 4 ? sizeof(v4) / sizeof(v4[0]) : sizeof(v6) / sizeof(v6[0]),
		.filter = family == 4 ? v4 : v6,
	};
	int none = -1;

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0)
		return false;
	return family == 4 || setsockopt(fd, IPPROTO_IPV6, IPV6_CHECKSUM, &none, sizeof(none)) == 0;
}

ssize_t tapi_raw_ip_skip(uint8_t family, const uint8_t *octets, size_t length)
{
	size_t header;

	if (family == 6)
		return 0;
	if (length < sizeof(struct iphdr) || octets[0] >> 4 != 4)
		return -1;
	header = (octets[0] & 0x0fu) * 4;
	if (header < sizeof(struct iphdr) || header > length || tapi_get16(octets + 2) != length)
		return -1;
	return (ssize_t)header;
}

static const struct tapi_datagram_kind raw_ip_kind = {
	.name = "raw-ip",
	.scheme = "ip",
	.protocol = RAW_PROTOCOL,
	.flags = TAPI_SESSIONLESS,
	.keys = tapi_raw_ip_keys,
	.type = SOCK_RAW,
	.ip_protocol = RAW_PROTOCOL,
	.needs = "raw sockets need root or CAP_NET_RAW: setcap cap_net_raw+ep PROGRAM, or leave "
		 "raw-ip out of \"transports\"",
	.prepare = raw_prepare,
	.skip = tapi_raw_ip_skip,
};

TAPI_EXPORT struct tapi_transport_api *inittransport_raw_ip(const struct tapi_core_api *core)
{
	return tapi_datagram_new(core, &raw_ip_kind);
}

TAPI_EXPORT void donetransport_raw_ip(struct tapi_transport_api *self)
{
	tapi_datagram_free(self);
}
