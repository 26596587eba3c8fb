// SPDX-License-Identifier: BSD-3-Clause
// A port's kernel interface was deleted and made again: the sockets of its driver are dead for
// good, and the gateway has no right any more to open others. The launcher opens them, on the
// interface that gateway.json names for the port and no other, and hands them over; the port goes
// on with them instead of its driver, copying each packet (the driver's memory cannot be given to
// another socket). A restart gives the port back to its driver.
//
// The launcher's half: again_launcher.c. The gateway's: again.c, control core, but for the
// functions that a port receives and sends with.
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

// The interface of it, as gateway.json names it. `out`: IF_NAMESIZE.
bool again_interface_of(const char *device, char *out);

// What the launcher answers. With it come `queues` descriptors, and of AGAIN_XDP one more: the
// packet memory, AGAIN_FRAMES for each queue.
struct again_answer {
	int32_t error; // -errno; 0: it is done
	uint32_t ifindex;
	uint32_t queues;
	uint32_t kind;
};

// The launcher: for the port's device and interface.
struct again_sockets {
	struct again_answer answer;
	int fds[AGAIN_QUEUES_MAX + 1];
	unsigned n_fds;
};
void again_open(const char *device, const char *interface, uint32_t mtu, struct again_sockets *out);
void again_close(struct again_sockets *sockets);
// One message, with its descriptors. 0 or -errno.
int again_send_sockets(int fd, const struct again_sockets *sockets);
int again_receive_sockets(int fd, int timeout_ms, struct again_sockets *out);

#endif
