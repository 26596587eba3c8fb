// SPDX-License-Identifier: BSD-3-Clause
// Holds a name by an abstract socket, and finds who else holds it.
#include "process/held_name.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/netlink.h"

#define PATIENCE_MS 100
#define STEP_MS     10
#define LET_GO      64 // of a tick: whoever connects in a loop shall not keep us

struct address {
	struct sockaddr_un un;
	socklen_t length;
};

static struct address address_of(const char *name)
{
	struct address address = {.un = {.sun_family = AF_UNIX}};
	size_t length = strnlen(name, sizeof(address.un.sun_path) - 1);

	memcpy(address.un.sun_path + 1, name, length);
	address.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
	return address;
}

static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static void believe(struct name_holder *holder)
{
	holder->believed = holder->uid == 0 || holder->uid == geteuid();
}

// The kernel's word for who listens. -ECONNREFUSED: nobody does, perhaps not yet; -EAGAIN: too many
// ask at once.
static int ask(const struct address *address, struct name_holder *holder)
{
	struct ucred credentials;
	socklen_t room = sizeof(credentials);
	int fd = open_socket(), rc = fd < 0 ? fd : 0;

	if (!rc && (connect(fd, (const struct sockaddr *)&address->un, address->length) < 0 ||
			   getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &room) < 0))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	*holder = (struct name_holder){.pid = credentials.pid, .uid = credentials.uid};
	believe(holder);
	return 0;
}

struct search {
	const struct address *address;
	struct name_holder *holder;
	bool found;
};

static void take_socket(void *ctx, unsigned short type, const char *body, size_t length)
{
	struct search *search = ctx;
	const struct address *address = search->address;
	size_t head_length = NLMSG_ALIGN(sizeof(struct unix_diag_msg)), value_length;
	uid_t uid = (uid_t)-1;
	bool named = false;
	struct unix_diag_msg message;
	struct rtattr head;
	const char *value;

	(void)type;
	if (length < head_length)
		return;
	memcpy(&message, body, sizeof(message));
	if (message.udiag_type != SOCK_SEQPACKET) // each type has names of its own
		return;
	struct netlink_attributes walk = {body + head_length, length - head_length};
	while (netlink_next(&walk, &head, &value, &value_length)) {
		if (head.rta_type == UNIX_DIAG_NAME)
			named = value_length ==
					address->length - offsetof(struct sockaddr_un, sun_path) &&
				memcmp(value, address->un.sun_path, value_length) == 0;
		else if (head.rta_type == UNIX_DIAG_UID && value_length == sizeof(uid))
			memcpy(&uid, value, sizeof(uid));
	}
	if (!named)
		return;
	search->found = true;
	search->holder->uid = uid;
}

// Not those of connections that wait to be accepted: they have the name, too, and root as their
// user, whosever they are.
#define UNCONNECTED (1u << TCP_CLOSE | 1u << TCP_LISTEN)

// Of one that does not answer: whose socket it is. 1; 0: there is none; -errno of a kernel without
// unix_diag.
static int look_up(const struct address *address, struct name_holder *holder)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} message = {.header = {.nlmsg_len = sizeof(message),
			     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			     .nlmsg_seq = 1},
		.request = {.sdiag_family = AF_UNIX,
			.udiag_states = UNCONNECTED,
			.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID}};
	struct search search = {.address = address, .holder = holder};

	*holder = (struct name_holder){.uid = (uid_t)-1};
	int rc = netlink_dump(NETLINK_SOCK_DIAG, &message.header, take_socket, &search);
	believe(holder);
	return rc < 0 ? rc : search.found;
}

static bool is_passing(int rc)
{
	return rc == -EAGAIN || rc == -ECONNREFUSED;
}

static void wait_a_step(void)
{
	struct timespec step = {.tv_nsec = STEP_MS * 1000000};

	nanosleep(&step, NULL);
}

static int take_now(const struct address *address)
{
	int fd = open_socket();

	if (fd < 0)
		return fd;
	// Whoever connects reads who we are from the kernel; nothing is said.
	if (bind(fd, (const struct sockaddr *)&address->un, address->length) < 0 ||
		listen(fd, SOMAXCONN) < 0) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int held_name_take(const char *name, struct name_holder *holder)
{
	struct address address = address_of(name);

	*holder = (struct name_holder){.uid = (uid_t)-1};
	for (unsigned ms = 0;; ms += STEP_MS) {
		int fd = take_now(&address);

		if (fd != -EADDRINUSE)
			return fd;
		int rc = ask(&address, holder);
		if (!rc)
			return -EADDRINUSE;
		if (!is_passing(rc) || ms >= PATIENCE_MS)
			break;
		wait_a_step();
	}
	look_up(&address, holder);
	return -EADDRINUSE;
}

bool held_name_find(const char *name, struct name_holder *holder)
{
	struct address address = address_of(name);

	for (unsigned ms = 0;; ms += STEP_MS) {
		int rc = ask(&address, holder);

		if (!rc)
			return true;
		if (look_up(&address, holder) <= 0 && rc == -ECONNREFUSED)
			return false; // as nearly all are found
		if (!is_passing(rc) || ms >= PATIENCE_MS)
			return true;
		wait_a_step();
	}
}

void held_name_tick(int fd)
{
	for (unsigned i = 0; i < LET_GO; i++) {
		int asker = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (asker < 0)
			return;
		close(asker);
	}
}
