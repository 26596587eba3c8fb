// SPDX-License-Identifier: BSD-3-Clause
// What strangers can take of a core over tcp, and that a peer goes on meanwhile (TA29): a thousand
// sessions that begin frames and never end them.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>
#include <jansson.h>

#include "lib/tapi/tapi_node.h"
#include "transportapi/core/core.h"
#include "transportapi/proto/frame.h"
#include "transportapi/base/wire.h"

#define TYPE     77
#define HOSTILE  1000u
#define MESSAGES 60u

struct end {
	struct tapi_conf *conf;
	struct tapi_core *core;
	unsigned received, lost;
	bool answers;
	char log[8192];
};

static struct event_base *base;
static struct end victim, honest;

static void on_log(void *context, int priority, const char *text)
{
	struct end *end = context;
	size_t used = strlen(end->log);

	(void)priority;
	snprintf(&end->log[used], sizeof(end->log) - used, "%s\n", text);
}

static void on_message(void *context, const struct tapi_incoming *incoming)
{
	struct end *end = context;
	struct tapi_outgoing answer = {.type = TYPE, .body = "yes", .length = 3};

	end->received++;
	if (end->answers)
		tapi_core_send(end->core, incoming->sender, &answer);
}

static void on_event(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info)
{
	struct end *end = context;

	(void)info;
	end->lost += what == TAPI_PEER_LOST;
}

static void begin(struct end *end, uint8_t who, const char *core, const char *tcp)
{
	uint8_t seed[TAPI_SEED_BYTES] = {who};
	struct tapi_core_options options = {.base = base, .log = on_log, .context = end};
	struct tapi_identity identity;
	struct tapi_error error;
	char text[1024];

	memset(end, 0, sizeof(*end));
	snprintf(text, sizeof(text),
		"{\"transports\": [\"tcp\"], \"acl\": {\"local\": true}, \"core\": {%s}, \"tcp\": "
		"{\"port\": 0, \"bind\": [\"127.0.0.1\"]%s}}",
		core, tcp);
	end->conf = tapi_conf_parse(text, &error);
	assert_non_null(end->conf);
	tapi_identity_from_seed(&identity, seed);
	options.conf = end->conf;
	options.identity = &identity;
	if (tapi_core_new(&end->core, &options, &error) != TAPI_OK ||
		tapi_core_start(end->core, &error) != TAPI_OK)
		fail_msg("%s", error.text);
	tapi_core_receive(end->core, TYPE, on_message, end);
	tapi_core_watch(end->core, on_event, end);
}

static void finish(struct end *end)
{
	tapi_core_free(end->core);
	tapi_conf_free(end->conf);
}

static uint64_t real_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void pump(unsigned rounds)
{
	while (rounds--)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static void until(const unsigned *counter, unsigned least)
{
	const uint64_t begun = real_us();

	while (*counter < least) {
		const struct timeval wait = {.tv_usec = 1000};

		if (real_us() - begun > 20000000)
			fail_msg("%u, not %u, after 20 s", *counter, least);
		event_base_loopexit(base, &wait);
		event_base_loop(base, EVLOOP_ONCE);
	}
}

// "core" "memory_bytes", or the first transport's "sessions_cut".
static uint64_t stat_of(const struct end *end, const char *section, const char *name)
{
	char *text = tapi_core_stats_json(end->core, false);
	json_t *root = json_loads(text, 0, NULL), *in = json_object_get(root, section);
	uint64_t value;

	if (json_is_array(in))
		in = json_array_get(in, 0);
	assert_true(json_is_integer(json_object_get(in, name)));
	value = (uint64_t)json_integer_value(json_object_get(in, name));
	json_decref(root);
	free(text);
	return value;
}

static uint16_t port_of(struct end *end)
{
	struct tapi_transport_api *api = tapi_core_transport(end->core, "tcp");
	struct tapi_source source;
	struct tapi_helo helo;

	assert_int_equal(api->create_helo(api, 0, &helo), TAPI_OK);
	assert_int_equal(api->address_source(api, &helo, &source), TAPI_OK);
	return source.port;
}

static void send_one(struct end *from, const struct end *to, uint32_t length)
{
	static const uint8_t body[32000];
	struct tapi_outgoing outgoing = {.type = TYPE, .body = body, .length = length};

	assert_int_equal(
		tapi_core_send(from->core, &tapi_core_identity(to->core)->id, &outgoing), TAPI_OK);
}

static void introduce(struct end *to, struct end *whom)
{
	static char text[16384];
	struct tapi_error error;

	assert_true(tapi_core_own_helos_text(whom->core, text, sizeof(text)) > 0);
	assert_int_equal(tapi_core_add_helos_text(to->core, text, &error), TAPI_OK);
}

// As many as `wanted` descriptors and some; how many there are.
static uint64_t descriptors(uint64_t wanted)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	return limit.rlim_cur;
}

// Says who it is, and begins a message of 32 KiB.
static int hostile_begins(uint16_t port, unsigned number)
{
	uint8_t octets[TAPI_WELCOME_BYTES + TAPI_FRAME_HEAD_BYTES];
	struct tapi_peer_id id = {.octets = {0xee, (uint8_t)number, (uint8_t)(number >> 8)}};
	const uint8_t nonce[TAPI_WELCOME_NONCE_BYTES] = {0};
	const int fd = raw_connect(port);

	tapi_welcome_encode(octets, &id, nonce);
	tapi_frame_encode(&octets[TAPI_WELCOME_BYTES], 32768, false, 0);
	raw_write(fd, octets, sizeof(octets));
	return fd;
}

static void half_frames_are_bounded_in_all(void **state)
{
	static uint8_t drip[1500];
	static int fds[HOSTILE];
	const unsigned n = descriptors(2 * HOSTILE + 200) < 2 * HOSTILE + 200 ? 400 : HOSTILE;
	uint64_t most = 0, held;

	(void)state;
	begin(&victim, 1, "\"memory_total_bytes\": 4194304, \"advertise\": 0",
		", \"max_per_source\": 4096, \"max_half_open\": 4096");
	begin(&honest, 2, "\"advertise\": 0", "");
	victim.answers = true;
	introduce(&honest, &victim);
	introduce(&victim, &honest);
	send_one(&honest, &victim, 100);
	until(&honest.received, 1);
	for (unsigned i = 0; i < n; i++) {
		fds[i] = hostile_begins(port_of(&victim), i);
		pump(2);
	}
	// 20 rounds of 1,500 octets each: 30 MB, if nobody bounds it. Who is cut may be written to
	// once more.
	for (unsigned round = 0, sent = 0; round < 20; round++) {
		for (unsigned i = 0; i < n; i++) {
			send(fds[i], drip, sizeof(drip), MSG_NOSIGNAL | MSG_DONTWAIT);
			if (i % 16 == 0)
				pump(1);
		}
		for (; sent < (round + 1) * MESSAGES / 20; sent++)
			send_one(&honest, &victim, 20000);
		until(&victim.received, 1 + sent);
		held = stat_of(&victim, "core", "memory_bytes");
		most = held > most ? held : most;
		assert_true(held <= 4194304);
	}
	until(&honest.received, 1 + MESSAGES); // and it was answered each time
	assert_int_equal(victim.received, 1 + MESSAGES);
	assert_int_equal(honest.lost, 0);
	assert_int_equal(victim.lost, 0);
	assert_true(most > 2000000); // it was full
	assert_true(stat_of(&victim, "transports", "sessions_cut") > n / 8);
	assert_int_equal(stat_of(&victim, "core", "memory_bytes_max"), 4194304);
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
	finish(&honest);
	finish(&victim);
}

// So many callers, of a process that has the descriptors for it, until `wait` is closed.
static pid_t callers(uint16_t port, unsigned n, rlim_t descriptors, const int wait[2], int ready)
{
	const pid_t child = fork();
	struct rlimit limit;
	char octet = 0;

	assert_true(child >= 0);
	if (child)
		return child;
	close(wait[1]);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = descriptors;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned i = 0; i < n; i++) {
		uint8_t welcome[TAPI_WELCOME_BYTES];
		const uint8_t nonce[TAPI_WELCOME_NONCE_BYTES] = {0};
		struct tapi_peer_id id = {.octets = {0xee, (uint8_t)i, (uint8_t)(i >> 8)}};
		const int fd = raw_connect(port);

		tapi_welcome_encode(welcome, &id, nonce);
		if (send(fd, welcome, sizeof(welcome), MSG_NOSIGNAL) < 0)
			close(fd);
	}
	if (write(ready, &octet, 1) == 1 && read(wait[0], &octet, 1) != 0)
		_exit(1);
	_exit(0);
}

static unsigned rounds_in(unsigned ms)
{
	const struct timeval wait = {.tv_usec = (suseconds_t)ms * 1000};
	unsigned rounds = 0;

	event_base_loopexit(base, &wait);
	while (!event_base_got_exit(base) && rounds < 100000) {
		event_base_loop(base, EVLOOP_ONCE);
		rounds++;
	}
	return rounds;
}

// More callers than descriptors: those that are not used end, the peer goes on, nobody spins, and
// the program can open its files.
static void sessions_leave_descriptors(void **state)
{
	struct rlimit before, few;
	int wait[2], ready[2], spare[12], status;
	const uint64_t begun = real_us();
	char octet;
	pid_t child;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 128;
	assert_int_equal(pipe(wait), 0);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	begin(&victim, 1, "\"advertise\": 0", ", \"max_per_source\": 4096");
	begin(&honest, 2, "\"advertise\": 0", ", \"max_sessions\": 8");
	assert_non_null(strstr(victim.log, "RLIMIT_NOFILE"));
	assert_non_null(strstr(victim.log, "process 128 "));
	assert_non_null(strstr(victim.log, "4352 descriptors"));
	victim.answers = true;
	introduce(&honest, &victim);
	send_one(&honest, &victim, 100);
	until(&honest.received, 1);
	child = callers(port_of(&victim), 300, before.rlim_cur, wait, ready[1]);
	close(wait[0]);
	close(ready[1]);
	while (stat_of(&victim, "transports", "sessions_accepted") < 300 &&
		real_us() - begun < 20000000) {
		const struct timeval soon = {.tv_usec = 1000};

		event_base_loopexit(base, &soon);
		event_base_loop(base, EVLOOP_ONCE);
	}
	assert_int_equal(read(ready[0], &octet, 1), 1);
	pump(10);
	for (unsigned i = 0; i < 12; i++) {
		spare[i] = open("/dev/null", O_RDONLY);
		assert_true(spare[i] >= 0);
	}
	assert_null(strstr(victim.log, "cannot accept"));
	assert_true(stat_of(&victim, "transports", "sessions_evicted") > 150);
	assert_int_equal(stat_of(&victim, "transports", "sessions_refused"), 0);
	assert_true(rounds_in(50) < 100);
	for (unsigned i = 0; i < 10; i++)
		send_one(&honest, &victim, 1000);
	until(&honest.received, 11);
	assert_int_equal(honest.lost, 0);
	for (unsigned i = 0; i < 12; i++)
		close(spare[i]);
	close(wait[1]);
	close(ready[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	finish(&honest);
	finish(&victim);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_frames_are_bounded_in_all),
		cmocka_unit_test(sessions_leave_descriptors),
	};
	int failed;

	base = event_base_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(base);
	return failed;
}
