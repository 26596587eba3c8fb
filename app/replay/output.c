// SPDX-License-Identifier: BSD-3-Clause
// Receives transmitted packets from the lcores and writes them to a capture.
#include "replay/output.h"

#include <errno.h>
#include <stdlib.h>
#include "pipeline/vocab/pkt.h"

int replay_output_open(struct replay_output *output)
{
	if (output->path && !output->writer && output->error == 0)
		output->error = capture_writer_open(output->path, output->linktype, output->nano,
			&output->writer, output->message, sizeof output->message);
	return output->error;
}

// The packet's bytes in one piece; NULL: no memory.
static const uint8_t *flat(struct replay_output *output, struct rte_mbuf *m)
{
	if (m->nb_segs == 1)
		return rte_pktmbuf_mtod(m, const uint8_t *);
	if (m->pkt_len > output->frame_room) {
		uint8_t *grown = realloc(output->frame, m->pkt_len);

		if (!grown)
			return NULL;
		output->frame = grown;
		output->frame_room = m->pkt_len;
	}
	return rte_pktmbuf_read(m, 0, m->pkt_len, output->frame);
}

static void write_packet(struct replay_output *output, struct rte_mbuf *m)
{
	const struct replay_meta *meta = replay_meta_of(output->feed, m);
	struct capture_record rec = {
		.ts_ns = output->now_ns,
		.caplen = m->pkt_len,
		.len = m->pkt_len,
		.linktype = output->linktype,
		.bytes = flat(output, m),
	};

	if (!rec.bytes) {
		output->error = -ENOMEM;
		return;
	}
	// A packet that came in leaves with the time and the length that its file gave it: a policy
	// that passes everything must give the input again.
	if (!(pkt_of(m)->flags & PKT_INJECTED)) {
		rec.ts_ns = meta->ts_ns;
		rec.linktype = meta->linktype;
		if (meta->caplen == rec.caplen)
			rec.len = meta->len;
	}
	output->error = capture_writer_write(output->writer, &rec);
}

uint16_t replay_output_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct replay_output *output = ctx;

	(void)queue;
	for (uint16_t i = 0; i < n; i++) {
		if (output->writer && output->error == 0)
			write_packet(output, pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
	return n;
}

int replay_output_close(struct replay_output *output, struct capture_writer_counters *counters)
{
	int rc = 0;

	*counters = (struct capture_writer_counters){0};
	if (output->writer) {
		capture_writer_counters_get(output->writer, counters);
		rc = capture_writer_close(output->writer, output->message, sizeof output->message);
	}
	if (output->error == 0)
		output->error = rc;
	free(output->frame);
	output->writer = NULL;
	output->frame = NULL;
	return output->error;
}
