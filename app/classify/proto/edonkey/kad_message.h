// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: one datagram of Kad, 0xe4 and an opcode, or 0xe5, an opcode and a zlib
// stream. The caller has seen two octets. The memo is the exchange's, its last word this file's
// (classify/proto/edonkey/exchange.h).
#ifndef SLUICE_KAD_MESSAGE_H
#define SLUICE_KAD_MESSAGE_H

#include "classify/app_proto.h"

enum verify kad_verify(const struct probe *probe);
enum verify kad_verify_packed(const struct probe *probe);

#endif
