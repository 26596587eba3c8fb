// SPDX-License-Identifier: BSD-3-Clause
// Replay's transmit side: both ports of the pair write what the tx stage gives them to one capture.
#ifndef SLUICE_REPLAY_OUTPUT_H
#define SLUICE_REPLAY_OUTPUT_H

#include "replay/packet.h"

struct replay_output {
	const char *path; // NULL: packets are counted by the stage and freed
	const struct replay_feed *feed;
	struct capture_writer *writer;
	// Of the record at hand: packets that the gateway makes take them over.
	uint64_t now_ns;
	uint16_t linktype;
	bool nano;
	int error; // first -errno; packets after it are freed
	char message[CAPTURE_ERROR_LEN];
	uint64_t frame_room;
	uint8_t *frame; // a packet of several segments in one piece
};

// Creates the file with the link type and resolution in `output`. Returns output->error.
int replay_output_open(struct replay_output *output);
// struct port.send: ctx is a struct replay_output. Takes all n.
uint16_t replay_output_send(void *ctx, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);
// Returns output->error, with its message.
int replay_output_close(struct replay_output *output, struct capture_writer_counters *counters);

#endif
