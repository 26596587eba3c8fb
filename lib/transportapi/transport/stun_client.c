// SPDX-License-Identifier: BSD-3-Clause
// Sends STUN requests to the configured servers, and evaluates the responses.
#include "transportapi/transport/stun_client.h"

#include <string.h>
#include <syslog.h>

#include "transportapi/base/acl.h"

#define RTO_US       UINT64_C(500000) // RFC 8489, 6.2.1: RTO, Rc, Rm
#define REQUESTS     7
#define LAST_RTOS    16
#define STANDS_US    (UINT64_C(300) * 1000000)
#define RETRY_MAX_US (UINT64_C(900) * 1000000)
#define SPREAD_US    100000 // so that servers are not all asked at one moment

enum tapi_result tapi_stun_settings_read(struct tapi_stun_settings *out,
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys,
	const struct tapi_acl *acl, struct tapi_error *error)
{
	const char *text;

	out->servers.n = 0;
	out->refresh_us = tapi_conf_uint(conf, section, keys, "stun_refresh_s") * 1000000;
	for (unsigned i = 0; (text = tapi_conf_item(conf, section, "stun", i)); i++) {
		struct tapi_source *address = &out->servers.address[out->servers.n];

		if (tapi_inet_parse_endpoint(address, text, TAPI_STUN_PORT) ||
			tapi_inet_check(address, true))
			return tapi_conf_wrong(conf, section, "stun", (int)i, error,
				"\"%.64s\" is no address (192.0.2.1, 192.0.2.1:3478, "
				"[2001:db8::1]:3478); names are not looked up",
				text);
		if (address->family == 6 && !tapi_conf_bool(conf, section, keys, "ipv6"))
			return tapi_conf_wrong(conf, section, "stun", (int)i, error,
				"\"%.64s\" needs \"ipv6\": true", text);
		if (tapi_acl_address(acl, address, true))
			return tapi_conf_wrong(conf, section, "stun", (int)i, error,
				"\"%.64s\" is denied by section acl", text);
		for (unsigned j = 0; j < out->servers.n; j++)
			if (tapi_inet_equal(&out->servers.address[j], address))
				return tapi_conf_wrong(conf, section, "stun", (int)i, error,
					"\"%.64s\" is there twice: one server has one voice", text);
		out->servers.n++;
	}
	return TAPI_OK;
}

static uint64_t spread(const struct tapi_stun *stun)
{
	uint32_t drawn;

	stun->core->random(stun->core->core, &drawn, sizeof(drawn));
	return drawn % SPREAD_US;
}

void tapi_stun_use(
	struct tapi_stun *stun, const struct tapi_stun_settings *settings, uint64_t now_us)
{
	struct tapi_stun_server old[TAPI_STUN_SERVERS_MAX];
	unsigned n = stun->n;

	memcpy(old, stun->at, sizeof(old));
	stun->n = settings->servers.n;
	for (unsigned i = 0; i < stun->n; i++) {
		stun->at[i] = (struct tapi_stun_server){
			.address = settings->servers.address[i], .next_us = now_us + spread(stun)};
		for (unsigned j = 0; j < n; j++)
			if (tapi_inet_equal(&old[j].address, &stun->at[i].address))
				stun->at[i] = old[j];
		// What was long may be short now.
		if (stun->at[i].sent == 0 && stun->at[i].next_us > now_us + settings->refresh_us)
			stun->at[i].next_us = now_us + spread(stun);
	}
	stun->refresh_us = settings->refresh_us;
}

void tapi_stun_forget(struct tapi_stun *stun, uint64_t now_us)
{
	for (unsigned i = 0; i < stun->n; i++)
		stun->at[i] = (struct tapi_stun_server){
			.address = stun->at[i].address, .next_us = now_us + spread(stun)};
	memset(stun->agreed, 0, sizeof(stun->agreed));
}

static void say(struct tapi_stun *stun, unsigned which, const struct tapi_source *before)
{
	const struct tapi_source *now = &stun->agreed[which];
	char text[TAPI_TEXT_BYTES];

	tapi_inet_print(text, sizeof(text), "udp", now->family ? now : before, true);
	if (now->family)
		stun->core->log(stun->core->core, LOG_NOTICE,
			"STUN servers see us at %s: advertised", text);
	else
		stun->core->log(stun->core->core, LOG_WARNING,
			"STUN servers do not agree on %s any more, or do not answer: not "
			"advertised",
			text);
}

// More than half of the servers of the family, of which each has one voice.
static bool agree(struct tapi_stun *stun, unsigned which)
{
	const uint8_t family = which ? 6 : 4;
	struct tapi_source before = stun->agreed[which], *now = &stun->agreed[which];
	unsigned servers = 0, voices = 0, most = 0;

	*now = (struct tapi_source){.family = 0};
	for (unsigned i = 0; i < stun->n; i++) {
		const struct tapi_stun_server *one = &stun->at[i];
		unsigned same = 0;

		servers += one->address.family == family;
		if (one->address.family != family || one->mapped.family == 0)
			continue;
		voices++;
		for (unsigned j = 0; j < stun->n; j++)
			same += tapi_inet_equal(&stun->at[j].mapped, &one->mapped);
		if (same > most) {
			most = same;
			*now = one->mapped;
		}
	}
	if (most * 2 <= servers)
		now->family = 0;
	if (now->family == 0)
		*now = (struct tapi_source){.family = 0};
	if (voices == servers && voices > 0 && now->family == 0 && !stun->torn[which]) {
		stun->torn[which] = true;
		stun->core->log(stun->core->core, LOG_WARNING,
			"each STUN server sees another address of ours: the NAT maps anew for each "
			"destination, and none of them can be advertised");
	}
	if (now->family == before.family && (now->family == 0 || tapi_inet_equal(now, &before)))
		return false;
	if (now->family)
		stun->torn[which] = false;
	stun->stats->nat_changes++;
	say(stun, which, &before);
	return true;
}

static bool agree_all(struct tapi_stun *stun)
{
	bool v4 = agree(stun, 0), v6 = agree(stun, 1);

	return v4 || v6;
}

static void fail(struct tapi_stun *stun, struct tapi_stun_server *one, uint64_t now_us)
{
	uint64_t wait_us = stun->refresh_us;

	for (unsigned i = 0; i < one->failures && wait_us < RETRY_MAX_US; i++)
		wait_us *= 2;
	if (wait_us > RETRY_MAX_US)
		wait_us = RETRY_MAX_US;
	one->failures++;
	one->sent = 0;
	one->next_us = now_us + wait_us;
}

static void ask(struct tapi_stun *stun, struct tapi_stun_server *one, uint64_t now_us)
{
	uint8_t request[TAPI_STUN_REQUEST_BYTES];

	if (one->sent == REQUESTS) {
		stun->stats->stun_unanswered++;
		fail(stun, one, now_us);
		return;
	}
	if (one->sent == 0)
		stun->core->random(stun->core->core, one->id, sizeof(one->id));
	tapi_stun_request(request, one->id);
	stun->stats->stun_sent++;
	stun->send(stun->context, &one->address, request, sizeof(request));
	one->next_us =
		now_us + (one->sent + 1 == REQUESTS ? LAST_RTOS * RTO_US : RTO_US << one->sent);
	one->sent++;
}

bool tapi_stun_turn(struct tapi_stun *stun, uint64_t now_us, uint64_t *next_us)
{
	// Who is asked seldom says it seldom: it stands until one question was missed.
	const uint64_t twice_us = 2 * stun->refresh_us,
		       stands_us = twice_us > STANDS_US ? twice_us : STANDS_US;

	*next_us = UINT64_MAX;
	for (unsigned i = 0; i < stun->n; i++) {
		struct tapi_stun_server *one = &stun->at[i];

		if (one->mapped.family != 0 && now_us - one->mapped_us >= stands_us)
			one->mapped.family = 0;
		if (one->next_us <= now_us)
			ask(stun, one, now_us);
		if (one->next_us < *next_us)
			*next_us = one->next_us;
		if (one->mapped.family != 0 && one->mapped_us + stands_us < *next_us)
			*next_us = one->mapped_us + stands_us;
	}
	return agree_all(stun);
}

bool tapi_stun_take(struct tapi_stun *stun, const struct tapi_source *from, const uint8_t *octets,
	size_t length, uint64_t now_us)
{
	struct tapi_stun_server *one = NULL;
	struct tapi_stun_answer answer;

	for (unsigned i = 0; i < stun->n && one == NULL; i++)
		if (stun->at[i].sent != 0 && tapi_inet_equal(&stun->at[i].address, from))
			one = &stun->at[i];
	if (one == NULL || tapi_stun_decode(&answer, octets, length) != TAPI_OK ||
		memcmp(answer.id, one->id, sizeof(answer.id)) != 0) {
		stun->stats->stun_bad++; // the transaction waits for the right one
		return false;
	}
	if (answer.kind != TAPI_STUN_MAPPED || answer.mapped.family != one->address.family ||
		tapi_inet_check(&answer.mapped, true)) {
		stun->stats->stun_bad++;
		if (one->failures == 0)
			stun->core->log(stun->core->core, LOG_WARNING,
				"a STUN server gives no address (error %u): asked again later",
				answer.code);
		fail(stun, one, now_us);
		return false;
	}
	stun->stats->stun_answers++;
	one->failures = 0;
	one->sent = 0;
	one->next_us = now_us + stun->refresh_us;
	one->mapped = answer.mapped;
	one->mapped_us = now_us;
	return agree_all(stun);
}
