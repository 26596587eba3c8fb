// SPDX-License-Identifier: BSD-3-Clause
// What is asked of a run of a changed conversation, beside the run of the capture as it is.
#ifndef SLUICE_TEST_CONVERSATION_JUDGE_H
#define SLUICE_TEST_CONVERSATION_JUDGE_H

#include "conversation.h"

struct sent { // what one run has sent
	unsigned n;
	struct {
		uint32_t length;
		bool to_outside;
		uint8_t frame[CONVERSATION_FRAME];
	} frames[2 * CONVERSATION_PACKETS];
};

// Of a run, by the packet's place in the capture.
struct outcome {
	bool left[CONVERSATION_PACKETS];
	bool refused[CONVERSATION_PACKETS];       // by a rule
	const char *reason[CONVERSATION_PACKETS]; // of a drop that it came with, or NULL
};

struct judged {
	struct conversation *plain;
	const struct conversation *changed;
	const struct outcome *before, *after;
	const struct sent *sent; // of the changed one
};

// The packet of the capture that is wronged; -1: none is.
int judge_victim(const struct judged *judged);
int judge_enforce(const struct judged *judged);
// The same of a keyword that left whole, where a rule masks it; conversation_edits.c.
int judge_edits(const struct judged *judged);

#define CONVERSATION_KEYWORD "quagmire"
// The capture as it leaves where that is masked.
void edits_expect(struct conversation *plain, struct conversation *edited);
// The packet of the capture in which a keyword begins of which each byte has left; -1: there is
// none.
int edits_left_whole(struct conversation *plain, const struct sent *sent);
// A byte of a TCP half has left that neither its sender has said there, nor the edit has made of
// it. What had left of a keyword when the rest of it came leaves as it was, and its flow is reset.
bool edits_left_otherwise(
	struct conversation *plain, struct conversation *edited, const struct sent *sent);
// Both are of one connection, in either direction.
bool judge_same_connection(
	const struct conversation_packet *a, const struct conversation_packet *b);

#endif
