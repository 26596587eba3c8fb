// SPDX-License-Identifier: BSD-3-Clause
// A Direct Connect file that is asked for in parts, through the whole path: only the last of them
// says where the file ends, and all are scanned as one file.
#include "lib/pipeline/swarm_gate.h"

#define ROOT   "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ"
#define PART   (64u << 10) // programs ask for multiples of it
#define SIZE   (PART + 1500u)
#define PIECE  1024u
#define STRICT SCANS("'unscanned':{'protocol':'reset'}")

static char file[SIZE];

static void make_file(bool evil)
{
	for (uint32_t i = 0; i < SIZE; i++)
		file[i] = (char)(i * 7919 >> 5);
	if (evil)
		memcpy(file + PART - 4, EVIL, strlen(EVIL)); // in neither part
}

static struct left to_client(struct gate *gate, struct gate_tcp *tcp, const char *text)
{
	struct left left = {0};

	says(gate, tcp, text, &left);
	return left;
}

static struct gate_tcp talk(struct gate *gate, uint16_t sport)
{
	static const char there[] = "$MyNick alice|$Lock EXTENDEDPROTOCOLABC Pk=x|"
				    "$Supports ADCGet TTHF |$Direction Download 2|$Key x|";
	struct gate_tcp tcp = gate_connect(gate, 1, sport, 1412);

	assert_int_equal(gate_send(gate, &tcp, false, there, strlen(there)), 1);
	to_client(gate, &tcp,
		"$MyNick bob|$Lock EXTENDEDPROTOCOLABC Pk=x|"
		"$Supports ADCGet TTHF |$Direction Upload 1|$Key x|");
	return tcp;
}

// What is asked for and sent; how much of it left at once.
static size_t part(struct gate *gate, struct gate_tcp *tcp, uint32_t from, uint32_t bytes)
{
	char line[120];
	struct left left = {0};
	size_t all = 0;

	snprintf(line, sizeof(line), "$ADCGET file TTH/" ROOT " %u %u|", from, bytes);
	assert_int_equal(gate_send(gate, tcp, false, line, strlen(line)), 1);
	snprintf(line, sizeof(line), "$ADCSND file TTH/" ROOT " %u %u|", from, bytes);
	to_client(gate, tcp, line);
	for (uint32_t at = 0; at < bytes; at += PIECE, all += left.length) {
		unsigned n =
			gate_send(gate, tcp, true, file + from + at, RTE_MIN(PIECE, bytes - at));

		left.length = 0;
		take(gate, &left, 0, n);
		passes(gate, 0, &left);
	}
	return all;
}

static void parts_are_scanned_as_one_file(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = swarm_world(1, STRICT);
		struct gate_tcp tcp = talk(gate, 42000);
		struct left left = {0};

		make_file(evil);
		part(gate, &tcp, 0, PART);
		passes(gate, 0.6, &left); // nothing was found in what is there
		assert_true(left.length > 0);
		assert_int_equal(left.resets, 0);
		left = (struct left){0};
		assert_true(part(gate, &tcp, PART, SIZE - PART) < SIZE - PART);
		passes(gate, 1.2, &left); // a pause within it was one more end
		assert_int_equal(last_to, SIZE);
		assert_int_equal(left.length > 0, !evil);
		assert_int_equal(left.resets >= 2, evil);
		assert_int_equal(stats(gate).scan_unscanned, 0);
		assert_int_equal(stats(gate).scan_infected, evil);
		gives_up(gate, &tcp);
		swarm_world_free(gate);
	}
}

// The last part comes first, on a connection of its own: it is not the file, and the policy has it.
static void a_part_alone_is_no_file(void **state)
{
	struct gate *gate = swarm_world(1, STRICT);
	struct gate_tcp tcp = talk(gate, 42000);
	struct left left = {0};

	(void)state;
	make_file(false);
	part(gate, &tcp, PART, SIZE - PART);
	passes(gate, 0.6, &left);
	assert_int_equal(jobs_seen, 0);
	assert_int_equal(stats(gate).scan_unscanned, 1);
	assert_true(stats(gate).content_refused > 0);
	gives_up(gate, &tcp);
	swarm_world_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_scanned_as_one_file),
		cmocka_unit_test(a_part_alone_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
