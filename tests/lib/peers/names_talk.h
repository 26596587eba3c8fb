// SPDX-License-Identifier: BSD-3-Clause
// A TCP connection through a gateway in process whose policy knows two names: blocked.example is
// IRC, and refused; allowed.example is XMPP.
#ifndef SLUICE_NAMES_TALK_H
#define SLUICE_NAMES_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pipeline/flow/flow.h"
#include "lib/pipeline/pipe.h"

struct names_talk {
	struct pipe *pipe;
	struct pipe_packet packet;
	uint32_t seq[2];
	size_t piece;
	bool reset; // of the flow: something did not leave
};

#define REQUEST(host) "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define ANSWER        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define FIRST         REQUEST("plain.example")
#define BLOCKED       REQUEST("blocked.example")

// Of a group of tests: the signatures.
int names_talk_setup(void **state);
int names_talk_teardown(void **state);

struct names_talk names_talk_begin(size_t piece); // octets of a segment
struct names_talk names_talk_begin_with(size_t piece, const struct lcore_limits *limits);
void names_talk_end(struct names_talk *c);
void names_talk_open(struct names_talk *c);
void names_talk_segment(
	struct names_talk *c, unsigned half, uint8_t flags, const void *bytes, size_t length);
// In segments, each of the client's with its acknowledgement; up to the first that does not leave.
void names_talk_say(struct names_talk *c, unsigned half, const void *bytes, size_t length);

#endif
