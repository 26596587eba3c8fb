// SPDX-License-Identifier: BSD-3-Clause
// A core among six peers whose keys we have, and all that may come to it. An input is a byte of
// options and records; each begins with a byte, its low 3 bits say what:
//
//   0  u8 who, u8 where, u8 flags (1 encrypted, 2 wrong crc), u16 n | n octets, as they are
//   1  u16 time that passes, in 16 ms
//   2  u8 who, u8 where, u8 of (whose HELO), u8 flags (1 told by a friend, 2 expired, 4 its
//      signature is spoilt)
//   3  u8 which (of the last 16 PINGs that went out), u8 where from, u8 flags (1 another's key,
//      2 challenge spoilt): its PONG
//   4  u8 to, u8 priority (and 4: encrypted), u16 length: the application sends
//   5  u8 who, u8 where, u8 type, u8 n: a message with a right head, its body from the input
//   6  u8 what: forgets a peer, denies it, ends a session, lets the medium refuse, a quota, a
//   reload 7  u8 who, u8 where, u8 flags (1 with its HELO, 2 for another): a PING
//
// Held: nothing but PINGs, and PONGs to where something came from, goes to an address where nobody
// has answered a PING; a message for a peer goes only where that peer has. Peers, sessions, PINGs,
// queues and fragments stay within their limits; when all are forgotten, nothing is left.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tapi/tapi_puppet.h"
#include "lib/tapi/tapi_stage.h"
#include "transportapi/proto/ping.h"
#include "transportapi/base/wire.h"

enum { WHO = 6, WHERE = 256, PINGS = 16, RECORDS = 300, TYPE = 77 };
enum { MAX_PEERS = 8, MAX_SESSIONS = 12, QUEUES = 20000, FRAGMENTS = 30000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct sent_ping {
	struct tapi_ping ping;
	uint32_t where;
};

static struct puppet all[WHO];

struct world {
	struct stage stage;
	const uint8_t *in;
	size_t left;
	bool heard[WHERE], answered[WHO][WHERE]; // answered: a right PONG was given to the core
	struct sent_ping pings[PINGS];
	unsigned n_pings;
	struct tapi_peer_id known[MAX_PEERS];
	unsigned n_known, how;
};

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

static unsigned u16(struct world *world)
{
	unsigned high = u8(world);

	return high << 8 | u8(world);
}

static unsigned who_is(const struct tapi_peer_id *id)
{
	for (unsigned i = 0; i < WHO; i++)
		if (tapi_peer_id_equal(&all[i].identity.id, id))
			return i;
	return WHO;
}

static bool any_answered(const struct world *world, uint32_t where)
{
	for (unsigned i = 0; i < WHO; i++)
		if (world->answered[i][where])
			return true;
	return false;
}

static void on_ping(struct world *world, uint32_t where, const uint8_t *message, uint32_t size)
{
	struct sent_ping *ping = &world->pings[world->n_pings++ % PINGS];

	must(tapi_ping_decode(&ping->ping, message, size) == TAPI_OK);
	ping->where = where;
}

static void on_sent(
	struct stage *stage, struct stage_session *session, const uint8_t *payload, uint32_t size)
{
	struct world *world = stage->test;
	const uint32_t where = session->address;
	uint32_t n;

	must(where < WHERE);
	for (uint32_t at = 0; at < size; at += n) {
		const uint8_t *message = &payload[at];

		must(size - at >= TAPI_MESSAGE_HEAD_BYTES);
		n = tapi_get16(message);
		must(n >= TAPI_MESSAGE_HEAD_BYTES && n <= size - at);
		switch (tapi_get16(&message[2])) {
		case TAPI_TYPE_PING: on_ping(world, where, message, n); break;
		case TAPI_TYPE_PONG: must(world->heard[where]); break;
		case TYPE: must(world->answered[message[4]][where]); break;
		default: must(any_answered(world, where)); // HELOs, parts
		}
	}
}

static void arrive(struct world *world, uint32_t where, const struct tapi_peer_id *sender,
	const uint8_t *payload, uint32_t size, unsigned flags)
{
	const uint32_t wrong = 0x12345678;

	world->heard[where] = true;
	stage_arrive(
		&world->stage, where, sender, payload, size, flags & 1, flags & 2 ? &wrong : NULL);
}

static void raw(struct world *world)
{
	const unsigned who = u8(world), where = u8(world), flags = u8(world);
	struct tapi_peer_id unknown = {.octets = {(uint8_t)who}};
	unsigned n = u16(world);

	n = n < world->left ? n : (unsigned)world->left;
	n = n < STAGE_MTU ? n : STAGE_MTU;
	arrive(world, where, who < WHO ? &all[who].identity.id : &unknown, world->in, n, flags);
	world->in += n;
	world->left -= n;
}

static size_t helo_make(struct world *world, unsigned who, unsigned where, unsigned flags,
	uint8_t *out, size_t room)
{
	struct tapi_helo helo = {
		.protocol = STAGE_PROTOCOL,
		.mtu = STAGE_MTU,
		.expires_us = stage_wall(&world->stage) + 3600000000u,
		.seq = world->stage.now_us,
		.address_size = 4,
	};

	if (flags & 2)
		helo.expires_us -= 2 * UINT64_C(3600000000);
	tapi_put32(helo.address, where);
	tapi_helo_sign(&helo, &all[who].identity);
	helo.signature[0] ^= flags & 4;
	return tapi_helo_encode(&helo, out, room);
}

static void helo(struct world *world)
{
	const unsigned who = u8(world) % WHO, where = u8(world), of = u8(world) % WHO;
	const unsigned flags = u8(world);
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	size_t n = helo_make(world, of, where, flags, octets, sizeof(octets));

	if (flags & 1)
		tapi_core_add_helo(world->stage.core, octets, n);
	else
		arrive(world, (where * 7 + 1) % WHERE, &all[who].identity.id, octets, (uint32_t)n,
			0);
}

static void pong(struct world *world)
{
	const struct sent_ping *sent = &world->pings[u8(world) % PINGS];
	const unsigned where = u8(world), flags = u8(world);
	const struct tapi_source observed = {.family = 4};
	const unsigned who = who_is(&sent->ping.target);
	struct tapi_ping ping = sent->ping;
	uint8_t octets[TAPI_PONG_BYTES];
	struct tapi_pong answer;

	if (!world->n_pings || who == WHO)
		return;
	ping.challenge[3] ^= flags & 2;
	tapi_pong_sign(&answer, &ping, &world->stage.identity.id, &observed,
		stage_wall(&world->stage) + 3600000000u, &all[(who + (flags & 1)) % WHO].identity);
	must(tapi_pong_encode(&answer, octets, sizeof(octets)) == sizeof(octets));
	if (!(flags & 3))
		world->answered[who][sent->where] = true;
	arrive(world, where, &all[who].identity.id, octets, sizeof(octets), 0);
}

static void application(struct world *world)
{
	static uint8_t body[70000];
	const unsigned to = u8(world) % WHO, priority = u8(world);
	const struct tapi_outgoing outgoing = {
		.type = TYPE,
		.body = body,
		.length = 1 + u16(world),
		.priority = priority & 3,
		.is_encrypted = priority & 4,
		.crc = priority,
		.deadline_us = priority & 8 ? 50000u * priority : 0,
	};

	body[0] = (uint8_t)to;
	tapi_core_send(world->stage.core, &all[to].identity.id, &outgoing);
}

static void typed(struct world *world)
{
	const unsigned who = u8(world) % WHO, where = u8(world), type = u8(world) % 80;
	unsigned n = u8(world);
	uint8_t message[4 + 255];

	n = n < world->left ? n : (unsigned)world->left;
	puppet_message(message, (uint16_t)type, world->in, n);
	arrive(world, where, &all[who].identity.id, message, n + 4, 0);
	world->in += n;
	world->left -= n;
}

static const char stage_keys[] =
	"\"max_sessions\": 12, \"max_per_source\": 2, \"max_half_open\": 4";

// `less`: a quarter of the memory, half of the peers.
static void core_keys(char *out, size_t room, unsigned how, bool less)
{
	snprintf(out, room,
		"\"max_peers\": %d, \"queue_bytes\": 8192, \"queue_total_bytes\": %d, "
		"\"fragment_total_bytes\": %d, \"ping_address_s\": 1, \"ping_per_s\": 50, "
		"\"ping_prefix_per_min\": 100, \"helos_per_peer\": 3, \"validate\": \"%s\", "
		"\"fragment\": %s, \"in_rate\": %d",
		less ? MAX_PEERS / 2 : MAX_PEERS, less ? QUEUES / 4 : QUEUES,
		less ? FRAGMENTS / 4 : FRAGMENTS, how & 1 ? "eager" : "lazy",
		how & 2 ? "false" : "true", how & 4 ? 5000 : 0);
}

static void administer(struct world *world)
{
	const unsigned what = u8(world);
	struct tapi_core *core = world->stage.core;
	const struct tapi_peer_id *id = &all[what / 16 % WHO].identity.id;
	struct stage_session *session;
	char keys[512];

	switch (what % 8) {
	case 0: tapi_core_forget(core, id); break;
	case 1: tapi_core_deny_peer(core, id, stage_wall(&world->stage) + 5000000u); break;
	case 2: world->stage.refuses = !world->stage.refuses; break;
	case 3: tapi_core_quota(core, id, what * 16u, what * 8u); break;
	case 4:
		core_keys(keys, sizeof(keys), world->how ^ (what >> 5), what & 16);
		stage_reload(&world->stage, keys, stage_keys);
		break;
	default:
		session = stage_session(&world->stage, what);
		if (session)
			tapi_links_fail(&world->stage.links, &session->link, TAPI_DOWN_ERROR);
	}
}

static void ping(struct world *world)
{
	const unsigned who = u8(world) % WHO, where = u8(world), flags = u8(world);
	struct tapi_ping message = {.target = world->stage.identity.id};
	uint8_t octets[TAPI_PING_BYTES_MAX], helo_octets[TAPI_HELO_BYTES_MAX];
	size_t n, used;

	tapi_put64(message.challenge, world->stage.now_us);
	message.target.octets[0] ^= flags & 2;
	if (flags & 1) {
		n = helo_make(world, who, where, 0, helo_octets, sizeof(helo_octets));
		must(tapi_helo_decode(&message.helos[0], helo_octets, n, &used) == TAPI_OK);
		message.n_helos = 1;
	}
	n = tapi_ping_encode(&message, octets, sizeof(octets));
	arrive(world, where, &all[who].identity.id, octets, (uint32_t)n, 0);
}

static json_int_t number(const json_t *all_of_it, const char *object, const char *name)
{
	const json_t *value = json_object_get(json_object_get(all_of_it, object), name);

	must(json_is_integer(value));
	return json_integer_value(value);
}

static void check_bounds(struct world *world, bool empty)
{
	char *text = tapi_core_stats_json(world->stage.core, true);
	json_t *stats = text ? json_loads(text, 0, NULL) : NULL;

	must(stats != NULL);
	must(number(stats, "core", "peers") <= MAX_PEERS);
	must(number(stats, "core", "pings_out") <= MAX_PEERS * MAX_SESSIONS);
	must(number(stats, "queues", "bytes") <= QUEUES);
	must(number(stats, "fragments", "bytes") <= FRAGMENTS);
	must(world->stage.links.count <= MAX_SESSIONS);
	if (empty)
		must(number(stats, "core", "peers") + number(stats, "core", "pings_out") +
				number(stats, "queues", "bytes") +
				number(stats, "fragments", "bytes") ==
			0);
	json_decref(stats);
	free(text);
}

static bool each(void *context, const struct tapi_peer_info *info)
{
	struct world *world = context;

	must(world->n_known < MAX_PEERS);
	world->known[world->n_known++] = info->id;
	return true;
}

static void on_message(void *context, const struct tapi_incoming *incoming)
{
	struct world *world = context;
	const uint8_t *body = incoming->body;
	unsigned sum = 0;

	for (uint32_t i = 0; i < incoming->length; i++) // all of it may be read
		sum += body[i];
	if (sum % 64 == 63) // a receiver may do anything
		tapi_core_forget(world->stage.core, incoming->sender);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const kinds[8])(struct world *) = {
		raw, NULL, helo, pong, application, typed, administer, ping};
	struct world *world = calloc(1, sizeof(*world));
	char keys[512];

	must(world != NULL);
	for (unsigned i = 0; i < WHO && !all[i].helo_size; i++)
		puppet_make(&all[i], i, STAGE_PROTOCOL, STAGE_MTU, "1234", 4, 0);
	world->in = bytes;
	world->left = len;
	world->how = u8(world);
	core_keys(keys, sizeof(keys), world->how, false);
	stage_init(&world->stage, keys, stage_keys);
	world->stage.sent = on_sent;
	world->stage.test = world;
	tapi_core_receive(world->stage.core, TYPE, on_message, world);
	tapi_core_receive(world->stage.core, 64, on_message, world);
	for (unsigned i = 0; i < RECORDS && world->left; i++) {
		const unsigned kind = u8(world) % 8;

		if (kind == 1)
			stage_run(&world->stage, u16(world) * UINT64_C(16000));
		else
			kinds[kind](world);
		stage_run(&world->stage, 1000);
		if (i % 32 == 31)
			check_bounds(world, false);
	}
	check_bounds(world, false);
	tapi_core_peers(world->stage.core, each, world);
	while (world->n_known)
		tapi_core_forget(world->stage.core, &world->known[--world->n_known]);
	check_bounds(world, true);
	stage_end(&world->stage);
	must(world->stage.links.count == 0);
	free(world);
	return 0;
}
