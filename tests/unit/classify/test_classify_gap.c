// SPDX-License-Identifier: BSD-3-Clause
// Every consumer of a span in app/classify gets gaps, in every state: each hook of each application
// in the generated table, the classifier and the listener. None may read a byte of a gap, nor find
// anything in one. What else reads spans is in test_gap.c.
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "pipeline/vocab/asked.h"
#include "lib/classify/classify_rig.h"

static struct rig *rig;

static const struct flow_ends ends = {
	.address = {{[10] = 0xff, 0xff, 192, 0, 2, 1}, {[10] = 0xff, 0xff, 198, 51, 100, 2}},
	.port = {40000, 50000},
};
static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP};
static const uint8_t gap_flags[] = {
	SPAN_GAP, SPAN_GAP | SPAN_MIDSTREAM, SPAN_GAP | SPAN_FIN, SPAN_GAP | SPAN_DATAGRAM};
// what hooks ask the length for: a key of MSE with padding, eMule's flights, a descriptor
static const uint32_t gap_lengths[] = {1, 2, 12, 14, 49, 68, 96, 200, 608, 2048, 65536, UINT32_MAX};
static const uint64_t gap_offsets[] = {0, 1, 11, 68, 2048, 1 << 20};

#define EACH(at, table)                          \
	unsigned at = 0;                         \
	at < sizeof(table) / sizeof((table)[0]); \
	at++

static void with_every_gap(void (*look)(uint16_t app, const struct span *gap))
{
	for (uint16_t app = 1; app <= app_count(); app++)
		for (EACH(flags, gap_flags))
			for (EACH(length, gap_lengths))
				for (EACH(offset, gap_offsets))
					for (unsigned half = 0; half < 2; half++)
						look(app, &(struct span){
								  .offset64 = gap_offsets[offset],
								  .extent = gap_lengths[length],
								  .half = (uint8_t)half,
								  .flags = gap_flags[flags]});
}

// How flows begin whose applications have something to be told apart, or decoded, by.
static const struct opening {
	const char *bytes;
	uint32_t length;
} openings[] = {
	{LITERAL("\x13"
		 "BitTorrent protocol\0\0\0\0\0\x10\0\x05"
		 "AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB\0\0\0\x2e\x14\0d1:md6:ut_pexi1e1:"
		 "pi6881eee")},
	{LITERAL("GET /announce?info_hash=AAAAAAAAAAAAAAAAAAAA&port=6881 HTTP/1.1\r\nHost: "
		 "t\r\n\r\n")},
	{LITERAL("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\nd5:peers6:AAAAAAe")},
	{LITERAL("d1:rd2:id20:abcdefghij01234567896:valuesl6:AAAAAAee1:t2:aa1:y1:re")},
	{LITERAL("<?xml version='1.0'?><stream:stream to='x' xmlns='jabber:client'><iq id='1'>")},
	{LITERAL("GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\nContent-Encoding: deflate\r\n\r\n")},
	{LITERAL("\xe3\x29\0\0\0\x01\x10"
		 "AAAAAAAAAAAAAAAA\0\0\0\0\x36\x12\2\0\0\0\2\1\0\1\5\0alice")},
	{LITERAL("\xe4\x29\x10\0\0\0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")},
	{LITERAL(
		"220 ready\r\nUSER me\r\nPASV\r\n227 Entering Passive Mode (10,0,0,1,200,10)\r\n")},
	{LITERAL("NICK a\r\nUSER a 0 * :a\r\nPRIVMSG b :\001DCC SEND f 167772161 5000 7\001\r\n")},
	{LITERAL("VER 1 MSNP15 CVR0\r\nUSR 1 SSO I a@b.example\r\nMSG a b 120\r\nMIME-Version: "
		 "1.0\r\n")},
	{LITERAL("INVITE sip:a@b SIP/2.0\r\nVia: SIP/2.0/TCP h\r\nContent-Length: "
		 "20\r\n\r\nm=audio 5004")},
	{LITERAL("\0\x1e\x12\x34\x81\x80\0\1\0\1\0\0\0\0\1a\0\0\1\0\1\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4"
		 "AAAA")},
	{LITERAL(
		"\x12\x34\x81\x80\0\1\0\1\0\0\0\0\1a\0\0\1\0\1\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4AAAA")},
	{LITERAL("\x16\3\1\1\0\1\0\0\xfc\3\3AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\0\0\2\x13\1\1\0\0"
		 "\xd1")},
	{LITERAL("\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x40\1\0\0\x34\0\0\0\0\0\0\0\x34\xfe\xfd"
		 "AAAAAAAA")},
	{LITERAL("\xc3\0\0\0\1\x08"
		 "AAAAAAAA\0\0\x44\xd0"
		 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")},
	{LITERAL("\0\1file\0octet\0")},
	{LITERAL("\0\1\0\x08\x21\x12\xa4\x42"
		 "AAAAAAAAAAAA\0\x20\0\x08\0\1\xa1\x47\xe1\x12\xa6\x43")},
	{LITERAL("SSH-2.0-OpenSSH_9.2\r\n")},
	{LITERAL("\xb7\x1e\xa4\x5c\x83\x0f\xd2\x69\x35\xee\x91\x47\xfa\x28\x7d\xc0\x16\x5b\xe9"
		 "\x32")},
};

static uint8_t *exact_copy(const void *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	return exact;
}

static void of_a_gap_nothing_can_be_read(void **state)
{
	static const uint8_t stray[] = "not of this stream";
	const struct span there = {.unchecked = stray, .extent = sizeof(stray)};
	const struct span not_here = {.extent = 200};
	const struct span gap = {.unchecked = stray, .extent = 200, .flags = SPAN_GAP};
	(void)state;

	assert_int_equal(span_length(&there), sizeof(stray));
	assert_ptr_equal(span_bytes(&there), stray);
	assert_int_equal(span_length(&not_here), 0);
	assert_non_null(span_bytes(&not_here));
	assert_true(span_is_gap(&gap));
	assert_int_equal(span_length(&gap), 0);
#ifdef NDEBUG
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(span_bytes(&gap)[i], 0);
#else
	pid_t child = fork();
	int status;

	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		signal(SIGABRT, SIG_DFL);
		if (freopen("/dev/null", "w", stderr))
			_exit(span_bytes(&gap)[0]);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

static void is_no_disguise(uint16_t app, const struct span *gap)
{
	const struct endpoint_secret secret = {.has_node = 1, .has_user = 1};
	const struct app_proto *proto = app_get(app);

	for (EACH(l4, protos)) {
		if (proto->disguised)
			assert_false(proto->disguised(gap, protos[l4]));
		if (proto->uncloaks)
			assert_false(proto->uncloaks(gap, &ends, protos[l4], &secret));
	}
}

static void no_disguise_is_seen_in_a_gap(void **state)
{
	unsigned disguises = 0;
	(void)state;

	with_every_gap(is_no_disguise);
	for (uint16_t app = 1; app <= app_count(); app++)
		disguises += app_get(app)->disguised != NULL;
	assert_true(disguises >= 2); // the table has some
}

static void hear_endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	(void)ctx;
	(void)endpoint;
}

static void hear_name(void *ctx, const struct learned_name *name)
{
	(void)ctx;
	(void)name;
}

static void hear_expectation(void *ctx, const struct expectation *expectation)
{
	(void)ctx;
	(void)expectation;
}

static void hear_transfer(void *ctx, const struct transfer_label *label)
{
	(void)ctx;
	(void)label;
}

static struct asked asked;
static const struct decoder_sink sink = {.endpoint = hear_endpoint,
	.name = hear_name,
	.expect = hear_expectation,
	.transfer = hear_transfer,
	.asked = &asked};

// A decoder's own beginning of a stream, or a later one of its state; what it is reported then.
static void decode(uint16_t app, uint32_t *ref, const struct span *span, unsigned *done)
{
	if (!*done)
		*done = (unsigned)decoder_feed(rig->classifier, app, &ends, span, ref, &sink) ==
			DECODER_DONE;
}

static void decode_bytes(uint16_t app, uint32_t *ref, unsigned half, uint64_t offset64,
	const char *bytes, uint32_t length, unsigned *done)
{
	uint8_t *exact = exact_copy(bytes, length);
	const struct span span = {
		.unchecked = exact, .extent = length, .offset64 = offset64, .half = (uint8_t)half};

	decode(app, ref, &span, done);
	free(exact);
}

static void decode_fresh(uint16_t app, const struct span *gap)
{
	uint32_t ref = CLASSIFY_NO_STATE;
	unsigned done = 0;

	decode(app, &ref, gap, &done);
	decode(app, &ref, gap, &done);
	classify_end(rig->classifier, &ref);
}

static void every_decoder_stands_a_gap_first(void **state)
{
	(void)state;
	with_every_gap(decode_fresh);
}

// The gap lies at every place of what the decoder understands, and of what it does not.
static void decode_around(
	uint16_t app, const struct opening *opening, uint32_t cut, unsigned half, uint32_t length)
{
	uint32_t ref = CLASSIFY_NO_STATE;
	unsigned done = 0;
	const struct span gap = {
		.offset64 = cut, .extent = length, .half = (uint8_t)half, .flags = SPAN_GAP};
	const struct span other = {.extent = length, .half = !half, .flags = SPAN_GAP};

	decode_bytes(app, &ref, half, 0, opening->bytes, cut, &done);
	decode(app, &ref, &gap, &done);
	decode_bytes(app, &ref, half, cut + (uint64_t)length, opening->bytes + cut,
		opening->length - cut, &done);
	decode(app, &ref, &other, &done);
	classify_end(rig->classifier, &ref);
}

static void every_decoder_stands_a_gap_anywhere(void **state)
{
	static const uint32_t lengths[] = {1, 200, 70000};
	(void)state;

	for (uint16_t app = 1; app <= app_count(); app++)
		for (EACH(o, openings))
			for (uint32_t cut = 0; app_has_decoder(app) && cut < openings[o].length;
				cut++)
				for (EACH(l, lengths))
					decode_around(app, &openings[o], cut, l & 1, lengths[l]);
	assert_int_equal(
		classifier_states_free(rig->classifier), classifier_states_max(rig->classifier));
}

// Behind a gap a half's prefix is what was there before: nothing, at worst.
static void ask_empty(const struct app_proto *proto, uint8_t l4, unsigned half, const uint8_t *peer,
	uint32_t peer_length, bool midstream)
{
	struct app_memo memo;
	uint8_t *none = exact_copy((const uint8_t *)"", 0);
	const struct probe probe = {
		.bytes = none,
		.peer = peer ? peer : none,
		.peer_length = peer_length,
		.memo = &memo,
		.ends = &ends,
		.sport = ends.port[half],
		.dport = ends.port[!half],
		.half = (uint8_t)half,
		.l4_proto = l4,
		.n_data_pkts = 1,
		.midstream = midstream,
	};
	enum verify (*const hooks[])(const struct probe *) = {
		proto->verify, l4 == IPPROTO_TCP ? proto->shape_tcp : proto->shape_udp};

	for (EACH(i, hooks)) {
		memset(&memo, 0, sizeof(memo));
		for (unsigned again = 0; hooks[i] && again < 3; again++)
			hooks[i](&probe);
	}
	free(none);
}

static void verifiers_and_shapes_stand_halves_without_a_byte(void **state)
{
	(void)state;
	for (uint16_t app = 1; app <= app_count(); app++)
		for (EACH(o, openings)) {
			uint8_t *peer = exact_copy(openings[o].bytes, openings[o].length);

			for (unsigned bits = 0; bits < 4; bits++) {
				ask_empty(app_get(app), IPPROTO_TCP, bits & 1, NULL, 0, bits & 2);
				ask_empty(app_get(app), IPPROTO_TCP, bits & 1, peer,
					openings[o].length, bits & 2);
				ask_empty(app_get(app), IPPROTO_UDP, bits & 1, NULL, 0, false);
			}
			free(peer);
		}
}

// ---- the classifier, and the listener that reads on behind its verdict ----

struct talk {
	struct classify_verdict verdict;
	struct handshake_meta meta;
	uint32_t ref;
	uint8_t l4, phase, n;
};

static void hear(struct talk *talk, const struct span *span, bool listen)
{
	struct classify_work work = {.meta = &talk->meta, .handshake_meta_phase = talk->phase};
	const struct classify_flow about = {.ends = &ends,
		.l4_proto = talk->l4,
		.n_data_pkts = span_is_gap(span) ? talk->n : ++talk->n,
		.c2s_from_inside = true};

	if (listen && handshake_meta_pending(talk->phase))
		classify_listen(rig->classifier, rig->edition, rig->user, &about, span, &talk->ref,
			&talk->verdict, &work);
	else if (!talk->verdict.final)
		classify_feed(rig->classifier, rig->edition, rig->user, &about, span, &talk->ref,
			&talk->verdict, &work);
	talk->phase = work.handshake_meta_phase;
}

static void hear_bytes(struct talk *talk, uint64_t offset64, unsigned half, const char *bytes,
	uint32_t length, bool listen)
{
	uint8_t *exact = exact_copy(bytes, length);
	const struct span span = {.offset64 = offset64,
		.unchecked = exact,
		.extent = length,
		.half = (uint8_t)half,
		.flags = talk->l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0};

	hear(talk, &span, listen);
	free(exact);
}

static void hear_around(const struct opening *opening, uint32_t cut, unsigned half, uint8_t l4,
	uint8_t phase, bool listen)
{
	struct talk talk = {.l4 = l4, .phase = phase};
	const struct span gap = {
		.offset64 = cut, .extent = 200, .half = (uint8_t)half, .flags = SPAN_GAP};
	const struct span other = {.extent = 200, .half = !half, .flags = SPAN_GAP};
	uint32_t length = 0;

	if (cut)
		hear_bytes(&talk, 0, half, opening->bytes, cut, listen);
	uint16_t app = talk.verdict.app;
	uint32_t decided = talk.verdict.n_data_pkts;

	hear(&talk, &gap, listen);
	if (!talk.verdict.final) { // a gap adds nothing to what is known
		assert_int_equal(talk.verdict.app, app);
		assert_int_equal(talk.verdict.n_data_pkts, decided);
	}
	classify_prefix(rig->classifier, talk.ref, half, &length);
	assert_true(length <= cut);
	hear_bytes(&talk, cut + 200u, half, opening->bytes + cut, opening->length - cut, listen);
	hear(&talk, &other, listen);
	hear_bytes(&talk, 200, !half, opening->bytes, opening->length, listen);
	classify_end(rig->classifier, &talk.ref);
}

static void the_classifier_stands_a_gap_anywhere(void **state)
{
	(void)state;
	for (EACH(o, openings))
		for (uint32_t cut = 0; cut < openings[o].length; cut++)
			for (EACH(l4, protos))
				for (unsigned bits = 0; bits < 4; bits++)
					hear_around(&openings[o], cut, bits & 1, protos[l4],
						HANDSHAKE_META_AWAITED, bits & 2);
}

static void the_listener_stands_a_gap_in_every_phase(void **state)
{
	(void)state;
	for (EACH(o, openings))
		for (EACH(l4, protos))
			for (uint8_t phase = HANDSHAKE_META_AWAITED; phase < HANDSHAKE_META_OVER;
				phase++)
				for (unsigned half = 0; half < 2; half++)
					hear_around(&openings[o], openings[o].length / 2, half,
						protos[l4], phase, true);
	assert_int_equal(
		classifier_states_free(rig->classifier), classifier_states_max(rig->classifier));
}

static int begin(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int end(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_gap_nothing_can_be_read),
		cmocka_unit_test(no_disguise_is_seen_in_a_gap),
		cmocka_unit_test(every_decoder_stands_a_gap_first),
		cmocka_unit_test(every_decoder_stands_a_gap_anywhere),
		cmocka_unit_test(verifiers_and_shapes_stand_halves_without_a_byte),
		cmocka_unit_test(the_classifier_stands_a_gap_anywhere),
		cmocka_unit_test(the_listener_stands_a_gap_in_every_phase),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
