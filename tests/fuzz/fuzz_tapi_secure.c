// SPDX-License-Identifier: BSD-3-Clause
// A core that encrypts, and peers that know how: the input says what they and those in their names
// send. First octet: bit 0 "require" (else "prefer"), bit 1 few payloads under one key. Then
// records:
//
//   raw      0  u8 who, u8 n, n octets: in who's name
//   wait     1  u8 times 64 ms
//   initiate 2  u8 who, u8 flags (1: an older stamp), u8 at, u8 change
//   respond  3  u8 who, u8 at, u8 change: to what the core began last with who
//   seal     4  u8 who, u8 flags (1 the same counter again, 2 one far ahead, 4 the other keys, 8 an
//               encrypted one), u8 at, u8 change, u8 n, n octets inside
//   send     5  u8 who, u8 n: the application, n times 16 octets
//   again    6  u8 which, u8 flags (1: as from who it went to; else what a peer sent before)
//   helo     7  u8 who, u8 flags (1: does not encrypt, 2: no newer than the last)
//
// `change` is xored to the octet `at`; 0: none. Held, besides what the sanitizers see: with
// "require" nothing is delivered that was not sealed, and nothing but PINGs, PONGs, HELOs and
// handshakes leaves in clear; with "prefer" neither, of peers that encrypt. No more is opened than
// a peer sealed, unaltered, with keys of its own; no more sessions stand than peers took part in.
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tapi/tapi_puppet.h"
#include "lib/tapi/tapi_stage.h"
#include "transportapi/proto/secure.h"
#include "transportapi/base/wire.h"

enum { WHO = 3, RECORDS = 200, KEPT = 32, TYPE = 64, ADDRESS = 10 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct end { // what a peer knows
	struct tapi_initiation begun;
	struct tapi_keys keys[2]; // the last ones, and those before
	uint8_t asked[TAPI_INITIATE_BYTES];
	bool is_begun, was_asked, offers;
	unsigned n_keys;
};

struct kept {
	uint32_t size;
	unsigned who;
	bool from_core;
	uint8_t octets[STAGE_MTU];
};

struct world {
	struct stage stage;
	const uint8_t *in;
	size_t left;
	struct end ends[WHO];
	struct kept kept[KEPT];
	unsigned n_kept, honest_sealed, honest_made;
	uint64_t stamp, helo_seq;
	bool require;
};

static struct puppet all[WHO];
static struct tapi_static agreeing[WHO];

static void must(bool good)
{
	if (!good)
		abort();
}

static unsigned u8(struct world *world)
{
	if (!world->left)
		return 0;
	world->left--;
	return *world->in++;
}

static void keep(
	struct world *world, unsigned who, bool from_core, const uint8_t *octets, uint32_t size)
{
	struct kept *kept = &world->kept[world->n_kept++ % KEPT];

	kept->who = who;
	kept->from_core = from_core;
	kept->size = size;
	memcpy(kept->octets, octets, size);
}

static void arrive(struct world *world, unsigned who, const uint8_t *octets, uint32_t size)
{
	if (size <= STAGE_MTU)
		stage_arrive(&world->stage, ADDRESS + who, &all[who].identity.id, octets, size,
			false, NULL);
}

// What a peer says; altered where `change` is not 0.
static void say(struct world *world, unsigned who, uint8_t *octets, uint32_t size, unsigned at,
	unsigned change)
{
	octets[at % size] ^= (uint8_t)change;
	keep(world, who, false, octets, size);
	arrive(world, who, octets, size);
}

static void keys_add(struct end *end, const struct tapi_keys *keys)
{
	end->keys[1] = end->keys[0];
	end->keys[0] = *keys;
	end->n_keys += end->n_keys < 2;
}

static void on_sent(
	struct stage *stage, struct stage_session *session, const uint8_t *payload, uint32_t size)
{
	struct world *world = stage->test;
	const unsigned who = session->address - ADDRESS;
	const struct tapi_source source = {.family = 4};
	uint8_t answer[STAGE_MTU];
	struct tapi_keys keys;
	uint32_t n;

	must(who < WHO);
	keep(world, who, true, payload, size);
	for (uint32_t at = 0; at < size; at += n) {
		const uint8_t *message = &payload[at];
		struct end *end = &world->ends[who];

		must(size - at >= TAPI_MESSAGE_HEAD_BYTES);
		n = tapi_get16(message);
		must(n >= TAPI_MESSAGE_HEAD_BYTES && n <= size - at);
		switch (tapi_get16(&message[2])) {
		case TAPI_TYPE_PING:
			n = puppet_answer(&all[who], &stage->identity.id, &source, payload, size,
				stage_wall(stage), answer, sizeof(answer));
			arrive(world, who, answer, n);
			return;
		case TAPI_TYPE_HELO:
		case TAPI_TYPE_PONG: break;
		case TAPI_TYPE_INITIATE:
			must(n == TAPI_INITIATE_BYTES);
			memcpy(end->asked, message, n);
			end->was_asked = true;
			break;
		case TAPI_TYPE_RESPOND:
			if (end->is_begun && tapi_secure_finish(&end->begun, &agreeing[who],
						     message, n, &keys) == TAPI_OK) {
				keys_add(end, &keys);
				end->is_begun = false;
				world->honest_made++;
			}
			break;
		case TAPI_TYPE_SEALED: must(n == size); break;
		default: must(!world->require && !end->offers);
		}
	}
}

static void initiate(struct world *world)
{
	const unsigned who = u8(world) % WHO, flags = u8(world), at = u8(world), change = u8(world);
	struct end *end = &world->ends[who];
	uint8_t ephemeral[TAPI_KEY_BYTES], octets[TAPI_INITIATE_BYTES];

	world->stamp += 2;
	memset(ephemeral, (int)(world->stamp & 0xff), sizeof(ephemeral));
	tapi_put64(ephemeral, world->stamp);
	must(tapi_secure_initiate(&end->begun, &all[who].identity, &agreeing[who],
		     world->stage.identity.public_key, ephemeral, (uint32_t)world->stamp,
		     flags & 1 ? world->stamp / 2 : world->stamp) == TAPI_OK);
	end->is_begun = true;
	memcpy(octets, end->begun.message, sizeof(octets));
	say(world, who, octets, sizeof(octets), at, change);
}

static void respond(struct world *world)
{
	const unsigned who = u8(world) % WHO, at = u8(world), change = u8(world);
	struct end *end = &world->ends[who];
	uint8_t ephemeral[TAPI_KEY_BYTES], octets[TAPI_RESPOND_BYTES];
	struct tapi_secure_message heard;
	struct tapi_keys keys;

	if (!end->was_asked)
		return;
	must(tapi_secure_parse(&heard, &all[who].identity, &agreeing[who],
		     &world->stage.identity.id, end->asked, TAPI_INITIATE_BYTES) == TAPI_OK);
	world->stamp += 2;
	memset(ephemeral, 5, sizeof(ephemeral));
	tapi_put64(ephemeral, world->stamp);
	must(tapi_secure_respond(&heard, ephemeral, (uint32_t)world->stamp, octets, &keys) ==
		TAPI_OK);
	keys_add(end, &keys);
	world->honest_made++;
	say(world, who, octets, sizeof(octets), at, change);
}

static void seal(struct world *world)
{
	const unsigned who = u8(world) % WHO, flags = u8(world), at = u8(world), change = u8(world);
	struct end *end = &world->ends[who];
	struct tapi_keys *keys = &end->keys[flags >> 2 & 1];
	uint8_t octets[300 + TAPI_SEALED_BYTES];
	unsigned n = u8(world);
	uint32_t size;

	n = n < world->left ? n : (unsigned)world->left;
	if ((flags >> 2 & 1) < end->n_keys) {
		if (flags & 2)
			keys->sent += 3000;
		if (flags & 1 && !(flags & 2) && keys->sent)
			keys->sent--; // its nonce again: no peer does that, and nobody is hurt here
		else
			world->honest_sealed++; // each counter of each key, once
		size = tapi_seal(keys, world->in, n, flags & 8, flags, octets);
		say(world, who, octets, size, at, change);
	}
	world->in += n;
	world->left -= n;
}

static void raw(struct world *world)
{
	const unsigned who = u8(world) % WHO;
	unsigned n = u8(world);

	n = n < world->left ? n : (unsigned)world->left;
	arrive(world, who, world->in, n);
	world->in += n;
	world->left -= n;
}

static void application(struct world *world)
{
	static const uint8_t body[16 * 256];
	const unsigned who = u8(world) % WHO;
	const struct tapi_outgoing outgoing = {
		.type = TYPE, .body = body, .length = 16 * u8(world)};

	tapi_core_send(world->stage.core, &all[who].identity.id, &outgoing);
}

static void again(struct world *world)
{
	const struct kept *kept = &world->kept[u8(world) % KEPT];
	const unsigned flags = u8(world);

	if (kept->size && (!kept->from_core || flags & 1))
		arrive(world, kept->who, kept->octets, kept->size);
}

static void helo(struct world *world)
{
	const unsigned who = u8(world) % WHO, flags = u8(world);
	struct tapi_helo out = {
		.protocol = STAGE_PROTOCOL,
		.flags = flags & 1 ? 0 : TAPI_HELO_ENCRYPTS,
		.mtu = STAGE_MTU,
		.expires_us = stage_wall(&world->stage) + 3600000000u,
		.seq = flags & 2 ? 1 : ++world->helo_seq,
		.address_size = 4,
	};
	uint8_t octets[TAPI_HELO_BYTES_MAX];

	tapi_put32(out.address, ADDRESS + who);
	tapi_helo_sign(&out, &all[who].identity);
	tapi_core_add_helo(
		world->stage.core, octets, tapi_helo_encode(&out, octets, sizeof(octets)));
	if (!(flags & 2)) // a session that stands later shows that it does encrypt: not held here
		world->ends[who].offers = (flags & 1) == 0;
}

static void on_message(void *context, const struct tapi_incoming *incoming)
{
	const struct world *world = context;
	unsigned who = 0, sum = 0;

	while (who < WHO && !tapi_peer_id_equal(&all[who].identity.id, incoming->sender))
		who++;
	must(who < WHO);
	must(incoming->sealed || (!world->require && !world->ends[who].offers));
	for (uint32_t i = 0; i < incoming->length; i++) // all of it may be read
		sum += ((const uint8_t *)incoming->body)[i];
	must(sum <= 255u * incoming->length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const kinds[8])(struct world *) = {
		raw, NULL, initiate, respond, seal, application, again, helo};
	struct world *world = calloc(1, sizeof(*world));
	char keys[256];
	unsigned how;

	must(world != NULL && sodium_init() >= 0);
	for (unsigned i = 0; i < WHO && !all[i].helo_size; i++) {
		puppet_make(&all[i], i, STAGE_PROTOCOL, STAGE_MTU, "1234", 4, 0);
		must(tapi_static_of(&agreeing[i], &all[i].identity));
	}
	world->in = bytes;
	world->left = len;
	how = u8(world);
	world->require = how & 1;
	world->stamp = 1000;
	world->helo_seq = 1;
	snprintf(keys, sizeof(keys),
		"\"encryption\": \"%s\", \"rekey_msgs\": %s, \"rekey_s\": 10, \"ping_address_s\": "
		"0, \"ping_per_s\": 1000, \"ping_prefix_per_min\": 1000",
		how & 1 ? "require" : "prefer", how & 2 ? "16" : "100000");
	stage_init(&world->stage, keys, "\"max_per_source\": 8");
	world->stage.sent = on_sent;
	world->stage.test = world;
	tapi_core_receive(world->stage.core, TYPE, on_message, world);
	for (unsigned i = 0; i < RECORDS && world->left; i++) {
		const unsigned kind = u8(world) % 8;

		if (kind == 1)
			stage_run(&world->stage, u8(world) * UINT64_C(64000));
		else
			kinds[kind](world);
		stage_run(&world->stage, 1000);
	}
	must(stage_counter(&world->stage, "sealed_received") <= world->honest_sealed);
	must(stage_counter(&world->stage, "secure_made") <= world->honest_made);
	for (unsigned i = 0; i < WHO; i++)
		tapi_core_forget(world->stage.core, &all[i].identity.id);
	must(stage_counter(&world->stage, "peers") == 0);
	stage_end(&world->stage);
	free(world);
	return 0;
}
