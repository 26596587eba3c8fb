// SPDX-License-Identifier: BSD-3-Clause
// tcp against sockets of the system: what it writes, what it takes, how sessions begin and end.
// What all transports owe is in tests/transport.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <cmocka.h>
#include "lib/tapi/tapi_node.h"
#include "transportapi/proto/frame.h"
#include "transportapi/transport/stream.h"

#define S    1000000u
#define MTU  32768u
#define CONF "\"tcp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"], \"max_half_open\": 3}"

tapi_init_fn inittransport_tcp;
tapi_done_fn donetransport_tcp;

static struct node a;

static int setup(void **state)
{
	(void)state;
	node_init(&a, inittransport_tcp, 0xaa, CONF);
	node_start(&a);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	node_end(&a, donetransport_tcp);
	return 0;
}

// WELCOME of node `first`, nonce of the stand.
static void check_welcome(const uint8_t *octets, uint8_t first)
{
	static const uint8_t head[8] = {0, 48, 0, 4, 1, 0, 0, 0};
	uint8_t identity[TAPI_PEER_ID_BYTES] = {first};

	assert_memory_equal(octets, head, 8);
	assert_memory_equal(octets + 8, identity, sizeof(identity));
	for (unsigned i = 40; i < 48; i++)
		assert_int_equal(octets[i], 0x5a);
}

static void check_frame(const uint8_t *octets, uint8_t mark, uint32_t size)
{
	const uint8_t head[12] = {0, (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size, 0,
		mark & 1, 0, 0, mark, mark, mark, mark};

	assert_memory_equal(octets, head, sizeof(head));
	for (uint32_t i = 0; i < size; i++)
		assert_int_equal(octets[12 + i], mark);
}

// TA11, TA12: who connects says WELCOME once, before all it ever says.
static void test_octets_connecting(void **state)
{
	uint8_t octets[48 + 3 * 12 + 5 + 0 + 300];
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session *session = node_connect(&a, tcp_url(port));
	const int fd = raw_accept(listening);

	(void)state;
	assert_int_equal(node_send(&a, session, 'a', 5), TAPI_OK); // kept: the loop did not run
	node_run(&a, 3);
	assert_int_equal(node_send(&a, session, 'b', 0), TAPI_OK);
	assert_int_equal(node_send(&a, session, 'c', 300), TAPI_OK);
	assert_int_equal(raw_read(fd, octets, sizeof(octets)), sizeof(octets));
	check_welcome(octets, 0xaa);
	check_frame(octets + 48, 'a', 5);
	check_frame(octets + 48 + 17, 'b', 0);
	check_frame(octets + 48 + 17 + 12, 'c', 300);
	assert_int_equal(a.api->stats(a.api)->sent_msgs, 3);
	assert_int_equal(a.api->stats(a.api)->sent_bytes, 305);
	// an answer comes on the same session
	raw_write(fd, octets, peer_welcome(octets, 0xbb));
	raw_write(fd, octets, peer_frame(octets, 'r', 9));
	node_until(&a, &a.n_messages, 1);
	assert_ptr_equal(a.messages[0].session, session);
	assert_int_equal(a.messages[0].sender.octets[0], 0xbb);
	assert_int_equal(a.messages[0].crc, 'r' * 0x01010101u);
	close(fd);
	close(listening);
}

// TA11: who accepts says it with the first answer, and is silent to who never said it.
static void test_octets_accepting(void **state)
{
	uint8_t octets[48 + 2 * 12 + 7 + 8];
	const int fd = peer_connect(&a);
	struct tapi_session *session = last_session(&a);

	(void)state;
	assert_int_equal(a.messages[0].size, 5);
	assert_int_equal(a.messages[0].first, 'h');
	assert_false(a.messages[0].is_encrypted);
	assert_int_equal(a.messages[0].crc, 'h' * 0x01010101u);
	assert_int_equal(a.messages[0].sender.octets[0], 0xbb);
	assert_int_equal(recv(fd, octets, 1, MSG_DONTWAIT), -1);
	assert_int_equal(a.api->associate(a.api, session), TAPI_OK);
	assert_int_equal(node_send(&a, session, 'x', 7), TAPI_OK);
	assert_int_equal(node_send(&a, session, 'y', 8), TAPI_OK);
	assert_int_equal(raw_read(fd, octets, sizeof(octets)), sizeof(octets));
	check_welcome(octets, 0xaa);
	check_frame(octets + 48, 'x', 7);
	check_frame(octets + 48 + 19, 'y', 8);
	close(fd);
}

// What the system takes of the next writes, in octets; UINT64_MAX: as it likes.
static uint64_t takes = UINT64_MAX;

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	uint8_t octets[1024];
	size_t n = 0;

	assert_true(flags & MSG_DONTWAIT);
	assert_true(flags & MSG_NOSIGNAL);
	if (takes == UINT64_MAX)
		return __real_sendmsg(fd, message, flags);
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		memcpy(octets + n, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
		n += message->msg_iov[i].iov_len;
	}
	if (n > takes)
		n = takes;
	takes = 0;
	if (!n) {
		errno = EAGAIN;
		return -1;
	}
	return send(fd, octets, n, flags);
}

// TA10: the system takes every possible part of a first answer, and then every possible part of
// what lies ahead and the next message. The third one waits for the loop to send the remainder.
static void test_every_part(void **state)
{
	const uint64_t first_size = 48 + 12 + 9, second_size = 12 + 7;

	(void)state;
	for (uint64_t first = 0; first <= first_size; first++)
		for (uint64_t second = 0; second <= first_size - first + second_size; second += 3) {
			const int fd = peer_connect(&a);
			struct tapi_session *session = last_session(&a);
			uint8_t octets[256], expected[256];
			size_t n = 0;

			takes = first;
			if (node_send(&a, session, 'p', 9) == TAPI_OK)
				n = 48 + peer_frame(expected + 48, 'p', 9);
			else
				assert_int_equal(first, 0);
			takes = second;
			if (node_send(&a, session, 'q', 7) == TAPI_OK)
				n = (n ? n : 48) + peer_frame(expected + (n ? n : 48), 'q', 7);
			else // not begun, unless no octet of it could go
				assert_true(second <= (first ? first_size - first : 0));
			takes = UINT64_MAX;
			node_run(&a, 2); // nothing but the loop
			assert_int_equal(a.api->send_estimate(a.api, session), MTU);
			if (n) {
				assert_int_equal(raw_read(fd, octets, n), n);
				check_welcome(octets, 0xaa);
				assert_memory_equal(octets + 48, expected + 48, n - 48);
			}
			assert_int_equal(recv(fd, octets, 1, MSG_DONTWAIT), -1);
			close(fd);
			a.n_messages = a.n_downs = 0;
			node_until(&a, &a.n_downs, 1);
			a.n_messages = a.n_downs = 0;
		}
}

// A small message does not wait for the answer to the one before it.
static void test_no_delay(void **state)
{
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	int fd[2], on;

	(void)state;
	node_connect(&a, tcp_url(port));
	fd[0] = raw_accept(listening);
	fd[1] = peer_connect(&a);
	for (unsigned i = 0; i < 2; i++) {
		socklen_t length = sizeof(on);

		assert_int_equal(
			getsockopt(raw_other_end(fd[i]), IPPROTO_TCP, TCP_NODELAY, &on, &length),
			0);
		assert_int_equal(on, 1);
		close(fd[i]);
	}
	close(listening);
}

// One mtu of messages waits for the connection, and goes out in its order.
static void test_kept(void **state)
{
	static uint8_t octets[48 + 2 * 12 + MTU];
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session_info info;
	struct tapi_session *session = node_connect(&a, tcp_url(port));
	const int fd = raw_accept(listening);

	(void)state;
	a.api->session_info(a.api, session, &info);
	assert_false(info.up);
	assert_false(info.inbound);
	assert_int_equal(info.references, 1);
	assert_string_equal(info.remote, tcp_url(port));
	assert_int_equal(a.api->send_estimate(a.api, session), MTU);
	assert_int_equal(node_send(&a, session, 'a', MTU + 1), TAPI_ETOOBIG);
	assert_int_equal(node_send(&a, session, 'a', MTU / 2), TAPI_OK);
	assert_int_equal(a.api->send_estimate(a.api, session), MTU / 2);
	assert_int_equal(node_send(&a, session, 'b', MTU / 2 + 1), TAPI_DROPPED);
	assert_int_equal(node_send(&a, session, 'c', MTU / 2), TAPI_OK);
	assert_int_equal(node_send(&a, session, 'd', 1), TAPI_DROPPED);
	assert_int_equal(node_send(&a, session, 'e', 0), TAPI_DROPPED);
	assert_int_equal(a.api->stats(a.api)->sent_msgs, 0);
	assert_int_equal(a.api->stats(a.api)->dropped_block, 3);
	assert_int_equal(a.api->stats(a.api)->dropped_too_big, 1);
	node_run(&a, 3);
	assert_int_equal(raw_read(fd, octets, sizeof(octets)), sizeof(octets));
	check_welcome(octets, 0xaa);
	check_frame(octets + 48, 'a', MTU / 2);
	check_frame(octets + 48 + 12 + MTU / 2, 'c', MTU / 2);
	a.api->session_info(a.api, session, &info);
	assert_true(info.up);
	assert_int_equal(info.sent_msgs, 2);
	assert_int_equal(info.sent_bytes, MTU);
	assert_int_equal(info.dropped_msgs, 4);
	assert_int_equal(a.api->send_estimate(a.api, session), MTU);
	close(fd);
	close(listening);
}

// Messages of no octets are bounded in number, too.
static void test_kept_empty(void **state)
{
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session *session = node_connect(&a, tcp_url(port));
	unsigned n = 0;

	(void)state;
	while (n < MTU && node_send(&a, session, 'a', 0) == TAPI_OK)
		n++;
	assert_int_equal(n, MTU / TAPI_FRAME_HEAD_BYTES);
	close(listening);
}

// Refused: told by the loop, not inside connect(); what was kept is counted where it ended.
static void test_refused(void **state)
{
	struct tapi_session *session;
	uint16_t port = 0;

	(void)state;
	close(raw_listen(&port, 4));
	session = node_connect(&a, tcp_url(port));
	node_send(&a, session, 'a', 5); // kept, or already known to be lost
	node_send(&a, session, 'b', 5);
	assert_int_equal(a.n_downs, 0);
	node_until(&a, &a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_ERROR);
	assert_int_equal(a.api->stats(a.api)->dropped_down, 2);
	assert_int_equal(a.api->stats(a.api)->sessions_opened, 1);
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 1);
	// and who gives up before it is reported hears nothing
	session = node_connect(&a, tcp_url(port));
	assert_int_equal(a.api->disconnect(a.api, session), TAPI_OK);
	node_run(&a, 5);
	assert_int_equal(a.n_downs, 1);
}

// What fails inside connect() is told by the loop, too: the broadcast address of the loopback.
static void test_refused_at_once(void **state)
{
	struct tapi_session *session = node_connect(&a, "tcp://127.255.255.255:9999");

	(void)state;
	assert_int_equal(node_send(&a, session, 'a', 5), TAPI_EDOWN);
	assert_int_equal(a.n_downs, 0);
	node_until(&a, &a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_ERROR);
	assert_int_equal(a.api->stats(a.api)->dropped_down, 1);
}

static void test_connect_timeout(void **state)
{
	uint16_t port = 0;
	const int listening = raw_listen(&port, 0);
	const int first = raw_connect(port); // the backlog is full: no answer for the next
	struct tapi_session *session;
	uint64_t wish;

	(void)state;
	session = node_connect(&a, tcp_url(port));
	node_run(&a, 3);
	wish = node_ahead(&a, 0);
	assert_int_equal(wish, a.now_us + 10 * S);
	node_ahead(&a, 10 * S - 1);
	assert_int_equal(a.n_downs, 0);
	node_ahead(&a, 1);
	assert_int_equal(a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_ERROR);
	close(first);
	close(listening);
}

static bool count_whole(void *context, struct tapi_message_pack *pack)
{
	uint64_t *seen = context;

	for (uint32_t i = 0; i < pack->size; i++)
		assert_int_equal(pack->message[i], (uint8_t)pack->crc);
	seen[0]++;
	seen[1] += pack->size;
	return true;
}

// TA10: the peer does not read; then it does, and the stream is whole frames: as many as were sent.
static void test_would_block(void **state)
{
	const struct tapi_transport_stats *stats = a.api->stats(a.api);
	static uint8_t piece[100003];
	struct tapi_frame_reader reader;
	uint64_t seen[2] = {0}, given = 0;
	uint32_t chance = 1;
	const int fd = peer_connect(&a);
	struct tapi_session *session = last_session(&a);
	bool was_part = false;

	(void)state;
	tapi_frame_reader_init(&reader, MTU);
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned i = 0; i < 400; i++) {
			enum tapi_result result;

			chance = chance * 1664525 + 1013904223;
			result = node_send(&a, session, (uint8_t)i, (chance >> 16) % (MTU + 1));
			given++;
			assert_true(result == TAPI_OK || result == TAPI_DROPPED);
		}
		was_part |= !a.api->send_estimate(a.api, session);
		// some of it is read, at odd places; sometimes the loop runs, sometimes send()
		// finds the place
		for (unsigned i = 0; i < round % 7; i++) {
			const ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

			if (n > 0)
				assert_int_equal(tapi_frame_reader_feed(&reader, piece, (size_t)n,
							 count_whole, seen),
					TAPI_OK);
		}
		if (round % 3)
			node_run(&a, 2);
	}
	assert_true(was_part);
	assert_true(stats->dropped_block > 100 && stats->sent_msgs > 100);
	assert_int_equal(stats->sent_msgs + stats->dropped_block, given);
	for (unsigned i = 0; i < 10000 && seen[0] < stats->sent_msgs; i++) {
		const ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

		if (n > 0)
			assert_int_equal(tapi_frame_reader_feed(
						 &reader, piece, (size_t)n, count_whole, seen),
				TAPI_OK);
		node_run(&a, 1);
	}
	assert_int_equal(seen[0], stats->sent_msgs);
	assert_int_equal(seen[1], stats->sent_bytes);
	assert_int_equal(reader.rest_length, 0);
	assert_int_equal(a.api->send_estimate(a.api, session), MTU);
	assert_int_equal(a.n_downs, 0);
	tapi_frame_reader_free(&reader);
	close(fd);
}

static void test_malformed(void **state)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n";
	uint8_t octets[200];
	size_t n = peer_welcome(octets, 0xbb);
	int fd = raw_connect(node_port(&a, 4));

	(void)state;
	n += peer_frame(octets + n, '1', 10);
	octets[n + 0] = 1; // the next claims 16 MiB
	memset(octets + n + 1, 0, 12);
	raw_write(fd, octets, n + 12);
	node_until(&a, &a.n_downs, 1);
	assert_int_equal(a.n_messages, 1);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_ERROR);
	assert_int_equal(a.api->stats(a.api)->bad_frame, 1);
	assert_int_equal(raw_read(fd, octets, 1), 0);
	close(fd);
	// who is no peer never was a session for the core
	fd = raw_connect(node_port(&a, 4));
	raw_write(fd, http, sizeof(http) - 1);
	node_run(&a, 10);
	assert_int_equal(raw_read(fd, octets, 1), 0);
	assert_int_equal(a.api->stats(a.api)->bad_frame, 2);
	assert_int_equal(a.n_downs, 1);
	close(fd);
}

// Who connects and says nothing, or half of a WELCOME, goes after connect_timeout_s.
static void test_slow_welcome(void **state)
{
	uint8_t octets[TAPI_WELCOME_BYTES];
	const int silent = raw_connect(node_port(&a, 4)), slow = raw_connect(node_port(&a, 4));

	(void)state;
	peer_welcome(octets, 0xbb);
	raw_write(slow, octets, 47);
	node_run(&a, 5);
	assert_int_equal(a.api->stats(a.api)->sessions_accepted, 2);
	node_ahead(&a, 10 * S - 1);
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 0);
	node_ahead(&a, 1);
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 2);
	assert_int_equal(raw_read(silent, octets, 1), 0);
	assert_int_equal(raw_read(slow, octets, 1), 0);
	assert_int_equal(a.n_downs, 0); // the core never heard of them
	close(silent);
	close(slow);
}

// Who said it stands, without a message: until it is stale, and the core never hears of it.
static void test_only_welcome(void **state)
{
	uint8_t octets[TAPI_WELCOME_BYTES];
	const int fd = raw_connect(node_port(&a, 4));

	(void)state;
	peer_welcome(octets, 0xbb);
	raw_write(fd, octets, 7);
	node_run(&a, 3);
	raw_write(fd, octets + 7, sizeof(octets) - 7);
	node_run(&a, 3);
	node_ahead(&a, 60 * S - 1);
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 0);
	node_ahead(&a, 1);
	assert_int_equal(a.api->stats(a.api)->sessions_stale, 1);
	assert_int_equal(raw_read(fd, octets, 1), 0);
	assert_int_equal(a.n_downs, 0);
	close(fd);
}

// max_half_open is 3: the oldest of the silent ones goes.
static void test_half_open_limit(void **state)
{
	int silent[4];
	uint8_t octet;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		silent[i] = raw_connect(node_port(&a, 4));
		node_run(&a, 3);
	}
	assert_int_equal(a.api->stats(a.api)->sessions_evicted, 1);
	assert_int_equal(raw_read(silent[0], &octet, 1), 0);
	assert_int_equal(recv(silent[1], &octet, 1, MSG_DONTWAIT), -1);
	assert_int_equal(recv(silent[3], &octet, 1, MSG_DONTWAIT), -1);
	for (unsigned i = 0; i < 4; i++)
		close(silent[i]);
}

// A session that pours does not keep the next one waiting.
static void test_fair(void **state)
{
	static uint8_t octets[8192];
	const int pours = peer_connect(&a), other = peer_connect(&a), room = 16 << 20;
	const unsigned before = a.n_messages;
	const size_t n = peer_frame(octets, 'p', sizeof(octets) - TAPI_FRAME_HEAD_BYTES);
	unsigned others = 0;

	(void)state;
	if (setsockopt(raw_other_end(pours), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room))) {
		close(pours);
		close(other);
		skip(); // not root
	}
	for (unsigned i = 0; i < 200; i++)
		raw_write(pours, octets, n);
	raw_write(other, octets, peer_frame(octets, 'o', 3));
	node_run(&a, 1);
	for (unsigned i = before; i < a.n_messages; i++)
		others += a.messages[i].first == 'o';
	assert_int_equal(others, 1);
	assert_in_range(a.n_messages - before, 2, 64); // 256 KiB in one event
	node_until(&a, &a.n_messages, before + 201);
	close(pours);
	close(other);
}

static struct tapi_session *to_myself;

static void send_again(struct node *node, const struct tapi_message_pack *pack)
{
	node_send(node, to_myself, pack->message[0], pack->size);
}

// Who sends from where the last one came in does not wait for the loop, and does not hold it
// either.
static void test_myself(void **state)
{
	unsigned before;

	(void)state;
	to_myself = node_connect(&a, tcp_url(node_port(&a, 4)));
	node_run(&a, 3);
	a.on_message = send_again;
	assert_int_equal(node_send(&a, to_myself, 'm', 11), TAPI_OK);
	node_until(&a, &a.n_messages, 1);
	before = a.n_messages;
	node_run(&a, 1);
	assert_in_range(a.n_messages - before, 32, 128);
	a.on_message = NULL;
}

static int unsent(struct tapi_session *session)
{
	int n = -1;

	assert_int_equal(ioctl(tapi_stream_fd(session), SIOCOUTQNSD, &n), 0);
	return n;
}

// On loopback, whose segments take many: what follows at once goes together, in the loop's next
// turn.
static void test_together(void **state)
{
	struct tapi_session *session = node_connect(&a, tcp_url(node_port(&a, 4)));

	(void)state;
	node_run(&a, 3);
	node_send(&a, session, 'm', 100);
	assert_int_equal(unsent(session), 0);
	for (unsigned i = 0; i < 16; i++)
		node_send(&a, session, 'm', 100);
	assert_in_range(unsent(session), 100, 1800);
	node_run(&a, 1);
	assert_int_equal(unsent(session), 0);
	node_until(&a, &a.n_messages, 17);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_octets_connecting),
		T(test_octets_accepting),
		T(test_every_part),
		T(test_no_delay),
		T(test_together),
		T(test_kept),
		T(test_kept_empty),
		T(test_refused),
		T(test_refused_at_once),
		T(test_connect_timeout),
		T(test_would_block),
		T(test_malformed),
		T(test_slow_welcome),
		T(test_only_welcome),
		T(test_half_open_limit),
		T(test_fair),
		T(test_myself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
