// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: eMule's obfuscation between two clients, as eMule and aMule write it (their
// sources: EncryptedStreamSocket, EncryptedDatagramSocket). All of it is encrypted but for the
// first five octets, which are chance:
//
//   1 A -> B  an octet that is no protocol's marker, 4 of a key, 4 of magic, 1, 1, 1, padding
//   2 B -> A  4 of magic, 1, 1, padding
//   3 A -> B  a hello: 93 octets and the name of its user, 16 more behind a firewall
//   4 B -> A  the answer to it, an octet shorter but for the name
//
// Padding is of 0 to 254 octets. The keys are made of the other's hash, which nobody said here.
// Flights do not overlap: each waits for the one before. Where both of the first are as long as a
// key of BitTorrent's MSE they may be that as well, and are left to its shape.
//
// That is PARTIAL and no more. What is on a port below 1024 is left alone. (With servers it is
// another exchange: mse.h.)
#ifndef SLUICE_EDONKEY_SHAPE_H
#define SLUICE_EDONKEY_SHAPE_H

#include "classify/app_proto.h"

// Words 1 to 3 of the memo are its own.
enum verify edonkey_shape(const struct probe *probe);
// app_proto.h: what an endpoint that is known for eDonkey may be sent in disguise. A datagram: an
// octet that is no marker, 2 of a key, 4 of magic, 1, padding, for Kad 8 of keys, and the message.
bool edonkey_disguised(const struct span *span, uint8_t l4_proto);

#endif
