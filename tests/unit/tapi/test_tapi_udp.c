// SPDX-License-Identifier: BSD-3-Clause
// The UDP transport over loopback: what it puts on the wire, whom it hears, what it survives. Rows
// TA3, TA5, TA6,
// TA10-TA12, TA27; its life is in test_tapi_udp_life.c.
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/tapi/tapi_udp_end.h"
#include "transportapi/proto/envelope.h"
#include "transportapi/transport/udp.h"

#define BURSTS 256 // datagrams of one event: BUDGET of datagram_io.c
#define LINE   64  // messages before there is a line: LINE_AFTER of datagram_connected.c

static struct event_base *base;

// There and back on sessions: source, sender, flag and a crc that is wrong come through (TA3, TA11,
// TA12); the answer comes on the session that was asked on.
static void cross(const char *keys, uint8_t family)
{
	struct end *a = udp_end(base, 'a', keys), *b = udp_end(base, 'b', keys);
	struct tapi_helo helo, mine;
	struct tapi_session *out, *in;
	struct tapi_session_info info;
	const struct end_heard *heard;

	end_helo(b, 0, &helo);
	end_helo(a, 0, &mine);
	assert_int_equal(helo.protocol, 17);
	assert_int_equal(helo.mtu, family == 4 ? 1432 : 1412);
	assert_int_equal(helo.address_size, family == 4 ? 6 : 18);
	out = end_connect(a, &helo);
	assert_int_equal(a->api->send(a->api, out, "question", 8, true, 0xdeadbeef), TAPI_OK);
	assert_true(end_wait(base, b, 1));
	heard = end_last(b);
	assert_memory_equal(&heard->sender, &a->id, sizeof(a->id));
	assert_int_equal(heard->size, 8);
	assert_memory_equal(heard->octets, "question", 8);
	assert_true(heard->is_encrypted);
	assert_int_equal(heard->crc, 0xdeadbeef);
	assert_int_equal(heard->source.family, family);
	assert_int_equal(heard->source.port, udp_port_of(&mine));

	in = heard->session;
	assert_non_null(in);
	assert_int_equal(b->api->associate(b->api, in), TAPI_OK);
	assert_int_equal(end_send(b, in, "answer"), TAPI_OK);
	assert_true(end_wait(base, a, 1));
	assert_ptr_equal(end_last(a)->session, out);
	assert_memory_equal(end_last(a)->octets, "answer", 6);
	assert_false(end_last(a)->is_encrypted);

	b->api->session_info(b->api, in, &info);
	assert_true(info.inbound && info.up);
	assert_int_equal(info.references, 1);
	assert_int_equal(info.received_bytes, 8);
	assert_int_equal(info.sent_msgs, 1);
	assert_int_equal(info.source.port, udp_port_of(&mine));
	assert_non_null(strstr(info.remote, family == 4 ? "udp://127.0.0.1:" : "udp://[::1]:"));
	assert_int_equal(b->api->disconnect(b->api, in), TAPI_OK);
	assert_int_equal(b->api->disconnect(b->api, in), TAPI_EDOWN); // holds nothing any more
	assert_int_equal(a->api->disconnect(a->api, out), TAPI_OK);
	assert_int_equal(a->n_downs, 0); // told by nobody: the core knows
	assert_int_equal(a->api->stats(a->api)->sessions_closed, 1);
	end_free(a);
	assert_int_equal(b->n_downs, 0);
	assert_int_equal(b->api->stop_server(b->api), TAPI_OK);
	assert_int_equal(b->n_downs, 1);
	assert_ptr_equal(b->downs[0].session, in);
	assert_int_equal(b->downs[0].why, TAPI_DOWN_STOPPED);
	end_free(b);
}

static void messages_cross(void **state)
{
	(void)state;
	cross(ON_V4, 4);
	cross(ON_V6, 6); // TA27
}

// Bursts of both families come through the same slots.
static void families_take_turns(void **state)
{
	struct end *both = udp_end(base, 'b', "\"nat\": false"), *v4 = udp_end(base, '4', ON_V4),
		   *v6 = udp_end(base, '6', ON_V6);
	struct tapi_session *session[2];
	struct tapi_helo helo;
	char text[64];
	unsigned heard = 0;

	(void)state;
	end_helo(both, 0, &helo);
	snprintf(text, sizeof(text), "udp://127.0.0.1:%u", udp_port_of(&helo));
	end_helo_text(v4, text, &helo);
	session[0] = end_connect(v4, &helo);
	snprintf(text, sizeof(text), "udp://[::1]:%u", udp_port_of(&helo));
	end_helo_text(v6, text, &helo);
	session[1] = end_connect(v6, &helo);
	for (unsigned i = 0; i < 6; i++) {
		struct end *from = i % 2 ? v6 : v4;

		for (unsigned j = 0; j < 20; j++)
			assert_int_equal(end_send(from, session[i % 2], "x"), TAPI_OK);
		heard += 20;
		assert_true(end_wait(base, both, heard));
		assert_int_equal(end_last(both)->source.family, i % 2 ? 6 : 4);
	}
	assert_int_equal(both->api->stats(both->api)->bad_frame, 0);
	assert_int_equal(both->api->stats(both->api)->sessions_accepted, 2);
	v4->api->disconnect(v4->api, session[0]);
	v6->api->disconnect(v6->api, session[1]);
	end_free(both);
	end_free(v4);
	end_free(v6);
}

static void every_datagram_names_its_sender(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_source source;
	struct tapi_helo helo;
	struct tapi_session *session;
	uint8_t got[1500], wanted[1500];
	int fd = udp_stranger(&source);
	char text[64];

	(void)state;
	udp_stranger_text(&source, text);
	end_helo_text(a, text, &helo);
	session = end_connect(a, &helo);
	for (unsigned i = 0; i < 3; i++) { // TA11: in each, not in the first alone
		size_t length = udp_enveloped(wanted, 'a', "tick");

		assert_int_equal(end_send(a, session, "tick"), TAPI_OK);
		assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), (ssize_t)length);
		assert_memory_equal(got, wanted, length);
	}
	a->api->disconnect(a->api, session);
	close(fd);
	end_free(a);
}

static void addresses_have_one_form(void **state)
{
	static const struct {
		uint8_t octets[18];
		uint16_t size;
		enum tapi_result result;
	} cases[] = {
		{{192, 0, 3, 1, 8, 38}, 6, TAPI_OK},
		{{192, 0, 3, 1, 8}, 5, TAPI_EADDR}, // cut
		{{192, 0, 3, 1, 8, 38, 0}, 7, TAPI_EADDR},
		{{0}, 0, TAPI_EADDR},
		{{192, 0, 3, 1, 0, 0}, 6, TAPI_EADDR}, // no port
		{{10, 1, 2, 3, 8, 38}, 6, TAPI_EACL},  // the paper's example
		{{224, 0, 0, 1, 8, 38}, 6, TAPI_EACL},
		{{192, 0, 3, 1, 0, 53}, 6, TAPI_EACL}, // a port to reflect from
		{{0x20, 1, 0xd, 0xb9, [15] = 1, 8, 38}, 18, TAPI_OK},
		{{0x20, 1, 0xd, 0xb8, [15] = 1, 8, 38}, 18, TAPI_EACL},
		{{0xfe, 0x80, [15] = 1, 8, 38}, 18, TAPI_EADDR}, // needs a scope
		{{[10] = 0xff, 0xff, 192, 0, 3, 1, 8, 38}, 18, TAPI_EADDR},
		{{0x20, 1, 0xd, 0xb9, [15] = 1}, 16, TAPI_EADDR},
	};
	struct end *a = end_new(base, 'a', inittransport_udp, donetransport_udp,
		"{\"acl\": {\"deny\": [\"10.0.0.0/8\", \"2001:db8::/32\"]}, \"udp\": {\"port\": "
		"0}}");
	struct tapi_helo helo = {.protocol = 17};
	struct tapi_source source;
	char text[TAPI_TEXT_BYTES];
	size_t size = 5;

	(void)state;
	assert_non_null(a->api);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		helo.address_size = cases[i].size;
		memcpy(helo.address, cases[i].octets, sizeof(cases[i].octets));
		assert_int_equal(a->api->verify_helo(a->api, &helo), cases[i].result);
	}
	end_helo_text(a, "udp://[2001:db9::7]:4000", &helo);
	assert_int_equal(a->api->address_to_string(a->api, &helo, text, sizeof(text)), TAPI_OK);
	assert_string_equal(text, "udp://[2001:db9::7]:4000");
	assert_int_equal(a->api->address_source(a->api, &helo, &source), TAPI_OK);
	assert_int_equal(source.family, 6);
	assert_int_equal(source.port, 4000);
	assert_int_equal(
		a->api->string_to_address(a->api, "udp://192.0.3.1:1", helo.address, &size),
		TAPI_EADDR); // no room
	end_free(a);
}

static unsigned helos(struct end *end, char texts[][TAPI_TEXT_BYTES], unsigned room)
{
	struct tapi_helo helo = {0};
	unsigned n = 0;

	while (end->api->create_helo(end->api, n, &helo) == TAPI_OK) {
		assert_true(n < room);
		assert_int_equal(
			end->api->address_to_string(end->api, &helo, texts[n], TAPI_TEXT_BYTES),
			TAPI_OK);
		assert_int_equal(end->api->verify_helo(end->api, &helo), TAPI_OK);
		n++;
	}
	return n;
}

static void own_addresses_are_as_configured(void **state) // TA5
{
	static char texts[64][TAPI_TEXT_BYTES], again[64][TAPI_TEXT_BYTES];
	struct end *a = udp_end(base, 'a', "\"nat\": false");
	struct tapi_helo helo;
	bool v4 = false, v6 = false;
	uint16_t port;
	unsigned n;

	(void)state;
	n = helos(a, texts, 64); // 0.0.0.0 and ::, what the acl allows
	assert_int_equal(helos(a, again, 64), n);
	end_helo(a, 0, &helo);
	port = udp_port_of(&helo);
	for (unsigned i = 0; i < n; i++) {
		char tail[16];

		assert_string_equal(texts[i], again[i]); // stable
		assert_null(strstr(texts[i], "fe80"));
		assert_null(strstr(texts[i], "//0.0.0.0"));
		snprintf(tail, sizeof(tail), ":%u", port); // "any" is one port for both
		assert_string_equal(strrchr(texts[i], ':'), tail);
		v4 = v4 || strncmp(texts[i], "udp://127.0.0.1:", 16) == 0;
		v6 = v6 || strncmp(texts[i], "udp://[::1]:", 12) == 0;
	}
	assert_true(v4 && v6);

	assert_int_equal(udp_reload(a, "\"ipv6\": false"), TAPI_OK);
	n = helos(a, texts, 64);
	for (unsigned i = 0; i < n; i++)
		assert_null(strchr(texts[i], '['));

	// A forwarded port: what is said, and nothing else.
	assert_int_equal(
		udp_reload(a, "\"advertise\": [\"198.51.100.7:4711\", \"198.51.100.8\"]"), TAPI_OK);
	assert_int_equal(helos(a, texts, 64), 2);
	assert_string_equal(texts[0], "udp://198.51.100.7:4711");
	end_helo(a, 1, &helo);
	assert_int_equal(udp_port_of(&helo), port);
	assert_int_equal(udp_reload(a, "\"advertise\": [\"198.51.100.7:4711\"]"), TAPI_OK);
	assert_int_equal(a->api->create_helo(a->api, 1, &helo), TAPI_ENOADDR);
	a->api->stop_server(a->api);
	assert_int_equal(a->api->create_helo(a->api, 0, &helo), TAPI_ENOADDR);
	assert_int_equal(a->api->start_server(a->api), TAPI_OK);

	assert_int_equal(udp_reload(a, "\"nat\": true"), TAPI_OK);
	assert_int_equal(a->api->create_helo(a->api, 0, &helo), TAPI_ENOADDR);
	// Still usable out-bound.
	{
		struct end *b = udp_end(base, 'b', ON_V4);
		struct tapi_session *session;

		end_helo(b, 0, &helo);
		session = end_connect(a, &helo);
		assert_int_equal(end_send(a, session, "x"), TAPI_OK);
		assert_true(end_wait(base, b, 1));
		a->api->disconnect(a->api, session);
		end_free(b);
	}
	a->api->stop_server(a->api);
	assert_int_equal(a->api->create_helo(a->api, 0, &helo), TAPI_ENOADDR);
	end_free(a);
}

// Linked with --wrap=sendto: loopback never blocks, so the test says when the system refuses.
ssize_t __real_sendto(int fd, const void *octets, size_t length, int flags,
	const struct sockaddr *to, socklen_t to_length);
ssize_t __wrap_sendto(int fd, const void *octets, size_t length, int flags,
	const struct sockaddr *to, socklen_t to_length);

static int refusals[8]; // what the next calls fail with, the last first
static unsigned n_refusals;

ssize_t __wrap_sendto(int fd, const void *octets, size_t length, int flags,
	const struct sockaddr *to, socklen_t to_length)
{
	if (n_refusals == 0)
		return __real_sendto(fd, octets, length, flags, to, to_length);
	assert_true(flags & MSG_DONTWAIT);
	errno = refusals[--n_refusals];
	return -1;
}

static enum tapi_result refused(struct end *end, struct tapi_session *session, int error)
{
	refusals[n_refusals++] = error;
	return end_send(end, session, "refused");
}

static void a_full_medium_drops(void **state) // TA10
{
	struct end *a = udp_end(base, 'a', ON_V4);
	const struct tapi_transport_stats *stats = a->api->stats(a->api);
	struct tapi_source source;
	struct tapi_helo helo;
	struct tapi_session *session;
	struct tapi_session_info info;
	static char message[1500];
	int fd = udp_stranger(&source);
	char text[64];

	(void)state;
	udp_stranger_text(&source, text);
	end_helo_text(a, text, &helo);
	session = end_connect(a, &helo);
	assert_true(a->api->send_estimate(a->api, session) > 1432);
	assert_int_equal(refused(a, session, EAGAIN), TAPI_DROPPED);
	assert_int_equal(refused(a, session, ENOBUFS), TAPI_DROPPED);
	assert_int_equal(stats->dropped_block, 2);
	assert_int_equal(refused(a, session, EMSGSIZE), TAPI_ETOOBIG);
	assert_int_equal(a->api->send(a->api, session, message, 1433, false, 0), TAPI_ETOOBIG);
	assert_int_equal(stats->dropped_too_big, 2);
	assert_int_equal(stats->sent_msgs, 0);
	assert_int_equal(recv(fd, message, sizeof(message), MSG_DONTWAIT), -1); // nor kept
	// The error of an earlier message does not take this one with it.
	refusals[n_refusals++] = ECONNREFUSED;
	assert_int_equal(a->api->send(a->api, session, message, 1432, false, 0), TAPI_OK);
	assert_int_equal(recv(fd, message, sizeof(message), MSG_DONTWAIT), 1472);
	// But one that comes again is its own.
	refusals[n_refusals++] = EHOSTUNREACH;
	assert_int_equal(refused(a, session, EHOSTUNREACH), TAPI_ESYS);
	assert_int_equal(stats->dropped_error, 1);
	assert_int_equal(stats->sent_msgs, 1);
	assert_int_equal(stats->sent_bytes, 1432);
	a->api->session_info(a->api, session, &info);
	assert_int_equal(info.dropped_msgs, 5);
	assert_int_equal(info.sent_msgs, 1);
	a->api->disconnect(a->api, session);
	close(fd);
	end_free(a);
}

static void buffers_are_as_configured(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4 ", \"send_buffer_bytes\": 8192");
	struct tapi_helo helo;
	struct tapi_session *session;

	(void)state;
	end_helo(a, 0, &helo);
	session = end_connect(a, &helo);
	assert_int_equal(a->api->send_estimate(a->api, session), 8192);
	assert_int_equal(udp_reload(a, ON_V4 ", \"send_buffer_bytes\": 16384"), TAPI_OK);
	assert_int_equal(a->api->send_estimate(a->api, session), 16384);
	a->api->disconnect(a->api, session);
	end_free(a);
}

static void a_rate_is_kept(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4 ", \"rate_bytes_s\": 20000");
	struct tapi_source source;
	struct tapi_helo helo;
	struct tapi_session *session;
	static const char message[1000];
	int fd = udp_stranger(&source);
	char text[64];

	(void)state;
	udp_stranger_text(&source, text);
	end_helo_text(a, text, &helo);
	session = end_connect(a, &helo);
	// A tenth of a second's worth at once: two messages.
	assert_int_equal(a->api->send(a->api, session, message, 1000, false, 0), TAPI_OK);
	assert_int_equal(a->api->send(a->api, session, message, 1000, false, 0), TAPI_OK);
	assert_int_equal(a->api->send(a->api, session, message, 1000, false, 0), TAPI_DROPPED);
	assert_int_equal(a->api->stats(a->api)->dropped_rate, 1);
	a->skew_us += 50000;
	assert_int_equal(a->api->send(a->api, session, message, 1000, false, 0), TAPI_OK);
	assert_int_equal(a->api->send(a->api, session, message, 1000, false, 0), TAPI_DROPPED);
	a->api->disconnect(a->api, session);
	close(fd);
	end_free(a);
}

// Nobody at one address: its ICMP errors cost the others nothing.
static void a_dead_address_harms_nobody(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4), *b = udp_end(base, 'b', ON_V4);
	struct tapi_source source;
	struct tapi_helo helo, dead;
	struct tapi_session *good, *bad;
	char text[64];

	(void)state;
	close(udp_stranger(&source));
	udp_stranger_text(&source, text);
	end_helo_text(a, text, &dead);
	end_helo(b, 0, &helo);
	good = end_connect(a, &helo);
	bad = end_connect(a, &dead);
	for (unsigned i = 1; i <= 100; i++) {
		assert_int_equal(end_send(a, bad, "void"), TAPI_OK);
		assert_int_equal(end_send(a, good, "good"), TAPI_OK);
		assert_true(end_wait(base, b, i));
		if (i % 10 == 0) { // the way back, too
			assert_int_equal(end_send(b, end_last(b)->session, "back"), TAPI_OK);
			assert_true(end_wait(base, a, i / 10));
		}
	}
	end_turn(a);
	assert_int_equal(a->n_downs, 0);
	assert_int_equal(a->api->stats(a->api)->sent_msgs, 200);
	a->api->disconnect(a->api, bad);
	a->api->disconnect(a->api, good);
	end_free(a);
	end_free(b);
}

// An address that no route leads to: this message is lost, said and counted; the next is not.
static void a_refused_message_is_counted(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4), *b = udp_end(base, 'b', ON_V4);
	struct tapi_helo helo;
	struct tapi_session *out, *far;

	(void)state;
	end_helo(b, 0, &helo);
	out = end_connect(a, &helo);
	end_helo_text(a, "udp://198.51.100.9:9000", &helo); // from 127.0.0.1: EINVAL
	far = end_connect(a, &helo);
	assert_int_equal(end_send(a, far, "x"), TAPI_ESYS);
	assert_int_equal(end_send(a, far, "x"), TAPI_ESYS);
	assert_int_equal(a->api->stats(a->api)->dropped_error, 2);
	assert_non_null(strstr(a->log, "cannot send to udp://198.51.100.9:9000"));
	assert_null(strstr(strstr(a->log, "cannot send") + 1, "cannot send")); // once in a while
	assert_int_equal(end_send(a, out, "x"), TAPI_OK);
	assert_true(end_wait(base, b, 1));
	a->api->disconnect(a->api, far);
	a->api->disconnect(a->api, out);
	end_free(a);
	end_free(b);
}

static void bad_datagrams_are_counted(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	const struct tapi_transport_stats *stats = a->api->stats(a->api);
	struct tapi_source source;
	struct tapi_helo helo;
	static uint8_t octets[4000];
	int fd = udp_stranger(&source);
	size_t length;

	(void)state;
	end_helo(a, 0, &helo);
	udp_throw_octets(fd, &helo, octets, 0);
	udp_throw_octets(fd, &helo, octets, 7);
	length = udp_enveloped(octets, 'x', "abc");
	udp_throw_octets(fd, &helo, octets, length - 1);
	octets[2] = 2;
	udp_throw_octets(fd, &helo, octets, length);
	memset(octets, 0, sizeof(octets)); // longer than any of ours, and its head would do
	octets[0] = sizeof(octets) >> 8;
	octets[1] = sizeof(octets) & 255;
	octets[2] = 1;
	udp_throw_octets(fd, &helo, octets, sizeof(octets));
	udp_throw(fd, &helo, 'x', "good");
	assert_true(end_wait(base, a, 1));
	assert_int_equal(stats->bad_frame, 5);
	udp_throw_octets(fd, &helo, octets, sizeof(octets)); // alone
	end_pump(base);
	assert_int_equal(stats->bad_frame, 6);
	assert_int_equal(stats->received_msgs, 1);
	assert_int_equal(stats->received_bytes, 4);
	assert_int_equal(stats->sessions_accepted, 1); // for the good one
	close(fd);
	end_free(a);
}

static void pong(struct end *end, const struct tapi_message_pack *pack)
{
	if (end->n_heard % END_HEARD_MAX < 1000)
		assert_int_equal(end_send(end, pack->session, "ball"), TAPI_OK);
}

// What receive() sends to ourselves is heard within the same event, but one event does not keep the
// loop for ever.
static void an_event_reads_on_and_ends(void **state)
{
	struct end *a = udp_end(base, 'a', ON_V4);
	struct tapi_helo helo;
	struct tapi_session *session;
	unsigned turns = 0;

	(void)state;
	a->on_receive = pong;
	end_helo(a, 0, &helo);
	session = end_connect(a, &helo);
	assert_int_equal(end_send(a, session, "ball"), TAPI_OK);
	event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(a->n_heard, LINE); // what comes after it comes by the line
	event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(a->n_heard, LINE + BURSTS);
	while (a->n_heard < 1000 && turns++ < 10)
		event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(a->n_heard, 1000);
	assert_int_equal(turns, 3);
	a->api->disconnect(a->api, session);
	end_free(a);
}

static int group_begin(void **state)
{
	(void)state;
	base = event_base_new();
	return base ? 0 : -1;
}

static int group_end(void **state)
{
	(void)state;
	event_base_free(base);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_cross),
		cmocka_unit_test(families_take_turns),
		cmocka_unit_test(every_datagram_names_its_sender),
		cmocka_unit_test(addresses_have_one_form),
		cmocka_unit_test(own_addresses_are_as_configured),
		cmocka_unit_test(a_full_medium_drops),
		cmocka_unit_test(buffers_are_as_configured),
		cmocka_unit_test(a_rate_is_kept),
		cmocka_unit_test(a_dead_address_harms_nobody),
		cmocka_unit_test(a_refused_message_is_counted),
		cmocka_unit_test(bad_datagrams_are_counted),
		cmocka_unit_test(an_event_reads_on_and_ends),
	};

	return cmocka_run_group_tests(tests, group_begin, group_end);
}
