// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives messages of the wire, with a descriptor if one goes with them.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "scan/wire.h"

#define FDS_MAX 4 // more than one is wrong, and they must not stay open

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
};

int scan_wire_send(int socket, const void *message, size_t bytes, int fd)
{
	struct iovec iov = {(void *)(uintptr_t)message, bytes};
	union control control = {0};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(sizeof(fd));
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(fd)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

// Of several none is taken.
static int descriptor_of(struct msghdr *header)
{
	int fds[FDS_MAX];
	size_t n = 0;

	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		size_t came = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < came && n < FDS_MAX; i++, n++)
			memcpy(&fds[n], CMSG_DATA(at) + i * sizeof(int), sizeof(int));
	}
	if (n == 1 && !(header->msg_flags & MSG_CTRUNC))
		return fds[0];
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return -1;
}

ssize_t scan_wire_receive(int socket, void *message, size_t room, int *fd)
{
	char beyond;
	struct iovec iov[] = {{message, room}, {&beyond, sizeof(beyond)}};
	union control control;
	struct msghdr header = {.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	*fd = descriptor_of(&header);
	return n;
}
