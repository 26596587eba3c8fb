// SPDX-License-Identifier: BSD-3-Clause
// Messages to oneself, one after the other, over one session (the paper on transports, figure 5):
// what a transport costs its own host. Beside it, in turns, the same by plain sockets of the same
// kind in the same process: `bare` sends and receives, datagrams by one socket for all peers, as
// the transport has it; `bare-connected` by a socket for this one; `bare-epoll` waits in epoll
// between the two, as loops do. One line of JSON for each way, size and round.
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tp_host.h"

static const char *const program = "tp_latency";

enum { PATIENCE_US = 200000, SIZES_MOST = 64 };

// In turns; the connected one is of datagrams alone.
enum way { BARE, BARE_CONNECTED, BARE_EPOLL, OURS, WAYS };
static const char *const way_names[] = {"bare", "bare-connected", "bare-epoll", "transport"};

struct options {
	const char *transport, *conf, *ns;
	uint32_t size[SIZES_MOST], count, rounds, warm_up;
	unsigned sizes;
	int cpu;
};

static const char help[] = "usage: tp_latency --transport NAME --sizes N,... [options]\n"
			   "\n"
			   "Messages to oneself over one session of a transport of "
			   "libtransportapi, beside plain sockets\n"
			   "in the same process; one line of JSON a row. tools/tpbench runs it.\n"
			   "\n"
			   "  --count N     messages of a round, one after the other (1000)\n"
			   "  --rounds N    of each way and size, in turns (5)\n"
			   "  --warm-up N   messages before each round (100)\n"
			   "  --conf JSON   configuration of the transport\n"
			   "  --ns NAME     network namespace\n"
			   "  --cpu N       pin it\n"
			   "Exit code 3: the transport cannot be had here, and why.\n";

static struct options read_options(int argc, char **argv)
{
	enum { TRANSPORT = 256, SIZES, COUNT, ROUNDS, WARM_UP, CONF, NS, CPU, HELP };
	static const struct option known[] = {
		{"transport", 1, NULL, TRANSPORT},
		{"sizes", 1, NULL, SIZES},
		{"count", 1, NULL, COUNT},
		{"rounds", 1, NULL, ROUNDS},
		{"warm-up", 1, NULL, WARM_UP},
		{"conf", 1, NULL, CONF},
		{"ns", 1, NULL, NS},
		{"cpu", 1, NULL, CPU},
		{"help", 0, NULL, HELP},
		{},
	};
	struct options o = {.count = 1000, .rounds = 5, .warm_up = 100, .conf = "{}", .cpu = -1};
	int c;
	while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0)
		switch (c) {
		case TRANSPORT: o.transport = optarg; break;
		case SIZES:
			o.sizes = tp_numbers(program, "--sizes", optarg, o.size, SIZES_MOST, 65535);
			break;
		case COUNT:
			o.count = (uint32_t)tp_number(program, "--count", optarg, 1, 10000000);
			break;
		case ROUNDS:
			o.rounds = (uint32_t)tp_number(program, "--rounds", optarg, 1, 1000);
			break;
		case WARM_UP:
			o.warm_up = (uint32_t)tp_number(program, "--warm-up", optarg, 0, 1000000);
			break;
		case CONF: o.conf = optarg; break;
		case NS: o.ns = optarg; break;
		case CPU: o.cpu = (int)tp_number(program, "--cpu", optarg, 0, 1023); break;
		case HELP: fputs(help, stdout); exit(0);
		default: tp_usage(program, "it cannot go on");
		}
	if (optind < argc)
		tp_usage(program, "%s: not an option", argv[optind]);
	if (!o.transport || !o.sizes)
		tp_usage(program, "%s is missing", o.transport ? "--sizes" : "--transport");
	return o;
}

// Plain sockets, connected to themselves or to each other, of the kind that the transport uses.
struct bare {
	int out, in, epoll;
	bool stream;
	struct sockaddr_in to; // family 0: connected
};

struct row {
	uint64_t *sample_ns, total_ns, cpu_ns;
	uint32_t samples, lost;
};

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: plain sockets: %s: %s\n", program, what, strerror(errno));
	exit(3);
}

static void bare_stream(struct bare *bare)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(own);
	const int one = 1, listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	need(!bind(listening, (struct sockaddr *)&own, length) && !listen(listening, 1) &&
			!getsockname(listening, (struct sockaddr *)&own, &length),
		"listen");
	bare->out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	need(!connect(bare->out, (struct sockaddr *)&own, length), "connect");
	bare->in = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	need(bare->in >= 0 && !setsockopt(bare->out, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)),
		"accept");
	close(listening);
	bare->stream = true;
}

// One socket for all peers, as the transport has: it names the receiver with each message, and
// learns the sender; or connected to the one.
static void bare_datagram(struct bare *bare, int type, int protocol, bool connected)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(own);
	bare->out = bare->in = socket(AF_INET, type | SOCK_CLOEXEC, protocol);
	need(bare->in >= 0, "socket");
	need(!bind(bare->in, (struct sockaddr *)&own, length) &&
			!getsockname(bare->in, (struct sockaddr *)&own, &length),
		"bind");
	if (connected)
		need(!connect(bare->in, (struct sockaddr *)&own, length), "connect");
	else
		bare->to = own;
}

static void bare_init(struct bare *bare, const char *transport, bool connected)
{
	int pair[2];
	*bare = (struct bare){.epoll = epoll_create1(EPOLL_CLOEXEC)};
	if (!strcmp(transport, "udp")) {
		bare_datagram(bare, SOCK_DGRAM, 0, connected);
	} else if (!strcmp(transport, "raw-ip")) {
		// another experimental number (RFC 3692): the transport has the first for itself
		bare_datagram(bare, SOCK_RAW, TP_RAW_PROTOCOL + 1, connected);
	} else if (!strcmp(transport, "tcp")) {
		bare_stream(bare);
	} else {
		need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair");
		bare->out = pair[0];
		bare->in = pair[1];
		bare->stream = true;
	}
	struct epoll_event want = {.events = EPOLLIN};
	need(!epoll_ctl(bare->epoll, EPOLL_CTL_ADD, bare->in, &want), "epoll");
}

static void bare_done(struct bare *bare)
{
	close(bare->in);
	if (bare->out != bare->in)
		close(bare->out);
	close(bare->epoll);
}

static uint8_t message[65536], incoming[65536 + 64];

static void bare_once(const struct bare *bare, uint32_t size, bool wait)
{
	struct epoll_event event;
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	const bool named = bare->to.sin_family;
	ssize_t n = named ? sendto(bare->out, message, size, MSG_NOSIGNAL,
				    (const struct sockaddr *)&bare->to, sizeof(bare->to))
			  : send(bare->out, message, size, MSG_NOSIGNAL);
	need(n == (ssize_t)size, "send");
	for (uint32_t done = 0; done < size;) {
		if (wait)
			need(epoll_wait(bare->epoll, &event, 1, -1) == 1, "epoll_wait");
		n = recvfrom(bare->in, incoming, sizeof(incoming), wait ? MSG_DONTWAIT : 0,
			named ? (struct sockaddr *)&from : NULL, named ? &length : NULL);
		need(n > 0, "recv");
		done += bare->stream ? (uint32_t)n : size;
	}
}

static void run_bare(const struct options *o, enum way way, uint32_t size, struct row *row)
{
	struct bare bare;
	const bool wait = way == BARE_EPOLL;
	bare_init(&bare, o->transport, way == BARE_CONNECTED);
	for (uint32_t i = 0; i < o->warm_up; i++)
		bare_once(&bare, size, wait);
	const uint64_t cpu = tp_cpu_ns(getpid()), start = tp_now_ns();
	for (uint64_t i = 0, from = start; i < o->count; i++) {
		bare_once(&bare, size, wait);
		const uint64_t now = tp_now_ns();
		row->sample_ns[row->samples++] = now - from;
		from = now;
	}
	row->total_ns = tp_now_ns() - start;
	row->cpu_ns = tp_cpu_ns(getpid()) - cpu;
	bare_done(&bare);
}

struct self {
	struct tp_host host;
	struct tapi_session *session;
	struct event *watchdog;
	struct row *row; // NULL: warming up
	uint32_t size, left, number, seen;
	uint64_t from_ns;
	bool done;
};

// The next message, or the end of the loop. A message that the transport drops is lost.
static void send_next(struct self *self)
{
	while (self->left) {
		self->left--;
		self->number++;
		memcpy(message, &self->number, sizeof(self->number));
		if (!tp_host_send(&self->host, self->session, message, self->size))
			return;
		if (self->row)
			self->row->lost++;
	}
	self->done = true;
	event_base_loopbreak(self->host.base);
}

// As applications do: the answer to a message is sent from where it came in.
static void on_message(void *context, const struct tapi_message_pack *pack)
{
	struct self *self = context;
	if (pack->size != self->size || memcmp(pack->message, &self->number, sizeof(self->number)))
		return; // given up before
	const uint64_t now = tp_now_ns();
	if (self->row)
		self->row->sample_ns[self->row->samples++] = now - self->from_ns;
	self->from_ns = now;
	send_next(self);
}

// One timer for all messages: a re-armed one would be part of each sample.
static void on_watchdog(evutil_socket_t fd, short what, void *context)
{
	struct self *self = context;
	(void)fd;
	(void)what;
	if (self->seen == self->number) {
		if (self->row)
			self->row->lost++;
		self->from_ns = tp_now_ns();
		send_next(self);
	}
	self->seen = self->number;
}

static void run_messages(struct self *self, uint32_t count, struct row *row)
{
	self->row = row;
	self->left = count;
	self->done = false;
	self->from_ns = tp_now_ns();
	send_next(self);
	if (!self->done)
		event_base_dispatch(self->host.base);
}

static void run_transport(
	const struct options *o, struct self *self, uint32_t size, struct row *row)
{
	const struct timeval patience = {.tv_usec = PATIENCE_US};
	self->size = size;
	event_add(self->watchdog, &patience);
	if (o->warm_up)
		run_messages(self, o->warm_up, NULL);
	const uint64_t cpu = tp_cpu_ns(getpid()), start = tp_now_ns();
	run_messages(self, o->count, row);
	row->total_ns = tp_now_ns() - start;
	row->cpu_ns = tp_cpu_ns(getpid()) - cpu;
	event_del(self->watchdog);
}

static void print_row(const char *transport, const char *way, uint32_t size, uint32_t round,
	const struct row *row)
{
	printf("{\"transport\":\"%s\",\"way\":\"%s\",\"size\":%u,\"round\":%u,\"count\":%u,"
	       "\"lost\":%u,\"total_ns\":%lu,"
	       "\"cpu_ns\":%lu,\"samples_ns\":[",
		transport, way, size, round, row->samples, row->lost, row->total_ns, row->cpu_ns);
	for (uint32_t i = 0; i < row->samples; i++)
		printf("%s%lu", i ? "," : "", row->sample_ns[i]);
	puts("]}");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct options o = read_options(argc, argv);
	struct tapi_helo helo;
	struct self self = {};
	const bool datagrams = !strcmp(o.transport, "udp") || !strcmp(o.transport, "raw-ip");
	struct row row = {.sample_ns = calloc(o.count, sizeof(row.sample_ns[0]))};
	int error = tp_pin(o.cpu);
	if (!error)
		error = tp_enter_namespace(o.ns);
	if (error || !row.sample_ns)
		tp_usage(program, "--cpu, --ns or --count: %s", strerror(error ? -error : ENOMEM));
	tp_host_init(&self.host, program, o.transport, o.conf, 1);
	tp_host_helo(&self.host, &helo);
	self.session = tp_host_connect(&self.host, &helo);
	self.watchdog = event_new(self.host.base, -1, EV_PERSIST, on_watchdog, &self);
	self.host.receive = on_message;
	self.host.context = &self;
	for (uint32_t i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)(i * 31);
	for (unsigned i = 0; i < o.sizes; i++)
		for (uint32_t turn = 0; turn < o.rounds * WAYS; turn++) {
			const uint32_t round = turn / WAYS, nth = turn % WAYS;
			const enum way way = (enum way)(round % 2 ? WAYS - 1 - nth : nth);
			if (way == BARE_CONNECTED && !datagrams)
				continue;
			row.samples = row.lost = 0;
			if (way == OURS)
				run_transport(&o, &self, o.size[i], &row);
			else
				run_bare(&o, way, o.size[i], &row);
			print_row(o.transport, way_names[way], o.size[i], round, &row);
		}
	self.host.transport->disconnect(self.host.transport, self.session);
	event_free(self.watchdog);
	tp_host_done(&self.host);
	free(row.sample_ns);
	return 0;
}
