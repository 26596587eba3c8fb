// SPDX-License-Identifier: BSD-3-Clause
// Round trips over plain sockets (the paper on sizes, figures 1 to 6 and table 1): one line of JSON
// for each size.
//
// The echoing end is a child, so that the two need not share a namespace; it is forked anew for
// each row, with a fresh connection. A message is sent when the one before came back. A datagram
// that does not come back within the time-out is counted and never sent again. With --rate the
// schedule does not wait (tp_open_loop.c).
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tp_rtt.h"

static const char *const program = "tp_rtt";

#ifdef __clang__
static const char compiler[] = __VERSION__;
#else
static const char compiler[] = "gcc " __VERSION__;
#endif

static const char help[] =
	"usage: tp_rtt --transport NAME --sizes N,... [options]\n"
	"\n"
	"Round trips of messages over plain sockets, one line of JSON a size; tools/tpbench runs "
	"it.\n"
	"\n"
	"  --transport NAME   tcp udp sendfile tcp-zerocopy tcp-uring udp-gso mptcp, tcp-CONTROL\n"
	"  --sizes N,...      octets of a message, 4 to 65536\n"
	"  --count N          messages of a row (200)\n"
	"  --total OCTETS     instead of --count: as many messages as make up so many octets "
	"(table 1)\n"
	"  --rounds N         rows of each size (1)\n"
	"  --warm-up N        messages before the clock runs (10)\n"
	"  --timeout-ms N     for a datagram (1000)\n"
	"  --row-seconds N    a row ends after as long, incomplete (60)\n"
	"  --lost-most N      a row ends after as many lost, incomplete (count / 4, at least 3)\n"
	"  --rate N           messages a second by a clock, answered or not; latency counts from "
	"when\n"
	"                     the message was due (tcp, udp)\n"
	"  --no-samples       leave out the samples\n"
	"  --address A        of the echoing end (127.0.0.1)\n"
	"  --client-ns NAME, --server-ns NAME   network namespaces of the two ends\n"
	"  --client-cpu N, --server-cpu N       pin them\n"
	"  --version          the compiler that made it\n";

static struct tp_rtt_options read_options(int argc, char **argv)
{
	enum {
		TRANSPORT = 256,
		SIZES,
		COUNT,
		TOTAL,
		ROUNDS,
		WARM_UP,
		TIMEOUT,
		ROW_SECONDS,
		LOST,
		RATE,
		NO_SAMPLES,
		ADDRESS,
		CLIENT_NS,
		SERVER_NS,
		CLIENT_CPU,
		SERVER_CPU,
		VERSION,
		HELP
	};
	static const struct option known[] = {
		{"transport", 1, NULL, TRANSPORT},
		{"sizes", 1, NULL, SIZES},
		{"count", 1, NULL, COUNT},
		{"total", 1, NULL, TOTAL},
		{"rounds", 1, NULL, ROUNDS},
		{"warm-up", 1, NULL, WARM_UP},
		{"timeout-ms", 1, NULL, TIMEOUT},
		{"row-seconds", 1, NULL, ROW_SECONDS},
		{"lost-most", 1, NULL, LOST},
		{"rate", 1, NULL, RATE},
		{"no-samples", 0, NULL, NO_SAMPLES},
		{"address", 1, NULL, ADDRESS},
		{"client-ns", 1, NULL, CLIENT_NS},
		{"server-ns", 1, NULL, SERVER_NS},
		{"client-cpu", 1, NULL, CLIENT_CPU},
		{"server-cpu", 1, NULL, SERVER_CPU},
		{"version", 0, NULL, VERSION},
		{"help", 0, NULL, HELP},
		{},
	};
	struct tp_rtt_options o = {.count = 200,
		.rounds = 1,
		.warm_up = 10,
		.timeout_ms = 1000,
		.row_seconds = 60,
		.samples = true,
		.address.s_addr = htonl(INADDR_LOOPBACK),
		.client_cpu = -1,
		.server_cpu = -1};
	int c;
	while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		const char *name = "";
		for (const struct option *k = known; k->name; k++)
			if (k->val == c)
				name = k->name;
		switch (c) {
		case TRANSPORT:
			if (!tp_transport_parse(optarg, &o.transport))
				tp_usage(program, "--transport %s: there is no such transport",
					optarg);
			break;
		case SIZES:
			o.sizes = tp_numbers(
				program, name, optarg, o.size, TP_SIZES_MOST, TP_SIZE_MOST);
			break;
		case COUNT:
			o.count = (uint32_t)tp_number(program, name, optarg, 1, TP_COUNT_MOST);
			break;
		case TOTAL:
			o.total = (uint32_t)tp_number(program, name, optarg, 1, 1L << 30);
			break;
		case ROUNDS: o.rounds = (uint32_t)tp_number(program, name, optarg, 1, 1000); break;
		case WARM_UP:
			o.warm_up = (uint32_t)tp_number(program, name, optarg, 0, TP_COUNT_MOST);
			break;
		case TIMEOUT:
			o.timeout_ms = (int)tp_number(program, name, optarg, 1, 600000);
			break;
		case ROW_SECONDS:
			o.row_seconds = (uint32_t)tp_number(program, name, optarg, 1, 86400);
			break;
		case LOST:
			o.lost_most = (uint32_t)tp_number(program, name, optarg, 1, TP_COUNT_MOST);
			break;
		case RATE: o.rate = (uint32_t)tp_number(program, name, optarg, 1, 10000000); break;
		case NO_SAMPLES: o.samples = false; break;
		case ADDRESS:
			if (inet_pton(AF_INET, optarg, &o.address) != 1)
				tp_usage(program, "--address %s: not an IPv4 address", optarg);
			break;
		case CLIENT_NS: o.client_ns = optarg; break;
		case SERVER_NS: o.server_ns = optarg; break;
		case CLIENT_CPU:
			o.client_cpu = (int)tp_number(program, name, optarg, 0, 1023);
			break;
		case SERVER_CPU:
			o.server_cpu = (int)tp_number(program, name, optarg, 0, 1023);
			break;
		case VERSION: puts(compiler); exit(0);
		case HELP: fputs(help, stdout); exit(0);
		default: tp_usage(program, "it cannot go on");
		}
	}
	if (optind < argc)
		tp_usage(program, "%s: not an option", argv[optind]);
	if (!o.transport.name || !o.sizes)
		tp_usage(program, "%s is missing", o.transport.name ? "--sizes" : "--transport");
	for (unsigned i = 0; i < o.sizes; i++)
		if (o.size[i] < sizeof(uint32_t))
			tp_usage(program, "--sizes %u: a message has 4 octets at least, its number",
				o.size[i]);
	if (o.rate && o.transport.kind != TP_TCP && o.transport.kind != TP_UDP)
		tp_usage(program, "--rate: only tcp and udp send by a clock, not %s",
			o.transport.name);
	return o;
}

// What a child tells first.
struct handshake_meta {
	int error;
	in_port_t port;
};

_Noreturn static void serve(const struct tp_rtt_options *o, uint32_t size, int to_parent)
{
	struct handshake_meta word = {};
	struct tp_end end;
	int listening = -1;
	word.error = tp_pin(o->server_cpu);
	if (!word.error)
		word.error = tp_enter_namespace(o->server_ns);
	if (!word.error)
		word.error = tp_listen(&o->transport, o->address, &listening, &word.port);
	bool told = write(to_parent, &word, sizeof(word)) == sizeof(word);
	if (!told || word.error)
		_exit(1);
	if (tp_accept(&o->transport, listening, &end))
		_exit(1);
	tp_echo(&end, size);
	_exit(0);
}

// The child is there and the end connected, or neither.
static int meet(
	const struct tp_rtt_options *o, uint32_t size, struct tp_child *child, struct tp_end *end)
{
	int to_parent;
	int forked = tp_fork(child, &to_parent);
	if (forked < 0)
		return forked;
	if (!forked)
		serve(o, size, to_parent);
	struct handshake_meta word = {};
	int error = 0;
	if (read(child->from_child, &word, sizeof(word)) != sizeof(word))
		error = -EPIPE;
	if (!error)
		error = word.error;
	if (!error)
		error = tp_connect(&o->transport, o->address, word.port, o->timeout_ms, end);
	if (error)
		tp_reap(child);
	return error;
}

// One after the other.
static int closed_loop(const struct tp_rtt_options *o, struct tp_end *end, uint32_t size,
	uint32_t count, struct tp_rtt_row *row)
{
	for (uint32_t i = 0; i < count; i++) {
		end->number++;
		uint64_t from = tp_now_ns();
		int error = tp_send(end, size);
		if (!error)
			error = tp_receive(end, size);
		if (!error) {
			row->sample_ns[row->samples++] = tp_now_ns() - from;
			continue;
		}
		if (tp_expired())
			return -EINTR;
		if (!tp_is_datagram(&o->transport) ||
			(error != -ETIMEDOUT && error != -ECONNREFUSED))
			return error;
		if (++row->lost >= row->lost_most)
			return -ETIMEDOUT;
	}
	return 0;
}

static int measure(const struct tp_rtt_options *o, uint32_t size, struct tp_rtt_row *row)
{
	struct tp_child child;
	struct tp_end end;
	tp_deadline(o->row_seconds);
	int error = meet(o, size, &child, &end);
	if (error)
		return error;
	row->samples = row->lost = 0;
	error = closed_loop(o, &end, size, o->warm_up, row);
	const bool came = row->samples || !o->warm_up;
	row->samples = row->lost = 0;
	end.late = 0;
	if (error == -ETIMEDOUT && came)
		error = 0; // lossy, not dead
	else if (error == -ETIMEDOUT)
		row->lost = row->lost_most;
	const uint64_t cpu = tp_cpu_ns(getpid()), cpu_server = tp_cpu_ns(child.pid),
		       from = tp_now_ns();
	if (!error)
		error = o->rate ? tp_open_loop(o, &end, size, row)
				: closed_loop(o, &end, size, row->count, row);
	row->wall_ns = tp_now_ns() - from;
	row->cpu_ns = tp_cpu_ns(getpid()) - cpu;
	row->cpu_server_ns = tp_cpu_ns(child.pid) - cpu_server;
	row->late = end.late;
	row->control[0] = 0;
	socklen_t length = sizeof(row->control) - 1;
	if (!tp_is_datagram(&o->transport) &&
		!getsockopt(end.fd, IPPROTO_TCP, TCP_CONGESTION, row->control, &length))
		row->control[length] = 0;
	tp_deadline(0);
	tp_close(&end);
	tp_reap(&child);
	return error;
}

static const char *reason_of(int error, const struct tp_rtt_row *row)
{
	switch (error) {
	case 0: return row->lost ? "messages were lost" : NULL;
	case -EINTR: return "its time was over";
	case -ETIMEDOUT: return "too many messages were lost";
	case -EMSGSIZE: return "no datagram carries so much";
	case -ENOENT: return "the kernel has no such congestion control";
	default: return strerror(-error);
	}
}

static void print_row(const struct tp_rtt_options *o, uint32_t size, uint32_t round, int error,
	const struct tp_rtt_row *row)
{
	const bool able = !error || error == -EINTR || error == -ETIMEDOUT;
	const char *reason = reason_of(error, row);
	printf("{\"transport\":");
	tp_print_string(stdout, o->transport.name);
	printf(",\"size\":%u,\"round\":%u,\"asked\":%u,\"count\":%u,\"lost\":%u,\"late\":%lu,"
	       "\"incomplete\":%s,\"able\":%s,\"reason\":",
		size, round, row->count, row->samples, row->lost, row->late,
		reason ? "true" : "false", able ? "true" : "false");
	if (reason)
		tp_print_string(stdout, reason);
	else
		fputs("null", stdout);
	printf(",\"control\":");
	tp_print_string(stdout, row->control);
	printf(",\"wall_ns\":%lu,\"cpu_ns\":%lu,\"cpu_server_ns\":%lu,\"rate\":%u", row->wall_ns,
		row->cpu_ns, row->cpu_server_ns, o->rate);
	if (o->samples) {
		printf(",\"samples_ns\":[");
		for (uint32_t i = 0; i < row->samples; i++)
			printf("%s%lu", i ? "," : "", row->sample_ns[i]);
		putchar(']');
	}
	puts("}");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct tp_rtt_options o = read_options(argc, argv);
	int error = tp_pin(o.client_cpu);
	if (error)
		tp_usage(program, "--client-cpu %d: %s", o.client_cpu, strerror(-error));
	error = tp_enter_namespace(o.client_ns);
	if (error)
		tp_usage(program, "--client-ns %s: %s (ip netns lists them; entering needs root)",
			o.client_ns, strerror(-error));
	for (unsigned i = 0; i < o.sizes; i++) {
		const uint32_t size = o.size[i];
		struct tp_rtt_row row = {.count = o.total ? (o.total + size - 1) / size : o.count};
		const uint32_t room = row.count > o.warm_up ? row.count : o.warm_up;
		row.lost_most = o.lost_most ? o.lost_most : row.count / 4 > 3 ? row.count / 4 : 3;
		row.sample_ns = calloc(room, sizeof(row.sample_ns[0]));
		if (!row.sample_ns)
			tp_usage(program, "no memory for %u samples: ask for a smaller --count",
				room);
		for (uint32_t round = 0; round < o.rounds; round++) {
			error = size > tp_size_most(&o.transport) ? -EMSGSIZE
								  : measure(&o, size, &row);
			print_row(&o, size, round, error, &row);
		}
		free(row.sample_ns);
	}
	return 0;
}
