// SPDX-License-Identifier: BSD-3-Clause
#include "tapi_node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cmocka.h>
#include "transportapi/proto/frame.h"

static void on_receive(void *context, const struct tapi_message_pack *pack)
{
	struct node *node = context;
	struct node_message *message = &node->messages[node->n_messages];

	assert_false(node->inside);
	assert_in_range(node->n_messages, 0, NODE_MESSAGES - 1);
	node->n_messages++;
	*message = (struct node_message){
		.session = pack->session,
		.size = pack->size,
		.crc = pack->crc,
		.is_encrypted = pack->is_encrypted,
		.sender = pack->sender,
	};
	if (node->on_message)
		node->on_message(node, pack);
	// after the hook: the message lives as long as the call
	if (pack->size) {
		message->first = pack->message[0];
		message->last = pack->message[pack->size - 1];
	}
}

static void on_down(void *context, struct tapi_session *session, enum tapi_down why)
{
	struct node *node = context;

	assert_false(node->inside);
	assert_in_range(node->n_downs, 0, NODE_DOWNS - 1);
	assert_int_equal(session->protocol, node->api->protocol); // it is still readable
	node->downs[node->n_downs].session = session;
	node->downs[node->n_downs].why = why;
	node->n_downs++;
}

static uint64_t on_now(void *context)
{
	return ((struct node *)context)->now_us;
}

static void on_random(void *context, void *octets, size_t length)
{
	(void)context;
	memset(octets, 0x5a, length);
}

static void on_log(void *context, int priority, const char *format, ...)
{
	struct node *node = context;
	va_list arguments;

	(void)priority;
	va_start(arguments, format);
	vsnprintf(node->logged, sizeof(node->logged), format, arguments);
	va_end(arguments);
	node->n_logged++;
}

static void configure(struct node *node, const char *sections, const char *acl)
{
	struct tapi_error error;
	char text[2048];

	snprintf(text, sizeof(text), "{\"acl\": %s%s%s}", acl, *sections ? ", " : "", sections);
	node->conf = tapi_conf_parse(text, &error);
	if (!node->conf)
		fail_msg("%s", error.text);
	if (tapi_acl_new(&node->acl, node->conf, &error))
		fail_msg("%s", error.text);
	node->conf_in_force = node->conf;
	node->acl_in_force = node->acl;
}

#define ACL_LOCAL "{\"local\": true}"

struct tapi_budget *node_budget;

void node_init(struct node *node, tapi_init_fn *init, uint8_t first, const char *sections)
{
	memset(node, 0, sizeof(*node));
	node->base = event_base_new();
	assert_non_null(node->base);
	node->id.octets[0] = first;
	node->now_us = 1000000;
	configure(node, sections, ACL_LOCAL);
	node->core = (struct tapi_core_api){
		.version = TAPI_VERSION,
		.my_identity = &node->id,
		.core = node,
		.receive = on_receive,
		.session_down = on_down,
		.base = node->base,
		.now_us = on_now,
		.random = on_random,
		.log = on_log,
		.budget = node_budget,
		.conf = &node->conf_in_force,
		.acl = &node->acl_in_force,
	};
	node->api = init(&node->core);
	if (!node->api)
		fail_msg("%s", node->logged);
}

void node_end(struct node *node, tapi_done_fn *done)
{
	done(node->api);
	event_base_free(node->base);
	tapi_acl_free(node->acl);
	tapi_conf_free(node->conf);
}

enum tapi_result node_reload(struct node *node, const char *sections, const char *acl)
{
	struct tapi_conf *old_conf = node->conf;
	struct tapi_acl *old_acl = node->acl;
	enum tapi_result result;

	configure(node, sections, acl ? acl : ACL_LOCAL);
	node->inside = true;
	result = node->api->reload_configuration(node->api);
	node->inside = false;
	tapi_acl_free(result ? node->acl : old_acl);
	tapi_conf_free(result ? node->conf : old_conf);
	if (result) {
		node->conf_in_force = node->conf = old_conf;
		node->acl_in_force = node->acl = old_acl;
	}
	return result;
}

void node_start(struct node *node)
{
	node->inside = true;
	if (node->api->start_server(node->api))
		fail_msg("%s", node->logged);
	node->inside = false;
}

void node_stop(struct node *node)
{
	assert_int_equal(node->api->stop_server(node->api), TAPI_OK);
}

uint16_t node_port(struct node *node, uint8_t family)
{
	struct tapi_source source;
	struct tapi_helo helo;

	for (unsigned i = 0; !node->api->create_helo(node->api, i, &helo); i++) {
		assert_int_equal(node->api->address_source(node->api, &helo, &source), TAPI_OK);
		if (source.family == family)
			return source.port;
	}
	fail_msg("no address of IPv%d", family);
	return 0;
}

struct tapi_helo node_helo(struct node *node, const char *text)
{
	struct tapi_helo helo = {.protocol = node->api->protocol, .mtu = node->api->mtu};
	size_t size = sizeof(helo.address);

	assert_int_equal(node->api->string_to_address(node->api, text, helo.address, &size), 0);
	helo.address_size = (uint16_t)size;
	return helo;
}

struct tapi_session *node_connect(struct node *node, const char *text)
{
	const struct tapi_helo helo = node_helo(node, text);
	struct tapi_session *session = NULL;

	node->inside = true;
	assert_int_equal(node->api->connect(node->api, &helo, &session), TAPI_OK);
	node->inside = false;
	assert_non_null(session);
	assert_null(session->user);
	return session;
}

enum tapi_result node_send(
	struct node *node, struct tapi_session *session, uint8_t mark, uint32_t size)
{
	const bool inside = node->inside;
	uint8_t *octets = malloc(size ? size : 1);
	enum tapi_result result;

	assert_non_null(octets);
	memset(octets, mark, size);
	node->inside = true;
	result = node->api->send(node->api, session, octets, size, mark & 1, mark * 0x01010101u);
	node->inside = inside;
	free(octets);
	return result;
}

static uint64_t real_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void loop_once(struct node *node, suseconds_t us)
{
	const struct timeval wait = {.tv_usec = us};

	event_base_loopexit(node->base, &wait);
	event_base_loop(node->base, EVLOOP_ONCE);
}

void node_until(struct node *node, const unsigned *counter, unsigned least)
{
	const uint64_t begin = real_us();

	while (*counter < least) {
		if (real_us() - begin > 5000000)
			fail_msg("%u, not %u, after 5 s", *counter, least);
		loop_once(node, 1000);
	}
}

void node_run(struct node *node, unsigned rounds)
{
	while (rounds--)
		event_base_loop(node->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

uint64_t node_ahead(struct node *node, uint64_t us)
{
	node->now_us += us;
	return node->api->turn(node->api, node->now_us);
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int raw_listen(uint16_t *port, int backlog)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_in address = loopback(*port);
	socklen_t length = sizeof(address);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static int patient(int fd)
{
	const struct timeval most = {.tv_sec = 5};

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	return fd;
}

int raw_accept(int listening)
{
	return patient(accept4(listening, NULL, NULL, SOCK_CLOEXEC));
}

int raw_connect(uint16_t port)
{
	const int fd = patient(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	const struct sockaddr_in address = loopback(port);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void raw_write(int fd, const void *octets, size_t length)
{
	assert_int_equal(send(fd, octets, length, MSG_NOSIGNAL), length);
}

int raw_other_end(int fd)
{
	struct sockaddr_in mine, its;
	socklen_t length = sizeof(mine);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&mine, &length), 0);
	for (int other = 0; other < 1024; other++) {
		length = sizeof(its);
		if (!getpeername(other, (struct sockaddr *)&its, &length) &&
			its.sin_family == AF_INET && its.sin_port == mine.sin_port)
			return other;
	}
	fail_msg("nobody is the peer of %d", fd);
	return -1;
}

size_t raw_read(int fd, uint8_t *out, size_t length)
{
	size_t n = 0;

	while (n < length) {
		const ssize_t got = recv(fd, out + n, length - n, 0);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return n;
}

const char *tcp_url(uint16_t port)
{
	static char text[64];

	snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", port);
	return text;
}

size_t peer_welcome(uint8_t *out, uint8_t first)
{
	const struct tapi_peer_id id = {{first}};
	const uint8_t nonce[8] = {0};

	tapi_welcome_encode(out, &id, nonce);
	return TAPI_WELCOME_BYTES;
}

size_t peer_frame(uint8_t *out, uint8_t mark, uint32_t size)
{
	tapi_frame_encode(out, size, mark & 1, mark * 0x01010101u);
	memset(out + TAPI_FRAME_HEAD_BYTES, mark, size);
	return TAPI_FRAME_HEAD_BYTES + size;
}

int peer_connect(struct node *to)
{
	const unsigned before = to->n_messages;
	uint8_t octets[128];
	size_t n = peer_welcome(octets, 0xbb);
	const int fd = raw_connect(node_port(to, 4));

	n += peer_frame(octets + n, 'h', 5);
	raw_write(fd, octets, n);
	node_until(to, &to->n_messages, before + 1);
	return fd;
}

struct tapi_session *last_session(struct node *node)
{
	return node->messages[node->n_messages - 1].session;
}

tapi_init_fn inittransport_tcp;

void tcp_begin(struct node *node, const char *keys)
{
	static uint8_t first = 0xa0;
	char text[512];

	snprintf(text, sizeof(text), "\"tcp\": {%s}", keys);
	node_init(node, inittransport_tcp, ++first, text);
	node_start(node);
}

enum tapi_result tcp_reload(struct node *node, const char *keys, const char *acl)
{
	char text[512];

	snprintf(text, sizeof(text), "\"tcp\": {%s}", keys);
	return node_reload(node, text, acl);
}

bool tcp_refused(uint16_t port)
{
	const struct sockaddr_in address = loopback(port);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool refused = connect(fd, (const struct sockaddr *)&address, sizeof(address)) &&
			     errno == ECONNREFUSED;

	close(fd);
	return refused;
}
