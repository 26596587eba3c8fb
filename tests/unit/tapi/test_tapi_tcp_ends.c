// SPDX-License-Identifier: BSD-3-Clause
// How sessions of tcp end: by the other end, by time, by the core, also inside receive(); and how
// nothing in flight is lost by that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <errno.h>
#include <sys/socket.h>
#include <cmocka.h>
#include "lib/tapi/tapi_node.h"
#include "transportapi/base/budget.h"
#include "transportapi/proto/frame.h"

#define S    1000000u
#define MTU  32768u
#define CONF "\"tcp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}"

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

static bool count_whole(void *context, struct tapi_message_pack *pack)
{
	uint64_t *seen = context;

	for (uint32_t i = 0; i < pack->size; i++)
		assert_int_equal(pack->message[i], (uint8_t)pack->crc);
	seen[0]++;
	seen[1] += pack->size;
	return true;
}

// The peer's end: what came is delivered first.
static void test_closed_by_peer(void **state)
{
	uint8_t octets[200];
	size_t n = peer_welcome(octets, 0xbb);
	const int fd = raw_connect(node_port(&a, 4));

	(void)state;
	n += peer_frame(octets + n, '1', 10);
	n += peer_frame(octets + n, '2', 20);
	n += peer_frame(octets + n, '3', 30) - 1; // cut
	raw_write(fd, octets, n);
	close(fd);
	node_until(&a, &a.n_downs, 1);
	assert_int_equal(a.n_messages, 2);
	assert_int_equal(a.messages[1].last, '2');
	assert_ptr_equal(a.downs[0].session, a.messages[0].session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_CLOSED);
	assert_int_equal(a.api->stats(a.api)->bad_frame, 1);
}

static void test_half_closed(void **state)
{
	const int fd = peer_connect(&a);
	uint8_t octet;

	(void)state;
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	node_until(&a, &a.n_downs, 1);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_CLOSED);
	assert_int_equal(raw_read(fd, &octet, 1), 0); // no reset
	close(fd);
}

static void test_reset_by_peer(void **state)
{
	const struct linger reset = {.l_onoff = 1};
	const int fd = peer_connect(&a);
	struct tapi_session *session = last_session(&a);

	(void)state;
	assert_int_equal(a.api->associate(a.api, session), TAPI_OK);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	// send() finds it first: nothing is reported inside
	assert_int_equal(node_send(&a, session, 'a', 5), TAPI_EDOWN);
	assert_int_equal(node_send(&a, session, 'b', 5), TAPI_EDOWN);
	assert_int_equal(a.api->stats(a.api)->dropped_down, 2);
	assert_int_equal(a.n_downs, 0);
	node_until(&a, &a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_ERROR);
}

// Who is cut for memory before its connection stands loses what it kept: each message is counted.
static void test_kept_is_cut(void **state)
{
	static struct node other;
	struct tapi_budget budget;
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);

	(void)state;
	tapi_budget_init(&budget, 1 << 20);
	node_budget = &budget;
	node_init(&other, inittransport_tcp, 0xcc, CONF);
	node_budget = NULL;
	node_start(&other);
	struct tapi_session *session = node_connect(&other, tcp_url(port));

	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(node_send(&other, session, 'a', 100), TAPI_OK);
	budget.bytes_max = 0;
	tapi_budget_fit(&budget);
	assert_int_equal(budget.bytes, 0);
	assert_int_equal(other.api->stats(other.api)->dropped_down, 3);
	assert_int_equal(other.api->stats(other.api)->sessions_cut, 1);
	node_until(&other, &other.n_downs, 1);
	assert_int_equal(other.downs[0].why, TAPI_DOWN_LIMIT);
	assert_int_equal(other.api->stats(other.api)->dropped_down, 3); // once
	node_end(&other, donetransport_tcp);
	close(listening);
}

// TA13: nobody holds it: stale. Somebody does: it stays.
static void test_stale(void **state)
{
	const int one = peer_connect(&a), other = peer_connect(&a);
	struct tapi_session *held = last_session(&a), *session = a.messages[0].session;
	uint8_t octet;

	(void)state;
	assert_int_equal(a.api->associate(a.api, held), TAPI_OK);
	node_ahead(&a, 60 * S - 1);
	assert_int_equal(a.n_downs, 0);
	node_ahead(&a, 1);
	assert_int_equal(a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_STALE);
	assert_int_equal(a.api->stats(a.api)->sessions_stale, 1);
	assert_int_equal(raw_read(one, &octet, 1), 0);
	assert_int_equal(a.api->disconnect(a.api, held), TAPI_OK);
	node_ahead(&a, 60 * S);
	assert_int_equal(a.n_downs, 2);
	close(one);
	close(other);
}

// TA14: an end of ours resets nothing: the other end can still write, and reads all that was sent.
static void test_ends_in_order(void **state)
{
	static uint8_t octets[MTU];
	uint64_t seen[2] = {0};
	struct tapi_frame_reader reader;
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session *session = node_connect(&a, tcp_url(port));
	const int fd = raw_accept(listening);
	unsigned sent = 0;
	ssize_t n = 1;

	(void)state;
	node_run(&a, 3);
	tapi_frame_reader_init(&reader, MTU);
	while (a.api->send_estimate(a.api, session))
		sent += node_send(&a, session, 'q', MTU - 7) == TAPI_OK;
	assert_int_equal(a.api->disconnect(a.api, session), TAPI_OK); // half a frame is out
	raw_write(fd, octets, peer_welcome(octets, 0xbb));
	raw_write(fd, octets, peer_frame(octets, 'z', 1000));
	for (unsigned i = 0; n && i < 100000; i++) {
		node_run(&a, 1);
		n = recv(fd, octets, sizeof(octets), MSG_DONTWAIT);
		if (n > 0)
			assert_int_equal(tapi_frame_reader_feed(
						 &reader, octets, (size_t)n, count_whole, seen),
				TAPI_OK);
	}
	assert_int_equal(n, 0); // FIN, no reset
	assert_int_equal(seen[0], sent);
	assert_int_equal(reader.rest_length, 0);
	assert_int_equal(a.n_messages + a.n_downs, 0);
	tapi_frame_reader_free(&reader);
	close(fd);
	close(listening);
}

// The same where time ends it: the peer that was slow reads whole frames, then FIN.
static void test_stale_in_order(void **state)
{
	static uint8_t octets[MTU];
	uint64_t seen[2] = {0};
	struct tapi_frame_reader reader;
	const int fd = peer_connect(&a);
	struct tapi_session *session = last_session(&a);
	unsigned sent = 0;
	ssize_t n = 1;

	(void)state;
	tapi_frame_reader_init(&reader, MTU);
	while (a.api->send_estimate(a.api, session))
		sent += node_send(&a, session, 'q', MTU - 7) == TAPI_OK;
	node_ahead(&a, 60 * S);
	assert_int_equal(a.n_downs, 1);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_STALE);
	for (unsigned i = 0; n && i < 100000; i++) {
		node_run(&a, 1);
		n = recv(fd, octets, sizeof(octets), MSG_DONTWAIT);
		if (n > 0)
			assert_int_equal(tapi_frame_reader_feed(
						 &reader, octets, (size_t)n, count_whole, seen),
				TAPI_OK);
	}
	assert_int_equal(n, 0);
	assert_int_equal(seen[0], sent);
	assert_int_equal(reader.rest_length, 0);
	tapi_frame_reader_free(&reader);
	close(fd);
}

// Who never closes is not waited for: 2 s, or 1 MiB.
static void test_linger_bounded(void **state)
{
	static uint8_t octets[MTU];
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session *session = node_connect(&a, tcp_url(port));
	const int fd = raw_accept(listening);
	size_t poured = 0;
	ssize_t n;

	(void)state;
	node_run(&a, 3);
	assert_int_equal(a.api->disconnect(a.api, session), TAPI_OK);
	do {
		n = send(fd, octets, sizeof(octets), MSG_NOSIGNAL | MSG_DONTWAIT);
		poured += n > 0 ? (size_t)n : 0;
		node_run(&a, 1);
	} while ((n > 0 || errno == EAGAIN) && poured < 64u << 20);
	assert_in_range(poured, 1u << 20, 32u << 20);
	assert_int_equal(a.n_messages, 0);
	close(fd);
	close(listening);
}

static void test_linger_time(void **state)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session *session = node_connect(&a, tcp_url(port));
	const int fd = raw_accept(listening), ours = raw_other_end(fd);
	const struct timeval early = {.tv_sec = 1}, late = {.tv_sec = 2};

	(void)state;
	node_run(&a, 3);
	assert_int_equal(a.api->disconnect(a.api, session), TAPI_OK);
	event_base_loopexit(a.base, &early);
	event_base_dispatch(a.base);
	assert_int_equal(getpeername(ours, (struct sockaddr *)&peer, &length), 0);
	event_base_loopexit(a.base, &late);
	event_base_dispatch(a.base);
	assert_int_equal(getpeername(ours, (struct sockaddr *)&peer, &length), -1);
	assert_int_equal(errno, EBADF);
	close(fd);
	close(listening);
}

// Who sends an octet now and then keeps no socket of ours beyond that time.
static void test_linger_drip(void **state)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session *session = node_connect(&a, tcp_url(port));
	const int fd = raw_accept(listening), ours = raw_other_end(fd);

	(void)state;
	node_run(&a, 3);
	assert_int_equal(a.api->disconnect(a.api, session), TAPI_OK);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(getpeername(ours, (struct sockaddr *)&peer, &length), 0);
		raw_write(fd, "x", 1);
		node_run(&a, 3);
		a.now_us += 900000;
	}
	raw_write(fd, "x", 1);
	node_run(&a, 3);
	assert_int_equal(getpeername(ours, (struct sockaddr *)&peer, &length), -1);
	assert_int_equal(errno, EBADF);
	close(fd);
	close(listening);
}

// Real time, and the node's.
static void wait_second(void)
{
	a.now_us += S;
	for (unsigned i = 0; i < 120; i++) {
		usleep(10000);
		node_run(&a, 1);
	}
}

// Who says nothing ends when his time is over, also where somebody else is waited for longer.
static void test_silent_behind_another(void **state)
{
	const struct tapi_transport_stats *stats = a.api->stats(a.api);
	int first, silent;
	uint8_t octet;

	(void)state;
	assert_int_equal(node_reload(&a,
				 "\"tcp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"], "
				 "\"connect_timeout_s\": 1}",
				 NULL),
		TAPI_OK);
	first = peer_connect(&a);
	wait_second(); // the next is in 59 s: the first gets stale
	silent = raw_connect(node_port(&a, 4));
	node_run(&a, 3);
	assert_int_equal(stats->sessions_accepted, 2);
	wait_second();
	assert_int_equal(stats->sessions_closed, 1);
	assert_int_equal(raw_read(silent, &octet, 1), 0);
	assert_int_equal(a.n_downs, 0);
	close(silent);
	close(first);
}

static struct tapi_session *to_end;

static void end_inside(struct node *node, const struct tapi_message_pack *pack)
{
	if (pack->message[0] == 'd')
		assert_int_equal(node->api->disconnect(node->api, pack->session), TAPI_OK);
	else if (pack->message[0] == 's')
		assert_int_equal(node->api->stop_server(node->api), TAPI_OK);
	else if (pack->message[0] == 'o')
		assert_int_equal(node->api->disconnect(node->api, to_end), TAPI_OK);
}

// The core ends the session inside receive(), with more of it read already, in one piece and in
// many.
static void check_end_inside(uint8_t mark, bool at_once)
{
	uint8_t octets[400];
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	struct tapi_session *session;
	size_t n;
	int fd;

	a.on_message = end_inside;
	session = node_connect(&a, tcp_url(port));
	fd = raw_accept(listening);
	node_run(&a, 3);
	n = peer_welcome(octets, 0xbb);
	n += peer_frame(octets + n, 'm', 10);
	n += peer_frame(octets + n, mark, 100);
	n += peer_frame(octets + n, 'n', 10);
	for (size_t at = 0; at < n;) {
		const size_t piece = at_once ? n : n - at < 60 ? n - at : 60;

		raw_write(fd, octets + at, piece);
		node_run(&a, 2);
		at += piece;
	}
	assert_int_equal(a.n_messages, 2);
	assert_int_equal(a.messages[1].last, mark); // readable to the end of the call
	assert_ptr_equal(a.messages[1].session, session);
	assert_int_equal(a.n_downs, mark == 's');
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 1);
	close(fd);
	close(listening);
}

static void test_disconnect_inside(void **state)
{
	(void)state;
	check_end_inside('d', true);
}

static void test_disconnect_inside_pieces(void **state)
{
	(void)state;
	check_end_inside('d', false);
}

static void test_stop_inside(void **state)
{
	(void)state;
	check_end_inside('s', true);
}

static void test_stop_inside_pieces(void **state)
{
	(void)state;
	check_end_inside('s', false);
}

// One session ends inside what another one received, both readable at once.
static void test_disconnect_other_inside(void **state)
{
	uint8_t octets[200];
	uint16_t port = 0;
	const int listening = raw_listen(&port, 4);
	size_t n = peer_welcome(octets, 0xbb);
	int fd[2];

	(void)state;
	a.on_message = end_inside;
	for (unsigned i = 0; i < 2; i++) {
		to_end = node_connect(&a, tcp_url(port));
		fd[i] = raw_accept(listening);
	}
	node_run(&a, 3);
	n += peer_frame(octets + n, 'o', 10);
	raw_write(fd[0], octets, n);
	octets[TAPI_WELCOME_BYTES + TAPI_FRAME_HEAD_BYTES] = 'n';
	raw_write(fd[1], octets, n);
	node_until(&a, &a.n_messages, 1);
	node_run(&a, 3);
	// whichever was read first, the other one's end is clean
	assert_in_range(a.n_messages, 1, 2);
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 1);
	assert_int_equal(a.n_downs, 0);
	close(fd[0]);
	close(fd[1]);
	close(listening);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_closed_by_peer),
		T(test_half_closed),
		T(test_reset_by_peer),
		T(test_kept_is_cut),
		T(test_stale),
		T(test_ends_in_order),
		T(test_stale_in_order),
		T(test_linger_bounded),
		T(test_linger_time),
		T(test_linger_drip),
		T(test_silent_behind_another),
		T(test_disconnect_inside),
		T(test_disconnect_inside_pieces),
		T(test_stop_inside),
		T(test_stop_inside_pieces),
		T(test_disconnect_other_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
