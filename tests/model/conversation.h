// SPDX-License-Identifier: BSD-3-Clause
// Conversations for the fuzzer of model_conversations.c: captures as lists of packets with the zone
// that each comes from, operations that change them, and a gateway that they run through.
#ifndef SLUICE_TEST_CONVERSATION_H
#define SLUICE_TEST_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONVERSATION_PACKETS 320  // of one run
#define CONVERSATION_SEED    120  // of these, at most so many from a capture
#define CONVERSATION_FRAME   1600 // octets
#define CONVERSATION_OPS     10
#define CONVERSATION_WHY     300
// Of the gateway's clocks: what is later by these is as far from every limit as before.
#define CONVERSATION_TICK_NS (1ull << 30)

struct conversation_packet {
	uint64_t ts_ns;
	uint32_t length;
	int16_t honest; // place in the capture; -1: not of the capture
	bool outside;   // zone that it comes from
	uint8_t frame[CONVERSATION_FRAME];
};

struct conversation {
	unsigned n;
	struct conversation_packet packets[CONVERSATION_PACKETS];
};

// What must hold, besides that nothing crashes or is lost.
enum conversation_mode {
	CONVERSATION_CHAOS,   // nothing more
	CONVERSATION_VICTIM,  // forged packets only: what passes without them passes with them
	CONVERSATION_ENFORCE, // tricks of the ends: what is blocked without them is blocked with
			      // them
	CONVERSATION_MODES,
};

struct conversation_op {
	uint8_t kind;
	uint16_t at;
	uint32_t a, b;
};

struct conversation_case {
	uint64_t seed;
	unsigned capture, policy;
	enum conversation_mode mode;
	unsigned n_ops;
	struct conversation_op ops[CONVERSATION_OPS];
};

// Frames (conversation_frame.c): plain TCP and UDP over IPv4 or IPv6, with or without tags.
struct frame_view {
	unsigned l3, l4, payload, end;
	bool v6;
	uint8_t proto;
};
bool frame_view(const uint8_t *frame, uint32_t length, struct frame_view *view);
void frame_fix(struct conversation_packet *packet, const struct frame_view *view); // sums, lengths
void frame_sum(struct conversation_packet *packet, const struct frame_view *view);
void frame_turn(struct conversation_packet *packet, const struct frame_view *view);
bool frame_payload(struct conversation_packet *packet, struct frame_view *view, const void *payload,
	unsigned length);
bool frame_tag(struct conversation_packet *packet, uint16_t tag); // behind the tags that it has
// An ICMP error from `source` (NULL: the destination) that quotes the packet, to its sender.
bool frame_icmp_error(struct conversation_packet *packet, const struct frame_view *view,
	const uint8_t *source, uint8_t type, uint8_t code);
uint32_t get32(const uint8_t *at);
void put32(uint8_t *at, uint32_t value);
uint16_t get16(const uint8_t *at);
void put16(uint8_t *at, uint16_t value);

// Captures (conversation_seeds.c): the list is borrowed. One that cannot be used has no packets.
unsigned conversation_load(char **list, unsigned n);
const char *conversation_path(unsigned capture);
void conversation_of(unsigned capture, struct conversation *out);

// Operations (conversation_ops.c).
uint64_t conversation_chance(uint64_t *state); // splitmix64
void conversation_make(
	struct conversation_case *a_case, uint64_t seed, unsigned n_captures, unsigned n_policies);
void conversation_apply(const struct conversation_case *a_case, struct conversation *talk);
void conversation_print(const struct conversation_case *a_case);

// The gateway (conversation_run.c): one a process. Policies by number.
unsigned conversation_policies(void);
const char *conversation_policy_name(unsigned policy);
// From the next conversation_open on: beside each policy's own rules one has flows decoded, and
// masks a keyword in messages.
void conversation_edits(bool on);
void conversation_open(unsigned policy);
void conversation_close(void);
// NULL, or why it does not hold.
const char *conversation_run(const struct conversation_case *a_case);
uint64_t conversation_packets_run(void);
uint64_t conversation_packets_edited(void); // left with the keyword masked

#endif
