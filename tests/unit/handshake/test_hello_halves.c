// SPDX-License-Identifier: BSD-3-Clause
// A connection of QUIC or DTLS, and beside it, at each place, hellos that somebody else sends on
// the same addresses and ports: as the other end, or as a neighbour of the client in its name. What
// is said on one half never makes the other half's hello unread, nor its answers suspect.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "lib/pipeline/pipe.h"
#include "lib/packet/quic_craft.h"
#include "classify/user_apps.h"

#define BLOCKED    ((uint16_t)(app_count() + 1))
#define BLOCKED_AT "bad.example"
#define FREE_AT    "fun.example" // of equal length
#define HONEST     2             // first byte of what tells connections apart; forged: from 16 on

enum protocol {
	QUIC,
	DTLS,
	PROTOCOLS,
};

static struct rig *rig; // the repository's signatures

struct world {
	struct pipe *pipe;
	enum protocol protocol;
	bool outside; // the client is
	uint16_t port;
};

static struct world stage_with(
	enum protocol protocol, bool outside, const struct lcore_limits *limits)
{
	struct world world = {pipe_new(1, limits), protocol, outside, 40000};

	pipe_signatures(world.pipe, rig->db);
	struct policy *policy = pipe_policy(world.pipe);
	struct rule *rule = pipe_rule_app(policy, 7, ACTION_DROP, "quic");

	memset(&rule->apps, 0, sizeof(rule->apps));
	app_set_add(&rule->apps, BLOCKED);
	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	user_apps_add(policy->user_apps, BLOCKED);
	assert_int_equal(user_apps_add_host(policy->user_apps, BLOCKED, BLOCKED_AT), 0);
	pipe_publish(world.pipe, policy);
	return world;
}

static struct world stage(enum protocol protocol, bool outside)
{
	return stage_with(protocol, outside, NULL);
}

// True: it was forwarded.
static bool arrives(const struct world *world, bool of_server, const uint8_t *bytes, size_t length)
{
	const struct pipe_packet packet = {.proto = IPPROTO_UDP,
		.from_outside = of_server != world->outside,
		.sport = world->port,
		.dport = 443,
		.payload = bytes,
		.payload_length = (uint16_t)length};

	world->pipe->n_sent = 0;
	return pipe_run(world->pipe, 0, &packet) > 0;
}

// Part `part` of `n` of a hello in the name of either end, each in a datagram of its own.
struct part {
	bool of_server;
	uint8_t id;
	const char *name;
	unsigned part, n;
};

static bool quic(const struct world *world, const struct part *part)
{
	const uint8_t cid[8] = {part->id, 2, 3, 4, 5, 6, 7, 8};
	const struct quic_packet packet = {.version = 1,
		.cid = cid,
		.cid_length = sizeof(cid),
		.number = part->part,
		.number_length = 1,
		.padded_to = 1200};
	uint8_t hello[2048], frames[2048], out[2048];
	size_t length = quic_hello(part->name, part->n > 1 ? 1200 : 0, hello);
	size_t begin = length * part->part / part->n, end = length * (part->part + 1) / part->n;

	length = quic_seal(&packet, frames,
		quic_crypto_frame(6, (uint32_t)begin, hello + begin, end - begin, frames), out);
	return arrives(world, part->of_server, out, length);
}

static bool dtls(const struct world *world, const struct part *part)
{
	uint8_t hello[512], out[1024] = {22, 0xfe, 0xfd, [13] = 1};
	size_t length = quic_hello(part->name, 0, hello) - 4 + 1; // with a cookie's length

	memmove(hello, hello + 4, length - 1);
	memmove(hello + 36, hello + 35, length - 36);
	hello[0] = 0xfe;
	hello[1] = 0xfd;
	memset(hello + 2, part->id, 32);
	hello[35] = 0;
	size_t begin = length * part->part / part->n;
	size_t here = length * (part->part + 1) / part->n - begin;

	out[10] = (uint8_t)part->part;
	out[11] = (uint8_t)((here + 12) >> 8);
	out[12] = (uint8_t)(here + 12);
	out[15] = (uint8_t)(length >> 8);
	out[16] = (uint8_t)length;
	out[20] = (uint8_t)(begin >> 8);
	out[21] = (uint8_t)begin;
	out[23] = (uint8_t)(here >> 8);
	out[24] = (uint8_t)here;
	memcpy(out + 25, hello + begin, here);
	return arrives(world, part->of_server, out, 25 + here);
}

static bool say(const struct world *world, const struct part *part)
{
	return world->protocol == QUIC ? quic(world, part) : dtls(world, part);
}

// The server's hello to the connection of that id, or only an acknowledgement (QUIC).
static bool answer(const struct world *world, uint8_t id, bool hello, uint32_t number)
{
	static const uint8_t server_hello[] = {22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 2, 0,
		0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0xfe, 0xfd};
	const uint8_t cid[8] = {id, 2, 3, 4, 5, 6, 7, 8};
	const struct quic_packet packet = {.version = 1,
		.cid = cid,
		.keyed = cid,
		.keyed_length = sizeof(cid),
		.number = number,
		.number_length = 1,
		.of_server = true,
		.padded_to = 1200};
	uint8_t message[90] = {2, 0, 0, 86, 3, 3}, frames[200] = {2, 0, 0, 0, 0}, out[2048];
	size_t length = 5;

	if (world->protocol == DTLS)
		return arrives(world, true, server_hello, sizeof(server_hello));
	if (hello)
		length += quic_crypto_frame(6, 0, message, sizeof(message), frames + 5);
	return arrives(world, true, out, quic_seal(&packet, frames, length, out));
}

// What the forger says.
enum forgery {
	WHOLE,
	WHOLE_OFTEN,
	BEGINNING,
	BEGINNINGS, // of more connections than are remembered
	END,        // of a hello, without its beginning
	REFUSED,    // with a name that a rule refuses
	EARLY,      // QUIC: 0-RTT
	JUNK,       // an Initial that nothing opens
	FORGERIES,
};

static const char *const forgery_names[] = {"a whole hello", "whole hellos", "a beginning",
	"beginnings", "an end", "a refused name", "early data", "junk"};

static void forge(const struct world *world, bool of_server, enum forgery forgery)
{
	struct part part = {of_server, 16, FREE_AT, 0, 1};
	unsigned times = forgery == WHOLE_OFTEN || forgery == BEGINNINGS ? 20 : 1;
	uint8_t long_header[1200] = {0xd0, 0, 0, 0, 1, 8, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0x44, 0};

	if (forgery == JUNK) { // with a token's length in front
		long_header[0] = 0xc0;
		memcpy(long_header + 15, "\0\x44", 3);
	}
	if (forgery == EARLY || forgery == JUNK) {
		arrives(world, of_server, long_header, sizeof(long_header));
		return;
	}
	if (forgery == BEGINNING || forgery == BEGINNINGS || forgery == END)
		part.n = 2;
	part.part = forgery == END;
	if (forgery == REFUSED)
		part.name = BLOCKED_AT;
	for (unsigned i = 0; i < times; i++, part.id++)
		say(world, &part);
}

struct story {
	enum protocol protocol;
	bool outside; // the client is
	unsigned n;   // datagrams of its hello
	bool backwards;
	enum forgery forgery;
	bool of_server; // in whose name it is
	unsigned at;    // before which packet
	bool often;     // and before each one behind that
};

#define TOLD_MAX 20
static unsigned n_told; // stories that went wrong

static void tell(const struct story *story, const char *what)
{
	if (n_told++ >= TOLD_MAX)
		return;
	print_message("%s, client %s, hello in %u%s, %s as the %s before packet %u%s: %s\n",
		story->protocol == QUIC ? "QUIC" : "DTLS", story->outside ? "outside" : "inside",
		story->n, story->backwards ? " backwards" : "", forgery_names[story->forgery],
		story->of_server ? "server" : "client", story->at, story->often ? " and each" : "",
		what);
}

static void forge_at(const struct world *world, const struct story *story, unsigned packet)
{
	if (packet == story->at || (story->often && packet > story->at))
		forge(world, story->of_server, story->forgery);
}

static unsigned part_of(const struct story *story, unsigned i)
{
	return story->backwards ? story->n - 1 - i % story->n : i % story->n;
}

// All that the honest ends send is forwarded.
static void connects(const struct world *world, const struct story *story)
{
	unsigned packet = 0;

	for (unsigned i = 0; i < story->n; i++) {
		const struct part part = {false, HONEST, FREE_AT, part_of(story, i), story->n};

		forge_at(world, story, packet++);
		if (!say(world, &part))
			tell(story, "a part of the hello is lost");
	}
	for (unsigned i = 0; i < 4; i++) {
		forge_at(world, story, packet++);
		if (!answer(world, HONEST, i != 1, i))
			tell(story, "an answer is lost");
	}
	for (unsigned i = 0; i < 30; i++) {
		forge_at(world, story, packet++);
		if (!arrives(world, i & 1, (const uint8_t *)"\x43 later", 7))
			tell(story, "what follows is lost");
	}
}

// Not all parts of a hello with a refused name leave, however often they come.
static void stays(const struct world *world, const struct story *story)
{
	unsigned left = 0;

	for (unsigned i = 0; i < 3 * story->n && left + 1 < 1u << story->n; i++) {
		const struct part part = {false, HONEST, BLOCKED_AT, part_of(story, i), story->n};

		forge_at(world, story, i);
		if (say(world, &part))
			left |= 1u << part.part;
	}
	if (left + 1 == 1u << story->n)
		tell(story, "the name has left");
}

typedef void (*story_fn)(const struct world *world, const struct story *story);

// Each on ports of its own.
static void each_place(story_fn run, struct story *story, unsigned packets)
{
	struct world world = stage(story->protocol, story->outside);

	for (unsigned i = 0; i <= packets; i++, world.port++) {
		story->often = i == packets;
		story->at = story->often ? 0 : i;
		run(&world, story);
	}
	pipe_free(world.pipe);
}

static void each_story(story_fn run, bool of_server, unsigned packets)
{
	struct story story = {.of_server = of_server};

	n_told = 0;
	for (unsigned i = 0; i < 16; i++) {
		story.protocol = i & 1 ? DTLS : QUIC;
		story.outside = i & 2;
		story.n = i & 4 ? 2 : 1;
		story.backwards = i & 8;
		if (story.n == 1 && story.backwards)
			continue;
		for (story.forgery = 0; story.forgery < FORGERIES; story.forgery++)
			each_place(run, &story, packets);
	}
	assert_int_equal(n_told, 0);
}

static void the_client_connects_whatever_is_forged_as_its_server(void **state)
{
	(void)state;
	each_story(connects, true, 9);
}

static void a_refused_name_stays_whatever_is_forged_as_the_server(void **state)
{
	(void)state;
	each_story(stays, true, 6);
}

static void a_refused_name_stays_whatever_a_neighbour_forges(void **state)
{
	(void)state;
	each_story(stays, false, 6);
}

static unsigned states_used(const struct world *world)
{
	const struct classifier *classifier = world->pipe->dp.lcores[0]->classifier;

	return classifier_states_max(classifier) - classifier_states_free(classifier);
}

static void a_flow_has_two_states_at_most(void **state)
{
	(void)state;
	for (enum protocol protocol = 0; protocol < PROTOCOLS; protocol++) {
		struct world world = stage(protocol, false);
		struct part part = {false, HONEST, FREE_AT, 0, 2};

		assert_true(say(&world, &part));
		assert_int_equal(states_used(&world), 1);
		for (enum forgery forgery = 0; forgery < FORGERIES; forgery++) {
			forge(&world, true, forgery);
			assert_in_range(states_used(&world), 1, 2);
		}
		assert_int_equal(states_used(&world), 2);
		part.part = 1;
		assert_true(say(&world, &part));
		assert_true(answer(&world, HONEST, true, 0)); // the client's is over
		assert_int_equal(states_used(&world), 1);
		pipe_advance(world.pipe, 3600);
		pipe_turns(world.pipe);
		assert_int_equal(states_used(&world), 0);
		pipe_free(world.pipe);
	}
}

static void without_a_second_state_a_hello_does_not_pass(void **state)
{
	struct lcore_limits limits = pipe_limits();
	(void)state;

	limits.classifying = 1;
	for (enum protocol protocol = 0; protocol < PROTOCOLS; protocol++) {
		struct world world = stage_with(protocol, false, &limits);
		struct part part = {false, HONEST, BLOCKED_AT, 0, 2};
		const struct part other = {true, 16, FREE_AT, 0, 2};

		assert_true(say(&world, &part));
		assert_false(say(&world, &other));
		part.part = 1;
		assert_false(say(&world, &part));
		pipe_free(world.pipe);
	}
}

static int teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_client_connects_whatever_is_forged_as_its_server),
		cmocka_unit_test(a_refused_name_stays_whatever_is_forged_as_the_server),
		cmocka_unit_test(a_refused_name_stays_whatever_a_neighbour_forges),
		cmocka_unit_test(a_flow_has_two_states_at_most),
		cmocka_unit_test(without_a_second_state_a_hello_does_not_pass),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, teardown);
}
