// SPDX-License-Identifier: BSD-3-Clause
// What an MSN conversation in clear says of direct connections: of MSNFTP (invitations of type
// text/x-msmsgsinvite: Application-File, IP-Address, Port) and of the peer-to-peer transfers that
// came after it (MSNSLP inside application/x-msnmsgrp2p: Context, IPv4Internal-Addrs and -Port and
// their like).
#ifndef SLUICE_MSN_OFFERS_H
#define SLUICE_MSN_OFFERS_H

#include "classify/app_proto.h"

void msn_offers_decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink);

#endif
