// SPDX-License-Identifier: BSD-3-Clause
// What core.encryption costs: two cores in this process, udp on loopback, a message and its answer
// over and over; in clear, then sealed, in the same run. JSON on standard output: CPU per message
// (half of an exchange, sending and receiving, both cores), the least of the rounds; CPU of a
// handshake, both sides; memory that a session takes.
//
//   tapi_secure [--exchanges 5000] [--rounds 5]
#include <event2/event.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transportapi/core/secure.h"

enum { TYPE = TAPI_TYPE_USER, MODES = 2, HANDSHAKES = 500 };

static const uint32_t sizes[] = {64, 400, 1300, 8000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct end {
	struct tapi_core *core;
	struct tapi_conf *conf;
	struct tapi_identity identity;
	const struct end *other;
	bool asks;
	unsigned left;
	uint32_t size;
};

static struct event_base *base;

static void die(const char *why)
{
	fprintf(stderr, "tapi_secure: %s\n", why);
	exit(1);
}

static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec * 1e-3;
}

static void send_one(const struct end *end)
{
	static const uint8_t body[16384];
	const struct tapi_outgoing out = {.type = TYPE, .body = body, .length = end->size};

	if (tapi_core_send(end->core, &end->other->identity.id, &out) != TAPI_OK)
		die("a message is refused");
}

static void on_message(void *context, const struct tapi_incoming *in)
{
	struct end *end = context;

	end->size = in->length;
	if (end->asks && --end->left == 0)
		event_base_loopbreak(base);
	else
		send_one(end);
}

static void silent(void *context, int priority, const char *text)
{
	(void)context;
	(void)priority;
	(void)text;
}

static void begin(struct end *end, uint8_t who, const char *mode)
{
	struct tapi_core_options options = {.base = base, .log = silent};
	uint8_t seed[TAPI_SEED_BYTES];
	struct tapi_error error;
	char text[512];

	memset(end, 0, sizeof(*end));
	memset(seed, who, sizeof(seed));
	tapi_identity_from_seed(&end->identity, seed);
	snprintf(text, sizeof(text),
		"{\"transports\": [\"udp\"], \"acl\": {\"local\": true}, \"udp\": {\"port\": 0, "
		"\"bind\": [\"127.0.0.1\"]}, \"core\": {\"flush_us\": 0, \"encryption\": \"%s\"}}",
		mode);
	end->conf = tapi_conf_parse(text, &error);
	options.conf = end->conf;
	options.identity = &end->identity;
	if (!end->conf || tapi_core_new(&end->core, &options, &error) != TAPI_OK ||
		tapi_core_start(end->core, &error) != TAPI_OK)
		die(error.text);
	tapi_core_receive(end->core, TYPE, on_message, end);
}

static void exchange(struct end *a, uint32_t size, unsigned n)
{
	const struct timeval patience = {.tv_sec = 60};

	a->size = size;
	a->left = n;
	send_one(a);
	event_base_loopexit(base, &patience);
	event_base_dispatch(base);
	if (a->left != 0)
		die("messages are lost");
}

static void measure(const char *mode, unsigned exchanges, unsigned rounds, double least[SIZES])
{
	struct tapi_error error;
	struct end a, b;
	char text[8192];

	base = event_base_new();
	if (!base)
		die("no event base");
	begin(&a, 1, mode);
	begin(&b, 2, mode);
	a.other = &b;
	b.other = &a;
	a.asks = true;
	tapi_core_own_helos_text(b.core, text, sizeof(text));
	if (tapi_core_add_helos_text(a.core, text, &error) != TAPI_OK)
		die(error.text);
	exchange(&a, 64, 100); // until all is open
	for (unsigned i = 0; i < rounds * SIZES; i++) {
		double from_us = cpu_us(), us;

		exchange(&a, sizes[i % SIZES], exchanges);
		us = (cpu_us() - from_us) / exchanges / 2;
		if (i < SIZES || us < least[i % SIZES])
			least[i % SIZES] = us;
	}
	tapi_core_stop(a.core);
	tapi_core_stop(b.core);
	tapi_core_free(a.core);
	tapi_core_free(b.core);
	tapi_conf_free(a.conf);
	tapi_conf_free(b.conf);
	event_base_free(base);
}

static double handshake_us(void)
{
	uint8_t seed[TAPI_SEED_BYTES] = {1}, ephemeral[TAPI_KEY_BYTES] = {2}, answer[60];
	struct tapi_identity one, two;
	struct tapi_static static_1, static_2;
	struct tapi_initiation initiation;
	struct tapi_secure_message heard;
	struct tapi_keys keys;
	double from_us = cpu_us();

	tapi_identity_from_seed(&one, seed);
	tapi_identity_from_seed(&two, ephemeral);
	if (!tapi_static_of(&static_1, &one) || !tapi_static_of(&static_2, &two))
		die("no keys");
	for (unsigned i = 0; i < HANDSHAKES; i++)
		if (tapi_secure_initiate(&initiation, &one, &static_1, two.public_key, ephemeral, 1,
			    i) != TAPI_OK ||
			tapi_secure_parse(&heard, &two, &static_2, &one.id, initiation.message,
				TAPI_INITIATE_BYTES) != TAPI_OK ||
			tapi_secure_respond(&heard, seed, 2, answer, &keys) != TAPI_OK ||
			tapi_secure_finish(&initiation, &static_1, answer, sizeof(answer), &keys) !=
				TAPI_OK)
			die("no agreement");
	return (cpu_us() - from_us) / HANDSHAKES;
}

static unsigned number(const char *text)
{
	long n = strtol(text, NULL, 10);

	if (n < 1 || n > 1000000)
		die("numbers are from 1 to 1000000");
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{"exchanges", required_argument, NULL, 'e'},
		{"rounds", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	unsigned exchanges = 5000, rounds = 5;
	double least[MODES][SIZES];
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (option) {
		case 'e': exchanges = number(optarg); break;
		case 'r': rounds = number(optarg); break;
		default: die("usage: tapi_secure [--exchanges N] [--rounds N]");
		}
	measure("off", exchanges, rounds, least[0]);
	measure("require", exchanges, rounds, least[1]);
	printf("{\"handshake_us\": %.1f, \"bytes_per_session\": %zu, \"messages\": [",
		handshake_us(), sizeof(struct tapi_secure) + sizeof(struct tapi_keys));
	for (unsigned i = 0; i < SIZES; i++)
		printf("%s{\"octets\": %u, \"clear_us\": %.2f, \"sealed_us\": %.2f}",
			i != 0 ? ", " : "", sizes[i], least[0][i], least[1][i]);
	printf("]}\n");
	return 0;
}
