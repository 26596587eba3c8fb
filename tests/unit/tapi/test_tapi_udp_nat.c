// SPDX-License-Identifier: BSD-3-Clause
// udp behind a NAT (TA28): the requests leave by the socket that it listens at, what servers agree
// on is advertised as the address of a NAT, and is gone when it is denied or the servers are.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netinet/in.h>
#include <cmocka.h>

#include "lib/tapi/tapi_udp_end.h"
#include "transportapi/transport/udp.h"
#include "transportapi/base/wire.h"

static struct event_base *base;
static unsigned told;

static void on_changed(void *core)
{
	(void)core;
	told++;
}

static int setup(void **state)
{
	(void)state;
	base = event_base_new();
	told = 0;
	return base == NULL;
}

static int teardown(void **state)
{
	(void)state;
	event_base_free(base);
	return 0;
}

static struct end *behind_nat(const struct tapi_source *server, const char *more)
{
	char keys[256];
	struct end *end;

	snprintf(keys, sizeof(keys), "\"stun\": [\"127.0.0.1:%u\"], %s", server->port, more);
	end = udp_end(base, 1, keys);
	end->core.addresses_changed = on_changed;
	return end;
}

// The next datagram of the stranger, as soon as it is there. Octets; *port of who sent it.
static size_t hear(int fd, uint8_t *out, size_t room, uint16_t *port)
{
	struct sockaddr_in name;

	for (unsigned i = 0; i < 2000; i++) {
		socklen_t length = sizeof(name);
		ssize_t n;

		end_pump(base);
		n = recvfrom(fd, out, room, MSG_DONTWAIT, (struct sockaddr *)&name, &length);
		if (n > 0) {
			*port = ntohs(name.sin_port);
			return (size_t)n;
		}
		usleep(1000);
	}
	return 0;
}

static void answer(
	int fd, uint16_t port, const uint8_t *request, const uint8_t *address, uint16_t is)
{
	uint8_t octets[32] = {0x01, 0x01, 0, 12, 0x21, 0x12, 0xa4, 0x42};
	uint8_t *p = octets + 8;
	struct sockaddr_in name = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port)};

	p = tapi_put(p, request + 8, 12);
	p = tapi_put32(p, 0x00200008);
	p = tapi_put16(tapi_put16(p, 1), is ^ 0x2112);
	for (unsigned i = 0; i < 4; i++)
		*p++ = address[i] ^ octets[4 + i];
	assert_int_equal(
		sendto(fd, octets, sizeof(octets), 0, (struct sockaddr *)&name, sizeof(name)),
		sizeof(octets));
}

static bool wait_answers(struct end *end, uint64_t n)
{
	for (unsigned i = 0; i < 2000 && end->api->stats(end->api)->stun_answers < n; i++) {
		end_pump(base);
		usleep(1000);
	}
	return end->api->stats(end->api)->stun_answers >= n;
}

static unsigned helos(struct end *end, unsigned *nated, char *last)
{
	struct tapi_helo helo = {0};
	unsigned n = 0;

	*nated = 0;
	for (; end->api->create_helo(end->api, n, &helo) == TAPI_OK; n++) {
		if (helo.flags & TAPI_HELO_NATED) {
			(*nated)++;
			assert_int_equal(
				end->api->address_to_string(end->api, &helo, last, TAPI_TEXT_BYTES),
				TAPI_OK);
		}
		helo = (struct tapi_helo){0};
	}
	return n;
}

static void test_learns(void **state)
{
	static const uint8_t outside[] = {198, 51, 100, 7}, other[] = {198, 51, 100, 9};
	struct tapi_source server;
	int fd = udp_stranger(&server);
	struct end *end = behind_nat(&server, ON_V4);
	uint8_t request[64];
	char text[TAPI_TEXT_BYTES];
	struct tapi_helo own;
	uint16_t port = 0;
	unsigned nated;

	(void)state;
	end_helo(end, 0, &own);
	assert_int_equal(helos(end, &nated, text), 1);
	assert_int_equal(nated, 0);
	assert_int_equal(hear(fd, request, sizeof(request), &port), 28);
	assert_int_equal(port, udp_port_of(&own)); // the very socket
	answer(fd, port, request, outside, 40000);
	assert_true(wait_answers(end, 1));
	assert_int_equal(told, 1);
	assert_int_equal(helos(end, &nated, text), 2);
	assert_int_equal(nated, 1);
	assert_string_equal(text, "udp://198.51.100.7:40000");
	assert_int_equal(end->n_heard, 0); // none of it is a message
	assert_int_equal(end->api->stats(end->api)->bad_frame, 0);

	// The clock goes on: asked again, and answered otherwise.
	end->skew_us += 21000000;
	end_turn(end);
	assert_int_equal(hear(fd, request, sizeof(request), &port), 28);
	answer(fd, port, request, other, 40001);
	assert_true(wait_answers(end, 2));
	assert_int_equal(told, 2);
	assert_int_equal(helos(end, &nated, text), 2);
	assert_string_equal(text, "udp://198.51.100.9:40001");

	// Without servers it is forgotten; a stranger's STUN is a bad frame again.
	assert_int_equal(udp_reload(end, ON_V4), TAPI_OK);
	end_pump(base);
	assert_int_equal(helos(end, &nated, text), 1);
	assert_int_equal(told, 3);
	end_free(end);
	close(fd);
}

// "nat": what is learnt is all that is advertised; what the deny list has is not.
static void test_nat_alone(void **state)
{
	static const uint8_t outside[] = {198, 51, 100, 7}, denied[] = {169, 254, 1, 1};
	struct tapi_source server;
	int fd = udp_stranger(&server);
	struct end *end = behind_nat(&server, ON_V4 ", \"nat\": true");
	uint8_t request[64];
	char text[TAPI_TEXT_BYTES];
	uint16_t port = 0;
	unsigned nated;

	(void)state;
	assert_int_equal(helos(end, &nated, text), 0);
	assert_int_equal(hear(fd, request, sizeof(request), &port), 28);
	answer(fd, port, request, denied, 40000);
	assert_true(wait_answers(end, 1));
	assert_int_equal(helos(end, &nated, text), 0);
	assert_int_equal(end->api->stats(end->api)->nat_denied, 1);
	assert_non_null(strstr(end->log, "section acl denies udp://169.254.1.1:40000"));
	end->skew_us += 21000000;
	end_turn(end);
	assert_int_equal(hear(fd, request, sizeof(request), &port), 28);
	answer(fd, port, request, outside, 40000);
	assert_true(wait_answers(end, 2));
	assert_int_equal(helos(end, &nated, text), 1);
	assert_int_equal(nated, 1);

	// Other sockets: nothing is known of them.
	assert_int_equal(end->api->stop_server(end->api), TAPI_OK);
	assert_int_equal(helos(end, &nated, text), 0);
	assert_int_equal(end->api->start_server(end->api), TAPI_OK);
	assert_int_equal(helos(end, &nated, text), 0);
	end_free(end);
	close(fd);
}

// What the server sees is what we have: no NAT, one address, and no NAT's.
static void test_no_nat(void **state)
{
	static const uint8_t here[] = {127, 0, 0, 1};
	struct tapi_source server;
	int fd = udp_stranger(&server);
	struct end *end = behind_nat(&server, ON_V4);
	uint8_t request[64], wrong[] = {0x01, 0x01, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6,
				     7, 8, 9, 10, 11, 12};
	char text[TAPI_TEXT_BYTES];
	struct tapi_helo own;
	uint16_t port = 0;
	unsigned nated;

	(void)state;
	assert_int_equal(hear(fd, request, sizeof(request), &port), 28);
	end_helo(end, 0, &own);
	udp_throw_octets(fd, &own, wrong, sizeof(wrong));
	answer(fd, port, request, here, port);
	assert_true(wait_answers(end, 1));
	assert_int_equal(end->api->stats(end->api)->stun_bad, 1);
	assert_int_equal(helos(end, &nated, text), 1);
	assert_int_equal(nated, 0);
	end_free(end);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_learns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nat_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_nat, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
