// SPDX-License-Identifier: BSD-3-Clause
// One core, one loop, thousands of peers, each with its own key and its own socket, in another
// process (tapi_crowd.h). What is reported, as JSON on standard output: seconds and CPU to validate
// them, memory of the core's process per peer, messages and answers per second and their CPU, CPU
// of silence, and how long after the crowd falls silent the last session is gone.
//
//   tapi_peers [--peers 10000] [--transport udp|tcp] [--rounds 5] [--octets 400] [--once]
//
// --once: shorter time-outs, no figures of silence (the test of the bench). Ends 1 when something
// did not happen at all: a peer that was not reached, a session that stayed.
#include <event2/event.h>
#include <getopt.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "tapi_crowd.h"
#include "transportapi/core/core.h"
#include "transportapi/base/inet_address.h"

enum { WINDOW = 200, PATIENCE_S = 60, STALE_S = 5 };

static struct {
	unsigned peers, rounds, octets;
	bool tcp, once;
	struct event_base *base;
	struct tapi_core *core;
	struct crowd crowd;
	uint64_t came, told, reachable, lost;
	uint64_t seen; // peers that called by tcp
} of = {.peers = 10000, .rounds = 5, .octets = 400};

static double wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double cpu_system(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
}

static uint64_t resident_bytes(void)
{
	FILE *in = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	if (in && fscanf(in, "%*u %llu", &pages) != 1)
		pages = 0;
	if (in)
		fclose(in);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

__attribute__((format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "tapi_peers: ");
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	if (of.core) {
		char *stats = tapi_core_stats_json(of.core, false);

		fprintf(stderr, "%s\n", stats ? stats : "");
		free(stats);
	}
	if (of.crowd.pid > 0)
		crowd_end(&of.crowd);
	exit(1);
}

static void on_tell(void *context, const struct tapi_incoming *incoming)
{
	(void)context;
	if (incoming->length == 0)
		of.seen++; // "I am here"
	else
		of.told++;
}

static void on_event(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info)
{
	(void)context;
	(void)info;
	of.reachable += what == TAPI_PEER_REACHABLE;
	of.lost += what == TAPI_PEER_LOST;
}

static void tick(evutil_socket_t unused, short events, void *context)
{
	(void)unused;
	(void)events;
	(void)context;
}

// The loop, until `count` is `wanted`, or nothing came for `silence` seconds.
static bool until(const uint64_t *count, uint64_t wanted, double silence)
{
	double last = wall();
	uint64_t before = *count;

	while (*count < wanted) {
		event_base_loop(of.base, EVLOOP_ONCE);
		if (*count != before) {
			before = *count;
			last = wall();
		}
		if (wall() - last > silence)
			return false;
	}
	return true;
}

static void ask(unsigned i, const void *body)
{
	const struct tapi_outgoing outgoing = {
		.type = PUPPET_ASK, .body = body, .length = of.octets, .priority = 1};
	enum tapi_result result = tapi_core_send(of.core, &of.crowd.members[i].id, &outgoing);

	if (result != TAPI_OK)
		die("send to peer %u: %s", i, tapi_result_name(result));
}

static uint64_t sessions(void)
{
	struct tapi_transport_api *api = tapi_core_transport(of.core, of.tcp ? "tcp" : "udp");
	const struct tapi_transport_stats *stats = api->stats(api);

	return stats->sessions_opened + stats->sessions_accepted - stats->sessions_closed;
}

static void on_log(void *context, int priority, const char *text)
{
	(void)context;
	if (priority < LOG_NOTICE) // a line per decision is not what is measured
		fprintf(stderr, "%s\n", text);
}

static void core_begin(void)
{
	struct tapi_core_options options = {.base = of.base, .log = on_log};
	static struct tapi_identity identity;
	const uint8_t seed[TAPI_SEED_BYTES] = "tapi_peers";
	struct tapi_error error;
	char text[2048], opening[64] = "";

	if (of.tcp) // udp connects nothing
		snprintf(opening, sizeof(opening), "\"max_half_open\": %u, ", 2 * of.peers);
	snprintf(text, sizeof(text),
		"{\"transports\": [\"%s\"], \"acl\": {\"local\": true}, "
		"\"core\": {\"max_peers\": %u, \"ping_address_s\": 0, \"ping_per_s\": 1000000, "
		"\"ping_prefix_per_min\": %u, \"pongs_per_s\": 1000000, "
		"\"linger_s\": 1, \"quiet_ms\": %u, \"quiet_ping_ms\": %u, \"queue_total_bytes\": "
		"1073741824}, "
		"\"%s\": {\"bind\": [\"127.0.0.1\"], \"port\": 0, \"max_sessions\": %u, "
		"\"max_per_source\": %u, %s\"stale_s\": %u}}",
		of.tcp ? "tcp" : "udp", 2 * of.peers, 2 * of.peers, of.once ? 300 : 3000,
		of.once ? 100 : 1000, of.tcp ? "tcp" : "udp", 2 * of.peers, 2 * of.peers, opening,
		of.once ? 1 : STALE_S);
	options.conf = tapi_conf_parse(text, &error);
	if (!options.conf)
		die("%s", error.text);
	tapi_identity_from_seed(&identity, seed);
	options.identity = &identity;
	if (tapi_core_new(&of.core, &options, &error) != TAPI_OK ||
		tapi_core_start(of.core, &error) != TAPI_OK)
		die("%s", error.text);
	tapi_core_receive(of.core, PUPPET_TELL, on_tell, NULL);
	tapi_core_watch(of.core, on_event, NULL);
}

// All of them are reported, or call, and each has answered one message.
static void meet(const void *body)
{
	struct tapi_transport_api *api = tapi_core_transport(of.core, of.tcp ? "tcp" : "udp");
	struct tapi_helo helo;
	struct tapi_source own;

	if (of.tcp) {
		if (api->create_helo(api, 0, &helo) != TAPI_OK ||
			api->address_source(api, &helo, &own) != TAPI_OK ||
			!crowd_connect(&of.crowd, own.port))
			die("no address of tcp");
		if (!until(&of.seen, of.peers, PATIENCE_S))
			die("%llu of %u peers called", (unsigned long long)of.seen, of.peers);
	}
	for (unsigned i = 0; i < of.peers; i += WINDOW) {
		unsigned end = i + WINDOW < of.peers ? i + WINDOW : of.peers;

		for (unsigned k = i; k < end; k++) {
			const struct crowd_member *member = &of.crowd.members[k];

			if (!of.tcp && tapi_core_add_helo(
					       of.core, member->helo, member->helo_size) != TAPI_OK)
				die("HELO of peer %u", k);
			ask(k, body);
		}
		until(&of.told, end, 0.5); // a few come late: their PING went again
	}
	if (!until(&of.told, of.peers, PATIENCE_S))
		die("%llu of %u peers answered", (unsigned long long)of.told, of.peers);
}

static void talk(const void *body)
{
	for (unsigned round = 0; round < of.rounds; round++)
		for (unsigned i = 0; i < of.peers; i += WINDOW) {
			unsigned end = i + WINDOW < of.peers ? i + WINDOW : of.peers;
			uint64_t wanted = of.told + (end - i);

			for (unsigned k = i; k < end; k++)
				ask(k, body);
			until(&of.told, wanted, 0.2);
		}
}

static void idle(double seconds)
{
	const double end = wall() + seconds;

	while (wall() < end)
		event_base_loop(of.base, EVLOOP_ONCE);
}

static void forget_all(void)
{
	for (unsigned i = 0; i < of.peers; i++)
		tapi_core_forget(of.core, &of.crowd.members[i].id);
}

// Seconds until each peer is given up, and until no session is left.
static void silence(const void *body, double *lost, double *gone)
{
	const uint64_t before = of.lost;
	const double from = wall();

	crowd_silence(&of.crowd);
	for (unsigned i = 0; i < of.peers; i++)
		ask(i, body);
	until(&of.lost, before + of.peers, PATIENCE_S);
	*lost = wall() - from;
	if (of.lost < before + of.peers)
		die("%llu of %u peers were not given up %d s after the last word",
			(unsigned long long)(before + of.peers - of.lost), of.peers, PATIENCE_S);
	// Who called has to call again: these sessions get stale. Who was called is looked for, by
	// a PING now and then for an hour, unless nobody wants to know any more.
	if (!of.tcp)
		forget_all();
	while (sessions() > 0) {
		event_base_loop(of.base, EVLOOP_ONCE);
		if (wall() - from > PATIENCE_S)
			die("%llu sessions of %u are still there %d s after the last word",
				(unsigned long long)sessions(), of.peers, PATIENCE_S);
	}
	*gone = wall() - from;
}

static void run(void)
{
	const struct timeval often = {.tv_usec = 5000};
	struct event *ticker;
	uint8_t *body = calloc(1, of.octets + 1);
	uint64_t resident, heap, sessions_then, told, lost;
	double from, used, system, given_up, gone;

	of.base = event_base_new();
	if (!of.base || !body)
		die("out of memory");
	ticker = event_new(of.base, -1, EV_PERSIST, tick, NULL);
	event_add(ticker, &often);
	core_begin();
	resident = resident_bytes();
	heap = heap_bytes();

	from = wall(), used = cpu(), system = cpu_system();
	meet(body);
	printf("{\"transport\": \"%s\", \"peers\": %u, \"sessions\": %llu,\n"
	       " \"meet\": {\"seconds\": %.2f, \"cpu_us_per_peer\": %.1f, "
	       "\"of_these_system_us\": %.1f, \"reachable\": %llu},\n",
		of.tcp ? "tcp" : "udp", of.peers, (unsigned long long)sessions(), wall() - from,
		(cpu() - used) / of.peers * 1e6, (cpu_system() - system) / of.peers * 1e6,
		(unsigned long long)of.reachable);
	printf(" \"memory\": {\"resident_bytes_per_peer\": %llu, \"heap_bytes_per_peer\": %llu},\n",
		(unsigned long long)(resident_bytes() - resident) / of.peers,
		(unsigned long long)(heap_bytes() - heap) / of.peers);

	told = of.told;
	from = wall(), used = cpu(), system = cpu_system();
	talk(body);
	told = of.told - told;
	printf(" \"talk\": {\"messages\": %llu, \"answered\": %llu, \"octets\": %u, \"seconds\": "
	       "%.2f, \"per_second\": %.0f, \"cpu_us_per_message\": %.2f, "
	       "\"of_these_system_us\": %.2f},\n",
		(unsigned long long)of.rounds * of.peers, (unsigned long long)told, of.octets,
		wall() - from, (double)told / (wall() - from),
		(cpu() - used) / of.rounds / of.peers * 1e6,
		(cpu_system() - system) / of.rounds / of.peers * 1e6);
	if (told < (uint64_t)of.rounds * of.peers / 2)
		die("%llu of %llu messages were answered", (unsigned long long)told,
			(unsigned long long)of.rounds * of.peers);

	if (!of.once) {
		used = cpu();
		idle(5);
		printf(" \"idle\": {\"cpu_percent\": %.2f},\n", (cpu() - used) / 5 * 100);
	}
	sessions_then = sessions();
	used = cpu();
	lost = of.lost;
	silence(body, &given_up, &gone);
	printf(" \"silence\": {\"sessions_before\": %llu, \"sessions_after\": %llu, "
	       "\"peers_lost\": %llu, \"lost_seconds\": %.1f, \"gone_seconds\": %.1f, "
	       "\"cpu_us_per_peer\": %.1f},\n",
		(unsigned long long)sessions_then, (unsigned long long)sessions(),
		(unsigned long long)(of.lost - lost), given_up, gone,
		(cpu() - used) / of.peers * 1e6);
	forget_all();
	idle(0.1);
	printf(" \"after\": {\"heap_bytes\": %lld}}\n", (long long)(heap_bytes() - heap));
	tapi_core_stop(of.core);
	tapi_core_free(of.core);
	event_free(ticker);
	event_base_free(of.base);
	free(body);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"peers", required_argument, NULL, 'p'},
		{"transport", required_argument, NULL, 't'},
		{"rounds", required_argument, NULL, 'r'},
		{"octets", required_argument, NULL, 'o'},
		{"once", no_argument, NULL, '1'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'p': of.peers = (unsigned)strtoul(optarg, NULL, 10); break;
		case 't': of.tcp = strcmp(optarg, "tcp") == 0; break;
		case 'r': of.rounds = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'o': of.octets = (unsigned)strtoul(optarg, NULL, 10); break;
		case '1': of.once = true; break;
		default:
			fprintf(stderr,
				"usage: %s [--peers N] [--transport udp|tcp] [--rounds N] "
				"[--octets N] [--once]\n",
				argv[0]);
			return 2;
		}
	if (!of.peers || !of.rounds || !of.octets || of.octets > 1400) {
		fprintf(stderr, "%s: at least one peer, one round, 1 to 1400 octets\n", argv[0]);
		return 2;
	}
	if (!crowd_descriptors(of.peers + 500) || !crowd_begin(&of.crowd, of.peers, of.tcp))
		return 1;
	run();
	crowd_end(&of.crowd);
	return 0;
}
