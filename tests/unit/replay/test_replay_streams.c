// SPDX-License-Identifier: BSD-3-Clause
// Replay's rows of streams: what was consumed, and nothing else, whatever the policy decides.
#include "replay/streams.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/flow/table.h"
#include "lib/pipeline/pipe.h"

#define HEAD "pcap,flow,isn,bytes,dup,conflict,gaps,sha256\n"
// sha256sum of what the name says
#define SHA_ABC      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA_HELLO    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define SHA_ABCHELLO "2cb9c710242d0e384bb068a76a664a10f3970c7e81d58059378cfd5f5ba12b0f"

struct stage_set {
	struct pipe *pipe;
	struct streams *streams;
	struct lcore *lcore;
};

static struct stage_set begin(void)
{
	struct lcore_limits limits = pipe_limits();
	struct stage_set on = {.pipe = pipe_new(1, &limits)};

	on.lcore = on.pipe->dp.lcores[0];
	on.streams = streams_new(1, limits.flows);
	assert_non_null(on.streams);
	streams_input(on.streams, "x.pcap");
	on.lcore->tap = streams_tap(on.streams);
	return on;
}

// What would be in the file now; to be freed.
static char *text(const struct streams *streams, int want)
{
	char *out = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&out, &length);

	assert_non_null(file);
	assert_int_equal(streams_write(streams, file), want);
	assert_int_equal(fclose(file), 0);
	return out;
}

static void end(struct stage_set *on, const char *rows)
{
	flow_end_all(on->lcore, FLOW_STEP_SHUTDOWN);
	char *got = text(on->streams, 0);

	assert_string_equal(got, rows);
	free(got);
	on->lcore->tap = NULL;
	streams_free(on->streams);
	pipe_free(on->pipe);
}

static void say(struct stage_set *on, bool outside, uint8_t flags, uint32_t seq, uint32_t ack,
	const char *payload)
{
	const struct pipe_packet packet = {
		.from_outside = outside,
		.tcp_flags = flags,
		.seq = seq,
		.ack = ack,
		.payload = payload,
		.payload_length = (uint16_t)strlen(payload),
	};

	pipe_run(on->pipe, 0, &packet);
}

static void shake_hands(struct stage_set *on, uint32_t client, uint32_t server)
{
	say(on, false, TH_SYN, client, 0, "");
	say(on, true, TH_SYN | TH_ACK, server, client + 1, "");
	say(on, false, TH_ACK, client + 1, server + 1, "");
}

static void each_half_that_carried_bytes_has_a_row(void **state)
{
	struct stage_set on = begin();

	(void)state;
	shake_hands(&on, 100, 500);
	say(&on, false, TH_ACK, 101, 501, "abc");
	say(&on, true, TH_ACK, 501, 104, "hell");
	say(&on, true, TH_ACK, 505, 104, "o");
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,3,0,0,," SHA_ABC "\n"
		      "x.pcap,10.0.0.2:80>10.0.0.1:40000,syn,5,0,0,," SHA_HELLO "\n");
}

static void without_a_handshake_it_is_midstream(void **state)
{
	struct stage_set on = begin();

	(void)state;
	say(&on, false, TH_ACK, 101, 501, "abc");
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,midstream,3,0,0,," SHA_ABC "\n");
}

static void a_tuple_that_is_used_again_has_another_row(void **state)
{
	struct stage_set on = begin();

	(void)state;
	shake_hands(&on, 100, 500);
	say(&on, false, TH_ACK, 101, 501, "abc");
	streams_input(on.streams, "y, \"2\".pcap");
	shake_hands(&on, 70000, 90000);
	say(&on, false, TH_ACK, 70001, 90001, "hello");
	end(&on,
		HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,3,0,0,," SHA_ABC "\n"
		     "\"y, \"\"2\"\".pcap\",10.0.0.1:40000>10.0.0.2:80,syn,5,0,0,," SHA_HELLO "\n");
}

static void bytes_of_a_retransmission_count_as_dup(void **state)
{
	struct stage_set on = begin();

	(void)state;
	shake_hands(&on, 100, 500);
	say(&on, false, TH_ACK, 101, 501, "abc");
	say(&on, false, TH_ACK, 101, 501, "abc");
	say(&on, false, TH_ACK, 102, 501, "bchello");
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,8,5,0,," SHA_ABCHELLO "\n");
}

// What was kept ahead of a hole is compared, too.
static void bytes_ahead_that_come_again_count_as_dup(void **state)
{
	struct stage_set on = begin();

	(void)state;
	shake_hands(&on, 100, 500);
	say(&on, false, TH_ACK, 104, 501, "lo");
	say(&on, false, TH_ACK, 101, 501, "helxo");
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,5,2,1,," SHA_HELLO "\n");
}

// A mirror may show the acknowledgement first.
static void where_nothing_is_enforced_a_hole_may_still_be_filled(void **state)
{
	struct stage_set on = begin();

	(void)state;
	shake_hands(&on, 100, 500);
	say(&on, false, TH_ACK, 103, 501, "llo");
	say(&on, true, TH_ACK, 501, 106, "");
	say(&on, false, TH_ACK, 101, 501, "he");
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,5,0,0,," SHA_HELLO "\n");
}

// Under a policy that enforces its receiver has it and goes on: what is behind cannot wait.
static void else_a_hole_that_is_acknowledged_is_a_gap(void **state)
{
	struct stage_set on = begin();
	struct policy *policy = pipe_policy(on.pipe);

	(void)state;
	pipe_rule_app(policy, 1, ACTION_DROP, "bittorrent");
	pipe_publish(on.pipe, policy);
	shake_hands(&on, 100, 500);
	say(&on, false, TH_ACK, 111, 501, "hello");
	say(&on, true, TH_ACK, 501, 116, "");
	say(&on, false, TH_ACK, 101, 501, "0123456789");
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,5,10,0,0+10," SHA_HELLO "\n");
}

static void a_decided_flow_is_still_read(void **state)
{
	struct stage_set on = begin();
	char row[16];

	(void)state;
	shake_hands(&on, 100, 500);
	for (uint32_t i = 0; i < 300; i++)
		say(&on, false, TH_ACK, 101 + 2 * i, 501, "zz");
	flow_end_all(on.lcore, FLOW_STEP_SHUTDOWN);
	char *got = text(on.streams, 0);

	snprintf(row, sizeof row, ",syn,%d,0,", 600);
	assert_non_null(strstr(got, row));
	free(got);
	streams_free(on.streams);
	on.lcore->tap = NULL;
	pipe_free(on.pipe);
}

static void datagrams_have_no_row(void **state)
{
	struct stage_set on = begin();

	(void)state;
	pipe_run(on.pipe, 0,
		&(struct pipe_packet){.proto = IPPROTO_UDP, .payload = "abc", .payload_length = 3});
	end(&on, HEAD);
}

static void ipv6_ends_are_written_without_brackets(void **state)
{
	struct stage_set on = begin();

	(void)state;
	pipe_run(on.pipe, 0,
		&(struct pipe_packet){.v6 = true, .payload = "abc", .payload_length = 3, .seq = 9});
	end(&on, HEAD "x.pcap,fd00::a00:1:40000>fd00::a00:2:80,midstream,3,0,0,," SHA_ABC "\n");
}

// What only the tap is reported, on the flow that these three bytes have made.

static uint32_t with_abc(struct stage_set *on)
{
	shake_hands(on, 100, 500);
	say(on, false, TH_ACK, 101, 501, "abc");
	return 0;
}

static void tell(const struct stage_set *on, uint32_t ref, uint64_t offset, const char *bytes,
	uint32_t length)
{
	const struct span span = {
		.offset64 = offset,
		.unchecked = (const uint8_t *)bytes,
		.extent = length,
		.flags = bytes ? 0 : SPAN_GAP,
	};
	const struct stream_tap *tap = streams_tap(on->streams);

	tap->span(tap->ctx, on->lcore, ref, &span);
}

static void gaps_are_left_out_joined_and_only_inside(void **state)
{
	struct stage_set on = begin();
	uint32_t ref = with_abc(&on);

	(void)state;
	tell(&on, ref, 3, NULL, 4);
	tell(&on, ref, 7, NULL, 6);
	tell(&on, ref, 13, "he", 2);
	tell(&on, ref, 15, NULL, UINT32_MAX);
	tell(&on, ref, 15 + (uint64_t)UINT32_MAX, "llo", 3);
	tell(&on, ref, 18 + (uint64_t)UINT32_MAX, NULL, 9);
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,8,0,0,3+10;15+4294967295," SHA_ABCHELLO
		      "\n");
}

static void a_half_that_begins_anew_forgets_what_it_told(void **state)
{
	struct stage_set on = begin();
	uint32_t ref = with_abc(&on);

	(void)state;
	on.lcore->tap->overlap(on.lcore->tap->ctx, on.lcore, ref, HALF_C2S, 3, 2);
	tell(&on, ref, 0, "hello", 5);
	on.lcore->tap->overlap(on.lcore->tap->ctx, on.lcore, ref, HALF_C2S, 7, 1);
	end(&on, HEAD "x.pcap,10.0.0.1:40000>10.0.0.2:80,syn,5,7,1,," SHA_HELLO "\n");
}

static void bytes_out_of_order_are_a_failure(void **state)
{
	struct stage_set on = begin();
	uint32_t ref = with_abc(&on);

	(void)state;
	tell(&on, ref, 4, "x", 1);
	flow_end_all(on.lcore, FLOW_STEP_SHUTDOWN);
	free(text(on.streams, -EILSEQ));
	const char *why = NULL;

	assert_int_equal(streams_save(on.streams, "/dev/null", &why), -EILSEQ);
	assert_non_null(strstr(why, "out of their order"));
	on.lcore->tap = NULL;
	streams_free(on.streams);
	pipe_free(on.pipe);
}

static void a_file_that_takes_nothing_is_told(void **state)
{
	struct stage_set on = begin();
	const char *why = NULL;

	(void)state;
	assert_int_equal(streams_save(on.streams, "/proc/nonexistent/out", &why), -ENOENT);
	assert_string_equal(why, strerror(ENOENT));
	assert_int_equal(streams_save(on.streams, "/dev/full", &why), -EIO);
	end(&on, HEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_half_that_carried_bytes_has_a_row),
		cmocka_unit_test(without_a_handshake_it_is_midstream),
		cmocka_unit_test(a_tuple_that_is_used_again_has_another_row),
		cmocka_unit_test(bytes_of_a_retransmission_count_as_dup),
		cmocka_unit_test(bytes_ahead_that_come_again_count_as_dup),
		cmocka_unit_test(where_nothing_is_enforced_a_hole_may_still_be_filled),
		cmocka_unit_test(else_a_hole_that_is_acknowledged_is_a_gap),
		cmocka_unit_test(a_decided_flow_is_still_read),
		cmocka_unit_test(datagrams_have_no_row),
		cmocka_unit_test(ipv6_ends_are_written_without_brackets),
		cmocka_unit_test(gaps_are_left_out_joined_and_only_inside),
		cmocka_unit_test(a_half_that_begins_anew_forgets_what_it_told),
		cmocka_unit_test(bytes_out_of_order_are_a_failure),
		cmocka_unit_test(a_file_that_takes_nothing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
