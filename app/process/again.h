// SPDX-License-Identifier: BSD-3-Clause
// A port's kernel interface was deleted and made again: the sockets of its driver are dead for
// good, and the gateway has no right any more to open others. The launcher opens them, on the
// interface that gateway.json names for the port and no other, and hands them over; the port goes
// on with them instead of its driver, copying each packet (the driver's memory cannot be given to
// another socket). A restart gives the port back to its driver.
//
// The launcher's half: again_launcher.c. The gateway's: machine/again_port.c, control core, but for
// the functions that a port receives and sends with.
#ifndef SLUICE_AGAIN_H
#define SLUICE_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

#define AGAIN_QUEUES_MAX 16
#define AGAIN_RING       2048u // of each of the four rings of an AF_XDP socket
#define AGAIN_FRAMES     (2 * AGAIN_RING)
#define AGAIN_FRAME      4096u

enum again_kind { AGAIN_NONE, AGAIN_XDP, AGAIN_PACKET, AGAIN_TAP };

// The driver's part of a device string; AGAIN_NONE: such a port cannot be taken up again.
enum again_kind again_kind_of(const char *device);

// The interface that its `iface=` names. `out`: IF_NAMESIZE.
bool again_interface_of(const char *device, char *out);

// Launcher and gateway tell answers apart: one that came too late, of another port, must not be
// taken for that which is waited for.
struct again_request {
	uint8_t word; // LAUNCHER_AGAIN
	uint8_t port; // its index in gateway.json
	uint16_t unused;
	uint32_t sequence;
};

// What it was about when it failed.
enum again_step {
	AGAIN_FIND,
	AGAIN_SOCKET,
	AGAIN_PROMISCUOUS,
	AGAIN_PROGRAM,
	AGAIN_MAKE, // of a tap
	AGAIN_SET_UP,
	AGAIN_TAKE, // in the gateway
	AGAIN_STEPS_MAX,
};

// What the launcher answers. With it come `queues` descriptors, and of AGAIN_XDP those of enum
// again_extra. Whatever hangs on the interface for the port, its XDP program too, ends when they
// are closed: also when the gateway dies, or drops the answer. Its promiscuous mode is the
// launcher's, until the port has other sockets or the gateway has ended.
struct again_answer {
	uint32_t sequence; // of the request, as the next
	uint32_t port;
	int32_t error; // -errno; 0: it is done
	uint32_t step; // enum again_step, of an error
	uint32_t ifindex;
	uint32_t mtu; // of the interface
	uint32_t queues;
	uint32_t kind;
};

enum again_extra {
	AGAIN_MEMORY, // of packets, AGAIN_FRAMES for each queue
	AGAIN_LINK,   // holds the program
	AGAIN_EXTRAS,
};

// The launcher: for the port's device and interface.
struct again_sockets {
	struct again_answer answer;
	int fds[AGAIN_QUEUES_MAX + AGAIN_EXTRAS];
	unsigned n_fds;
};
// `listener`: holds the promiscuous mode of AGAIN_XDP as long as it is open, and is nobody else's:
// it could send by any interface. -1: there is none.
void again_open(const char *device, const char *interface, uint32_t mtu, struct again_sockets *out,
	int *listener);
void again_close(struct again_sockets *sockets);
// One message, with its descriptors. 0 or -errno.
int again_send_sockets(int fd, const struct again_sockets *sockets);
// Does not wait. 0: an answer, whatever it says; -EAGAIN: none; -EPROTO: another message, dropped;
// -EPIPE: the other end is closed.
int again_receive_sockets(int fd, struct again_sockets *out);

#endif
