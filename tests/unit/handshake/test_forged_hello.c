// SPDX-License-Identifier: BSD-3-Clause
// A hello of QUIC or DTLS with a name that a rule refuses, forged as the server, ahead of the
// client's own: that one is read by itself, and leaves; one that is refused itself does not.
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
#define FORGED     1 // also the first byte of what tells connections apart
#define HONEST     2

static struct rig *rig; // the repository's signatures

static struct pipe *stage(void)
{
	struct pipe *pipe = pipe_new(1, NULL);

	pipe_signatures(pipe, rig->db);
	struct policy *policy = pipe_policy(pipe);
	struct rule *rule = pipe_rule_app(policy, 7, ACTION_DROP, "quic");

	memset(&rule->apps, 0, sizeof(rule->apps));
	app_set_add(&rule->apps, BLOCKED);
	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	user_apps_add(policy->user_apps, BLOCKED);
	assert_int_equal(user_apps_add_host(policy->user_apps, BLOCKED, BLOCKED_AT), 0);
	pipe_publish(pipe, policy);
	return pipe;
}

// True: it was forwarded.
static bool arrives(struct pipe *pipe, bool of_server, const uint8_t *bytes, size_t length)
{
	const struct pipe_packet packet = {.proto = IPPROTO_UDP,
		.from_outside = of_server,
		.dport = 443,
		.payload = bytes,
		.payload_length = (uint16_t)length};

	pipe->n_sent = 0;
	return pipe_run(pipe, 0, &packet) > 0;
}

// Part `part` of `n` of a hello, each in a datagram of its own.
static bool quic(struct pipe *pipe, uint8_t who, const char *name, unsigned part, unsigned n)
{
	const uint8_t cid[8] = {who, 2, 3, 4, 5, 6, 7, 8};
	const struct quic_packet packet = {.version = 1,
		.cid = cid,
		.cid_length = sizeof(cid),
		.number = part,
		.number_length = 1,
		.padded_to = 1200};
	uint8_t hello[2048], frames[2048], out[2048];
	size_t length = quic_hello(name, n > 1 ? 1200 : 0, hello);
	size_t begin = length * part / n, end = length * (part + 1) / n;

	length = quic_seal(&packet, frames,
		quic_crypto_frame(6, (uint32_t)begin, hello + begin, end - begin, frames), out);
	return arrives(pipe, who == FORGED, out, length);
}

static bool dtls(struct pipe *pipe, uint8_t who, const char *name, unsigned part, unsigned n)
{
	uint8_t hello[512], out[1024] = {22, 0xfe, 0xfd, [13] = 1};
	size_t length = quic_hello(name, 0, hello) - 4 + 1; // with a cookie's length

	memmove(hello, hello + 4, length - 1);
	memmove(hello + 36, hello + 35, length - 36);
	hello[0] = 0xfe;
	hello[1] = 0xfd;
	memset(hello + 2, who, 32);
	hello[35] = 0;
	size_t begin = length * part / n, here = length * (part + 1) / n - begin;

	out[10] = (uint8_t)part;
	out[11] = (uint8_t)((here + 12) >> 8);
	out[12] = (uint8_t)(here + 12);
	out[15] = (uint8_t)(length >> 8);
	out[16] = (uint8_t)length;
	out[20] = (uint8_t)(begin >> 8);
	out[21] = (uint8_t)begin;
	out[23] = (uint8_t)(here >> 8);
	out[24] = (uint8_t)here;
	memcpy(out + 25, hello + begin, here);
	return arrives(pipe, who == FORGED, out, 25 + here);
}

typedef bool (*say_fn)(struct pipe *pipe, uint8_t who, const char *name, unsigned part, unsigned n);

static void the_clients_hello_leaves(say_fn say)
{
	for (unsigned n = 1; n <= 2; n++) {
		struct pipe *pipe = stage();

		assert_false(say(pipe, FORGED, BLOCKED_AT, 0, 1));
		for (unsigned i = 0; i < 3 * n; i++)
			if (!say(pipe, HONEST, "fun.example", i % n, n)) // a name of equal length
				fail_msg("datagram %u of a hello in %u is lost", i, n);
		pipe_free(pipe);
	}
}

static void a_forged_quic_hello_costs_the_client_nothing(void **state)
{
	(void)state;
	the_clients_hello_leaves(quic);
}

static void a_forged_dtls_hello_costs_the_client_nothing(void **state)
{
	(void)state;
	the_clients_hello_leaves(dtls);
}

// However often, and with a hello of another connection between.
static void a_part_that_was_refused_stays_out(void **state)
{
	static const say_fn says[] = {quic, dtls};
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		struct pipe *pipe = stage();

		assert_true(says[i](pipe, HONEST, BLOCKED_AT, 0, 2));
		assert_false(says[i](pipe, HONEST, BLOCKED_AT, 1, 2));
		assert_false(says[i](pipe, HONEST, BLOCKED_AT, 1, 2));
		assert_true(says[i](pipe, HONEST + 1, "other.example", 0, 1));
		assert_false(says[i](pipe, HONEST, BLOCKED_AT, 1, 2));
		pipe_free(pipe);
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
		cmocka_unit_test(a_forged_quic_hello_costs_the_client_nothing),
		cmocka_unit_test(a_forged_dtls_hello_costs_the_client_nothing),
		cmocka_unit_test(a_part_that_was_refused_stays_out),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, teardown);
}
