// SPDX-License-Identifier: BSD-3-Clause
// Raw IP between addresses of a loopback interface of its own (a network namespace: needs root).
// Rows TA3-TA6, TA10-TA13, TA17, TA27.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/tapi/tapi_end.h"
#include "transportapi/proto/envelope.h"
#include "transportapi/transport/udp.h"
#include "transportapi/base/wire.h"

#define RAW 253

static struct event_base *base;

static struct end *raw_end(uint8_t letter, const char *address)
{
	char text[256];
	struct end *end;

	snprintf(text, sizeof(text),
		"{\"acl\": {\"local\": true}, \"raw-ip\": {\"bind\": [\"%s\"]}}", address);
	end = end_new(base, letter, inittransport_raw_ip, donetransport_raw_ip, text);
	assert_non_null(end->api);
	assert_int_equal(end->api->start_server(end->api), TAPI_OK);
	return end;
}

static void cross(const char *of_a, const char *of_b, uint8_t family)
{
	struct end *a = raw_end('a', of_a), *b = raw_end('b', of_b);
	static uint8_t longest[1440];
	struct tapi_helo helo, mine;
	struct tapi_session *out;
	struct tapi_source source;
	const struct end_heard *heard;
	char text[TAPI_TEXT_BYTES], wanted[TAPI_TEXT_BYTES];

	end_helo(b, 0, &helo);
	assert_int_equal(helo.protocol, RAW);
	assert_int_equal(helo.mtu, family == 4 ? 1440 : 1420);
	assert_int_equal(helo.address_size, family == 4 ? 4 : 16);
	assert_int_equal(b->api->address_to_string(b->api, &helo, text, sizeof(text)), TAPI_OK);
	snprintf(wanted, sizeof(wanted), family == 4 ? "ip://%s" : "ip://[%s]", of_b);
	assert_string_equal(text, wanted);
	assert_int_equal(b->api->create_helo(b->api, 1, &mine), TAPI_ENOADDR);
	assert_true(b->api->flags & TAPI_SESSIONLESS);
	assert_false(b->api->flags & TAPI_BIDIRECTIONAL);
	assert_int_equal(a->api->verify_helo(a->api, &helo), TAPI_OK);

	out = end_connect(a, &helo);
	assert_int_equal(a->api->associate(a->api, out), TAPI_EUNIDIR);
	for (unsigned i = 1; i <= 3; i++) { // TA11: the sender is in each
		assert_int_equal(
			a->api->send(a->api, out, "question", 8, true, 0xdeadbeef), TAPI_OK);
		assert_true(end_wait(base, b, i));
		heard = end_last(b);
		assert_null(heard->session);
		assert_memory_equal(&heard->sender, &a->id, sizeof(a->id));
		assert_int_equal(heard->size, 8);
		assert_memory_equal(heard->octets, "question", 8);
		assert_true(heard->is_encrypted);
		assert_int_equal(heard->crc, 0xdeadbeef); // TA12: wrong, and carried
		end_helo(a, 0, &mine);
		assert_int_equal(a->api->address_source(a->api, &mine, &source), TAPI_OK);
		assert_memory_equal(&heard->source, &source, sizeof(source));
	}
	memset(longest, 'l', sizeof(longest));
	assert_int_equal(a->api->send(a->api, out, longest, helo.mtu, false, 0), TAPI_OK);
	assert_true(end_wait(base, b, 4));
	assert_int_equal(end_last(b)->size, helo.mtu);
	assert_int_equal(a->api->send(a->api, out, longest, 1441, false, 0), TAPI_ETOOBIG);
	assert_int_equal(a->api->stats(a->api)->sent_msgs, 4);
	assert_int_equal(a->api->stats(a->api)->dropped_too_big, 1);
	assert_int_equal(b->api->stats(b->api)->received_msgs, 4);
	assert_int_equal(b->api->stats(b->api)->sessions_accepted, 0);
	assert_int_equal(a->n_heard, 0); // its own packets are not for it

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(end_send(a, out, "x"), TAPI_OK);
	assert_true(end_wait(base, b, 104));
	end_pump(base);
	assert_int_equal(b->n_heard, 104);

	assert_int_equal(b->api->stop_server(b->api), TAPI_OK); // TA4
	assert_int_equal(end_send(a, out, "late"), TAPI_OK);
	end_pump(base);
	assert_int_equal(b->n_heard, 104);
	assert_int_equal(b->api->start_server(b->api), TAPI_OK);
	assert_int_equal(end_send(a, out, "again"), TAPI_OK);
	assert_true(end_wait(base, b, 105));
	assert_int_equal(a->api->disconnect(a->api, out), TAPI_OK);
	end_free(a);
	end_free(b);
}

static void messages_cross(void **state)
{
	(void)state;
	cross("127.0.0.1", "127.0.0.2", 4);
	cross("fd00::1", "fd00::2", 6);
}

static int raw_socket(void)
{
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, RAW);

	assert_true(fd >= 0);
	return fd;
}

// A header with options of `words` words before `octets`, as the other end may send it.
static void throw_packet(int fd, unsigned words, const uint8_t *octets, size_t length)
{
	uint8_t packet[2000] = {(uint8_t)(0x45 + words), 0, 0, 0, 0, 0, 0, 0, 64, RAW};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
	size_t head = 20 + 4 * words;
	int on = 1;

	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof(on)), 0);
	memcpy(packet + 12, "\x7f\0\0\3\x7f\0\0\2", 8);
	memset(packet + 20, 1, 4 * words); // no operation
	memcpy(packet + head, octets, length);
	assert_int_equal(sendto(fd, packet, head + length, 0, (struct sockaddr *)&to, sizeof(to)),
		(ssize_t)(head + length));
}

static size_t enveloped(uint8_t *out, const char *text)
{
	struct tapi_peer_id id;

	memset(&id, 'x', sizeof(id));
	tapi_envelope_encode(out, &id, (uint32_t)strlen(text), false, 0);
	memcpy(out + TAPI_ENVELOPE_BYTES, text, strlen(text));
	return TAPI_ENVELOPE_BYTES + strlen(text);
}

static void what_stands_before_and_what_is_filtered(void **state)
{
	struct end *b = raw_end('b', "127.0.0.2");
	const struct tapi_transport_stats *stats = b->api->stats(b->api);
	uint8_t octets[200];
	size_t length = enveloped(octets, "abc");
	int fd = raw_socket();

	(void)state;
	throw_packet(fd, 0, octets, length);
	throw_packet(fd, 10, octets, length); // options to the brim
	assert_true(end_wait(base, b, 2));
	assert_int_equal(end_last(b)->size, 3);
	assert_memory_equal(end_last(b)->octets, "abc", 3);
	assert_int_equal(end_last(b)->source.port, 0);
	assert_int_equal(end_last(b)->source.address[3], 3);

	throw_packet(fd, 0, octets, length - 1); // our version, and cut: counted
	throw_packet(fd, 0, octets, 3);
	end_pump(base);
	assert_int_equal(stats->bad_frame, 2);
	octets[2] = 9; // not ours: it does not even wake us
	throw_packet(fd, 0, octets, length);
	throw_packet(fd, 5, octets, length);
	throw_packet(fd, 0, octets, 2);
	end_pump(base);
	assert_int_equal(stats->bad_frame, 2);
	assert_int_equal(stats->received_msgs, 2);

	octets[2] = 1;
	assert_int_equal(end_reload(b, "{\"acl\": {\"local\": true, \"deny\": [\"127.0.0.3/32\"]}, "
				       "\"raw-ip\": {\"bind\": [\"127.0.0.2\"]}}"),
		TAPI_OK); // TA17
	throw_packet(fd, 0, octets, length);
	end_pump(base);
	assert_int_equal(b->n_heard, 2);
	assert_int_equal(stats->bad_source, 1);
	close(fd);
	end_free(b);
}

static void addresses_are_without_port(void **state) // TA6
{
	struct end *a = raw_end('a', "127.0.0.1");
	struct tapi_helo helo = {.protocol = RAW, .address_size = 4, .address = {10, 0, 0, 1}};
	struct tapi_session *session;
	uint8_t octets[16];
	size_t size = sizeof(octets);

	(void)state;
	assert_int_equal(a->api->verify_helo(a->api, &helo), TAPI_OK);
	helo.address_size = 6;
	assert_int_equal(a->api->verify_helo(a->api, &helo), TAPI_EADDR);
	helo.address_size = 4;
	helo.address[0] = 224;
	assert_int_equal(a->api->verify_helo(a->api, &helo), TAPI_EACL);
	assert_int_equal(a->api->connect(a->api, &helo, &session), TAPI_EACL);
	helo = (struct tapi_helo){.address_size = 16, .address = {0xfe, 0x80, [15] = 1}};
	assert_int_equal(a->api->verify_helo(a->api, &helo), TAPI_EADDR); // TA27
	helo.address[0] = 0xfd;
	assert_int_equal(a->api->verify_helo(a->api, &helo), TAPI_OK);
	assert_int_equal(a->api->connect(a->api, &helo, &session), TAPI_EADDR); // not bound to v6
	assert_int_equal(
		a->api->string_to_address(a->api, "ip://1.2.3.4:5", octets, &size), TAPI_EADDR);
	assert_int_equal(
		a->api->string_to_address(a->api, "udp://1.2.3.4", octets, &size), TAPI_EADDR);
	assert_int_equal(a->api->string_to_address(a->api, "ip://1.2.3.4", octets, &size), TAPI_OK);
	assert_int_equal(size, 4);
	assert_memory_equal(octets, "\1\2\3\4", 4);
	end_free(a);
	a = end_new(base, 'a', inittransport_raw_ip, donetransport_raw_ip,
		"{\"raw-ip\": {\"bind\": [\"127.0.0.1:5\"]}}");
	assert_null(a->api);
	end_free(a);
	a = end_new(base, 'a', inittransport_raw_ip, donetransport_raw_ip,
		"{\"raw-ip\": {\"port\": 5}}");
	assert_null(a->api); // it has none
	end_free(a);
}

static void references_are_counted(void **state) // TA13
{
	struct end *a = raw_end('a', "127.0.0.1");
	struct tapi_helo helo;
	struct tapi_session *one, *two;

	(void)state;
	end_helo_text(a, "ip://127.0.0.9", &helo);
	one = end_connect(a, &helo);
	two = end_connect(a, &helo);
	assert_ptr_not_equal(one, two);
	assert_int_equal(a->api->disconnect(a->api, one), TAPI_OK);
	a->skew_us += 3600ull * 1000000;
	end_turn(a);
	assert_int_equal(a->n_downs, 0); // held: never stale
	assert_int_equal(a->api->stop_server(a->api), TAPI_OK);
	assert_int_equal(a->n_downs, 1);
	assert_ptr_equal(a->downs[0].session, two);
	assert_int_equal(a->downs[0].why, TAPI_DOWN_STOPPED);
	assert_int_equal(a->api->stats(a->api)->sessions_closed, 2);
	end_free(a);
}

static void capabilities(uint32_t clear, uint32_t set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];

	assert_int_equal(syscall(SYS_capget, &header, sets), 0);
	sets[0].effective = (sets[0].effective & ~clear) | set;
	assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

static void without_the_right_it_says_what_to_do(void **state)
{
	struct end *a = end_new(base, 'a', inittransport_raw_ip, donetransport_raw_ip,
		"{\"acl\": {\"local\": true}}");
	const uint32_t raw = 1u << CAP_NET_RAW;

	(void)state;
	assert_non_null(a->api);
	capabilities(raw, 0);
	assert_int_equal(a->api->start_server(a->api), TAPI_ESYS);
	capabilities(0, raw);
	assert_non_null(strstr(a->log, "CAP_NET_RAW"));
	assert_int_equal(a->api->start_server(a->api), TAPI_OK);
	end_free(a);
}

// It is tentative for a moment.
static bool can_bind(const struct in6_addr *address)
{
	struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_addr = *address};

	for (unsigned i = 0; i < 2000; i++) {
		int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		bool bound = bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0;

		close(fd);
		if (bound)
			return true;
		usleep(1000);
	}
	return false;
}

// lo up, with two addresses of IPv6 besides 127/8.
static bool make_network(void)
{
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
	int fd;
	bool done;

	if (unshare(CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	done = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &up) == 0;
	for (uint8_t i = 1; done && i <= 2; i++) {
		struct {
			struct in6_addr address;
			uint32_t prefix;
			int index;
		} request = {.address.s6_addr = {0xfd, [15] = i}, .prefix = 64, .index = 1};

		done = ioctl(fd, SIOCSIFADDR, &request) == 0 && can_bind(&request.address);
	}
	if (fd >= 0)
		close(fd);
	return done;
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
		cmocka_unit_test(what_stands_before_and_what_is_filtered),
		cmocka_unit_test(addresses_are_without_port),
		cmocka_unit_test(references_are_counted),
		cmocka_unit_test(without_the_right_it_says_what_to_do),
	};

	if (geteuid() != 0) {
		printf("skipped: raw sockets and a network namespace need root\n");
		return 77;
	}
	if (!make_network()) {
		printf("no network namespace, or no addresses in it: %s\n", strerror(errno));
		return 1;
	}
	return cmocka_run_group_tests(tests, group_begin, group_end);
}
