// SPDX-License-Identifier: BSD-3-Clause
// A control socket with two fake lcores behind it, and clients, all in one thread: the clients turn
// the loop while they wait.
#ifndef SLUICE_CONTROL_WORLD_H
#define SLUICE_CONTROL_WORLD_H

#include <jansson.h>
#include "control/ctl/socket.h"
#include "fake_lcore.h"

#define FLOWS 1300 // per lcore: three pages

extern uint64_t clock_offset_ns; // tests own the clock
uint64_t now_ns(void);

struct world {
	struct control_context context;
	struct control_socket *socket;
	struct fake_lcores lcores;
	struct sink *sink; // counts only
	struct trace_log *trace_log;
	char dir[40];
	char path[64];
};

void world_new(struct world *w);
void world_open(struct world *w); // the socket, again
void world_free(struct world *w);
void turn(struct world *w);

int client(struct world *w); // a connected descriptor, not blocking
// Sends all of it while the gateway runs; false if the gateway closed meanwhile.
bool put(struct world *w, int fd, const char *text, size_t length);
// The next line, or NULL when the gateway closed; fails after 20 s.
json_t *get(struct world *w, int fd);

json_t *ask(struct world *w, const char *line); // one client, one line, one answer
bool is_ok(json_t *reply);
json_t *message(json_t *reply);
json_int_t number(json_t *object, const char *key); // fails if it is none
void asks_ok(struct world *w, const char *line);
void asks_nok(struct world *w, const char *line, const char *word); // and the message holds it

#endif
