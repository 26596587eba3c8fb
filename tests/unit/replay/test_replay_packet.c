// SPDX-License-Identifier: BSD-3-Clause
// Replay's receive side: records become mbufs, each packet has a side, and the senders whose
// checksums a network card fills in are found.
#include "replay/packet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/capture.h"
#include "pipeline/wire/checksum.h"
#include "machine/eal.h"
#include "pipeline/vocab/pkt.h"

#define SYN 0x02
#define ACK 0x10

#define ETHERNET_BYTES 14
#define FRAME_BYTES    (ETHERNET_BYTES + 20 + 20)

static struct rte_mempool *pool;

// An Ethernet frame with an IPv4 packet from 10.0.0.`from` to 10.0.0.`to`.
struct frame {
	uint8_t bytes[128];
	uint32_t length;
};

static struct frame frame_ip(uint8_t from, uint8_t to, uint8_t proto, uint32_t l4_bytes)
{
	struct frame f = {.length = ETHERNET_BYTES + 20 + l4_bytes};
	uint8_t *ip = f.bytes + ETHERNET_BYTES;

	f.bytes[12] = 0x08;
	ip[0] = 0x45;
	ip[3] = (uint8_t)(20 + l4_bytes);
	ip[8] = 64;
	ip[9] = proto;
	memcpy(ip + 12, (uint8_t[]){10, 0, 0, from, 10, 0, 0, to}, 8);
	return f;
}

static void fill(struct frame *f)
{
	uint8_t *ip = f->bytes + ETHERNET_BYTES;

	checksum_fill(ip, ip + 20, (uint16_t)(f->length - ETHERNET_BYTES - 20), ip[9], false);
}

static struct frame frame_tcp(
	uint8_t from, uint8_t to, uint16_t sport, uint16_t dport, uint8_t flags)
{
	struct frame f = frame_ip(from, to, IPPROTO_TCP, 20);
	uint8_t *tcp = f.bytes + ETHERNET_BYTES + 20;

	tcp[0] = (uint8_t)(sport >> 8);
	tcp[1] = (uint8_t)sport;
	tcp[2] = (uint8_t)(dport >> 8);
	tcp[3] = (uint8_t)dport;
	tcp[12] = 0x50;
	tcp[13] = flags;
	fill(&f);
	return f;
}

static struct capture_record record_of(const struct frame *f)
{
	return (struct capture_record){
		.ts_ns = 1,
		.caplen = f->length,
		.len = f->length,
		.linktype = 1,
		.bytes = f->bytes,
	};
}

static bool side(struct replay_sides *sides, struct frame f)
{
	struct capture_record rec = record_of(&f);

	return replay_from_inside(sides, &rec, LINK_ETHERNET);
}

static void the_sender_of_the_first_syn_is_inside(void **state)
{
	struct replay_sides *sides = replay_sides_new(NULL);

	(void)state;
	assert_true(side(sides, frame_tcp(1, 2, 1000, 80, SYN)));
	assert_false(side(sides, frame_tcp(2, 1, 80, 1000, SYN | ACK)));
	assert_true(side(sides, frame_tcp(1, 2, 1000, 80, ACK)));
	// another flow between the same hosts, the other way round
	assert_true(side(sides, frame_tcp(2, 1, 2000, 80, SYN)));
	assert_false(side(sides, frame_tcp(1, 2, 80, 2000, ACK)));
	replay_sides_free(sides);
}

static void without_a_syn_the_first_sender_is_inside_until_there_is_one(void **state)
{
	struct replay_sides *sides = replay_sides_new(NULL);

	(void)state;
	assert_true(side(sides, frame_tcp(2, 1, 80, 1000, ACK)));
	assert_false(side(sides, frame_tcp(1, 2, 1000, 80, ACK)));
	assert_true(side(sides, frame_tcp(1, 2, 1000, 80, SYN)));
	assert_false(side(sides, frame_tcp(2, 1, 80, 1000, ACK)));
	// the answer to a SYN that the capture does not hold
	assert_false(side(sides, frame_tcp(2, 1, 80, 1001, SYN | ACK)));
	assert_true(side(sides, frame_tcp(1, 2, 1001, 80, ACK)));
	replay_sides_free(sides);
}

static void later_fragments_and_errors_follow_their_flow(void **state)
{
	struct replay_sides *sides = replay_sides_new(NULL);
	struct frame f = frame_ip(2, 1, IPPROTO_UDP, 16);
	struct frame error = frame_ip(2, 1, IPPROTO_ICMP, 8 + 28);
	struct frame about = frame_tcp(1, 2, 1000, 80, SYN);

	(void)state;
	assert_true(side(sides, frame_tcp(1, 2, 1000, 80, SYN)));
	f.bytes[ETHERNET_BYTES + 7] = 10; // fragment offset
	fill(&f);
	assert_false(side(sides, f));
	error.bytes[ETHERNET_BYTES + 20] = 3; // unreachable; about what 1 sent to 2
	memcpy(error.bytes + ETHERNET_BYTES + 28, about.bytes + ETHERNET_BYTES, 28);
	fill(&error);
	assert_false(side(sides, error));
	replay_sides_free(sides);
}

static void inside_addresses_overrule_who_began(void **state)
{
	struct address_set inside = {0};
	struct replay_sides *sides;

	(void)state;
	assert_int_equal(address_set_add(&inside, "10.0.0.2/32"), 0);
	address_set_seal(&inside);
	sides = replay_sides_new(&inside);
	assert_false(side(sides, frame_tcp(1, 2, 1000, 80, SYN)));
	assert_true(side(sides, frame_tcp(2, 1, 80, 1000, SYN | ACK)));
	replay_sides_free(sides);
	address_set_free(&inside);
}

static void what_has_no_flow_comes_from_inside(void **state)
{
	struct replay_sides *sides = replay_sides_new(NULL);
	struct frame f = {.bytes = {[12] = 0x08, [13] = 0x06}, .length = 60};
	struct capture_record rec = record_of(&f);

	(void)state;
	assert_true(side(sides, f));
	assert_true(replay_from_inside(sides, &rec, LINK_UNKNOWN));
	for (rec.caplen = 0; rec.caplen < f.length; rec.caplen++)
		assert_true(replay_from_inside(sides, &rec, LINK_ETHERNET));
	replay_sides_free(sides);
}

// A capture in memory: `n` frames, each whole or cut by a snap length.
static size_t capture_put(
	uint8_t *out, const struct frame *frames, const uint32_t *caplens, unsigned n)
{
	uint32_t head[6] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1};
	size_t at = sizeof head;

	memcpy(out, head, sizeof head);
	for (unsigned i = 0; i < n; i++) {
		uint32_t rec[4] = {i, 0, caplens[i], frames[i].length};

		memcpy(out + at, rec, sizeof rec);
		memcpy(out + at + sizeof rec, frames[i].bytes, caplens[i]);
		at += sizeof rec + caplens[i];
	}
	return at;
}

static void senders_with_mostly_wrong_checksums_are_offloaders(void **state)
{
	struct frame frames[8];
	uint32_t caplens[8];
	struct replay_offload *offload = replay_offload_new();
	struct replay_feed feed;
	char err[CAPTURE_ERROR_LEN];
	struct capture_record rec;
	struct capture *cap;
	uint8_t file[2048];
	size_t len;

	(void)state;
	// 1 sends two wrong and one good, 2 one wrong and two good, 3 wrong but cut ones.
	for (unsigned i = 0; i < 8; i++) {
		uint8_t from = (uint8_t)(1 + i / 3);

		frames[i] = frame_tcp(from, 9, (uint16_t)(1000 + i), 80, ACK);
		caplens[i] = from == 3 ? FRAME_BYTES - 1 : FRAME_BYTES;
		if (i == 0 || i == 1 || i == 3 || from == 3)
			frames[i].bytes[FRAME_BYTES - 4] ^= 0x55;
	}
	len = capture_put(file, frames, caplens, 8);
	assert_int_equal(capture_open_memory("t", file, len, &cap, err, sizeof err), 0);
	assert_int_equal(replay_feed_init(&feed, pool, true, 0), 0);
	assert_int_equal(replay_offload_survey(offload, cap, &feed), 0);
	for (unsigned i = 0; i < 8; i++) {
		rec = record_of(&frames[i]);
		assert_int_equal(replay_offload_sender(offload, &rec, LINK_ETHERNET), i / 3 == 0);
	}
	assert_int_equal(capture_next(cap, &rec), 1); // it was rewound
	// Another capture, where that address belongs to somebody honest.
	frames[0] = frame_tcp(1, 9, 1000, 80, ACK);
	len = capture_put(file, frames, caplens, 1);
	capture_close(cap);
	assert_int_equal(capture_open_memory("t", file, len, &cap, err, sizeof err), 0);
	assert_int_equal(replay_offload_survey(offload, cap, &feed), 0);
	rec = record_of(&frames[0]);
	assert_false(replay_offload_sender(offload, &rec, LINK_ETHERNET));
	capture_close(cap);
	replay_offload_free(offload);
	assert_int_equal(rte_mempool_avail_count(pool), pool->size);
}

static struct frame with_payload(struct frame f)
{
	f.bytes[ETHERNET_BYTES + 3] += 4;
	memcpy(f.bytes + f.length, "data", 4);
	f.length += 4;
	f.bytes[ETHERNET_BYTES + 20 + 16] = 0;
	f.bytes[ETHERNET_BYTES + 20 + 17] = 0;
	fill(&f);
	return f;
}

static void packets_with_payload_judge_their_sender(void **state)
{
	struct frame frames[6];
	uint32_t caplens[6];
	struct replay_offload *offload = replay_offload_new();
	struct replay_feed feed;
	char err[CAPTURE_ERROR_LEN];
	struct capture_record rec;
	struct capture *cap;
	uint8_t file[2048];
	size_t len;

	(void)state;
	// 1 sends two good ones and a wrong one with payload, 2 the reverse.
	for (unsigned i = 0; i < 6; i++) {
		frames[i] = frame_tcp((uint8_t)(1 + i / 3), 9, (uint16_t)(1000 + i), 80, ACK);
		if (i % 3 == 2)
			frames[i] = with_payload(frames[i]);
		caplens[i] = frames[i].length;
		if (i == 2 || i == 3 || i == 4)
			frames[i].bytes[ETHERNET_BYTES + 20 + 15] ^= 0x55;
	}
	len = capture_put(file, frames, caplens, 6);
	assert_int_equal(capture_open_memory("t", file, len, &cap, err, sizeof err), 0);
	assert_int_equal(replay_feed_init(&feed, pool, true, 0), 0);
	assert_int_equal(replay_offload_survey(offload, cap, &feed), 0);
	for (unsigned i = 0; i < 6; i++) {
		rec = record_of(&frames[i]);
		assert_int_equal(replay_offload_sender(offload, &rec, LINK_ETHERNET), i / 3 == 0);
	}
	capture_close(cap);
	replay_offload_free(offload);
}

static void mbufs_hold_the_record_in_pieces_of_the_wanted_size(void **state)
{
	static uint8_t bytes[CAPTURE_RECORD_MAX_BYTES + 1];
	static const uint32_t lengths[] = {
		0, 1, 63, 64, 65, 2048, 65535, 65536, 200000, sizeof bytes};

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 31);
	for (unsigned mode = 0; mode < 4; mode++) {
		uint32_t segment = mode & 1 ? 64 : 0;
		bool heap = mode & 2;
		struct replay_feed feed;

		assert_int_equal(replay_feed_init(&feed, pool, heap, segment), 0);
		for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
			struct capture_record rec = {
				.ts_ns = 77, .caplen = lengths[i], .len = 9, .linktype = 5};
			uint32_t want = RTE_MIN(lengths[i], CAPTURE_RECORD_MAX_BYTES), at = 0;
			struct rte_mbuf *m;

			rec.bytes = bytes;
			m = replay_mbuf_new(&feed, &rec);
			assert_non_null(m);
			assert_int_equal(m->pkt_len, want);
			assert_int_equal(replay_meta_of(&feed, m)->ts_ns, 77);
			assert_int_equal(replay_meta_of(&feed, m)->len, 9);
			assert_int_equal(replay_meta_of(&feed, m)->linktype, 5);
			rte_mbuf_sanity_check(m, 1);
			for (struct rte_mbuf *s = m; s; s = s->next) {
				assert_memory_equal(
					rte_pktmbuf_mtod(s, void *), bytes + at, s->data_len);
				if (segment && s->next)
					assert_int_equal(s->data_len, segment);
				assert_int_equal(rte_pktmbuf_tailroom(s), 0);
				// without the heap nothing is copied, and each may be written to
				assert_int_equal(
					rte_pktmbuf_mtod(s, uint8_t *) == bytes + at, !heap);
				assert_int_equal(rte_mbuf_ext_refcnt_read(s->shinfo), 1);
				assert_true(heap || s->data_len <= REPLAY_SEGMENT_BYTES);
				at += s->data_len;
			}
			assert_int_equal(at, want);
			rte_pktmbuf_free(m);
		}
	}
	assert_int_equal(rte_mempool_avail_count(pool), pool->size);
}

static int start(void **state)
{
	char err[512];

	(void)state;
	if (eal_start_private(128, err, sizeof err) != 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"test", 8191, 32, PKT_PRIV_SIZE, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return pool ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	eal_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sender_of_the_first_syn_is_inside),
		cmocka_unit_test(without_a_syn_the_first_sender_is_inside_until_there_is_one),
		cmocka_unit_test(later_fragments_and_errors_follow_their_flow),
		cmocka_unit_test(inside_addresses_overrule_who_began),
		cmocka_unit_test(what_has_no_flow_comes_from_inside),
		cmocka_unit_test(senders_with_mostly_wrong_checksums_are_offloaders),
		cmocka_unit_test(packets_with_payload_judge_their_sender),
		cmocka_unit_test(mbufs_hold_the_record_in_pieces_of_the_wanted_size),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
