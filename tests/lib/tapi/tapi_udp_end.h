// SPDX-License-Identifier: BSD-3-Clause
// Ends of udp on loopback, and sockets that are none of ours.
#ifndef TESTS_LIB_TAPI_UDP_END_H
#define TESTS_LIB_TAPI_UDP_END_H

#include "tapi_end.h"

#define ON_V4 "\"bind\": [\"127.0.0.1\"]"
#define ON_V6 "\"bind\": [\"::1\"]"

// Started, at any port; `keys` of its section besides.
struct end *udp_end(struct event_base *base, uint8_t letter, const char *keys);
enum tapi_result udp_reload(struct end *end, const char *keys);
uint16_t udp_port_of(const struct tapi_helo *helo);

int udp_stranger(struct tapi_source *out); // a socket of 127.0.0.1, the caller closes it
void udp_stranger_text(const struct tapi_source *source, char out[64]);
// An envelope of 32 times `letter`, and the text: octets written.
size_t udp_enveloped(uint8_t *out, uint8_t letter, const char *text);
void udp_throw_octets(int fd, const struct tapi_helo *to, const void *octets, size_t length);
void udp_throw(int fd, const struct tapi_helo *to, uint8_t letter, const char *text);

#endif
