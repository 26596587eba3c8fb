// SPDX-License-Identifier: BSD-3-Clause
#include "tapi_stage.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "transportapi/base/wire.h"

#define WALL_US UINT64_C(1700000000000000)
#define RUN_MAX 10000000 // turns of one run: more is a core that never comes to rest

static const struct tapi_conf_key keys[] = {TAPI_LINK_KEYS, {.name = NULL}};
static struct stage *building; // init has no argument for it

static struct stage *stage_of(struct tapi_transport_api *self)
{
	return (struct stage *)(void *)((uint8_t *)self - offsetof(struct stage, api));
}

static struct stage_session *session_of(const struct tapi_session *session)
{
	return session->internal;
}

static struct tapi_source source_of(uint32_t address)
{
	struct tapi_source source = {.family = 4};

	tapi_put32(source.address, address);
	return source;
}

static enum tapi_result verify_helo(struct tapi_transport_api *self, const struct tapi_helo *helo)
{
	(void)self;
	return helo->address_size == 4 ? TAPI_OK : TAPI_EADDR;
}

static enum tapi_result create_helo(
	struct tapi_transport_api *self, unsigned index, struct tapi_helo *out)
{
	if (index)
		return TAPI_ENOADDR;
	*out = (struct tapi_helo){.protocol = STAGE_PROTOCOL, .mtu = self->mtu, .address_size = 4};
	tapi_put32(out->address, 1);
	return TAPI_OK;
}

static struct stage_session *session_new(struct stage *stage, uint32_t address, bool inbound)
{
	struct stage_session *session = calloc(1, sizeof(*session));

	if (!session)
		abort();
	session->address = address;
	session->link.session.protocol = STAGE_PROTOCOL;
	session->link.inbound = inbound;
	session->link.up = true;
	session->link.source = source_of(address);
	tapi_put32(session->link.key, address);
	session->link.key_length = 4;
	if (tapi_links_add(&stage->links, &session->link, stage->now_us) == TAPI_OK)
		return session;
	free(session);
	return NULL;
}

struct stage_session *stage_session(struct stage *stage, uint32_t address)
{
	uint8_t key[4];

	tapi_put32(key, address);
	return (struct stage_session *)(void *)tapi_links_find(&stage->links, key, sizeof(key));
}

static enum tapi_result connect_to(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_session **out)
{
	struct stage *stage = stage_of(self);
	struct stage_session *session;

	if (verify_helo(self, helo) != TAPI_OK)
		return TAPI_EADDR;
	if (!stage->started)
		return TAPI_EDOWN;
	session = stage->refuses ? NULL : session_new(stage, tapi_get32(helo->address), false);
	if (!session)
		return TAPI_ELIMIT;
	*out = &session->link.session;
	return TAPI_OK;
}

static enum tapi_result send_to(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc)
{
	struct stage *stage = stage_of(self);
	struct stage_session *to = session_of(session);

	(void)is_encrypted;
	(void)crc;
	if (!to->link.linked) {
		stage->stats.dropped_down++;
		return TAPI_EDOWN;
	}
	if (size > self->mtu) {
		stage->stats.dropped_too_big++;
		return TAPI_ETOOBIG;
	}
	if (stage->refuses) {
		stage->stats.dropped_block++;
		return TAPI_DROPPED;
	}
	tapi_links_sent(&stage->links, &to->link, size, stage->now_us);
	if (stage->sent)
		stage->sent(stage, to, message, size);
	return TAPI_OK;
}

static enum tapi_result associate(struct tapi_transport_api *self, struct tapi_session *session)
{
	if (!session_of(session)->link.linked)
		return TAPI_EDOWN;
	tapi_links_get(&stage_of(self)->links, &session_of(session)->link);
	return TAPI_OK;
}

static enum tapi_result disconnect(struct tapi_transport_api *self, struct tapi_session *session)
{
	struct stage *stage = stage_of(self);

	if (session_of(session)->link.references == 0)
		return TAPI_EDOWN;
	if (tapi_links_put(&stage->links, &session_of(session)->link, stage->now_us))
		free(session_of(session));
	return TAPI_OK;
}

static void on_end(void *context, struct tapi_link *link, enum tapi_down why)
{
	struct stage *stage = context;

	stage->of_core->session_down(stage->of_core->core, &link->session, why);
	free(link);
}

static enum tapi_result start_server(struct tapi_transport_api *self)
{
	stage_of(self)->started = true;
	return TAPI_OK;
}

static void packet_drop(struct stage *stage, struct stage_packet *packet)
{
	TAILQ_REMOVE(&stage->packets, packet, next);
	stage->n_packets--;
	free(packet);
}

static enum tapi_result stop_server(struct tapi_transport_api *self)
{
	struct stage *stage = stage_of(self);

	stage->started = false;
	while (!TAILQ_EMPTY(&stage->packets))
		packet_drop(stage, TAILQ_FIRST(&stage->packets));
	tapi_links_end_all(&stage->links, TAPI_DOWN_STOPPED, NULL);
	return TAPI_OK;
}

static enum tapi_result reload(struct tapi_transport_api *self)
{
	struct stage *stage = stage_of(self);

	stage->links.limits = tapi_link_limits_read(*stage->of_core->conf, "stage", keys);
	return TAPI_OK;
}

static void arrive(struct stage *stage, const struct stage_packet *packet)
{
	struct stage_session *session = stage_session(stage, packet->address);
	struct tapi_message_pack pack = {
		.sender = packet->sender,
		.source = source_of(packet->address),
		.message = packet->payload,
		.size = packet->size,
		.is_encrypted = packet->is_encrypted,
		.crc = packet->crc,
	};

	if (!session)
		session = session_new(stage, packet->address, true);
	if (!session)
		return; // a limit
	tapi_links_received(&stage->links, &session->link, packet->size, stage->now_us);
	pack.session = &session->link.session;
	stage->of_core->receive(stage->of_core->core, &pack);
}

static uint64_t turn(struct tapi_transport_api *self, uint64_t now_us)
{
	struct stage *stage = stage_of(self);
	uint64_t next_us;

	// What arrives meanwhile is for the next turn.
	for (unsigned n = stage->n_packets; n > 0 && stage->started; n--) {
		struct stage_packet *packet = TAILQ_FIRST(&stage->packets);

		if (!packet)
			break;
		TAILQ_REMOVE(&stage->packets, packet, next);
		stage->n_packets--;
		arrive(stage, packet);
		free(packet);
	}
	next_us = tapi_links_turn(&stage->links, now_us);
	return stage->n_packets ? now_us : next_us;
}

static enum tapi_result address_to_string(
	struct tapi_transport_api *self, const struct tapi_helo *helo, char *out, size_t size)
{
	if (verify_helo(self, helo) != TAPI_OK)
		return TAPI_EADDR;
	snprintf(out, size, "stage:%u", tapi_get32(helo->address));
	return TAPI_OK;
}

static enum tapi_result string_to_address(
	struct tapi_transport_api *self, const char *text, uint8_t *out, size_t *size)
{
	unsigned address;

	(void)self;
	if (*size < 4 || sscanf(text, "stage:%u", &address) != 1)
		return TAPI_EADDR;
	tapi_put32(out, address);
	*size = 4;
	return TAPI_OK;
}

static enum tapi_result address_source(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_source *out)
{
	if (verify_helo(self, helo) != TAPI_OK)
		return TAPI_EADDR;
	*out = source_of(tapi_get32(helo->address));
	return TAPI_OK;
}

static void session_info(struct tapi_transport_api *self, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	(void)self;
	tapi_links_info(&session_of(session)->link, out);
	snprintf(out->remote, sizeof(out->remote), "stage:%u", session_of(session)->address);
}

static const struct tapi_transport_stats *stats_of(struct tapi_transport_api *self)
{
	return &stage_of(self)->stats;
}

static struct tapi_transport_api *init(const struct tapi_core_api *core)
{
	struct stage *stage = building;
	struct tapi_link_limits limits = tapi_link_limits_read(*core->conf, "stage", keys);

	stage->of_core = core;
	tapi_links_init(&stage->links, &limits, &stage->stats, on_end, stage);
	stage->api = (struct tapi_transport_api){
		.version = TAPI_VERSION,
		.protocol = STAGE_PROTOCOL,
		.mtu = STAGE_MTU,
		.cost = 100,
		.flags = TAPI_BIDIRECTIONAL,
		.name = "stage",
		.verify_helo = verify_helo,
		.create_helo = create_helo,
		.connect = connect_to,
		.send = send_to,
		.associate = associate,
		.disconnect = disconnect,
		.start_server = start_server,
		.stop_server = stop_server,
		.reload_configuration = reload,
		.turn = turn,
		.address_to_string = address_to_string,
		.string_to_address = string_to_address,
		.address_source = address_source,
		.session_info = session_info,
		.stats = stats_of,
	};
	return &stage->api;
}

static void done(struct tapi_transport_api *self)
{
	stop_server(self);
}

static uint64_t now(void *context)
{
	return ((struct stage *)context)->now_us;
}

uint64_t stage_wall(const struct stage *stage)
{
	return WALL_US + stage->now_us;
}

static uint64_t wall(void *context)
{
	return stage_wall(context);
}

static void chance(void *context, void *octets, size_t length)
{
	struct stage *stage = context;

	for (size_t i = 0; i < length; i++) {
		stage->random ^= stage->random >> 12;
		stage->random ^= stage->random << 25;
		stage->random ^= stage->random >> 27;
		((uint8_t *)octets)[i] = (uint8_t)(stage->random * 0x2545f4914f6cdd1d >> 56);
	}
}

static void quiet(void *context, int priority, const char *text)
{
	(void)context;
	(void)priority;
	(void)text;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "tapi_stage: %s\n", what);
	abort();
}

static struct tapi_conf *conf_of(const char *core_keys, const char *stage_keys)
{
	struct tapi_error error = {0};
	struct tapi_conf *conf;
	char text[2048];

	snprintf(text, sizeof(text),
		"{\"transports\": [\"stage\"], \"core\": {%s}, \"stage\": {%s}}", core_keys,
		stage_keys);
	conf = tapi_conf_parse(text, &error);
	must(conf != NULL, error.text);
	return conf;
}

void stage_reload(struct stage *stage, const char *core_keys, const char *stage_keys)
{
	struct tapi_conf *fresh = conf_of(core_keys, stage_keys);
	struct tapi_error error = {0};

	must(tapi_core_reload(stage->core, fresh, &error) == TAPI_OK, error.text);
	tapi_conf_free(stage->conf);
	stage->conf = fresh;
}

void stage_init(struct stage *stage, const char *core_keys, const char *stage_keys)
{
	static const struct tapi_own_transport transports[] = {{"stage", init, done}, {0}};
	const uint8_t seed[TAPI_SEED_BYTES] = "stage";
	struct tapi_core_options options = {
		.identity = &stage->identity,
		.now_us = now,
		.wall_us = wall,
		.random = chance,
		.log = quiet,
		.context = stage,
		.own_turns = true,
		.transports = transports,
	};
	struct tapi_error error = {0};

	*stage = (struct stage){.now_us = 1000000, .random = 88172645463325252};
	TAILQ_INIT(&stage->packets);
	tapi_identity_from_seed(&stage->identity, seed);
	stage->conf = conf_of(core_keys, stage_keys);
	options.conf = stage->conf;
	building = stage;
	must(tapi_core_new(&stage->core, &options, &error) == TAPI_OK, error.text);
	must(tapi_core_start(stage->core, &error) == TAPI_OK, error.text);
}

void stage_end(struct stage *stage)
{
	tapi_core_stop(stage->core);
	tapi_core_free(stage->core);
	tapi_conf_free(stage->conf);
}

void stage_run(struct stage *stage, uint64_t for_us)
{
	const uint64_t end_us = stage->now_us + for_us;
	unsigned turns = 0;

	for (;;) {
		uint64_t next_us;

		// As an event of the medium would: the core need not have asked for it.
		if (stage->n_packets)
			turn(&stage->api, stage->now_us);
		next_us = tapi_core_turn(stage->core, stage->now_us);
		must(++turns < RUN_MAX, "the core does not come to rest");
		if (stage->n_packets)
			continue;
		if (next_us > end_us)
			break;
		if (next_us > stage->now_us)
			stage->now_us = next_us;
	}
	stage->now_us = end_us;
}

void stage_arrive(struct stage *stage, uint32_t address, const struct tapi_peer_id *sender,
	const uint8_t *payload, uint32_t size, bool is_encrypted, const uint32_t *crc)
{
	struct stage_packet *packet = malloc(sizeof(*packet) + size);

	if (!packet)
		abort();
	*packet = (struct stage_packet){
		.address = address,
		.sender = *sender,
		.is_encrypted = is_encrypted,
		.crc = crc ? *crc : (uint32_t)crc32(0, payload, size),
		.size = size,
	};
	memcpy(packet->payload, payload, size);
	TAILQ_INSERT_TAIL(&stage->packets, packet, next);
	stage->n_packets++;
}

uint64_t stage_counter(struct stage *stage, const char *name)
{
	char *text = tapi_core_stats_json(stage->core, false);
	json_t *all = text ? json_loads(text, 0, NULL) : NULL;
	json_t *number = json_object_get(json_object_get(all, "core"), name);
	uint64_t value = (uint64_t)json_integer_value(number);

	must(json_is_integer(number), name);
	json_decref(all);
	free(text);
	return value;
}
