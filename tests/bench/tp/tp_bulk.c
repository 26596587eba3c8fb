// SPDX-License-Identifier: BSD-3-Clause
// Bulk from process to process (the paper on layers, figure 2): 4 MB by TCP with tuned buffers, by
// UDP and by raw IP, which nobody acknowledges and nobody sends again: what does not arrive is
// counted. One line of JSON for each run.
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/filter.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tp.h"

static const char *const program = "tp_bulk";

enum way { TCP, UDP, RAW };
static const char *const way_names[] = {"tcp", "udp", "raw-ip"};

struct options {
	enum way way;
	uint32_t size[64], bytes, runs, buffer;
	unsigned sizes;
	struct in_addr address;
	const char *sender_ns, *receiver_ns;
	int sender_cpu, receiver_cpu;
};

// Written by the receiver, read by the sender: they share the page.
struct told {
	int error;
	in_port_t port;
	uint64_t bytes, messages, last_ns, buffer;
	uint32_t done; // set by the sender: nothing more comes
};

static const char help[] =
	"usage: tp_bulk --way tcp|udp|raw-ip --sizes N,... [options]\n"
	"\n"
	"4 MB from process to process, one line of JSON a run; tools/tpbench runs it.\n"
	"\n"
	"  --bytes N    of a run (4194304)\n"
	"  --runs N     of each size (1)\n"
	"  --buffer N   SO_SNDBUF and SO_RCVBUF of both ends (0: the system's)\n"
	"  --address A  of the receiver (127.0.0.1)\n"
	"  --sender-ns NAME, --receiver-ns NAME   network namespaces of the two ends\n"
	"  --sender-cpu N, --receiver-cpu N       pin them\n";

static struct options read_options(int argc, char **argv)
{
	enum {
		WAY = 256,
		SIZES,
		BYTES,
		RUNS,
		BUFFER,
		ADDRESS,
		SENDER_NS,
		RECEIVER_NS,
		SENDER_CPU,
		RECEIVER_CPU,
		HELP
	};
	static const struct option known[] = {
		{"way", 1, NULL, WAY},
		{"sizes", 1, NULL, SIZES},
		{"bytes", 1, NULL, BYTES},
		{"runs", 1, NULL, RUNS},
		{"buffer", 1, NULL, BUFFER},
		{"address", 1, NULL, ADDRESS},
		{"sender-ns", 1, NULL, SENDER_NS},
		{"receiver-ns", 1, NULL, RECEIVER_NS},
		{"sender-cpu", 1, NULL, SENDER_CPU},
		{"receiver-cpu", 1, NULL, RECEIVER_CPU},
		{"help", 0, NULL, HELP},
		{},
	};
	struct options o = {.way = (enum way) - 1,
		.bytes = 4194304,
		.runs = 1,
		.address.s_addr = htonl(INADDR_LOOPBACK),
		.sender_cpu = -1,
		.receiver_cpu = -1};
	int c;
	while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		const char *name = "";
		for (const struct option *k = known; k->name; k++)
			if (k->val == c)
				name = k->name;
		switch (c) {
		case WAY:
			for (unsigned w = TCP; w <= RAW; w++)
				if (!strcmp(optarg, way_names[w]))
					o.way = (enum way)w;
			break;
		case SIZES:
			o.sizes = tp_numbers(program, name, optarg, o.size, 64, TP_SIZE_MOST);
			break;
		case BYTES:
			o.bytes = (uint32_t)tp_number(program, name, optarg, 1, 1L << 30);
			break;
		case RUNS: o.runs = (uint32_t)tp_number(program, name, optarg, 1, 10000); break;
		case BUFFER:
			o.buffer = (uint32_t)tp_number(program, name, optarg, 0, 1L << 30);
			break;
		case ADDRESS:
			if (inet_pton(AF_INET, optarg, &o.address) != 1)
				tp_usage(program, "--address %s: not an IPv4 address", optarg);
			break;
		case SENDER_NS: o.sender_ns = optarg; break;
		case RECEIVER_NS: o.receiver_ns = optarg; break;
		case SENDER_CPU:
			o.sender_cpu = (int)tp_number(program, name, optarg, 0, 1023);
			break;
		case RECEIVER_CPU:
			o.receiver_cpu = (int)tp_number(program, name, optarg, 0, 1023);
			break;
		case HELP: fputs(help, stdout); exit(0);
		default: tp_usage(program, "it cannot go on");
		}
	}
	if (optind < argc)
		tp_usage(program, "%s: not an option", argv[optind]);
	if ((unsigned)o.way > RAW || !o.sizes)
		tp_usage(program, "%s is missing, or unknown", o.sizes ? "--way" : "--sizes");
	return o;
}

static int make_socket(const struct options *o, uint64_t *buffer)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW},
			 protocols[] = {0, 0, TP_RAW_PROTOCOL};
	int fd = socket(AF_INET, types[o->way] | SOCK_CLOEXEC, protocols[o->way]);
	if (fd < 0)
		return -errno;
	const int size = (int)o->buffer;
	int got = 0;
	socklen_t length = sizeof(got);
	// With CAP_NET_ADMIN beyond the system's limit; without it as far as that goes.
	if (size && ((setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) &&
			     setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size))) ||
			    (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) &&
				    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))))
		goto failed;
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &length))
		goto failed;
	*buffer = (uint64_t)got;
	return fd;
failed:;
	int error = -errno;
	close(fd);
	return error;
}

// A raw socket of the protocol gets what it sends over loopback: not wanted at the sending end.
static int deafen(int fd)
{
	struct sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	const struct sock_fprog filter = {.len = 1, .filter = nothing};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ? -errno : 0;
}

static int open_receiver(const struct options *o, struct told *told, int *fd)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = o->address};
	socklen_t length = sizeof(own);
	int error = tp_pin(o->receiver_cpu);
	if (!error)
		error = tp_enter_namespace(o->receiver_ns);
	if (error)
		return error;
	*fd = make_socket(o, &told->buffer);
	if (*fd < 0)
		return *fd;
	if (bind(*fd, (struct sockaddr *)&own, sizeof(own)) || (o->way == TCP && listen(*fd, 1)) ||
		getsockname(*fd, (struct sockaddr *)&own, &length))
		return -errno;
	told->port = own.sin_port;
	return 0;
}

// Of a datagram as it came; raw sockets deliver the IP header, too.
static ssize_t payload(const struct options *o, const uint8_t *octets, ssize_t length)
{
	if (o->way != RAW)
		return length;
	const ssize_t header = (octets[0] & 15) * 4;
	return length < header ? 0 : length - header;
}

_Noreturn static void receive(const struct options *o, struct told *told, int to_parent)
{
	static uint8_t octets[1 << 18];
	int fd = -1;
	told->error = open_receiver(o, told, &fd);
	if (write(to_parent, "", 1) != 1 || told->error)
		_exit(1);
	if (o->way == TCP)
		fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	const struct timeval time = {.tv_usec = 30000};
	if (o->way != TCP && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)))
		_exit(1);
	for (;;) {
		ssize_t n = recv(fd, octets, sizeof(octets), 0);
		if (n > 0) {
			told->bytes += (uint64_t)payload(o, octets, n);
			told->messages++;
			told->last_ns = tp_now_ns();
		} else if (o->way == TCP || n == 0 || errno != EAGAIN ||
			   __atomic_load_n(&told->done, __ATOMIC_ACQUIRE)) {
			_exit(0);
		}
	}
}

struct result {
	uint32_t sent, refused; // messages; refused: the kernel had no room for them
	uint64_t from_ns, sent_ns, cpu_ns;
};

static int transmit(
	const struct options *o, uint32_t size, const struct told *told, struct result *result)
{
	static uint8_t octets[TP_SIZE_MOST];
	const struct sockaddr_in peer = {.sin_family = AF_INET,
		.sin_addr = o->address,
		.sin_port = o->way == RAW ? 0 : told->port};
	uint64_t buffer;
	int fd = make_socket(o, &buffer);
	if (fd < 0)
		return fd;
	int error = o->way == RAW ? deafen(fd) : 0;
	if (!error && connect(fd, (const struct sockaddr *)&peer, sizeof(peer)))
		error = -errno;
	result->from_ns = tp_now_ns();
	for (uint32_t left = o->bytes; !error && left;) {
		uint32_t now = left < size ? left : size;
		ssize_t n = send(fd, octets, now, MSG_NOSIGNAL);
		if (n < 0 && (errno == ENOBUFS || errno == ECONNREFUSED)) {
			result->refused++;
			n = now;
		} else if (n < 0) {
			error = -errno;
			break;
		} else {
			result->sent++;
		}
		left -= (uint32_t)n;
	}
	result->sent_ns = tp_now_ns();
	close(fd);
	return error;
}

static int run(const struct options *o, uint32_t size, struct told *told, struct result *result)
{
	struct tp_child child;
	int to_parent;
	char word;
	*told = (struct told){};
	*result = (struct result){};
	int forked = tp_fork(&child, &to_parent);
	if (forked < 0)
		return forked;
	if (!forked)
		receive(o, told, to_parent);
	int error = read(child.from_child, &word, 1) == 1 ? told->error : -EPIPE;
	const uint64_t cpu = tp_cpu_ns(getpid());
	if (!error)
		error = transmit(o, size, told, result);
	__atomic_store_n(&told->done, 1, __ATOMIC_RELEASE);
	struct pollfd end = {.fd = child.from_child, .events = POLLIN};
	if (!error && poll(&end, 1, 30000) < 1) // its end of the pipe closes with it
		error = -ETIMEDOUT;
	result->cpu_ns = tp_cpu_ns(getpid()) - cpu + tp_cpu_ns(child.pid);
	tp_reap(&child);
	return error;
}

static void print_run(const struct options *o, uint32_t size, uint32_t number, int error,
	const struct told *told, const struct result *r)
{
	const uint64_t wall = told->last_ns > r->from_ns ? told->last_ns - r->from_ns : 0;
	const uint32_t messages = (o->bytes + size - 1) / size;
	printf("{\"transport\":\"%s\",\"size\":%u,\"run\":%u,\"buffer\":%u,\"rcvbuf\":%lu,\"asked_"
	       "bytes\":%u,\"bytes\":%lu,"
	       "\"messages\":%u,\"lost\":%ld,\"refused\":%u,\"wall_ns\":%lu,\"send_ns\":%lu,\"cpu_"
	       "ns\":%lu,\"reason\":",
		way_names[o->way], size, number, o->buffer, told->buffer, o->bytes, told->bytes,
		messages, o->way == TCP ? 0 : (long)messages - (long)told->messages, r->refused,
		wall, r->sent_ns - r->from_ns, r->cpu_ns);
	if (error)
		tp_print_string(stdout, strerror(-error));
	else
		fputs("null", stdout);
	puts("}");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct options o = read_options(argc, argv);
	static const uint32_t most[] = {TP_SIZE_MOST, TP_UDP_MOST, TP_RAW_MOST};
	struct result result;
	int error = tp_pin(o.sender_cpu);
	if (error)
		tp_usage(program, "--sender-cpu %d: %s", o.sender_cpu, strerror(-error));
	error = tp_enter_namespace(o.sender_ns);
	if (error)
		tp_usage(program, "--sender-ns %s: %s (ip netns lists them; entering needs root)",
			o.sender_ns, strerror(-error));
	struct told *told = mmap(
		NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		tp_usage(program, "no memory");
	for (unsigned i = 0; i < o.sizes; i++)
		for (uint32_t number = 0; number < o.runs; number++) {
			if (o.size[i] > most[o.way]) {
				*told = (struct told){};
				result = (struct result){};
				error = -EMSGSIZE;
			} else {
				error = run(&o, o.size[i], told, &result);
			}
			print_run(&o, o.size[i], number, error, told, &result);
		}
	return 0;
}
