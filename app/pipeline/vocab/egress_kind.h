// SPDX-License-Identifier: BSD-3-Clause
// What a packet is that leaves: written into struct pkt by the entry point (egress/egress.h).
#ifndef SLUICE_EGRESS_KIND_H
#define SLUICE_EGRESS_KIND_H

enum egress_kind {
	EGRESS_NONE,          // it has not passed the entry point
	EGRESS_FLOW,          // of a flow or stub, or inspected without one
	EGRESS_FRAGMENT,      // of a datagram, with the others of its set
	EGRESS_LINK,          // not IP, or nothing that we follow
	EGRESS_ICMP_ERROR,    // about a flow
	EGRESS_INJECTED_FLOW, // made here, in the name of an end of a flow
	EGRESS_INJECTED_OWN,  // made by the control core
	EGRESS_BYPASS,        // nobody has inspected it
	EGRESS_KINDS_MAX
};

#endif
