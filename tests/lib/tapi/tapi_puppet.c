// SPDX-License-Identifier: BSD-3-Clause
#include "tapi_puppet.h"

#include <string.h>

#include "transportapi/proto/ping.h"
#include "transportapi/base/wire.h"

#define HOUR_US UINT64_C(3600000000)

void puppet_make(struct puppet *out, uint64_t number, uint16_t protocol, uint32_t mtu,
	const void *address, uint16_t address_size, uint64_t wall_us)
{
	struct tapi_helo helo = {
		.protocol = protocol,
		.mtu = mtu,
		.expires_us = wall_us + 12 * HOUR_US,
		.seq = 1,
		.address_size = address_size,
	};
	uint8_t seed[TAPI_SEED_BYTES] = "puppet";

	*out = (struct puppet){.pings = 0};
	tapi_put64(&seed[TAPI_SEED_BYTES - 8], number);
	tapi_identity_from_seed(&out->identity, seed);
	if (!address)
		return;
	memcpy(helo.address, address, address_size);
	tapi_helo_sign(&helo, &out->identity);
	out->helo_size = (uint16_t)tapi_helo_encode(&helo, out->helo, sizeof(out->helo));
}

uint32_t puppet_message(uint8_t *out, uint16_t type, const void *body, uint32_t length)
{
	uint8_t *p = tapi_put16(out, (uint16_t)(length + TAPI_MESSAGE_HEAD_BYTES));

	p = tapi_put16(p, type);
	if (length)
		memcpy(p, body, length);
	return length + TAPI_MESSAGE_HEAD_BYTES;
}

static uint32_t pong(struct puppet *puppet, const struct tapi_peer_id *sender,
	const struct tapi_source *source, const uint8_t *message, uint32_t size, uint64_t wall_us,
	uint8_t *out, uint32_t room)
{
	struct tapi_ping ping;
	struct tapi_pong answer;

	if (tapi_ping_decode(&ping, message, size) != TAPI_OK ||
		!tapi_peer_id_equal(&ping.target, &puppet->identity.id)) {
		puppet->malformed++;
		return 0;
	}
	puppet->pings++;
	tapi_pong_sign(&answer, &ping, sender, source, wall_us + HOUR_US, &puppet->identity);
	return (uint32_t)tapi_pong_encode(&answer, out, room);
}

uint32_t puppet_answer(struct puppet *puppet, const struct tapi_peer_id *sender,
	const struct tapi_source *source, const uint8_t *payload, uint32_t size, uint64_t wall_us,
	uint8_t *out, uint32_t room)
{
	uint32_t used = 0;

	for (uint32_t at = 0, n; at < size; at += n) {
		const uint8_t *message = &payload[at];

		n = size - at < TAPI_MESSAGE_HEAD_BYTES ? 0 : tapi_get16(message);
		if (n < TAPI_MESSAGE_HEAD_BYTES || n > size - at) {
			puppet->malformed++;
			break;
		}
		switch (tapi_get16(&message[2])) {
		case TAPI_TYPE_PING:
			used += pong(puppet, sender, source, message, n, wall_us, &out[used],
				room - used);
			break;
		case PUPPET_ASK:
			puppet->asks++;
			if (n <= room - used)
				used += puppet_message(&out[used], PUPPET_TELL,
					&message[TAPI_MESSAGE_HEAD_BYTES],
					n - TAPI_MESSAGE_HEAD_BYTES);
			break;
		default: puppet->others++;
		}
	}
	return used;
}
