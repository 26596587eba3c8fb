// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the addresses that DNS answers give to a client for a name (RFC 1035 4,
// RFC 3596; 4.2.2 for TCP), for the name cache. Only answers without an error, to one question, and
// only addresses of the name that was asked for or of an alias of it (CNAME), each below what it is
// an alias of. Decoders (app_proto.h): no heap, no clock; work is bounded whatever the message
// says.
#ifndef SLUICE_DNS_ANSWER_H
#define SLUICE_DNS_ANSWER_H

#include "classify/app_proto.h"

#define DNS_ANSWERS_MAX 64 // records that are looked at
#define DNS_ALIASES_MAX 8  // in a chain
#define DNS_JUMPS_MAX   16 // of one compressed name; each has to lead further back

bool dns_answer_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink);
void dns_answer_stream(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink);

#endif
