// SPDX-License-Identifier: BSD-3-Clause
// Opens the obfuscation of eMule and Kad. It hides from who has not seen its keys, and those are no
// secrets: the user hash of a client, which it says in each plain hello, and the Kad id of a node,
// which everybody is reported who asks for contacts. Layouts as aMule writes them
// (EncryptedDatagramSocket, EncryptedStreamSocket).
//
// A gateway that has seen them (classify/proto/edonkey/peers.h, the endpoint cache) opens what is
// sent to that endpoint: 32 bits of magic must come out, so that one in 2^32 payloads of chance
// passes.
#ifndef SLUICE_EMULE_CLOAK_H
#define SLUICE_EMULE_CLOAK_H

#include "classify/app_proto.h"

// `secret` is the receiver's. The first payload of a TCP flow's half, or a datagram.
bool emule_cloak_opens(const struct span *span, const struct flow_ends *ends, uint8_t l4_proto,
	const struct endpoint_secret *secret);

#endif
