// SPDX-License-Identifier: BSD-3-Clause
// Octets in network order. Every message of the core starts with u16 size (its own, these four
// included) and u16 type; a payload of a transport is one or several of them, one after another.
#ifndef TRANSPORTAPI_WIRE_H
#define TRANSPORTAPI_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tapi_type { // below TAPI_TYPE_USER: the core's own
	TAPI_TYPE_HELO = 1,
	TAPI_TYPE_PING = 2,
	TAPI_TYPE_PONG = 3,
	TAPI_TYPE_WELCOME = 4, // of stream transports, below the core
	TAPI_TYPE_FRAGMENT = 5,
	TAPI_TYPE_INITIATE = 6, // secure.h
	TAPI_TYPE_RESPOND = 7,
	TAPI_TYPE_SEALED = 8,
	TAPI_TYPE_INTRODUCE = 12,
};
#define TAPI_MESSAGE_HEAD_BYTES 4

static inline uint16_t tapi_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t tapi_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t tapi_get64(const uint8_t *p)
{
	return (uint64_t)tapi_get32(p) << 32 | tapi_get32(p + 4);
}

static inline uint8_t *tapi_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static inline uint8_t *tapi_put32(uint8_t *p, uint32_t v)
{
	return tapi_put16(tapi_put16(p, (uint16_t)(v >> 16)), (uint16_t)v);
}

static inline uint8_t *tapi_put64(uint8_t *p, uint64_t v)
{
	return tapi_put32(tapi_put32(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

static inline uint8_t *tapi_put(uint8_t *p, const void *octets, size_t n)
{
	memcpy(p, octets, n);
	return p + n;
}

#endif
