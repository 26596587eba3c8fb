// SPDX-License-Identifier: BSD-3-Clause
// Two cores with chaos between them, over each medium below: a fifth of all payloads is lost,
// others are doubled, late and overtaken. Peers find each other all the same; what arrives is what
// was sent, and what is lost is lost once: a later message does not suffer from it. The same with
// core.encryption, where nothing comes twice either, and over udp alone.
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "transportapi/core/core.h"

#define MESSAGES 400
#define LONGEST  5000 // in four parts by udp
#define A_TYPE   (TAPI_TYPE_USER + 7)

struct end {
	struct tapi_core *core;
	struct tapi_conf *conf;
	struct tapi_identity identity;
	unsigned times[MESSAGES], messages, distinct;
};

static struct event_base *base;
static bool encrypts, calm; // calm: without chaos

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint32_t size_of(unsigned serial)
{
	return 4 + (serial * 2654435761u >> 8) % (serial % 8 ? 900 : LONGEST - 4);
}

static uint8_t octet_of(unsigned serial, uint32_t at)
{
	return (uint8_t)(at < 4 ? serial >> (8 * at) : serial * 7 + at * 13);
}

static void on_message(void *context, const struct tapi_incoming *in)
{
	struct end *end = context;
	const uint8_t *body = in->body;
	unsigned serial;

	assert_true(in->length >= 4 && in->length <= LONGEST);
	serial = body[0] | (unsigned)body[1] << 8;
	assert_true(serial < MESSAGES);
	assert_int_equal(in->length, size_of(serial));
	for (uint32_t i = 0; i < in->length; i++)
		if (body[i] != octet_of(serial, i))
			fail_msg("message %u differs at octet %u", serial, i);
	assert_string_equal(in->transport, calm ? "udp" : "chaos");
	assert_int_equal(in->sealed, encrypts);
	end->messages++;
	end->distinct += end->times[serial]++ == 0;
}

static void silent(void *context, int priority, const char *text)
{
	(void)context;
	if (getenv("RIG_ALOUD"))
		fprintf(stderr, "<%d> %s\n", priority, text);
}

static void end_begin(struct end *end, uint8_t who, const char *below, const char *section)
{
	struct tapi_core_options options = {.base = base, .log = silent};
	uint8_t seed[TAPI_SEED_BYTES];
	struct tapi_error error;
	char text[1024];

	memset(end, 0, sizeof(*end));
	memset(seed, who, sizeof(seed));
	tapi_identity_from_seed(&end->identity, seed);
	snprintf(text, sizeof(text),
		"{\"transports\": [\"%s\"], \"acl\": {\"local\": true}, \"core\": "
		"{\"validate\": \"eager\", \"ping_wait_ms\": 100, \"retry_min_ms\": 20, "
		"\"ping_address_s\": 0, \"flush_us\": 0, \"flush_stream_us\": 0, \"ping_per_s\": "
		"1000, \"ping_prefix_per_min\": 1000, \"encryption\": \"%s\", "
		"\"rekey_msgs\": 100}, "
		"\"chaos\": {\"below\": \"%s\", \"seed\": %u, \"drop_ppm\": 200000, "
		"\"duplicate_ppm\": 100000, \"reorder_ppm\": 200000, \"jitter_ms\": 2}, %s}",
		calm ? "udp" : "chaos",
		!encrypts  ? "off"
		: who == 1 ? "prefer"
			   : "require",
		below, who, section);
	end->conf = tapi_conf_parse(text, &error);
	options.conf = end->conf;
	options.identity = &end->identity;
	if (!end->conf || tapi_core_new(&end->core, &options, &error) != TAPI_OK ||
		tapi_core_start(end->core, &error) != TAPI_OK)
		fail_msg("%s: %s", text, error.text);
	tapi_core_receive(end->core, A_TYPE, on_message, end);
}

static void end_end(struct end *end)
{
	tapi_core_stop(end->core);
	tapi_core_free(end->core);
	tapi_conf_free(end->conf);
}

static void nothing(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	(void)context;
}

static void run_ms(unsigned ms)
{
	const struct timeval tv = {.tv_usec = (suseconds_t)ms * 1000};
	struct event *alarm = evtimer_new(base, nothing, NULL);
	uint64_t end = now_us() + ms * 1000;

	while (now_us() < end) {
		evtimer_add(alarm, &tv);
		event_base_loop(base, EVLOOP_ONCE);
	}
	event_free(alarm);
}

static void send_one(struct end *from, const struct end *to, unsigned serial)
{
	static uint8_t body[LONGEST];
	struct tapi_outgoing out = {.type = A_TYPE, .body = body, .length = size_of(serial)};
	enum tapi_result result;

	for (uint32_t i = 0; i < out.length; i++)
		body[i] = octet_of(serial, i);
	while ((result = tapi_core_send(from->core, &to->identity.id, &out)) == TAPI_DROPPED)
		run_ms(2); // the queue is full
	assert_int_equal(result, TAPI_OK);
}

static uint64_t counter(const struct end *end, const char *name)
{
	char *text = tapi_core_stats_json(end->core, false), pattern[64], *at;
	uint64_t value;

	assert_non_null(text);
	snprintf(pattern, sizeof(pattern), "\"%s\":", name);
	at = strstr(text, pattern);
	assert_non_null(at);
	value = strtoull(at + strlen(pattern), NULL, 10);
	free(text);
	return value;
}

static void storm(const char *below, const char *section_a, const char *section_b)
{
	struct tapi_error error;
	struct end a, b;
	char text[8192];

	base = event_base_new();
	assert_non_null(base);
	end_begin(&a, 1, below, section_a);
	end_begin(&b, 2, below, section_b);
	assert_true(tapi_core_own_helos_text(a.core, text, sizeof(text)) > 0);
	if (tapi_core_add_helos_text(b.core, text, &error) != TAPI_OK)
		fail_msg("%s", error.text);
	for (unsigned i = 0; i < MESSAGES; i++) {
		send_one(&b, &a, i);
		if (i % 10 == 9)
			run_ms(1);
	}
	for (unsigned ms = 0; ms < 10000 && a.distinct < MESSAGES / 2; ms += 20)
		run_ms(20);
	run_ms(100);
	// A fifth is lost; of those in four parts, three fifths.
	assert_in_range(a.distinct, MESSAGES / 2, MESSAGES);
	if (!calm) {
		assert_true(counter(&b, "fault_dropped") > 10);
		assert_true(counter(&b, "fault_doubled") > 0);
		assert_true(counter(&b, "fault_delayed") > 0);
	}
	if (encrypts) {
		assert_int_equal(a.messages, a.distinct);
		assert_true(counter(&b, "secure_made") >= 2); // new keys under load
		assert_true(counter(&a, "sealed_received") >= a.distinct / 10);
		assert_int_equal(counter(&a, "sealed_bad") + counter(&b, "secure_bad"), 0);
		assert_int_equal(counter(&a, "clear_dropped"), 0);
	}
	assert_int_equal(counter(&a, "crc_bad"), 0);
	assert_int_equal(counter(&a, "malformed"), 0);
	assert_true(counter(&b, "pong_received") >= 1);
	end_end(&a);
	end_end(&b);
	event_base_free(base);
}

static void over_udp(void **state)
{
	const char *section = "\"udp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}";

	(void)state;
	storm("udp", section, section);
}

static void over_tcp(void **state)
{
	const char *section = "\"tcp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}";

	(void)state;
	storm("tcp", section, section);
}

static void over_unix(void **state)
{
	char folder[] = "/tmp/tapi-weather.XXXXXX", a[128], b[128];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(a, sizeof(a), "\"unix\": {\"path\": \"%s/a\"}", folder);
	snprintf(b, sizeof(b), "\"unix\": {\"path\": \"%s/b\"}", folder);
	storm("unix", a, b);
	assert_int_equal(rmdir(folder), 0);
}

static int sealed(void **state)
{
	(void)state;
	encrypts = true;
	return 0;
}

static int sealed_calm(void **state)
{
	calm = true;
	return sealed(state);
}

static int as_before(void **state)
{
	(void)state;
	encrypts = calm = false;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_udp),
		cmocka_unit_test(over_tcp),
		cmocka_unit_test(over_unix),
		cmocka_unit_test_setup_teardown(over_udp, sealed, as_before),
		cmocka_unit_test_setup_teardown(over_tcp, sealed, as_before),
		cmocka_unit_test_setup_teardown(over_udp, sealed_calm, as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
