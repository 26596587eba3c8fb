// SPDX-License-Identifier: BSD-3-Clause
// Head-of-line, for files (kP2PADM, figure 2): a scanner hangs for ten seconds on a window of one
// file and takes two seconds for each of eight more, of which one is infected. 100 other downloads
// do not notice: each of their frames leaves in the same turn with the same bytes as in a run in
// which nothing is scanned. Time is virtual.
#include <netinet/in.h>
#include "lib/pipeline/departures.h"
#include "lib/pipeline/scan_gate.h"

#define OTHERS       100
#define SLOW         8 // files that take two seconds each
#define HANGS        (OTHERS + 1)
#define FIRST_SLOW   (OTHERS + 2)
#define CLIENTS      (OTHERS + 1 + SLOW) // their numbers are from 1 on
#define TURN_MS      10
#define TURNS        1300
#define BEGIN        50
#define SENT_PACKETS 300 // of the file that hangs, each SENT_BYTES
#define SENT_BYTES   200
#define SLOW_PACKETS 20
#define WINDOW       4000 // bytes that are looked at together
#define PORT_OTHERS  80
#define PORT_HANGS   81
#define PORT_SLOW    82

#define TRANSFERS "'transfers':[{'name':['*.exe'],'action':'reset'}]"
// In both runs the policy enforces, and all that is sent is decoded.
static const char scans[] =
	"'rules':[{'id':'hangs','match':{'protocol':'tcp','ports':[81]},'scan':{'mode':'windows',"
	"'window_bytes':4096,'overlap_bytes':64,'timeout':'audit'}},"
	"{'id':'slow','match':{'protocol':'tcp','ports':[82]},'scan':{}},"
	"{'id':'others','match':{}," TRANSFERS "}]";
static const char scans_nothing[] = "'rules':[{'id':'others','match':{}," TRANSFERS "}]";

struct course {
	struct departures *others;
	unsigned hung_frames, hung_before; // of the file that hangs: all; before its time-out
	unsigned slow_frames, slow_before; // of the eight; in their first two seconds
	unsigned resets;
	unsigned turn;
	uint64_t most_held;
	uint64_t scan_jobs, scan_timeouts, scan_clean, scan_infected;
};

struct world {
	struct gate *gate;
	struct gate_tcp tcp[CLIENTS + 1];
	struct course *course;
};

static uint64_t hangs_or_slow(const char *bytes, size_t length)
{
	(void)length;
	return bytes[0] == 'h' ? 10 * NS_PER_S + NS_PER_S : 2 * NS_PER_S;
}

static void note(struct world *world)
{
	struct course *course = world->course;
	struct pipe *pipe = world->gate->pipe;

	for (unsigned i = 0; i < pipe->n_sent; i++) {
		const struct pipe_sent *sent = &pipe->sent[i];
		uint32_t client = departures_client(sent);

		if (client <= OTHERS) {
			departures_note(course->others, sent, course->turn);
			continue;
		}
		if (sent->frame[47] & TH_RST)
			course->resets++;
		else if (client == HANGS)
			course->hung_frames++;
		else
			course->slow_frames++;
	}
	pipe->n_sent = 0;
	if (course->turn < BEGIN + 1000)
		course->hung_before = course->hung_frames;
	if (course->turn < BEGIN + 200)
		course->slow_before = course->slow_frames;
}

static void send_one(
	struct world *world, uint32_t client, bool server, const void *bytes, size_t length)
{
	struct gate_tcp *tcp = &world->tcp[client];
	const struct pipe_packet packet = {.client = client,
		.from_outside = server,
		.sport = tcp->sport,
		.dport = tcp->dport,
		.seq = tcp->seq[server],
		.ack = tcp->seq[!server],
		.tcp_flags = TH_ACK,
		.payload = bytes,
		.payload_length = (uint16_t)length};

	tcp->seq[server] += (uint32_t)length;
	pipe_run(world->gate->pipe, 0, &packet);
	note(world);
}

static void opens(struct world *world, uint32_t client, uint16_t port, const char *length)
{
	static const char request[] = "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n";
	char head[100];
	int n = snprintf(
		head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", length);

	world->tcp[client] = gate_connect(world->gate, client, (uint16_t)(42000 + client), port);
	assert_int_equal(
		gate_send(world->gate, &world->tcp[client], false, request, strlen(request)), 1);
	assert_int_equal(gate_send(world->gate, &world->tcp[client], true, head, (size_t)n), 1);
}

// `length` octets of a file from `at` on, of which the last are `end`.
static void send_file(struct world *world, uint32_t client, char first, unsigned at,
	uint16_t length, const char *end)
{
	char bytes[SENT_BYTES];

	for (unsigned i = 0; i < length; i++)
		bytes[i] = at + i ? (char)('a' + (at + i * 31 + client) % 26) : first;
	memcpy(bytes + length - strlen(end), end, strlen(end));
	send_one(world, client, true, bytes, length);
}

static void take_turn(struct world *world)
{
	struct course *course = world->course;
	unsigned turn = course->turn;

	for (uint32_t client = 1; client <= OTHERS; client++) {
		if ((turn + client) % 10)
			continue;
		send_file(world, client, 'o', turn, 20, "");
		send_one(world, client, false, NULL, 0);
	}
	// whoever waits goes on sending
	if (turn >= BEGIN && turn < BEGIN + SENT_PACKETS)
		send_file(world, HANGS, 'h', (turn - BEGIN) * SENT_BYTES, SENT_BYTES, "");
	if (turn >= BEGIN && turn < BEGIN + SLOW_PACKETS)
		for (uint32_t i = 0; i < SLOW; i++)
			send_file(world, FIRST_SLOW + i, 's', (turn - BEGIN) * SENT_BYTES,
				SENT_BYTES, !i && turn == BEGIN + SLOW_PACKETS - 1 ? EVIL : "");
	pipe_turns(world->gate->pipe);
	note(world);
	course->most_held = RTE_MAX(course->most_held, stats(world->gate).tcp_held_active);
	world->gate->pipe->now_ns += TURN_MS * NS_PER_MS;
	course->turn++;
}

static struct gate *gate_for_many(const char *policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.flows = limits.embryos = 256;
	limits.classifying = 256;
	limits.heads = 256;
	limits.tracker = (struct tracker_limits){
		.tracks = 256,
		.blocks = 4096,
		.half_blocks = 1024,
		.held = 512,
		.half_held = 400,
		.hold_ns = 30 * NS_PER_S,
		.fast_pass = true,
	};
	limits.content = (struct content_limits){.flows = 128,
		.source_pct = 10,
		.turn_bytes = 64u << 10,
		.memory_bytes = 16u << 20,
		.arena_bytes = 1};
	return gate_new_with(1, &limits, policy);
}

static void end_all(struct world *world)
{
	struct gate *gate = world->gate;

	for (uint32_t client = 1; client <= CLIENTS; client++)
		gives_up(gate, &world->tcp[client]);
}

static struct course *run(bool with_scanner)
{
	struct course *course = calloc(1, sizeof(*course));
	struct world world = {.course = course};

	assert_non_null(course);
	course->others = departures_new();
	world.gate = gate_for_many(with_scanner ? scans : scans_nothing);
	if (with_scanner)
		world_scans(world.gate, 16, 32u << 20);
	delay_of = hangs_or_slow;
	for (uint32_t client = 1; client <= OTHERS; client++)
		opens(&world, client, PORT_OTHERS, "1000000");
	opens(&world, HANGS, PORT_HANGS, "1000000");
	for (uint32_t i = 0; i < SLOW; i++)
		opens(&world, FIRST_SLOW + i, PORT_SLOW, "4000");
	world.gate->pipe->n_sent = 0;
	while (course->turn < TURNS)
		take_turn(&world);
	struct stats all = stats(world.gate);

	course->scan_jobs = all.scan_jobs;
	course->scan_timeouts = all.scan_timeouts;
	course->scan_clean = all.scan_clean;
	course->scan_infected = all.scan_infected;
	end_all(&world);
	if (with_scanner)
		world_free(world.gate);
	else
		gate_free(world.gate);
	delay_of = NULL;
	return course;
}

static void others_do_not_notice_files_that_wait(void **state)
{
	struct course *plain = run(false), *held = run(true);

	(void)state;
	assert_int_equal(plain->hung_frames, SENT_PACKETS);
	assert_int_equal(plain->slow_frames, SLOW * SLOW_PACKETS);
	assert_int_equal(plain->most_held, 0);
	// a window of 4,096 octets closed in the 21st packet: it, the one before, which waited for
	// it, and the rest waited for ten seconds ...
	assert_int_equal(held->hung_before, WINDOW / SENT_BYTES - 1);
	assert_int_equal(held->hung_frames, SENT_PACKETS);
	assert_int_equal(held->scan_timeouts, 1);
	// ... and the last packet of each of the eight, with the one before, for two; one was reset
	assert_int_equal(held->slow_before, SLOW * (SLOW_PACKETS - 2));
	assert_int_equal(held->slow_frames, SLOW * SLOW_PACKETS - 2);
	assert_int_equal(held->scan_infected, 1);
	assert_int_equal(held->scan_clean, SLOW - 1);
	assert_true(held->resets >= 2);
	assert_true(held->most_held >= SENT_PACKETS - WINDOW / SENT_BYTES);
	assert_true(plain->others->n >= 2u * OTHERS * (TURNS / 10));
	departures_equal(plain->others, held->others);
	print_message("%u frames of %u downloads left as in a run without scanning, beside %llu "
		      "packets that were held\n",
		held->others->n, OTHERS, (unsigned long long)held->most_held);
	departures_free(plain->others);
	departures_free(held->others);
	free(plain);
	free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(others_do_not_notice_files_that_wait)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
