// SPDX-License-Identifier: BSD-3-Clause
// Payload of a flow, given to those who look at it: classifier, decoder, names, the far end's
// claims. TCP comes here in order (inspect_tcp.h), datagrams as they are. The owning lcore only.
#ifndef SLUICE_INSPECT_PAYLOAD_H
#define SLUICE_INSPECT_PAYLOAD_H

#include <netinet/in.h>
#include "pipeline/stage/inspect.h"

// To whoever looks at the flow. The context says what came of it: undecided, starved.
void inspect_span(struct inspection *in, const struct span *span);
// To its decoder alone.
void inspect_decoder(struct inspection *in, const struct span *span);
// That nothing follows in a half: to its decoder.
void inspect_fin(struct inspection *in, const struct span *span);
// Bytes of the packet at hand, from `offset` in the frame on, as inspect_span.
void inspect_payload(struct inspection *in, struct span span, uint32_t offset);

// Whether a datagram may ask for a name, or answer who asks: it is looked at whatever its flow was
// taken for, and counts only with a good checksum. First by one octet, which lies beside the
// headers: the bit of QUIC's long headers, or a record of DTLS.
bool inspect_asks(const struct lcore *lcore, const struct rte_mbuf *m, const struct pkt *pkt);
// In this order each branch is foreseen: whether the first bit is set cannot be.
#define DATAGRAM_ASKS_BYTES 13 // no shorter datagram asks
static inline bool datagram_begins_asking(const uint8_t *at)
{
	// the first octets of the versions that are known (quic_keys.c): 1, drafts and Google's 'Q'
	// and 'T', 2 and its draft, Facebook's
	static const bool versions[256] = {
		[0] = 1, ['Q'] = 1, ['T'] = 1, [0x6b] = 1, [0x70] = 1, [0xfa] = 1, [0xff] = 1};

	if (unlikely(versions[at[1]]) && at[0] & 0x80)
		return true;
	if (unlikely(at[0] - 20u < 3) && !at[3] && !at[4]) // the epoch of a record in clear
		return true;
	return unlikely(at[9] == 'Q') && !(at[0] & 0x80); // up to Q043
}
static inline bool datagram_asks(
	const struct lcore *lcore, const struct rte_mbuf *m, const struct pkt *pkt)
{
	if (pkt->l4_proto != IPPROTO_UDP || pkt->payload_len < DATAGRAM_ASKS_BYTES)
		return false;
	if (unlikely(pkt->payload_off + DATAGRAM_ASKS_BYTES > m->data_len))
		return true; // in pieces
	const uint8_t *at = rte_pktmbuf_mtod_offset(m, const uint8_t *, pkt->payload_off);

	return datagram_begins_asking(at) && inspect_asks(lcore, m, pkt);
}

#endif
