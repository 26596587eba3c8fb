// SPDX-License-Identifier: BSD-3-Clause
// States of the classifier are known by the flow that took them: where none is left, that flow is
// ended. Also of one that is taken later, while a queue is drained in the lcore's turns, and
// packets of others have come between.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/table.h"

static const char handshake[] =
	"\x13"
	"BitTorrent protocol\0\0\0\0\0\0\0\0abcdefghij0123456789-TR3000-0123456789ab";
#define OCTETS (sizeof(handshake) - 1)

// Of an application with a decoder; found by more octets than one packet has drained.
static struct sigdb *late_signature(void)
{
	struct signature late = {
		.id = "late",
		.app = app_find("bittorrent"),
		.l4 = IPPROTO_TCP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.min_length = 60,
		.dotall = true,
		.pattern = "^\\x13BitTorrent protocol.{40}",
	};
	struct sigdb *db;
	char err[256];

	if (sigdb_new(&late, 1, NULL, &db, NULL, err, sizeof(err)))
		fail_msg("%s", err);
	return db;
}

static void segment(struct pipe *pipe, unsigned at)
{
	struct pipe_packet octet = {
		.seq = 1001 + at, .ack = 5001, .payload = &handshake[at], .payload_length = 1};

	pipe_run(pipe, 0, &octet);
}

static void of_a_queue_that_is_drained_later(void **state)
{
	static const struct pipe_packet syn = {.seq = 1000, .tcp_flags = TH_SYN},
					syn_ack = {.from_outside = true,
						.seq = 5000,
						.ack = 1001,
						.tcp_flags = TH_SYN | TH_ACK},
					other = {.proto = IPPROTO_UDP,
						.sport = 40001,
						.dport = 9,
						.payload = "of none",
						.payload_length = 7};
	struct pipe *pipe = pipe_new(1, NULL);
	struct sigdb *db = late_signature();
	const struct lcore *lcore = pipe->dp.lcores[0];
	uint32_t owner;
	unsigned n = 0;

	(void)state;
	pipe_signatures(pipe, db);
	pipe_publish(pipe, pipe_policy(pipe));
	pipe_run(pipe, 0, &syn);
	pipe_run(pipe, 0, &syn_ack);
	for (unsigned at = OCTETS; at-- > 1;)
		segment(pipe, at);
	segment(pipe, 0);
	assert_int_equal(pipe_stats(pipe).classify_done, 0); // the rest waits for a turn
	pipe_run(pipe, 0, &other);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).classify_done, 1);
	for (unsigned rank = 0; rank < CLASSIFY_RANKS; rank++) {
		if (!classifier_oldest(lcore->classifier, rank, &owner))
			continue;
		n++;
		assert_int_not_equal(
			flow_at(lcore->flows, owner)->decoder_state, CLASSIFY_NO_STATE);
	}
	assert_int_equal(n, 1);
	pipe_free(pipe);
	sigdb_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_queue_that_is_drained_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
