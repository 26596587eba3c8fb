// SPDX-License-Identifier: BSD-3-Clause
// A connection through the gateway, packet by packet, with every kind of receiver at both ends, to
// hold the law against each trick: whatever leaves, no receiver can put together other bytes than
// those that were inspected. What was inspected is told by a tap (stream_tap.h).
//
// A story is a list of steps. It is reported anew for both IP versions, sequence numbers that wrap
// and such that do not, and each tcp.conflict of the policy; with a rule that may edit
// messages in force, under which nothing passes ahead of a hole; and once more under a policy that
// enforces nothing, where every packet must leave as it came. Asserts by cmocka.
#ifndef SLUICE_TEST_TWO_ENDS_H
#define SLUICE_TEST_TWO_ENDS_H

#include "lib/pipeline/pipe.h"
#include "receiver.h"

#define STORY_STEPS_MAX 40

enum step_kind {
	STEP_END,
	STEP_CLIENT,  // a segment of the client
	STEP_SERVER,  // of the server
	STEP_OPEN,    // the handshake
	STEP_WAIT,    // `seconds`
	STEP_HOLD,    // a job of ours begins on the client's half
	STEP_RELEASE, // and is done
	STEP_ANEW,    // what follows is another connection: receivers begin at its numbers (`at`)
};
#define CLIENT(...)                              \
	{                                        \
		.kind = STEP_CLIENT, __VA_ARGS__ \
	}
#define SERVER(...)                              \
	{                                        \
		.kind = STEP_SERVER, __VA_ARGS__ \
	}
#define OPEN(...)                              \
	{                                      \
		.kind = STEP_OPEN, __VA_ARGS__ \
	}
#define PAUSE(...)                                        \
	{                                                 \
		.kind = STEP_WAIT, .seconds = __VA_ARGS__ \
	}
#define ANEW(...)                                    \
	{                                            \
		.kind = STEP_ANEW, .at = __VA_ARGS__ \
	}
#define HOLD                      \
	{                         \
		.kind = STEP_HOLD \
	}
#define RELEASE                      \
	{                            \
		.kind = STEP_RELEASE \
	}
#define STORY(title, ...) .name = title, .steps = {__VA_ARGS__}

struct step {
	uint8_t kind;
	int32_t at;       // offset of its first byte; a SYN is at -1
	const char *text; // payload
	uint16_t length;  // 0: strlen(text)
	int32_t ack;      // bytes of the other half that it acknowledges
	uint8_t flags;    // 0: ACK; with text PSH|ACK
	bool no_flags;    // none at all
	uint8_t ttl;      // 0: 63
	uint16_t window;  // 0: 65000
	uint32_t time;    // timestamp value; 0: none
	uint32_t echo;
	uint16_t urgent;
	bool bad_checksum;
	bool astray; // comes in on the other end's side
	const uint8_t *options;
	uint8_t options_length;
	double seconds;
	uint16_t pieces; // the text is cut into segments of so many bytes; 0: it is one
	uint8_t again;   // so many more times
	int8_t leaves;   // frames that leave at this step: N, or 0 for whatever, or NONE
};
#define NONE (-1)

struct counter_wanted {
	size_t at; // offsetof(struct stats, ...)
	uint64_t least;
};
#define COUNTER(name)   offsetof(struct stats, name)
#define DROPPED(symbol) (offsetof(struct stats, dropped_pkts) + DROP_##symbol * sizeof(uint64_t))

struct story {
	const char *name;
	struct step steps[STORY_STEPS_MAX];
	bool blocked; // BitTorrent was recognised, and the flow torn down; else it must not be
	bool takes_syn_data;  // the server does Fast Open
	const char *delivers; // what an ordinary server has in the end (tcp.conflict rewrite);
			      // NULL: any
	struct counter_wanted counters[4];
	struct tcp_rules tcp; // but conflict
	void (*limits)(struct lcore_limits *limits);
	bool law_waived; // bytes pass that nobody looked at, by policy
	// What becomes of it follows from what has left ahead of a hole: under a rule that may edit
	// messages only the law is held.
	bool by_fast_pass;
};

// A BitTorrent handshake, which the policy of every story resets.
#define STORY_DIRTY                               \
	"\x13"                                    \
	"BitTorrent protocol\0\0\0\0\0\x10\0\x05" \
	"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB"
#define STORY_DIRTY_LENGTH 68

void story_tell(const struct story *story);
// Told under one policy and with one kind of numbers, for tests that look on.
struct telling;
struct telling *telling_begin(const struct story *story, bool v6, uint32_t isn, bool enforces,
	enum tcp_conflict conflict);
void telling_step(struct telling *telling, const struct step *step);
void telling_end(struct telling *telling); // asserts what the story says at its end
// What left at the last step, in its order: number of frames, and one of them.
unsigned telling_left(const struct telling *telling);
struct wire_segment telling_frame(const struct telling *telling, unsigned i, enum half *half);
uint32_t telling_number(const struct telling *telling, enum half half, int32_t at);
struct pipe *telling_pipe(struct telling *telling);
uint32_t telling_flow(const struct telling *telling); // reference of the flow, once it has one

#endif
