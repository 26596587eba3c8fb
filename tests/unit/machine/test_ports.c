// SPDX-License-Identifier: BSD-3-Clause
// Ports and lcore threads over real (virtual) devices, without the packet path: a turn of this
// program's own bridges by port->receive and port->send. EAL starts once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include "replay/capture.h"
#include "pipeline/cache/conn_cache.h"
#include "machine/eal.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/event/evidence.h"
#include "pipeline/flow/expect.h"
#include "pipeline/lcore/hints.h"
#include "machine/lcore_launch.h"
#include "machine/mbuf_pool.h"
#include "pipeline/vocab/pkt.h"
#include "machine/port.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/flow/flow.h"
#include "pipeline/lcore/port.h"
#include "scan/job.h"

#define LCORES 3
#define FRAMES 500

static struct gateway gateway;
static struct dataplane dp;
static struct lcore lcores[LCORES];
static struct rte_mempool *pools[RTE_MAX_NUMA_NODES];
static char err[2048], dir[] = "/tmp/test_ports.XXXXXX", in_file[64], out_file[64];
static unsigned n_devices, pumped;

static void set_ports(unsigned n, const char *const devices[])
{
	gateway.n_ports = n;
	gateway.n_pairs = n / 2;
	for (unsigned i = 0; i < n; i++) {
		memset(&gateway.ports[i], 0, sizeof(gateway.ports[i]));
		snprintf(gateway.ports[i].name, sizeof(gateway.ports[i].name), "p%u", i);
		snprintf(
			gateway.ports[i].device, sizeof(gateway.ports[i].device), "%s", devices[i]);
	}
	for (unsigned i = 0; i < n / 2; i++) {
		snprintf(gateway.pairs[i].inside, sizeof(gateway.pairs[i].inside), "p%u", 2 * i);
		snprintf(gateway.pairs[i].outside, sizeof(gateway.pairs[i].outside), "p%u",
			2 * i + 1);
	}
}

static int setup(void **state)
{
	(void)state;
	gateway.n_data = LCORES;
	gateway.memory.mb = 256;
	if (eal_start(&gateway, NULL, 0, 0, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		return -1;
	}
	clock_start();
	if (mbuf_pools_new(&gateway, RTE_MBUF_DEFAULT_BUF_SIZE, pools, err, sizeof(err)))
		return -1;
	dp.n_lcores = LCORES;
	dp.qsbr = aligned_alloc(64, RTE_ALIGN(rte_rcu_qsbr_get_memsize(LCORES), 64));
	rte_rcu_qsbr_init(dp.qsbr, LCORES);
	for (unsigned i = 0; i < LCORES; i++) {
		lcores[i].index = i;
		lcores[i].dp = &dp;
		dp.lcores[i] = &lcores[i];
	}
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	unlink(in_file);
	unlink(out_file);
	rmdir(dir);
	mbuf_pools_free(pools);
	free(dp.qsbr);
	eal_stop();
	return 0;
}

static void test_threads_are_deaf(void **state)
{
	(void)state;
	// Only this thread hears: a SIGTERM sent to the whole program waits until it looks.
	sigset_t term, old;
	int signal = 0;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, &old);
	kill(getpid(), SIGTERM); // would end the program if any thread took it
	assert_int_equal(sigwait(&term, &signal), 0);
	assert_int_equal(signal, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static unsigned bridge_turn(struct lcore *lcore, uint64_t now_ns)
{
	unsigned total = 0;
	struct rte_mbuf *pkts[BURST];

	for (unsigned i = 0; i < lcore->n_rx && !atomic_load(&dp.stopping); i++) {
		struct port *in = &dp.ports[lcore->rx[i].port];
		struct port *out = &dp.ports[in->peer];
		uint16_t n = in->receive(in->ctx, lcore->rx[i].queue, pkts, BURST);
		for (unsigned k = 0; k < n; k++) {
			memset(pkt_of(pkts[k]), 0xa5, sizeof(struct pkt)); // ours to write
			lcore->stats.received_bytes += rte_pktmbuf_pkt_len(pkts[k]);
		}
		uint16_t sent = n ? out->send(out->ctx, out->tx_queue[lcore->index], pkts, n) : 0;
		lcore->stats.received_pkts += n;
		lcore->stats.sent_pkts += sent;
		rte_pktmbuf_free_bulk(pkts + sent, n - sent);
		total += n;
	}
	lcore->stats.heartbeat_ns = now_ns;
	__atomic_store_n(&lcore->stats.loops, lcore->stats.loops + 1, __ATOMIC_RELAXED);
	return total;
}

static void count_pump(void *ctx)
{
	(void)ctx;
	pumped++;
}

static void bring_up(unsigned n, const char *const devices[])
{
	set_ports(n, devices);
	for (unsigned i = 0; i < LCORES; i++) {
		lcores[i].n_rx = 0;
		memset(&lcores[i].stats, 0, sizeof(lcores[i].stats));
	}
	atomic_store(&dp.stopping, 0);
	if (ports_attach(&dp, &gateway, err, sizeof(err)) ||
		ports_configure(&dp, &gateway, pools, err, sizeof(err)) ||
		ports_assign_rx_queues(&dp, err, sizeof(err)))
		fail_msg("%s", err);
}

static struct lcore_thread threads[LCORES];

// Forwards until `received` packets came in, or three seconds are over.
static void forward(uint64_t received, bool idle_sleep)
{
	for (unsigned i = 0; i < LCORES; i++)
		threads[i] = (struct lcore_thread){.lcore = &lcores[i],
			.turn = bridge_turn,
			.idle_sleep = idle_sleep,
			.shares_cpu = true};
	if (ports_start(&dp, err, sizeof(err)) || lcores_launch(&dp, threads, err, sizeof(err)))
		fail_msg("%s", err);
	for (int tries = 0; tries < 300; tries++) {
		uint64_t sum = 0;
		for (unsigned i = 0; i < LCORES; i++)
			sum += __atomic_load_n(&lcores[i].stats.received_pkts, __ATOMIC_RELAXED);
		if (sum >= received)
			break;
		usleep(10000);
	}
	assert_int_equal(lcores_stop(&dp, 1000000000, count_pump, NULL), 0);
}

static void write_capture(unsigned frame_bytes)
{
	struct capture_writer *writer;
	static uint8_t frame[9018];

	snprintf(in_file, sizeof(in_file), "%s/in.pcap", dir);
	snprintf(out_file, sizeof(out_file), "%s/out.pcap", dir);
	assert_int_equal(capture_writer_open(in_file, 1, true, &writer, err, sizeof(err)), 0);
	for (unsigned i = 0; i < FRAMES; i++) {
		memset(frame, (int)i, frame_bytes);
		struct capture_record record = {.ts_ns = i,
			.caplen = frame_bytes,
			.len = frame_bytes,
			.linktype = 1,
			.bytes = frame};
		assert_int_equal(capture_writer_write(writer, &record), 0);
	}
	assert_int_equal(capture_writer_close(writer, err, sizeof(err)), 0);
}

// A capture in, a capture out: every frame, in order, byte for byte.
static void bridge_captures(unsigned frame_bytes)
{
	char in[128], out[128];
	struct capture *capture;
	struct capture_record record;
	unsigned n = 0;

	write_capture(frame_bytes);
	// EAL remembers a device's name after its port was closed: a new one each time.
	snprintf(in, sizeof(in), "net_pcap%u,rx_pcap=%s", n_devices++, in_file);
	snprintf(out, sizeof(out), "net_pcap%u,tx_pcap=%s", n_devices++, out_file);
	const char *const devices[] = {in, out};
	bring_up(2, devices);
	forward(FRAMES, true);
	ports_close(&dp);
	assert_int_equal(capture_open(out_file, &capture, err, sizeof(err)), 0);
	while (capture_next(capture, &record) == 1) {
		assert_int_equal(record.caplen, frame_bytes);
		assert_int_equal(record.bytes[0], (uint8_t)n);
		assert_int_equal(record.bytes[frame_bytes - 1], (uint8_t)n);
		n++;
	}
	capture_close(capture);
	assert_int_equal(n, FRAMES);
	for (unsigned i = 0; i < RTE_MAX_NUMA_NODES; i++) {
		if (pools[i])
			assert_int_equal(rte_mempool_avail_count(pools[i]), pools[i]->size);
	}
}

static void test_captures(void **state)
{
	(void)state;
	bridge_captures(300);
}

static void test_capture_of_jumbo_frames(void **state)
{
	(void)state;
	bridge_captures(9018); // five segments each
}

// A count of the kernel's that can be read no more, as when the interface is deleted.
static void what_the_interface_lost(struct port *port)
{
	char path[80];
	struct port_counters counters;

	snprintf(path, sizeof(path), "%s/rx_dropped", dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "730\n");
	fclose(file);
	port->lost_fd = open(path, O_RDONLY);
	port->counters(port->ctx, &counters);
	assert_int_equal(counters.rx_missed, 730);
	assert_int_equal(truncate(path, 0), 0);
	port->counters(port->ctx, &counters);
	assert_int_equal(counters.rx_missed, 730);
	unlink(path);
}

static void test_null_under_load(void **state)
{
	(void)state;
	static const char *const devices[] = {"net_null0,copy=1", "net_null1,copy=1"};
	bring_up(2, devices);
	assert_int_equal(dp.ports[0].peer, 1);
	assert_int_equal(dp.ports[1].peer, 0);
	assert_true(dp.ports[0].inside);
	assert_false(dp.ports[1].inside);
	pumped = 0;
	forward(100000, false);
	struct port_counters counters;
	dp.ports[1].counters(dp.ports[1].ctx, &counters);
	assert_true(counters.tx_pkts > 0);
	assert_true(counters.link_up);
	what_the_interface_lost(&dp.ports[1]);
	uint64_t received = 0, sent = 0;
	for (unsigned i = 0; i < LCORES; i++) {
		received += lcores[i].stats.received_pkts;
		sent += lcores[i].stats.sent_pkts;
		assert_true(__atomic_load_n(&lcores[i].stats.loops, __ATOMIC_RELAXED) > 0);
	}
	assert_true(received >= 100000);
	assert_int_equal(received, sent);
	assert_true(pumped > 0);
	// Nobody is left in RCU: a grace period is over at once.
	assert_int_equal(rte_rcu_qsbr_check(dp.qsbr, rte_rcu_qsbr_start(dp.qsbr), false), 1);
	ports_close(&dp);
}

static void test_rings_and_queues(void **state)
{
	(void)state;
	static const char *const devices[] = {"net_ring0", "net_ring1"};
	bring_up(2, devices);
	// Without RSS, but with several queues: every queue is polled by exactly one lcore.
	unsigned dealt = 0;
	for (unsigned i = 0; i < LCORES; i++)
		dealt += lcores[i].n_rx;
	assert_int_equal(dealt, dp.ports[0].n_rxq + dp.ports[1].n_rxq);
	forward(0, true);
	ports_close(&dp);
}

static void test_send_queues_are_shared(void **state)
{
	(void)state;
	static const char *const devices[] = {"net_null2", "net_null3"};
	set_ports(2, devices);
	gateway.ports[0].queues = gateway.ports[1].queues = 2;
	if (ports_attach(&dp, &gateway, err, sizeof(err)) == 0)
		assert_int_equal(ports_configure(&dp, &gateway, pools, err, sizeof(err)), 0);
	else
		fail_msg("%s", err);
	assert_int_equal(dp.ports[0].n_txq, 2);
	assert_int_equal(dp.ports[0].tx_queue[0], 0);
	assert_int_equal(dp.ports[0].tx_queue[1], 1);
	assert_int_equal(dp.ports[0].tx_queue[2], UINT16_MAX);
	assert_int_equal(dp.ports[0].tx_lcore[2], 0);
	ports_close(&dp);
}

static void note_chunk(
	struct rte_mempool *pool, void *out, struct rte_mempool_memhdr *chunk, unsigned index)
{
	(void)pool;
	((struct rte_mempool_memhdr *)out)[index ? 1 : 0] = *chunk;
}

// What net_af_xdp makes of a pool: one piece from a page's start, as long as its mbufs together.
static void test_pool_for_af_xdp(void **state)
{
	(void)state;
	static const char *const devices[] = {"net_null0", "net_af_xdp7,iface=x"};
	struct rte_mempool *own[RTE_MAX_NUMA_NODES], *pool = NULL;
	struct rte_mempool_memhdr chunk[2];
	mbuf_pools_free(pools); // their name
	set_ports(2, devices);
	gateway.memory.mbufs = 2000;
	assert_int_equal(
		mbuf_pools_new(&gateway, RTE_MBUF_DEFAULT_BUF_SIZE, own, err, sizeof(err)), 0);
	for (unsigned i = 0; i < RTE_MAX_NUMA_NODES && !pool; i++)
		pool = own[i];
	assert_int_equal(pool->nb_mem_chunks, 1);
	rte_mempool_mem_iter(pool, note_chunk, chunk);
	uint32_t each = pool->header_size + pool->elt_size + pool->trailer_size;
	assert_int_equal((uintptr_t)chunk[0].addr % 4096, 0);
	assert_int_equal(chunk[0].len, (size_t)each * pool->populated_size);
	struct rte_mbuf *m[2];
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, m, 2), 0);
	assert_int_equal(rte_pktmbuf_priv_size(pool), PKT_PRIV_SIZE);
	assert_true(rte_pktmbuf_tailroom(m[0]) >= 1518);
	assert_true((uintptr_t)m[0]->buf_addr / 4096 ==
		    ((uintptr_t)m[0]->buf_addr + m[0]->buf_len - 1) / 4096);
	rte_pktmbuf_free_bulk(m, 2);
	// Frames that a page does not hold cannot be had beside such a port.
	mbuf_pools_free(own);
	assert_int_equal(mbuf_pools_new(&gateway, 9200, own, err, sizeof(err)), -ERANGE);
	assert_non_null(strstr(err, "af_xdp"));
	gateway.n_ports = 0;
	gateway.memory.mbufs = 0;
	assert_int_equal(
		mbuf_pools_new(&gateway, RTE_MBUF_DEFAULT_BUF_SIZE, pools, err, sizeof(err)), 0);
}

// An upper bound has to grow with everything that there may be more of: by no less than the entries
// themselves take.
static void test_memory_that_is_needed(void **state)
{
	static struct gateway some = {.n_data = 4, .memory.mbufs = 1000};
	static const uint32_t more = 1u << 18;
	const struct {
		const char *what;
		uint32_t *limit;
		uint64_t bytes; // of an entry, of all lcores
	} rows[] = {
		{"flows", &some.limits.flows, sizeof(struct flow)},
		{"embryos", &some.limits.embryos, sizeof(struct flow_stub)},
		{"conn_cache", &some.limits.conn_cache, 4 * sizeof(struct conn_entry)},
		{"expectations", &some.limits.expectations, 4 * sizeof(struct expect_key)},
		{"endpoints", &some.limits.endpoints, 4 * sizeof(struct endpoint_entry)},
		{"names", &some.limits.names, 4 * sizeof(struct endpoint_entry)},
		{"evidence", &some.limits.evidence, 4 * sizeof(struct evidence)},
		{"tracked", &some.reassembly.tracked, 256},
		{"datagrams", &some.fragments.datagrams, 4 * 64},
		{"packets", &some.fragments.packets, 4 * sizeof(void *)},
		{"mbufs", &some.memory.mbufs, RTE_MBUF_DEFAULT_BUF_SIZE + sizeof(struct rte_mbuf)},
	};
	uint64_t link = 2 * (uint64_t)rte_ring_get_memsize_elem(sizeof(void *), HANDOFF_RING) +
			(uint64_t)rte_ring_get_memsize_elem(sizeof(struct hint), HINT_RING_SIZE);
	uint32_t before = memory_needed_mb(&some);
	(void)state;

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		*rows[i].limit += more;
		uint32_t grown = memory_needed_mb(&some) - before;

		*rows[i].limit -= more;
		if (grown < rows[i].bytes * more >> 20)
			fail_msg("%s: %u MB for %u entries of %llu bytes", rows[i].what, grown,
				more, (unsigned long long)rows[i].bytes);
	}
	some.reassembly.memory_mb = 100;
	assert_int_equal(memory_needed_mb(&some), before + 100);
	some.reassembly.memory_mb = 0;
	some.n_data = 9; // each to each other
	assert_true(memory_needed_mb(&some) - before >= (9 * 8 - 4 * 3) * link >> 20);
	before = memory_needed_mb(&some);
	some.impairment.limit = more;
	assert_int_equal(memory_needed_mb(&some), before); // nothing is impaired
	some.impairment.to_inside.delay_ms = 1;
	assert_true(memory_needed_mb(&some) - before >= 9 * sizeof(void *) * more >> 20);
	some.impairment.limit = 0;
	before = memory_needed_mb(&some);
	some.scan.flows = more;
	assert_int_equal(memory_needed_mb(&some), before); // no engine
	some.scan.engine = SCAN_ENGINE_NULL;
	assert_true(memory_needed_mb(&some) - before >= 128 * more >> 20);
}

static void test_messages(void **state)
{
	(void)state;
	static const char *const wrong[] = {"net_nul0"};
	set_ports(1, wrong);
	assert_int_equal(ports_attach(&dp, &gateway, err, sizeof(err)), -ENODEV);
	assert_non_null(strstr(err, "port \"p0\" (net_nul0)"));
	assert_non_null(strstr(err, "did you mean net_null?"));
	ports_close(&dp);
	static const char *const twice[] = {"net_null4", "net_null4,size=100"};
	set_ports(2, twice);
	assert_int_equal(ports_attach(&dp, &gateway, err, sizeof(err)), -EBUSY);
	assert_non_null(strstr(err, "port \"p1\""));
	assert_non_null(strstr(err, "used twice"));
	ports_close(&dp);
	static const char *const missing[] = {"net_af_xdp0,iface=no-such-if"};
	set_ports(1, missing);
	assert_int_equal(ports_attach(&dp, &gateway, err, sizeof(err)), -ENODEV);
	assert_non_null(strstr(err, "no-such-if"));
	assert_non_null(strstr(err, "there are: lo"));
	ports_close(&dp);
}

static void test_clock_does_not_step(void **state)
{
	(void)state;
	struct timespec wall;
	uint64_t last = 0;
	for (int i = 0; i < 100000; i++) {
		uint64_t now = clock_ns();
		assert_true(now >= last);
		last = now;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	int64_t off = (int64_t)(clock_ns() - (uint64_t)wall.tv_sec * 1000000000u) - wall.tv_nsec;
	assert_true(off > -50000000 && off < 50000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_are_deaf),
		cmocka_unit_test(test_clock_does_not_step),
		cmocka_unit_test(test_captures),
		cmocka_unit_test(test_capture_of_jumbo_frames),
		cmocka_unit_test(test_null_under_load),
		cmocka_unit_test(test_rings_and_queues),
		cmocka_unit_test(test_send_queues_are_shared),
		cmocka_unit_test(test_pool_for_af_xdp),
		cmocka_unit_test(test_memory_that_is_needed),
		cmocka_unit_test(test_messages),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
