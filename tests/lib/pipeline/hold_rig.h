// SPDX-License-Identifier: BSD-3-Clause
// Connections whose server half is held, through the whole path in process.
#ifndef SLUICE_TEST_HOLD_RIG_H
#define SLUICE_TEST_HOLD_RIG_H

#include "pipeline/flow/table.h"
#include "pipeline/stage/hold.h"
#include "pipeline/operator.h"
#include "pipe.h"

#define MSS   1000u
#define C_ISN 1000u
#define S_ISN 900000u
#define RULE  7

extern uint8_t file[64 * MSS]; // what the server sends

extern const struct scan_config clean;

struct pipe *world(const struct scan_config *config);
struct scan_config says(enum scan_script_verdict verdict, enum scan_failure failure);

// Segments of a connection from that port; numbers count from the initial ones. Frames that left.
unsigned client(struct pipe *pipe, uint16_t sport, uint32_t seq, uint32_t ack, uint8_t flags,
	uint16_t length);
// The part of the file that begins at `at`.
unsigned server(struct pipe *pipe, uint16_t sport, uint32_t at, uint32_t ack);
// A connection with its request; the flow is decided.
void open_flow(struct pipe *pipe, uint16_t sport);
// ... whose server has sent three segments, of which two are held.
void hold_flow(struct pipe *pipe, uint16_t sport);

const uint8_t *tcp_of(const struct pipe_sent *sent);
uint32_t get32(const uint8_t *p);
// A data segment of the file left, whole.
void assert_part(const struct pipe_sent *sent, uint32_t at);
// Of the frames that left from the one on.
unsigned resets(const struct pipe *pipe, unsigned from);

#endif
