// SPDX-License-Identifier: BSD-3-Clause
#include "tapi_udp_end.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "transportapi/proto/envelope.h"
#include "transportapi/transport/udp.h"

#define LOCAL "{\"acl\": {\"local\": true}, \"udp\": {\"port\": 0, %s}}"

struct end *udp_end(struct event_base *base, uint8_t letter, const char *keys)
{
	char text[1024];
	struct end *end;

	snprintf(text, sizeof(text), LOCAL, keys);
	end = end_new(base, letter, inittransport_udp, donetransport_udp, text);
	assert_non_null(end->api);
	assert_int_equal(end->api->start_server(end->api), TAPI_OK);
	return end;
}

enum tapi_result udp_reload(struct end *end, const char *keys)
{
	char text[1024];

	snprintf(text, sizeof(text), LOCAL, keys);
	return end_reload(end, text);
}

// A socket that is none of ours.
int udp_stranger(struct tapi_source *out)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(name);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
	*out = (struct tapi_source){
		.family = 4, .address = {127, 0, 0, 1}, .port = ntohs(name.sin_port)};
	return fd;
}

void udp_stranger_text(const struct tapi_source *source, char out[64])
{
	snprintf(out, 64, "udp://127.0.0.1:%u", source->port);
}

uint16_t udp_port_of(const struct tapi_helo *helo)
{
	const uint8_t *p = &helo->address[helo->address_size - 2];

	return (uint16_t)(p[0] << 8 | p[1]);
}

void udp_throw_octets(int fd, const struct tapi_helo *to, const void *octets, size_t length)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(udp_port_of(to))};

	assert_int_equal(sendto(fd, octets, length, 0, (struct sockaddr *)&name, sizeof(name)),
		(ssize_t)length);
}

size_t udp_enveloped(uint8_t *out, uint8_t letter, const char *text)
{
	struct tapi_peer_id id;
	size_t length = strlen(text);

	memset(&id, letter, sizeof(id));
	tapi_envelope_encode(out, &id, (uint32_t)length, false, 0);
	memcpy(out + TAPI_ENVELOPE_BYTES, text, length);
	return TAPI_ENVELOPE_BYTES + length;
}

void udp_throw(int fd, const struct tapi_helo *to, uint8_t letter, const char *text)
{
	uint8_t octets[1500];

	udp_throw_octets(fd, to, octets, udp_enveloped(octets, letter, text));
}
