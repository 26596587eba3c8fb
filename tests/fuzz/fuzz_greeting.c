// SPDX-License-Identifier: BSD-3-Clause
// What flows' ends say of themselves (metadata.h): TLS, QUIC, DTLS and HTTP, in any pieces, before
// and after the verdict. Input as fuzz_classify's: an octet of bits (1 UDP, 2 picked up midstream),
// then packets: an octet (1 the half, 2 a gap before it), length u16 BE, bytes.
// Held: a greeting is whole fields of bounded length; phases go forward only; each side is reported
// at most three times (a name, the same whole, an answer); no state is kept when all is over.
#include "lib/classify/classify_rig.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct talk {
	struct rig_flow flow;
	uint8_t phase;
	unsigned told;
};

static void handshake_meta_check(const struct handshake_meta *meta)
{
	const uint8_t *at = meta->bytes;
	uint32_t left = meta->length;
	struct handshake_meta_part part;

	if (meta->kind >= HANDSHAKE_META_KINDS_MAX || meta->length > HANDSHAKE_META_BYTES)
		abort();
	while (handshake_meta_next(&at, &left, &part))
		if (!part.length)
			abort();
	if (left)
		abort();
}

static void hear(struct talk *talk, const struct span *span)
{
	struct rig_flow *flow = &talk->flow;
	struct rig *rig = flow->rig;
	struct handshake_meta meta;
	struct classify_work work = {.meta = &meta, .handshake_meta_phase = talk->phase};
	const struct classify_flow about = {
		.ends = &flow->ends,
		.l4_proto = flow->l4,
		.n_data_pkts = flow->n_data_pkts,
		.midstream = flow->midstream,
		.c2s_from_inside = true,
	};

	memset(&meta, 0xff, sizeof(meta));
	if (!flow->verdict.final)
		classify_feed(rig->classifier, rig->edition, rig->user, &about, span, &flow->state,
			&flow->verdict, &work);
	else if (handshake_meta_pending(talk->phase) ||
		 (flow->l4 == IPPROTO_UDP && classify_may_ask(span_bytes(span), span_length(span))))
		classify_listen(rig->classifier, rig->edition, rig->user, &about, span,
			&flow->state, &flow->verdict, &work);
	if (work.handshake_meta_phase < talk->phase ||
		work.handshake_meta_phase > HANDSHAKE_META_OVER)
		abort();
	talk->phase = work.handshake_meta_phase;
	if (work.greeted) {
		handshake_meta_check(&meta);
		if (++talk->told > 3)
			abort();
	}
	if (flow->l4 == IPPROTO_TCP && flow->verdict.final &&
		!handshake_meta_pending(talk->phase) && flow->state != CLASSIFY_NO_STATE)
		abort();
}

// Feeds one packet; the bytes lie in a block of their own size.
static void packet(struct talk *talk, uint8_t bits, const uint8_t *bytes, uint32_t length)
{
	struct rig_flow *flow = &talk->flow;
	unsigned half = bits & 1;
	uint8_t *exact = malloc(length ? length : 1);

	if (!exact)
		abort();
	memcpy(exact, bytes, length);
	if (bits & 2 && flow->l4 == IPPROTO_TCP) {
		hear(talk, &(struct span){.offset64 = flow->offset[half],
				   .extent = 100,
				   .half = (uint8_t)half,
				   .flags = SPAN_GAP});
		flow->offset[half] += 100;
	}
	if (length && flow->n_data_pkts < UINT8_MAX)
		flow->n_data_pkts++;
	hear(talk, &(struct span){.offset64 = flow->offset[half],
			   .unchecked = exact,
			   .extent = length,
			   .half = (uint8_t)half,
			   .flags = flow->l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0});
	flow->offset[half] += length;
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct rig *rig;

	if (!len)
		return 0;
	if (!rig)
		rig = rig_new();
	struct talk talk = {
		.flow = rig_flow(rig, bytes[0] & 1 ? IPPROTO_UDP : IPPROTO_TCP, 40000, 50000)};
	size_t at = 1;

	talk.flow.midstream = bytes[0] & 2 && talk.flow.l4 == IPPROTO_TCP;
	while (len - at >= 3) {
		size_t length = (size_t)bytes[at + 1] << 8 | bytes[at + 2];
		uint8_t bits = bytes[at];

		at += 3;
		if (length > len - at)
			length = len - at;
		packet(&talk, bits, bytes + at, (uint32_t)length);
		at += length;
	}
	classify_end(rig->classifier, &talk.flow.state);
	if (classifier_states_free(rig->classifier) != classifier_states_max(rig->classifier))
		abort();
	return 0;
}
