// SPDX-License-Identifier: BSD-3-Clause
// Protocols of the link that are not IP, as policies name them.
#ifndef SLUICE_LINK_PROTOCOL_H
#define SLUICE_LINK_PROTOCOL_H

// What goes by EtherType or by link-local group address rather than by rule.
enum link_protocol {
	LINK_PROTO_ARP,
	LINK_PROTO_STP,   // 01:80:c2:00:00:00, LLC
	LINK_PROTO_PAUSE, // 01:80:c2:00:00:01, 0x8808: MAC control; default drop (IEEE 802.3x)
	LINK_PROTO_LACP,  // 01:80:c2:00:00:02, 0x8809
	LINK_PROTO_EAPOL, // 01:80:c2:00:00:03, 0x888e
	LINK_PROTO_LLDP,  // 01:80:c2:00:00:0e, 0x88cc
	LINK_PROTO_OTHER,
	LINK_PROTO_MAX
};

#endif
