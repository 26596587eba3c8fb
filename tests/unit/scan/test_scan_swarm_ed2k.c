// SPDX-License-Identifier: BSD-3-Clause
// An eDonkey file from two sources, through the whole path: its parts are scanned as one file,
// which its id proves; infected, the id is condemned, and whoever names it is refused.
#include "content/edonkey/md4.h"
#include "lib/pipeline/swarm_gate.h"

#define SIZE 3000u
#define HALF 1500u
#define PORT 4662

static uint8_t file[SIZE], hash[MD4_BYTES];

static void make_file(bool evil)
{
	struct md4 md4;

	for (uint32_t i = 0; i < SIZE; i++)
		file[i] = (uint8_t)(i * 7919 >> 5);
	if (evil)
		memcpy(file + HALF - 4, EVIL, strlen(EVIL)); // in neither half
	md4_begin(&md4);
	md4_add(&md4, file, SIZE);
	md4_end(&md4, hash);
}

// ---- frames ----

struct frames {
	uint8_t bytes[2000];
	size_t length;
};

static void put(struct frames *frames, const void *bytes, size_t length)
{
	assert_true(frames->length + length <= sizeof(frames->bytes));
	memcpy(frames->bytes + frames->length, bytes, length);
	frames->length += length;
}

static void put_32(struct frames *frames, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		put(frames, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

static void frame(
	struct frames *frames, uint8_t protocol, uint8_t opcode, const struct frames *body)
{
	put(frames, &protocol, 1);
	put_32(frames, (uint32_t)body->length + 1);
	put(frames, &opcode, 1);
	put(frames, body->bytes, body->length);
}

static void hello(struct frames *frames, bool answers)
{
	static const char user[] =
		"ABCDE\x0eGHIJKLMN\x6fP\1\2\3\4\x36\x12\1\0\0\0\x02\1\0\1\4\0wren\0\0\0\0\0";
	struct frames body = {.length = 0};

	if (!answers)
		put(&body, "\x10", 1);
	put(&body, user, sizeof(user)); // with its end, the last byte of a port
	frame(frames, 0xe3, answers ? 0x4c : 0x01, &body);
}

// It asks for the file, by its id and size.
static void ask(struct frames *frames)
{
	struct frames body = {.length = 0};

	put(&body, hash, sizeof(hash));
	put_32(&body, SIZE);
	put_32(&body, 0);
	put(&body, "\x58\x4f", 2);
	frame(frames, 0xc5, 0xa4, &body);
}

static void answer_name(struct frames *frames)
{
	struct frames body = {.length = 0};

	put(&body, hash, sizeof(hash));
	put(&body, "\x59\x08\0film.avi", 11);
	frame(frames, 0xc5, 0x93, &body);
}

static void send_part(struct frames *frames, uint32_t from, uint32_t length)
{
	struct frames body = {.length = 0};

	put(&body, hash, sizeof(hash));
	put_32(&body, from);
	put_32(&body, from + length);
	put(&body, file + from, length);
	frame(frames, 0xe3, 0x46, &body);
}

static unsigned says_frames(struct gate *gate, struct gate_tcp *tcp, bool server,
	const struct frames *frames, struct left *left)
{
	unsigned n = gate_send(gate, tcp, server, frames->bytes, frames->length);

	take(gate, left, 0, n);
	passes(gate, 0, left);
	return n;
}

static void talk(struct gate *gate, struct gate_tcp *tcp, uint16_t sport)
{
	struct frames there = {.length = 0}, back = {.length = 0};
	struct left left = {0};

	*tcp = gate_connect(gate, 1, sport, PORT);
	hello(&there, false);
	hello(&back, true);
	assert_int_equal(says_frames(gate, tcp, false, &there, &left), 1);
	assert_int_equal(says_frames(gate, tcp, true, &back, &left), 1);
	there.length = back.length = 0;
	ask(&there);
	answer_name(&back);
	assert_int_equal(says_frames(gate, tcp, false, &there, &left), 1);
	assert_int_equal(says_frames(gate, tcp, true, &back, &left), 1);
}

static void two_sources_have_a_half_each(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = swarm_world(1, SCANS(""));
		struct frames part = {.length = 0};
		struct gate_tcp one, two, next;
		struct left left = {0};

		make_file(evil);
		talk(gate, &one, 42000);
		talk(gate, &two, 42001);
		send_part(&part, HALF, SIZE - HALF - 1000);
		says_frames(gate, &two, true, &part, &left);
		part.length = 0;
		send_part(&part, SIZE - 1000, 1000);
		says_frames(gate, &two, true, &part, &left);
		part.length = 0;
		send_part(&part, 0, 1000);
		says_frames(gate, &one, true, &part, &left);
		assert_int_equal(jobs_seen, 0);
		assert_true(left.length > 2500); // nothing waits but what completes it
		left = (struct left){0};
		part.length = 0;
		send_part(&part, 1000, HALF - 1000);
		says_frames(gate, &one, true, &part, &left);
		assert_int_equal(left.length, 0);
		passes(gate, 0.6, &left);
		assert_int_equal(jobs_seen, 1);
		assert_int_equal(last_to, SIZE);
		assert_int_equal(stats(gate).swarm_proven, 1);
		assert_int_equal(left.length > 0, !evil);
		assert_int_equal(left.resets >= 2, evil);
		assert_int_equal(stats(gate).swarm_condemned, evil);
		json_t *alert = gate_event(gate, "alert");
		const char *id = json_string_value(
			json_object_get(json_object_get(alert, "scan"), "content_id"));

		assert_int_equal(alert != NULL, evil);
		if (evil)
			assert_memory_equal(id, "ed2k:", 5);
		json_decref(alert);
		// whoever names it is refused, before anything of it comes
		struct frames there = {.length = 0};

		next = gate_connect(gate, 1, 42002, PORT);
		hello(&there, false);
		assert_int_equal(says_frames(gate, &next, false, &there, &left), 1);
		there.length = 0;
		hello(&there, true);
		assert_int_equal(says_frames(gate, &next, true, &there, &left), 1);
		there.length = 0;
		ask(&there);
		left = (struct left){0};
		says_frames(gate, &next, false, &there, &left);
		assert_int_equal(left.resets >= 2, evil);
		assert_int_equal(stats(gate).content_ids_refused, evil);
		gives_up(gate, &one);
		gives_up(gate, &two);
		gives_up(gate, &next);
		swarm_world_free(gate);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_sources_have_a_half_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
