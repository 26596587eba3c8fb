// SPDX-License-Identifier: BSD-3-Clause
// What the programs of tools/tpbench share: two ends of a measurement, the second a child that may
// live in another network namespace; sockets of the papers' protocols; clocks; rows as lines of
// JSON. One thread in each process. Functions that return int give 0 or -errno, unless they say
// otherwise.
#ifndef TP_H
#define TP_H

#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
	TP_SIZE_MOST = 65536,  // octets of a message
	TP_UDP_MOST = 65507,   // of a datagram: 65,535 less both headers
	TP_RAW_MOST = 65515,   // behind an IPv4 header
	TP_SEGMENT = 1472,     // of UDP GSO: what an Ethernet frame carries
	TP_RAW_PROTOCOL = 253, // RFC 3692: for experiments
};

enum tp_kind { TP_TCP, TP_UDP, TP_SENDFILE, TP_ZEROCOPY, TP_URING, TP_GSO, TP_MPTCP };

// A way to carry messages, as named on the command line: tcp, udp, sendfile, tcp-zerocopy,
// tcp-uring, udp-gso, mptcp, and tcp-NAME with the congestion control NAME.
struct tp_transport {
	const char *name;
	enum tp_kind kind;
	const char *control; // NULL: the system's default, and no option is set
};

// A connected socket of one end. Both buffers hold TP_SIZE_MOST octets and belong to the end: what
// is sent without a copy must not be written over by what comes.
struct tp_end {
	const struct tp_transport *transport;
	int fd;
	int file;        // what sendfile reads: the same octets as buffer
	uint8_t *buffer; // what is sent
	uint8_t *incoming;
	uint32_t number;         // of the message under way: datagrams carry it in front
	uint32_t unacknowledged; // sends whose pages the kernel still holds (MSG_ZEROCOPY)
	uint64_t late;           // datagrams of another message than the one waited for
	struct tp_uring *ring;
};

// A child that stands at the other end. It dies with its parent.
struct tp_child {
	pid_t pid;
	int from_child; // reads what the child has to tell first (a port, an errno)
};

// false: no such transport.
bool tp_transport_parse(const char *name, struct tp_transport *transport);
bool tp_is_datagram(const struct tp_transport *transport);
// The most octets of one message.
uint32_t tp_size_most(const struct tp_transport *transport);

uint64_t tp_now_ns(void);
// CPU time of a process, 0 when it is gone.
uint64_t tp_cpu_ns(pid_t pid);
// Calls of the kernel return EINTR from `seconds` on (again and again) and tp_expired() is true; 0:
// no more.
void tp_deadline(double seconds);
bool tp_expired(void);
// Onto one CPU; -1: wherever the kernel likes.
int tp_pin(int cpu);
// Into /run/netns/NAME; NULL or "": stays.
int tp_enter_namespace(const char *name);
// Forks; in the child returns 0 with `to_parent` open for writing, in the parent 1. -errno: no
// child.
int tp_fork(struct tp_child *child, int *to_parent);
// Kills and reaps.
void tp_reap(struct tp_child *child);

// The listening or bound socket of `transport` at `address` (port 0), its port in network order to
// *port.
int tp_listen(
	const struct tp_transport *transport, struct in_addr address, int *fd, in_port_t *port);
// A connected end. The accepting one of a stream waits for its peer.
int tp_connect(const struct tp_transport *transport, struct in_addr address, in_port_t port,
	int timeout_ms, struct tp_end *end);
int tp_accept(const struct tp_transport *transport, int listening, struct tp_end *end);
void tp_close(struct tp_end *end);

// One whole message. Datagrams bear end->number; receiving waits for that number, takes none but
// it, and gives -ETIMEDOUT when the time-out of tp_connect passes without anything, -EINTR at the
// deadline, -ECONNRESET at the peer's end.
int tp_send(struct tp_end *end, uint32_t size);
int tp_receive(struct tp_end *end, uint32_t size);
// Sends back what comes, for ever: messages of `size` octets. Returns only when the peer is gone or
// on error.
int tp_echo(struct tp_end *end, uint32_t size);

// io_uring's IORING_OP_SEND_ZC, by system calls. -ENOSYS where the kernel has none.
int tp_uring_new(struct tp_uring **ring);
void tp_uring_free(struct tp_uring *ring);
int tp_uring_send(struct tp_uring *ring, int fd, const uint8_t *octets, uint32_t size);

// Ends the program with 2 after saying what, where and what to do.
_Noreturn void tp_usage(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
// A decimal number within [least, most], or tp_usage().
long tp_number(const char *program, const char *option, const char *text, long least, long most);
// "64,128,..." to a list; returns how many, or tp_usage().
unsigned tp_numbers(const char *program, const char *option, const char *text, uint32_t *list,
	unsigned room, long most);
// JSON's escapes, with quotes.
void tp_print_string(FILE *out, const char *text);

#endif
