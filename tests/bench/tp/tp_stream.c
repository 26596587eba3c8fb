// SPDX-License-Identifier: BSD-3-Clause
// One way: a sender and a receiver, each a host of the same transport, perhaps in two namespaces.
// Messages unspaced (the paper on transports, figure 6), in trains with gaps between (figure 7),
// paced by a clock, or for some seconds. What the transport dropped and what the network lost is
// counted, nothing is sent again. One line of JSON a run.
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tp_host.h"

static const char *const program = "tp_stream";

enum {
	CURVE_MS = 400,
	CHECK_US = 10000,   // how often the receiver looks whether it is over
	UP_NS = 1000000000, // for a session to stand and its first message to arrive
	SLEEP_NS = 200000,  // a gap that is longer is slept, but for its end
	FIRST = UINT32_MAX, // number of the message that opens the way, before the clock runs
	COUNT_MOST = 1 << 20,
};

struct options {
	const char *transport, *conf[2], *ns[2];
	uint32_t size, count, seconds, runs, train, gap_us, pace_kbit, batch, quiet_ms;
	int cpu[2];
	bool heed;
};
enum { SENDER, RECEIVER };

// Written by the receiver, read by the sender: they share the pages.
struct told {
	struct tapi_helo helo;
	uint64_t received, bytes, duplicates, foreign, first_ns, last_ns, cpu_ns, done_ns;
	uint32_t open;         // the first message is here
	uint32_t done;         // set by the sender: it sent its last
	uint64_t arrival_ns[]; // by number, of `count`
};

static const char help[] =
	"usage: tp_stream --transport NAME --size N [options]\n"
	"\n"
	"Messages one way between two hosts of a transport of libtransportapi, one line of JSON a\n"
	"run. tools/tpbench runs it.\n"
	"\n"
	"  --count N       messages of a run (1000)\n"
	"  --seconds N     instead of --count: as many as fit\n"
	"  --runs N        (1)\n"
	"  --train N       messages of a train (0: no trains)\n"
	"  --gap-us N      between trains (0)\n"
	"  --pace-kbit N   each message when its time has come, at this rate of their octets\n"
	"  --heed          wait while the transport says that it would drop (send_estimate)\n"
	"  --batch N       messages between two turns of the loop (16)\n"
	"  --quiet-ms N    the run is over when nothing came for as long (200)\n"
	"  --conf-sender JSON, --conf-receiver JSON   configurations of the transport\n"
	"  --sender-ns NAME, --receiver-ns NAME       network namespaces of the two ends\n"
	"  --sender-cpu N, --receiver-cpu N           pin them\n"
	"Exit code 3: the transport cannot be had here, and why.\n";

static uint32_t number_of(const char *option, uint32_t least, uint32_t most)
{
	return (uint32_t)tp_number(program, option, optarg, least, most);
}

static struct options read_options(int argc, char **argv)
{
	enum {
		TRANSPORT = 256,
		SIZE,
		COUNT,
		SECONDS,
		RUNS,
		TRAIN,
		GAP,
		PACE,
		HEED,
		BATCH,
		QUIET,
		CONF_S,
		CONF_R,
		NS_S,
		NS_R,
		CPU_S,
		CPU_R,
		HELP
	};
	static const struct option known[] = {
		{"transport", 1, NULL, TRANSPORT},
		{"size", 1, NULL, SIZE},
		{"count", 1, NULL, COUNT},
		{"seconds", 1, NULL, SECONDS},
		{"runs", 1, NULL, RUNS},
		{"train", 1, NULL, TRAIN},
		{"gap-us", 1, NULL, GAP},
		{"pace-kbit", 1, NULL, PACE},
		{"heed", 0, NULL, HEED},
		{"batch", 1, NULL, BATCH},
		{"quiet-ms", 1, NULL, QUIET},
		{"conf-sender", 1, NULL, CONF_S},
		{"conf-receiver", 1, NULL, CONF_R},
		{"sender-ns", 1, NULL, NS_S},
		{"receiver-ns", 1, NULL, NS_R},
		{"sender-cpu", 1, NULL, CPU_S},
		{"receiver-cpu", 1, NULL, CPU_R},
		{"help", 0, NULL, HELP},
		{},
	};
	struct options o = {.conf = {"{}", "{}"},
		.count = 1000,
		.runs = 1,
		.batch = 16,
		.quiet_ms = 200,
		.cpu = {-1, -1}};
	int c;
	while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0)
		switch (c) {
		case TRANSPORT: o.transport = optarg; break;
		case SIZE: o.size = number_of("--size", sizeof(uint32_t), TP_SIZE_MOST); break;
		case COUNT: o.count = number_of("--count", 1, COUNT_MOST); break;
		case SECONDS: o.seconds = number_of("--seconds", 1, 3600); break;
		case RUNS: o.runs = number_of("--runs", 1, 10000); break;
		case TRAIN: o.train = number_of("--train", 1, COUNT_MOST); break;
		case GAP: o.gap_us = number_of("--gap-us", 0, 10000000); break;
		case PACE: o.pace_kbit = number_of("--pace-kbit", 1, 100000000); break;
		case HEED: o.heed = true; break;
		case BATCH: o.batch = number_of("--batch", 1, COUNT_MOST); break;
		case QUIET: o.quiet_ms = number_of("--quiet-ms", 1, 60000); break;
		case CONF_S: o.conf[SENDER] = optarg; break;
		case CONF_R: o.conf[RECEIVER] = optarg; break;
		case NS_S: o.ns[SENDER] = optarg; break;
		case NS_R: o.ns[RECEIVER] = optarg; break;
		case CPU_S: o.cpu[SENDER] = (int)number_of("--sender-cpu", 0, 1023); break;
		case CPU_R: o.cpu[RECEIVER] = (int)number_of("--receiver-cpu", 0, 1023); break;
		case HELP: fputs(help, stdout); exit(0);
		default: tp_usage(program, "it cannot go on");
		}
	if (optind < argc)
		tp_usage(program, "%s: not an option", argv[optind]);
	if (!o.transport || !o.size)
		tp_usage(program, "%s is missing", o.transport ? "--size" : "--transport");
	if (o.train && o.pace_kbit)
		tp_usage(program, "--train and --pace-kbit: only one of them");
	return o;
}

// Ends the process with 3: the other end says why.
static void place(const struct options *o, int end)
{
	int error = tp_pin(o->cpu[end]);
	if (!error)
		error = tp_enter_namespace(o->ns[end]);
	if (!error)
		return;
	fprintf(stderr, "%s: cpu %d, namespace %s: %s\n", program, o->cpu[end],
		o->ns[end] ? o->ns[end] : "-", strerror(-error));
	exit(3);
}

struct receiver {
	const struct options *options;
	struct told *told;
	struct tp_host host;
};

static void on_message(void *context, const struct tapi_message_pack *pack)
{
	struct receiver *receiver = context;
	struct told *told = receiver->told;
	uint32_t number;
	if (pack->size != receiver->options->size) {
		told->foreign++;
		return;
	}
	memcpy(&number, pack->message, sizeof(number));
	if (number == FIRST) {
		__atomic_store_n(&told->open, 1, __ATOMIC_RELEASE);
		return;
	}
	const uint64_t now = tp_now_ns();
	if (!receiver->options->seconds) {
		if (number >= receiver->options->count || told->arrival_ns[number]) {
			told->duplicates++;
			return;
		}
		told->arrival_ns[number] = now;
	}
	if (!told->received++)
		told->first_ns = now;
	told->bytes += pack->size;
	told->last_ns = now;
}

static void look(evutil_socket_t fd, short what, void *context)
{
	struct receiver *receiver = context;
	const struct told *told = receiver->told;
	(void)fd;
	(void)what;
	if (!__atomic_load_n(&told->done, __ATOMIC_ACQUIRE))
		return;
	const uint64_t since = told->last_ns > told->done_ns ? told->last_ns : told->done_ns;
	if (tp_now_ns() - since > receiver->options->quiet_ms * 1000000ull)
		event_base_loopbreak(receiver->host.base);
}

_Noreturn static void receive(const struct options *o, struct told *told, int to_parent)
{
	const struct timeval often = {.tv_usec = CHECK_US};
	struct receiver receiver = {.options = o, .told = told};
	place(o, RECEIVER);
	tp_host_init(&receiver.host, program, o->transport, o->conf[RECEIVER], 2);
	tp_host_helo(&receiver.host, &told->helo);
	receiver.host.receive = on_message;
	receiver.host.context = &receiver;
	struct event *check = event_new(receiver.host.base, -1, EV_PERSIST, look, &receiver);
	if (!check || event_add(check, &often) || write(to_parent, "", 1) != 1)
		exit(1);
	event_base_dispatch(receiver.host.base);
	told->cpu_ns = tp_cpu_ns(getpid());
	event_free(check);
	tp_host_done(&receiver.host);
	exit(0);
}

struct result {
	uint64_t sent, dropped, refused, start_ns, sent_ns, cpu_ns;
	enum tapi_result refusal;
};

static void wait_until(struct tp_host *host, uint64_t due_ns)
{
	for (;;) {
		tp_host_poll(host);
		const uint64_t now = tp_now_ns();
		if (now >= due_ns)
			return;
		if (due_ns - now > SLEEP_NS) {
			const struct timespec nap = {
				.tv_nsec = (long)((due_ns - now - SLEEP_NS / 2) % 1000000000u)};
			nanosleep(&nap, NULL);
		}
	}
}

// When message `number` may go, at the soonest.
static uint64_t due_ns(const struct options *o, uint32_t number, uint64_t start_ns)
{
	if (o->pace_kbit)
		return start_ns + (uint64_t)number * o->size * 8000000u / o->pace_kbit;
	return 0;
}

static void send_all(const struct options *o, struct tp_host *host, struct tapi_session *session,
	struct result *r)
{
	static uint8_t message[TP_SIZE_MOST];
	struct tapi_transport_api *transport = host->transport;
	r->start_ns = tp_now_ns();
	const uint64_t end_ns = r->start_ns + o->seconds * 1000000000ull;
	for (uint32_t i = 0; o->seconds || i < o->count; i++) {
		const uint64_t due = due_ns(o, i, r->start_ns);
		if (due)
			wait_until(host, due);
		else if (o->train && i && i % o->train == 0)
			wait_until(host, tp_now_ns() + o->gap_us * 1000ull);
		else if (i % o->batch == 0)
			tp_host_poll(host);
		if (o->seconds && (i & 15) == 0 && tp_now_ns() >= end_ns)
			break;
		while (o->heed && transport->send_estimate &&
			transport->send_estimate(transport, session) < o->size)
			tp_host_wait(host, 1000);
		memcpy(message, &i, sizeof(i));
		enum tapi_result result = tp_host_send(host, session, message, o->size);
		if (!result) {
			r->sent++;
		} else if (result == TAPI_DROPPED) {
			r->dropped++;
		} else {
			r->refused++;
			r->refusal = result;
			if (result == TAPI_ETOOBIG || result == TAPI_EDOWN)
				break;
		}
	}
	r->sent_ns = tp_now_ns();
}

// The session stands and a message has passed; false: it did not.
static bool open_way(const struct options *o, struct tp_host *host, struct tapi_session *session,
	const struct told *told)
{
	static uint8_t message[TP_SIZE_MOST];
	const uint32_t number = FIRST;
	const uint64_t end = tp_now_ns() + UP_NS;
	memcpy(message, &number, sizeof(number));
	for (uint64_t next = 0; tp_now_ns() < end; tp_host_wait(host, 2000)) {
		if (__atomic_load_n(&told->open, __ATOMIC_ACQUIRE))
			return true;
		if (tp_now_ns() < next)
			continue;
		next = tp_now_ns() + 100000000u; // again: it may have been dropped
		if (tp_host_send(host, session, message, o->size) == TAPI_ETOOBIG)
			return false;
	}
	return false;
}

static const char *run(
	const struct options *o, struct told *told, size_t told_bytes, struct result *r)
{
	struct tp_child child;
	struct tp_host host;
	int to_parent;
	char word;
	memset(told, 0, told_bytes);
	*r = (struct result){};
	int forked = tp_fork(&child, &to_parent);
	if (forked < 0)
		return strerror(-forked);
	if (!forked)
		receive(o, told, to_parent);
	if (read(child.from_child, &word, 1) != 1) { // it said why
		tp_reap(&child);
		exit(3);
	}
	tp_host_init(&host, program, o->transport, o->conf[SENDER], 1);
	struct tapi_session *session = tp_host_connect(&host, &told->helo);
	const char *reason = NULL;
	if (o->size > host.transport->mtu)
		reason = "beyond the transport's mtu";
	else if (!open_way(o, &host, session, told))
		reason = "no message arrives";
	if (!reason) {
		const uint64_t cpu = tp_cpu_ns(getpid());
		send_all(o, &host, session, r);
		r->cpu_ns = tp_cpu_ns(getpid()) - cpu;
		if (host.downs) // later it ends because its other end does
			reason = "the session ended";
	}
	told->done_ns = tp_now_ns();
	__atomic_store_n(&told->done, 1, __ATOMIC_RELEASE);
	// What the transport still holds goes out; the receiver ends when nothing came for a while.
	struct pollfd end = {.fd = child.from_child, .events = POLLIN};
	while (poll(&end, 1, 0) == 0)
		tp_host_wait(&host, 2000);
	if (!host.downs)
		host.transport->disconnect(host.transport, session);
	tp_host_done(&host);
	tp_reap(&child);
	return reason;
}

// Of all messages, the share that had arrived by each millisecond.
static void print_curve(const struct options *o, const struct told *told, uint64_t start_ns)
{
	static uint32_t by_ms[CURVE_MS + 1];
	uint32_t sum = 0;
	memset(by_ms, 0, sizeof(by_ms));
	for (uint32_t i = 0; i < o->count; i++) {
		const uint64_t at = told->arrival_ns[i]
					    ? (told->arrival_ns[i] - start_ns + 999999) / 1000000
					    : CURVE_MS + 1;
		if (at <= CURVE_MS)
			by_ms[at]++;
	}
	fputs(",\"curve\":[", stdout);
	for (unsigned ms = 0; ms <= CURVE_MS; ms++) {
		sum += by_ms[ms];
		printf("%s%.3f", ms ? "," : "", (double)sum / o->count);
	}
	putchar(']');
}

static void print_run(const struct options *o, uint32_t number, const char *reason,
	const struct told *told, const struct result *r)
{
	const uint64_t attempts = r->sent + r->dropped + r->refused;
	const uint64_t wall =
		told->received && told->last_ns > r->start_ns ? told->last_ns - r->start_ns : 0;
	if (!reason && r->refused)
		reason = tapi_result_name(r->refusal);
	printf("{\"transport\":\"%s\",\"size\":%u,\"run\":%u,\"train\":%u,\"gap_us\":%u,\"pace_"
	       "kbit\":%u,\"heed\":%s,"
	       "\"attempts\":%lu,\"sent\":%lu,\"dropped\":%lu,\"refused\":%lu,\"received\":%lu,"
	       "\"duplicates\":%lu,"
	       "\"bytes\":%lu,\"wall_ns\":%lu,\"send_ns\":%lu,\"cpu_ns\":%lu,\"cpu_receiver_ns\":%"
	       "lu,\"reason\":",
		o->transport, o->size, number, o->train, o->gap_us, o->pace_kbit,
		o->heed ? "true" : "false", attempts, r->sent, r->dropped, r->refused,
		told->received, told->duplicates, told->bytes, wall, r->sent_ns - r->start_ns,
		r->cpu_ns, told->cpu_ns);
	if (reason)
		tp_print_string(stdout, reason);
	else
		fputs("null", stdout);
	if (!o->seconds && !reason)
		print_curve(o, told, r->start_ns);
	puts("}");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct options o = read_options(argc, argv);
	const size_t bytes = sizeof(struct told) + (o.seconds ? 0 : o.count) * sizeof(uint64_t);
	struct result result;
	place(&o, SENDER);
	struct told *told =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		tp_usage(program, "no memory for %u messages: ask for a smaller --count", o.count);
	for (uint32_t i = 0; i < o.runs; i++) {
		const char *reason = run(&o, told, bytes, &result);
		print_run(&o, i, reason, told, &result);
	}
	return 0;
}
