// SPDX-License-Identifier: BSD-3-Clause
// A whole gateway in process: the lcores of a pipe, policies and signatures through the real
// reload, and the commands of the control socket without their socket. The clock is the pipe's.
#ifndef SLUICE_TEST_PIPE_CONTROL_H
#define SLUICE_TEST_PIPE_CONTROL_H

#include "control/ctl/command.h"
#include "pipe.h"

struct gate {
	struct pipe *pipe;
	struct control_context context;
	struct inquiries *inquiries;
	char dir[40];
	uint32_t seq[2]; // of gate_tcp: next byte of either end
};

// `policy`: the members of policy.json, with ' for ". Signatures are config/signatures.
struct gate *gate_new(unsigned n_lcores, const char *policy);
// The same with limits of its own; NULL: the pipe's.
struct gate *gate_new_with(
	unsigned n_lcores, const struct lcore_limits *limits, const char *policy);
void gate_policy(struct gate *gate, const char *policy); // the next generation
void gate_free(struct gate *gate);

// Runs a command to its end: {"return", "message"}, to decref. `arguments` with ' for ".
json_t *gate_ask(struct gate *gate, const char *command, const char *arguments);
// The message of a command that must succeed, to decref; or the text of one that must not, which
// has to hold `word`.
json_t *gate_ok(struct gate *gate, const char *command, const char *arguments);
void gate_nok(struct gate *gate, const char *command, const char *arguments, const char *word);
// The next line that the event sink has written of that event_type, to decref; NULL: none.
json_t *gate_event(struct gate *gate, const char *event_type);

// A connection from 10.0.0.`client` to 10.0.0.2, on lcore 0 or the owner if there are more.
struct gate_tcp {
	uint32_t client;
	uint16_t sport, dport;
	uint32_t seq[2]; // next byte of the client, the server
};
struct gate_tcp gate_connect(struct gate *gate, uint32_t client, uint16_t sport, uint16_t dport);
// Returns the frames that came out.
unsigned gate_send(
	struct gate *gate, struct gate_tcp *tcp, bool server, const void *payload, size_t length);
// `packet` on the lcore that owns it.
unsigned gate_run(struct gate *gate, const struct pipe_packet *packet);

#define HANDSHAKE_BYTES 68
extern const char gate_handshake[HANDSHAKE_BYTES + 1]; // BitTorrent's, as a peer begins

#endif
