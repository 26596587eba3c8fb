// SPDX-License-Identifier: BSD-3-Clause
// An impaired transport, for tests: what it is given goes to the transport `below` it, but some
// messages are lost, doubled, overtaken or late. Protocol 92; its addresses are those of the one
// below. What is held back goes at turn(), which the core calls after every send() because of
// TAPI_RELAYED. To what is below, chaos is the core. The core's sessions are wrapped, so that each
// side finds its own protocol number and its own `user` in them.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <syslog.h>

#include "transportapi/transport/impairment.h"
#include "transportapi/proto/helo.h"
#include "transportapi/transport/registry.h"

#define CHAOS_PROTOCOL 92
#define CHAOS_PREFIX   "chaos+" // before the text of an address of the transport below
#define PREFIX         (sizeof(CHAOS_PREFIX) - 1) // its octets
TAPI_EXPORT tapi_init_fn inittransport_chaos;
TAPI_EXPORT tapi_done_fn donetransport_chaos;

const struct tapi_conf_key tapi_chaos_keys[] = {
	{"below", TAPI_CONF_TEXT, 0, 31, 0, "udp", false,
		"the transport that it wraps, with the keys of that one's own section"},
	{"module_path", TAPI_CONF_TEXT, 0, 900, 0, NULL, false,
		"where the transport below is looked for if it is not built in"},
	TAPI_IMPAIRMENT_KEYS,
	{"cost", TAPI_CONF_UINT, 0, 1000000, 0, NULL, true, "0: that of the transport below"},
	{0},
};

struct chaos_session {
	struct tapi_session session; // the core's
	struct tapi_session *below;  // its `user` points back here
	unsigned references;
	bool inbound;
	bool gone; // the core has let go of it, and something waits: see chaos_disconnect()
	TAILQ_ENTRY(chaos_session) next;
};

struct chaos {
	struct tapi_transport_api api;
	const struct tapi_core_api *core;
	struct tapi_core_api below_core; // what the transport below has for a core
	struct tapi_loaded below;
	const struct tapi_conf *conf; // in force: what a reload is held against
	struct tapi_impairment impairment;
	struct tapi_transport_stats stats;
	TAILQ_HEAD(, chaos_session) sessions;
	bool started;
};

static struct chaos *chaos_of(struct tapi_transport_api *self)
{
	return (struct chaos *)(void *)self;
}

static struct chaos_session *wrapper_of(struct tapi_session *session)
{
	return session->internal;
}

// The core, as the transport below sees it.

static const struct tapi_core_api *core_of(const void *context)
{
	return ((const struct chaos *)context)->core;
}

static uint64_t below_now(void *context)
{
	return core_of(context)->now_us(core_of(context)->core);
}

static void below_addresses_changed(void *context)
{
	if (core_of(context)->addresses_changed)
		core_of(context)->addresses_changed(core_of(context)->core);
}

static void below_random(void *context, void *octets, size_t length)
{
	core_of(context)->random(core_of(context)->core, octets, length);
}

__attribute__((format(printf, 3, 4))) static void below_log(
	void *context, int priority, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	core_of(context)->log(core_of(context)->core, priority, "below chaos: %s", text);
}

static struct chaos_session *session_wrap(
	struct chaos *chaos, struct tapi_session *below, bool inbound)
{
	struct chaos_session *wrapper = calloc(1, sizeof(*wrapper));

	if (!wrapper)
		return NULL;
	wrapper->session = (struct tapi_session){.protocol = CHAOS_PROTOCOL, .internal = wrapper};
	wrapper->below = below;
	wrapper->inbound = inbound;
	below->user = wrapper;
	TAILQ_INSERT_TAIL(&chaos->sessions, wrapper, next);
	return wrapper;
}

// What waits for a session that ends is lost, and counted: the sender was reported that it was
// taken.
static void session_unwrap(struct chaos *chaos, struct chaos_session *wrapper)
{
	struct tapi_held *held;

	while ((held = tapi_impairment_of(&chaos->impairment, wrapper))) {
		chaos->stats.fault_refused += held->twice ? 2 : 1;
		tapi_held_free(held);
	}
	TAILQ_REMOVE(&chaos->sessions, wrapper, next);
	free(wrapper);
}

static void below_receive(void *context, const struct tapi_message_pack *pack)
{
	struct chaos *chaos = context;
	struct tapi_message_pack ours = *pack;
	struct chaos_session *wrapper;

	if (pack->session) {
		wrapper = pack->session->user;
		if (!wrapper)
			wrapper = session_wrap(chaos, pack->session, true);
		if (!wrapper) { // out of memory: a message may be lost, by contract
			chaos->stats.fault_dropped++;
			return;
		}
		ours.session = &wrapper->session;
	}
	chaos->stats.received_msgs++;
	chaos->stats.received_bytes += pack->size;
	chaos->core->receive(chaos->core->core, &ours);
}

static void below_session_down(void *context, struct tapi_session *session, enum tapi_down why)
{
	struct chaos *chaos = context;
	struct chaos_session *wrapper = session->user;

	if (!wrapper) // the core never heard of it
		return;
	if (!wrapper->gone)
		chaos->core->session_down(chaos->core->core, &wrapper->session, why);
	session_unwrap(chaos, wrapper);
}

// What the transport below does with a message that the sender thinks is gone.
static void pass_late(struct chaos *chaos, struct tapi_session *below, const void *message,
	uint32_t size, bool is_encrypted, uint32_t crc)
{
	struct tapi_transport_api *api = chaos->below.api;

	if (api->send(api, below, message, size, is_encrypted, crc) != TAPI_OK)
		chaos->stats.fault_refused++;
}

static void held_release(struct chaos *chaos, struct tapi_held *held)
{
	struct tapi_transport_api *api = chaos->below.api;
	struct chaos_session *wrapper = held->session;

	for (int i = 0; i <= held->twice; i++)
		pass_late(chaos, wrapper->below, held->message, held->size, held->is_encrypted,
			held->crc);
	tapi_held_free(held);
	if (wrapper->gone && !tapi_impairment_waits(&chaos->impairment, wrapper)) {
		api->disconnect(api, wrapper->below);
		session_unwrap(chaos, wrapper);
	}
}

static void release_due(struct chaos *chaos, uint64_t now_us)
{
	struct tapi_held *held;

	while ((held = tapi_impairment_due(&chaos->impairment, now_us)))
		held_release(chaos, held);
}

// At once, and what is below answers: its reason for a drop is ours.
static enum tapi_result pass_now(
	struct chaos *chaos, const struct tapi_held *like, const void *message)
{
	struct tapi_transport_api *api = chaos->below.api;
	const struct chaos_session *wrapper = like->session;
	struct tapi_transport_stats before = *api->stats(api);
	const struct tapi_transport_stats *after = api->stats(api);
	struct tapi_held *held;
	enum tapi_result result =
		api->send(api, wrapper->below, message, like->size, like->is_encrypted, like->crc);

	if (result != TAPI_OK) {
		chaos->stats.dropped_block += after->dropped_block - before.dropped_block;
		chaos->stats.dropped_rate += after->dropped_rate - before.dropped_rate;
		chaos->stats.dropped_down += after->dropped_down - before.dropped_down;
		chaos->stats.dropped_too_big += after->dropped_too_big - before.dropped_too_big;
		chaos->stats.dropped_error += after->dropped_error - before.dropped_error;
		return result;
	}
	if (like->twice)
		pass_late(
			chaos, wrapper->below, message, like->size, like->is_encrypted, like->crc);
	tapi_impairment_passed(&chaos->impairment);
	while ((held = tapi_impairment_overtaken(&chaos->impairment)))
		held_release(chaos, held);
	return TAPI_OK;
}

static enum tapi_result chaos_send(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc)
{
	struct chaos *chaos = chaos_of(self);
	struct tapi_impaired impaired;
	struct tapi_held like;
	enum tapi_result result = TAPI_OK;

	if (!chaos->started) {
		chaos->stats.dropped_down++;
		return TAPI_EDOWN;
	}
	if (size > self->mtu) {
		chaos->stats.dropped_too_big++;
		return TAPI_ETOOBIG;
	}
	impaired = tapi_impairment_draw(&chaos->impairment);
	like = (struct tapi_held){.session = wrapper_of(session),
		.size = size,
		.crc = crc,
		.is_encrypted = is_encrypted,
		.twice = impaired.twice};
	if (impaired.dropped) {
		chaos->stats.fault_dropped++;
	} else if (tapi_impairment_hold(&chaos->impairment, &impaired, &like, message,
			   chaos->core->now_us(chaos->core->core))) {
		chaos->stats.fault_reordered += impaired.reordered;
		chaos->stats.fault_delayed += impaired.late_us > 0;
	} else {
		result = pass_now(chaos, &like, message);
	}
	if (result == TAPI_OK) {
		chaos->stats.fault_doubled += impaired.twice && !impaired.dropped;
		chaos->stats.sent_msgs++;
		chaos->stats.sent_bytes += size;
	}
	return result;
}

// A HELO of ours, as the transport below knows it.
static struct tapi_helo helo_below(const struct chaos *chaos, const struct tapi_helo *helo)
{
	struct tapi_helo theirs = *helo;

	theirs.protocol = chaos->below.api->protocol;
	return theirs;
}

static enum tapi_result chaos_verify_helo(
	struct tapi_transport_api *self, const struct tapi_helo *helo)
{
	struct chaos *chaos = chaos_of(self);
	struct tapi_helo theirs = helo_below(chaos, helo);

	if (helo->protocol != CHAOS_PROTOCOL)
		return TAPI_EADDR;
	return chaos->below.api->verify_helo(chaos->below.api, &theirs);
}

static enum tapi_result chaos_create_helo(
	struct tapi_transport_api *self, unsigned index, struct tapi_helo *out)
{
	struct chaos *chaos = chaos_of(self);
	enum tapi_result result = chaos->below.api->create_helo(chaos->below.api, index, out);

	if (result == TAPI_OK)
		out->protocol = CHAOS_PROTOCOL;
	return result;
}

static enum tapi_result chaos_connect(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_session **out)
{
	struct chaos *chaos = chaos_of(self);
	struct tapi_transport_api *api = chaos->below.api;
	struct tapi_helo theirs = helo_below(chaos, helo);
	struct tapi_session *below;
	struct chaos_session *wrapper;
	enum tapi_result result;

	if (helo->protocol != CHAOS_PROTOCOL)
		return TAPI_EADDR;
	result = api->connect(api, &theirs, &below);
	if (result != TAPI_OK)
		return result;
	// What is below may answer with a session that stands already.
	wrapper = below->user ? below->user : session_wrap(chaos, below, false);
	if (!wrapper) {
		api->disconnect(api, below);
		return TAPI_ENOMEM;
	}
	if (wrapper->gone) {
		wrapper->gone = false;
		api->disconnect(api, below); // the reference that it was kept by
	}
	wrapper->references++;
	*out = &wrapper->session;
	return TAPI_OK;
}

static enum tapi_result chaos_associate(
	struct tapi_transport_api *self, struct tapi_session *session)
{
	struct chaos *chaos = chaos_of(self);
	struct chaos_session *wrapper = wrapper_of(session);
	enum tapi_result result = chaos->below.api->associate(chaos->below.api, wrapper->below);

	wrapper->references += result == TAPI_OK;
	return result;
}

static enum tapi_result chaos_disconnect(
	struct tapi_transport_api *self, struct tapi_session *session)
{
	struct chaos *chaos = chaos_of(self);
	struct chaos_session *wrapper = wrapper_of(session);
	enum tapi_result result;

	// Who has no session that came in answers on one of his own, and ends it: it stays below,
	// where nothing comes in by it, until what waits has left.
	if (wrapper->references == 1 && (chaos->api.flags & TAPI_SESSIONLESS) &&
		tapi_impairment_waits(&chaos->impairment, wrapper)) {
		wrapper->references = 0;
		wrapper->gone = true; // with the reference below
		return TAPI_OK;
	}
	result = chaos->below.api->disconnect(chaos->below.api, wrapper->below);
	if (result != TAPI_OK)
		return result;
	wrapper->references--;
	if (wrapper->references == 0 && !wrapper->inbound) // it has ended below, without a word
		session_unwrap(chaos, wrapper);
	return TAPI_OK;
}

static enum tapi_result chaos_start(struct tapi_transport_api *self)
{
	struct chaos *chaos = chaos_of(self);
	enum tapi_result result = chaos->below.api->start_server(chaos->below.api);

	chaos->started |= result == TAPI_OK;
	return result;
}

static enum tapi_result chaos_stop(struct tapi_transport_api *self)
{
	chaos_of(self)->started = false;
	// each session_down frees a wrapper
	return chaos_of(self)->below.api->stop_server(chaos_of(self)->below.api);
}

// TAPI_ECONF after saying what is wrong.
static enum tapi_result rates_read(struct chaos *chaos, struct tapi_impairment_rates *out)
{
	struct tapi_error error;
	enum tapi_result result =
		tapi_conf_check(*chaos->core->conf, "chaos", tapi_chaos_keys, &error);

	if (result == TAPI_OK)
		*out = tapi_impairment_rates_read(*chaos->core->conf, "chaos", tapi_chaos_keys);
	else
		chaos->core->log(chaos->core->core, LOG_ERR, "%s", error.text);
	return result;
}

static void cost_set(struct chaos *chaos)
{
	uint64_t own = tapi_conf_uint(*chaos->core->conf, "chaos", tapi_chaos_keys, "cost");

	chaos->api.cost = own ? (uint32_t)own : chaos->below.api->cost;
}

static enum tapi_result chaos_reload(struct tapi_transport_api *self)
{
	struct chaos *chaos = chaos_of(self);
	const struct tapi_conf *conf = *chaos->core->conf;
	struct tapi_impairment_rates rates;
	enum tapi_result result = rates_read(chaos, &rates);
	struct tapi_error error;

	if (result != TAPI_OK)
		return result;
	result = tapi_conf_compare(chaos->conf, conf, "chaos", tapi_chaos_keys, &error);
	if (result != TAPI_OK) {
		chaos->core->log(chaos->core->core, LOG_ERR, "%s", error.text);
		return result;
	}
	result = chaos->below.api->reload_configuration(chaos->below.api);
	if (result == TAPI_OK) {
		chaos->conf = conf;
		chaos->impairment.rates = rates;
		cost_set(chaos);
	}
	return result;
}

static uint64_t chaos_turn(struct tapi_transport_api *self, uint64_t now_us)
{
	struct chaos *chaos = chaos_of(self);
	uint64_t wish, below;

	release_due(chaos, now_us);
	below = chaos->below.api->turn(chaos->below.api, now_us);
	wish = tapi_impairment_wish(&chaos->impairment);
	return wish < below ? wish : below;
}

static enum tapi_result chaos_address_to_string(
	struct tapi_transport_api *self, const struct tapi_helo *helo, char *out, size_t size)
{
	struct chaos *chaos = chaos_of(self);
	struct tapi_helo theirs = helo_below(chaos, helo);

	if (helo->protocol != CHAOS_PROTOCOL || size <= PREFIX)
		return TAPI_EADDR;
	memcpy(out, CHAOS_PREFIX, PREFIX);
	return chaos->below.api->address_to_string(
		chaos->below.api, &theirs, &out[PREFIX], size - PREFIX);
}

static enum tapi_result chaos_string_to_address(
	struct tapi_transport_api *self, const char *text, uint8_t *out, size_t *size)
{
	struct chaos *chaos = chaos_of(self);

	if (strncmp(text, CHAOS_PREFIX, PREFIX) != 0)
		return TAPI_EADDR;
	return chaos->below.api->string_to_address(chaos->below.api, &text[PREFIX], out, size);
}

static enum tapi_result chaos_address_source(
	struct tapi_transport_api *self, const struct tapi_helo *helo, struct tapi_source *out)
{
	struct chaos *chaos = chaos_of(self);
	struct tapi_helo theirs = helo_below(chaos, helo);

	return chaos->below.api->address_source(chaos->below.api, &theirs, out);
}

static uint32_t chaos_send_estimate(
	struct tapi_transport_api *self, const struct tapi_session *session)
{
	struct chaos *chaos = chaos_of(self);
	const struct chaos_session *wrapper = session->internal;

	return chaos->below.api->send_estimate(chaos->below.api, wrapper->below);
}

static void chaos_session_info(struct tapi_transport_api *self, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	struct chaos *chaos = chaos_of(self);
	const struct chaos_session *wrapper = session->internal;
	char remote[sizeof(out->remote)];

	chaos->below.api->session_info(chaos->below.api, wrapper->below, out);
	snprintf(remote, sizeof(remote), "%s%.*s", CHAOS_PREFIX,
		(int)(sizeof(remote) - sizeof(CHAOS_PREFIX)), out->remote);
	memcpy(out->remote, remote, sizeof(remote));
}

// What a wrapper cannot see comes from below: bad octets, and what became of sessions.
static const struct tapi_transport_stats *chaos_stats(struct tapi_transport_api *self)
{
	struct chaos *chaos = chaos_of(self);
	const struct tapi_transport_stats *below = chaos->below.api->stats(chaos->below.api);

	chaos->stats.bad_frame = below->bad_frame;
	chaos->stats.bad_source = below->bad_source;
	chaos->stats.sessions_opened = below->sessions_opened;
	chaos->stats.sessions_accepted = below->sessions_accepted;
	chaos->stats.sessions_closed = below->sessions_closed;
	chaos->stats.sessions_stale = below->sessions_stale;
	chaos->stats.sessions_evicted = below->sessions_evicted;
	chaos->stats.sessions_refused = below->sessions_refused;
	return &chaos->stats;
}

static const struct tapi_transport_api chaos_api = {
	.version = TAPI_VERSION,
	.protocol = CHAOS_PROTOCOL,
	.name = "chaos",
	.verify_helo = chaos_verify_helo,
	.create_helo = chaos_create_helo,
	.connect = chaos_connect,
	.send = chaos_send,
	.associate = chaos_associate,
	.disconnect = chaos_disconnect,
	.start_server = chaos_start,
	.stop_server = chaos_stop,
	.reload_configuration = chaos_reload,
	.turn = chaos_turn,
	.address_to_string = chaos_address_to_string,
	.string_to_address = chaos_string_to_address,
	.address_source = chaos_address_source,
	.send_estimate = chaos_send_estimate,
	.session_info = chaos_session_info,
	.stats = chaos_stats,
};

// false after saying why.
static bool chaos_begin(struct chaos *chaos)
{
	const struct tapi_core_api *core = chaos->core;
	struct tapi_impairment_rates rates;
	struct tapi_error error;
	const char *below;

	if (rates_read(chaos, &rates) != TAPI_OK)
		return false;
	chaos->conf = *core->conf;
	tapi_impairment_init(
		&chaos->impairment, tapi_conf_uint(*core->conf, "chaos", tapi_chaos_keys, "seed"));
	chaos->impairment.rates = rates;
	below = tapi_conf_text(*core->conf, "chaos", tapi_chaos_keys, "below");
	if (strcmp(below, "chaos") == 0) {
		core->log(core->core, LOG_ERR, "chaos.below: chaos cannot wrap itself");
		return false;
	}
	chaos->below_core = *core;
	chaos->below_core.core = chaos;
	chaos->below_core.receive = below_receive;
	chaos->below_core.session_down = below_session_down;
	chaos->below_core.now_us = below_now;
	chaos->below_core.random = below_random;
	chaos->below_core.log = below_log;
	chaos->below_core.addresses_changed = below_addresses_changed;
	if (tapi_transport_load(&chaos->below, below,
		    tapi_conf_text(*core->conf, "chaos", tapi_chaos_keys, "module_path"), false,
		    &chaos->below_core, &error) != TAPI_OK) {
		core->log(core->core, LOG_ERR, "chaos.below: %s", error.text);
		return false;
	}
	chaos->api.mtu = chaos->below.api->mtu;
	cost_set(chaos);
	chaos->api.flags = (chaos->below.api->flags | TAPI_RELAYED) & ~(uint32_t)TAPI_ORDERED;
	if (!chaos->below.api->address_source)
		chaos->api.address_source = NULL;
	if (!chaos->below.api->send_estimate)
		chaos->api.send_estimate = NULL;
	return true;
}

struct tapi_transport_api *inittransport_chaos(const struct tapi_core_api *core)
{
	struct chaos *chaos;

	if (core->version != TAPI_VERSION)
		return NULL;
	chaos = calloc(1, sizeof(*chaos));
	if (!chaos) {
		core->log(core->core, LOG_ERR, "chaos: out of memory");
		return NULL;
	}
	chaos->api = chaos_api;
	chaos->core = core;
	TAILQ_INIT(&chaos->sessions);
	tapi_impairment_init(&chaos->impairment, 0);
	if (chaos_begin(chaos))
		return &chaos->api;
	donetransport_chaos(&chaos->api);
	return NULL;
}

void donetransport_chaos(struct tapi_transport_api *self)
{
	struct chaos *chaos = chaos_of(self);

	if (chaos->started)
		chaos_stop(self);
	tapi_transport_unload(&chaos->below);
	while (!TAILQ_EMPTY(&chaos->sessions))
		session_unwrap(chaos, TAILQ_FIRST(&chaos->sessions));
	tapi_impairment_end(&chaos->impairment);
	free(chaos);
}
