// SPDX-License-Identifier: BSD-3-Clause
// The inside of port_link.h: port_link.c follows the links and tells of them, port_again.c has
// interfaces that were made again taken up. Control core only.
#ifndef SLUICE_PORT_LINK_INSIDE_H
#define SLUICE_PORT_LINK_INSIDE_H

#include <net/if.h>
#include <stdatomic.h>
#include "process/again.h"
#include "pipeline/lcore/lcore.h"
#include "machine/link_watch.h"
#include "machine/port_link.h"

struct one { // a port
	struct port *port;
	char interface[IF_NAMESIZE]; // of the kernel, as at the start; "": its driver knows
	char called[IF_NAMESIZE];    // as it is named now
	unsigned ifindex;            // that its sockets hang on; 0: it is gone
	uint64_t since_ns;           // of the state that it is in
	uint64_t down_ns;            // that it was down when it came up last
	_Atomic bool removed;        // set in EAL's interrupt thread
	bool listed;                 // by the list that comes in
	port_send_fn *send;          // while it has a link
	uint32_t max_frame;          // of its driver
	// Of telling: a link that flaps is not reported each time.
	uint64_t second_ns;  // when the second began that is counted in
	unsigned n_reported; // in it
	uint64_t left_out;   // changes since the last one that was reported
	// Once it is gone:
	enum again_kind kind; // how it can be taken up
	unsigned there;       // another one of its name; 0: none
	bool there_listed;    // by the list that comes in
	uint64_t retry_ns;    // not before
	unsigned wait_s;      // after the next failure
	bool reported;        // why it cannot be, which was:
	int error;
	uint32_t step;
	bool again;     // it was taken up, and that has not been reported
	uint64_t token; // of qsbr, while an lcore may be in what port->again has replaced
};

struct port_links {
	const struct control_context *context;
	struct launcher *launcher;
	struct link_watch watch;
	struct event *event;
	bool listed; // the kernel has reported how each was at the start
	bool changed;
	unsigned n;
	struct one ports[PORTS_MAX];
	// Of taking up: one request is under way at a time.
	struct event *answers;
	struct one *asking; // NULL: none is
	struct again_request request;
	uint64_t asked_ns;
	bool slow; // reported: no answer yet
	unsigned next;
};

// What was listed until now does not count if a list begins.
void port_links_ask(struct port_links *links);

// Answers of the launcher become events. 0, or -ENOMEM.
int port_again_start(struct port_links *links);
void port_again_end(struct port_links *links);
// Asks for what is due and frees what is done. From time to time, and after news.
void port_again_tick(struct port_links *links, uint64_t now_ns);
// Its interface has gone just now, or one of its name has come: to be tried at once.
void port_again_hurry(struct one *one);

#endif
