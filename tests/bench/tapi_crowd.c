// SPDX-License-Identifier: BSD-3-Clause
#include "tapi_crowd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "transportapi/proto/envelope.h"
#include "transportapi/proto/frame.h"
#include "transportapi/base/inet_address.h"
#include "transportapi/base/wire.h"

enum {
	ROOM = 40000,
	MTU_UDP = 1432,
	MTU_TCP = 32768,
	AT_ONCE = 200,
	PROTO_TCP = 6,
	PROTO_UDP = 17
};

struct member {
	struct puppet puppet;
	int fd;
	bool connecting;
	struct tapi_frame_reader reader; // tcp
};

static struct { // of the process of the crowd
	struct member *members;
	unsigned n, next, connecting; // who connects next; how many do
	uint16_t port;                // of the core; 0: not reported yet
	int epoll, from;
	bool tcp;
	uint8_t in[ROOM], out[ROOM];
	uint64_t cut; // answers that a socket did not take whole
} of;

static uint64_t wall_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void die(const char *what)
{
	fprintf(stderr, "tapi_crowd: %s: %s\n", what, strerror(errno));
	_exit(1);
}

bool crowd_descriptors(unsigned n)
{
	struct rlimit limit = {.rlim_cur = n, .rlim_max = n};
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur >= n)
		return true;
	if (now.rlim_max > limit.rlim_max)
		limit.rlim_max = now.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return true;
	fprintf(stderr, "tapi_crowd: %u descriptors are needed, ulimit -n allows %llu: %s\n", n,
		(unsigned long long)now.rlim_max, strerror(errno));
	return false;
}

static void watch(struct member *member, uint32_t events, int operation)
{
	struct epoll_event event = {.events = events, .data.u32 = (uint32_t)(member - of.members)};

	if (epoll_ctl(of.epoll, operation, member->fd, &event))
		die("epoll_ctl");
}

static uint32_t crc_of(const uint8_t *payload, uint32_t size)
{
	return (uint32_t)crc32(0, payload, size);
}

static void udp_make(struct member *member, unsigned number)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(name);
	struct tapi_source source;
	uint8_t address[TAPI_INET_WIRE_BYTES_MAX];
	size_t n;

	member->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (member->fd < 0 || bind(member->fd, (struct sockaddr *)&name, sizeof(name)) ||
		getsockname(member->fd, (struct sockaddr *)&name, &length))
		die("a socket of udp");
	tapi_inet_from_sockaddr(&source, (struct sockaddr *)&name, length);
	n = tapi_inet_encode(address, &source, true);
	puppet_make(&member->puppet, number, PROTO_UDP, MTU_UDP, address, (uint16_t)n, wall_us());
	watch(member, EPOLLIN, EPOLL_CTL_ADD);
}

static void udp_read(struct member *member)
{
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	struct tapi_message_pack pack;
	struct tapi_source source;
	ssize_t n;
	uint32_t size;

	while ((n = recvfrom(member->fd, of.in, sizeof(of.in), 0, (struct sockaddr *)&from,
			&length)) > 0) {
		if (tapi_envelope_decode(&pack, of.in, (size_t)n) != TAPI_OK)
			continue;
		tapi_inet_from_sockaddr(&source, (struct sockaddr *)&from, length);
		size = puppet_answer(&member->puppet, &pack.sender, &source, pack.message,
			pack.size, wall_us(), &of.out[TAPI_ENVELOPE_BYTES], MTU_UDP);
		if (!size)
			continue;
		tapi_envelope_encode(of.out, &member->puppet.identity.id, size, false,
			crc_of(&of.out[TAPI_ENVELOPE_BYTES], size));
		if (sendto(member->fd, of.out, size + TAPI_ENVELOPE_BYTES, 0,
			    (struct sockaddr *)&from, length) < 0)
			of.cut++;
	}
}

static void tcp_write(struct member *member, const uint8_t *octets, size_t n)
{
	if (send(member->fd, octets, n, MSG_NOSIGNAL) != (ssize_t)n)
		of.cut++;
}

static void tcp_connect(struct member *member)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(of.port)};

	member->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (member->fd < 0)
		die("a socket of tcp");
	if (connect(member->fd, (struct sockaddr *)&name, sizeof(name)) && errno != EINPROGRESS)
		die("connect");
	member->connecting = true;
	of.connecting++;
	watch(member, EPOLLOUT, EPOLL_CTL_ADD);
}

static void tcp_connected(struct member *member)
{
	const uint8_t nonce[TAPI_WELCOME_NONCE_BYTES] = {0};
	uint32_t size;
	int error = 0;
	socklen_t length = sizeof(error);

	if (getsockopt(member->fd, SOL_SOCKET, SO_ERROR, &error, &length) || error) {
		errno = error;
		die("connect");
	}
	member->connecting = false;
	of.connecting--;
	watch(member, EPOLLIN, EPOLL_CTL_MOD);
	tapi_frame_reader_init(&member->reader, MTU_TCP);
	// "I am here": the core has to hear of it, to call back on this session.
	size = puppet_message(
		&of.out[TAPI_WELCOME_BYTES + TAPI_FRAME_HEAD_BYTES], PUPPET_TELL, "", 0);
	tapi_welcome_encode(of.out, &member->puppet.identity.id, nonce);
	tapi_frame_encode(&of.out[TAPI_WELCOME_BYTES], size, false,
		crc_of(&of.out[TAPI_WELCOME_BYTES + TAPI_FRAME_HEAD_BYTES], size));
	tcp_write(member, of.out, TAPI_WELCOME_BYTES + TAPI_FRAME_HEAD_BYTES + size);
}

static bool tcp_message(void *context, struct tapi_message_pack *pack)
{
	struct member *member = context;
	const struct tapi_source source = {.family = 0};
	uint32_t size = puppet_answer(&member->puppet, &pack->sender, &source, pack->message,
		pack->size, wall_us(), &of.out[TAPI_FRAME_HEAD_BYTES], MTU_TCP);

	if (size) {
		tapi_frame_encode(
			of.out, size, false, crc_of(&of.out[TAPI_FRAME_HEAD_BYTES], size));
		tcp_write(member, of.out, size + TAPI_FRAME_HEAD_BYTES);
	}
	return true;
}

static void tcp_read(struct member *member)
{
	ssize_t n;

	while ((n = recv(member->fd, of.in, sizeof(of.in), 0)) > 0)
		if (tapi_frame_reader_feed(
			    &member->reader, of.in, (size_t)n, tcp_message, member) != TAPI_OK)
			die("the core's stream is malformed");
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) { // the core closed it
		close(member->fd);
		member->fd = -1;
		tapi_frame_reader_free(&member->reader);
	}
}

static void crowd_turn(void)
{
	struct epoll_event events[256];
	int n = epoll_wait(of.epoll, events, 256, -1);

	for (int i = 0; i < n; i++) {
		struct member *member;

		if (events[i].data.u32 == of.n) {
			if (read(of.from, &of.port, sizeof(of.port)) != sizeof(of.port))
				_exit(0); // the core's process is gone
			continue;
		}
		member = &of.members[events[i].data.u32];
		if (!of.tcp)
			udp_read(member);
		else if (member->connecting)
			tcp_connected(member);
		else
			tcp_read(member);
	}
	while (of.tcp && of.port && of.next < of.n && of.connecting < AT_ONCE)
		tcp_connect(&of.members[of.next++]);
}

static void crowd_run(const struct crowd *crowd, int from, int ready)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = crowd->n};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	of.n = crowd->n;
	of.tcp = crowd->tcp;
	of.from = from;
	of.epoll = epoll_create1(EPOLL_CLOEXEC);
	of.members = calloc(of.n, sizeof(*of.members));
	if (of.epoll < 0 || !of.members || epoll_ctl(of.epoll, EPOLL_CTL_ADD, from, &event))
		die("start");
	for (unsigned i = 0; i < of.n; i++) {
		struct member *member = &of.members[i];
		struct crowd_member *shared = &crowd->members[i];

		if (crowd->tcp)
			puppet_make(&member->puppet, i + 1000000u, 0, 0, NULL, 0, 0);
		else
			udp_make(member, i);
		shared->id = member->puppet.identity.id;
		shared->helo_size = member->puppet.helo_size;
		memcpy(shared->helo, member->puppet.helo, shared->helo_size);
	}
	if (write(ready, "", 1) != 1)
		die("ready");
	close(ready);
	for (;;)
		crowd_turn();
}

bool crowd_begin(struct crowd *out, unsigned n, bool tcp)
{
	int down[2], up[2];
	char ready;

	*out = (struct crowd){.n = n, .tcp = tcp, .map_bytes = n * sizeof(struct crowd_member)};
	if (!crowd_descriptors(n + 100))
		return false;
	out->members = mmap(
		NULL, out->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out->members == MAP_FAILED || pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC) ||
		(out->pid = fork()) < 0) {
		perror("tapi_crowd");
		return false;
	}
	if (out->pid == 0) {
		close(down[1]);
		close(up[0]);
		crowd_run(out, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	out->to = down[1];
	if (read(up[0], &ready, 1) != 1) {
		fprintf(stderr, "tapi_crowd: the crowd did not come up\n");
		return false;
	}
	close(up[0]);
	return true;
}

bool crowd_connect(struct crowd *crowd, uint16_t port)
{
	return write(crowd->to, &port, sizeof(port)) == sizeof(port);
}

void crowd_silence(struct crowd *crowd)
{
	int status;

	kill(crowd->pid, SIGSTOP);
	waitpid(crowd->pid, &status, WUNTRACED);
}

void crowd_end(struct crowd *crowd)
{
	kill(crowd->pid, SIGKILL);
	waitpid(crowd->pid, NULL, 0);
	close(crowd->to);
	munmap(crowd->members, crowd->map_bytes);
}
