// SPDX-License-Identifier: BSD-3-Clause
// What explain answers, asked of a gate and asserted member by member.
#ifndef SLUICE_TEST_EXPLAINED_H
#define SLUICE_TEST_EXPLAINED_H

#include "pipe_control.h"

#define BLOCK_P2P                                                                        \
	"'rules':[{'id':'no-p2p','match':{'app':['bittorrent'],'min_confidence':'dpi'}," \
	"'action':'reset','cache':'tuple'}]"

// The message, to decref.
json_t *explained_by_id(struct gate *gate, uint64_t flow_id);
// Of the ends 10.0.0.CLIENT and 10.0.0.2; `more` arguments begin with a comma.
json_t *explained_by_ends(struct gate *gate, uint32_t client, const char *more);

const char *explained_text(const json_t *object, const char *key); // "(none)" if it is no text
json_int_t explained_number(const json_t *object, const char *key);

void explained_expect_verdict(const json_t *explained, const char *outcome, const char *verdict);
// "flow_made signature decision": which pieces, and in which order.
void explained_expect_evidence(const json_t *explained, const char *words);
// The n-th piece (from 0) of that kind; fails the test if there is none.
const json_t *explained_piece(const json_t *explained, const char *what, unsigned n);
// Members of a piece: "rule=no-p2p action=reset generation=1 final=true".
void explained_expect_piece(
	const json_t *explained, const char *what, unsigned n, const char *members);

// A BitTorrent handshake from 10.0.0.CLIENT to 10.0.0.2 port 6999.
void explained_handshake(struct gate *gate, uint32_t client, uint16_t sport);

#endif
