// SPDX-License-Identifier: BSD-3-Clause
// Section "core" of the configuration.
#include "transportapi/core/conf.h"

#include <stdio.h>
#include <string.h>

#include "transportapi/base/conf.h"
#include "transportapi/core/observed.h"
#include "transportapi/core/timer.h"
#include "transportapi/transport/registry.h"

// Word for word in docs/transports.md.
#define MS 1000u
#define NUMBER(name, least, most, otherwise, is_live, help)                       \
	{                                                                         \
		name, TAPI_CONF_UINT, least, most, otherwise, NULL, is_live, help \
	}
#define TRUTH(name, otherwise, is_live, help)                              \
	{                                                                  \
		name, TAPI_CONF_BOOL, 0, 1, otherwise, NULL, is_live, help \
	}
#define TEXT(name, is_live, help)                                     \
	{                                                             \
		name, TAPI_CONF_TEXT, 0, 4095, 0, NULL, is_live, help \
	}
#define CHOICE(name, words, is_live, help)                            \
	{                                                             \
		name, TAPI_CONF_CHOICE, 0, 0, 0, words, is_live, help \
	}

const struct tapi_conf_key tapi_core_keys[] = {
	TEXT("identity", false, "file of the key pair; made where it is absent"),
	TEXT("known_peers", false, "file that keeps the HELOs of validated peers over a restart"),
	NUMBER("store_s", 1, 86400, 300, true, "how often it is written, when something changed"),
	NUMBER("store_soon_s", 1, 86400, 10, true,
		"how soon after a peer was validated for the first time"),
	TEXT("module_path", false, "folder of libtransportapi_NAME.so"),
	TRUTH("modules_first", 0, false, "an object there stands before a built-in transport"),
	CHOICE("selection", "seed|measured", true, "by cost alone, or also by what was measured"),
	TEXT("measured", true, "table of tools/tpbench, for selection measured"),
	NUMBER("measured_ping_s", 1, 3600, 10, true,
		"how often the path in use is measured (selection measured)"),
	NUMBER("hysteresis_percent", 0, 90, 20, true,
		"how much cheaper another path must be to be taken"),
	TRUTH("fragment", 1, true,
		"messages beyond the mtu go in parts; else by a path that takes them whole"),
	NUMBER("queue_msgs", 1, 1000000, 64, true, "messages that wait for one peer"),
	NUMBER("queue_bytes", 1024, 1u << 30, 65536, true, "octets that wait for one peer"),
	NUMBER("queue_total_bytes", 1024, UINT64_C(1) << 36, 64u << 20, true,
		"octets that wait for all peers"),
	NUMBER("queue_deadline_ms", 1, 86400000, 10000, true,
		"how long a message waits that has no deadline of its own"),
	NUMBER("fragment_total_bytes", 1024, UINT64_C(1) << 36, 16u << 20, true,
		"octets of messages that are not whole yet, of all peers"),
	NUMBER("memory_total_bytes", 1u << 20, UINT64_C(1) << 40, 128u << 20, true,
		"octets of both, and of half frames of streams, in all"),
	NUMBER("flush_us", 0, 1000000, 500, true, "how long messages are gathered on a busy path"),
	NUMBER("flush_stream_us", 0, 1000000, 1000, true, "the same on streams"),
	NUMBER("max_peers", 1, 10000000, 4096, true, "peers known at a time"),
	NUMBER("helos_per_peer", 1, 64, 8, true, "addresses kept of one peer"),
	NUMBER("helo_lifetime_s", 60, 86400, 43200, true, "after which our HELOs expire"),
	NUMBER("helo_repeat_s", 1, 86400, 60, true,
		"how often a peer that is in touch is told our HELOs again"),
	CHOICE("validate", "lazy|eager", true,
		"PING an address when somebody wants to send, or as soon as it is known"),
	NUMBER("pong_valid_s", 1, 86400, 14400, true, "how long our PONG stands for our address"),
	NUMBER("ping_wait_ms", 10, 600000, 10000, true,
		"how long a PING to an address may go unanswered"),
	NUMBER("ping_address_s", 0, 86400, 60, true,
		"at most one PING to one unproven address in this time"),
	NUMBER("ping_prefix_per_min", 1, 1000000, 4, true,
		"PINGs to unproven addresses of one /24 or /48 in a minute"),
	NUMBER("ping_per_s", 1, 1000000, 8, true,
		"PINGs to addresses, of all, in a second, half of it for proven ones"),
	NUMBER("pongs_per_s", 1, 10000000, 1000, true,
		"PINGs answered in a second, half of it for validated peers"),
	NUMBER("helos_per_s", 1, 10000000, 1000, true,
		"signatures of HELOs checked in a second, half of it for those of validated peers"),
	NUMBER("retry_min_ms", 1, 3600000, 1000, true, "first back-off after a failure"),
	NUMBER("retry_max_s", 1, 86400, 900, true, "longest back-off"),
	NUMBER("quiet_ms", 1, 600000, 3000, true,
		"messages are sent and nothing is heard: PING after this time"),
	NUMBER("quiet_ping_ms", 1, 600000, 1000, true, "time between these PINGs"),
	NUMBER("quiet_pings", 1, 100, 3, true, "PINGs without answer that end a path"),
	NUMBER("idle_ping_s", 1, 86400, 120, true, "PING on a path in use that is silent"),
	NUMBER("idle_close_s", 0, 86400, 300, true,
		"a path in use without messages is closed; 0: never"),
	NUMBER("linger_s", 0, 86400, 60, true, "a path that is not in use any more is closed"),
	NUMBER("keepalive_s", 1, 86400, 20, true,
		"PING on every path where no address of ours can be reached (NAT)"),
	NUMBER("advertise", 0, 64, 3, true, "HELOs of others sent to a peer that became reachable"),
	{"introduce", TAPI_CONF_BOOL, 0, 0, 1, NULL, true,
		"ask peers in touch to introduce us to others behind NATs; do so for them"},
	NUMBER("observed_agree", 1, TAPI_OBSERVED_MAX, 3, true,
		"peers that must agree on the address they see of us"),
	CHOICE("encryption", "off|prefer|require", true,
		"seal what goes between peers: with those that do so too, or with nobody else"),
	NUMBER("rekey_s", 10, 86400, 120, true, "new keys after this time, while messages go"),
	NUMBER("rekey_msgs", 16, UINT64_C(1) << 40, UINT64_C(1) << 30, true,
		"new keys after so many payloads"),
	NUMBER("handshakes_per_s", 1, 10000000, 200, true,
		"handshakes worked on in a second, half of it for validated peers"),
	NUMBER("in_rate", 0, UINT64_C(1) << 40, 0, true,
		"octets per second taken from one peer; 0: no limit"),
	NUMBER("out_rate", 0, UINT64_C(1) << 40, 0, true,
		"octets per second sent to one peer; 0: no limit"),
	{NULL, TAPI_CONF_UINT, 0, 0, 0, NULL, false, NULL},
};

static bool section_known(const struct tapi_conf *conf, const char *section)
{
	const char *name;

	if (strcmp(section, "core") == 0 || strcmp(section, "acl") == 0)
		return true;
	for (unsigned i = 0; (name = tapi_conf_item(conf, NULL, "transports", i)) != NULL; i++)
		if (strcmp(section, name) == 0)
			return true;
	// One that is not in use now may keep its section.
	for (unsigned i = 0; (name = tapi_transport_builtin(i)) != NULL; i++)
		if (strcmp(section, name) == 0)
			return true;
	return false;
}

static uint64_t number(const struct tapi_conf *conf, const char *name)
{
	return tapi_conf_uint(conf, "core", tapi_core_keys, name);
}

static const char *text(const struct tapi_conf *conf, const char *name)
{
	return tapi_conf_text(conf, "core", tapi_core_keys, name);
}

static enum tapi_encryption encryption(const struct tapi_conf *conf)
{
	const char *word = text(conf, "encryption");

	return strcmp(word, "require") == 0  ? TAPI_ENCRYPTION_REQUIRE
	       : strcmp(word, "prefer") == 0 ? TAPI_ENCRYPTION_PREFER
					     : TAPI_ENCRYPTION_OFF;
}

enum tapi_result tapi_core_settings_read(
	struct tapi_core_settings *out, const struct tapi_conf *conf, struct tapi_error *error)
{
	enum tapi_result result = tapi_conf_check(conf, "core", tapi_core_keys, error);
	const char *section;

	if (result != TAPI_OK)
		return result;
	for (unsigned i = 0; (section = tapi_conf_section(conf, i)) != NULL; i++)
		if (!section_known(conf, section))
			return tapi_conf_wrong(conf, section, NULL, -1, error,
				"a section of nothing that runs: there is \"core\", \"acl\", and "
				"one for each transport, with its name");
	if (tapi_conf_bool(conf, "core", tapi_core_keys, "modules_first") &&
		!text(conf, "module_path"))
		return tapi_conf_wrong(conf, "core", "modules_first", -1, error,
			"nothing is loaded without core.module_path: name the folder of "
			"libtransportapi_NAME.so");
	*out = (struct tapi_core_settings){
		.measured = strcmp(text(conf, "selection"), "measured") == 0,
		.fragment = tapi_conf_bool(conf, "core", tapi_core_keys, "fragment"),
		.introduce = tapi_conf_bool(conf, "core", tapi_core_keys, "introduce"),
		.eager = strcmp(text(conf, "validate"), "eager") == 0,
		.hysteresis_percent = (unsigned)number(conf, "hysteresis_percent"),
		.advertise = (unsigned)number(conf, "advertise"),
		.observed_agree = (unsigned)number(conf, "observed_agree"),
		.queue_msgs = (uint32_t)number(conf, "queue_msgs"),
		.max_peers = (uint32_t)number(conf, "max_peers"),
		.helos_per_peer = (uint32_t)number(conf, "helos_per_peer"),
		.queue_bytes = number(conf, "queue_bytes"),
		.queue_total_bytes = number(conf, "queue_total_bytes"),
		.fragment_total_bytes = number(conf, "fragment_total_bytes"),
		.memory_total_bytes = number(conf, "memory_total_bytes"),
		.queue_deadline_us = number(conf, "queue_deadline_ms") * MS,
		.flush_us = number(conf, "flush_us"),
		.flush_stream_us = number(conf, "flush_stream_us"),
		.store_us = number(conf, "store_s") * TAPI_US_PER_S,
		.store_soon_us = number(conf, "store_soon_s") * TAPI_US_PER_S,
		.helo_lifetime_us = number(conf, "helo_lifetime_s") * TAPI_US_PER_S,
		.helo_repeat_us = number(conf, "helo_repeat_s") * TAPI_US_PER_S,
		.pong_valid_us = number(conf, "pong_valid_s") * TAPI_US_PER_S,
		.ping_wait_us = number(conf, "ping_wait_ms") * MS,
		.ping_address_us = number(conf, "ping_address_s") * TAPI_US_PER_S,
		.ping_prefix_per_min = number(conf, "ping_prefix_per_min"),
		.ping_per_s = number(conf, "ping_per_s"),
		.pongs_per_s = number(conf, "pongs_per_s"),
		.helos_per_s = number(conf, "helos_per_s"),
		.retry_min_us = number(conf, "retry_min_ms") * MS,
		.retry_max_us = number(conf, "retry_max_s") * TAPI_US_PER_S,
		.quiet_us = number(conf, "quiet_ms") * MS,
		.quiet_ping_us = number(conf, "quiet_ping_ms") * MS,
		.quiet_pings = (unsigned)number(conf, "quiet_pings"),
		.idle_ping_us = number(conf, "idle_ping_s") * TAPI_US_PER_S,
		.idle_close_us = number(conf, "idle_close_s") * TAPI_US_PER_S,
		.linger_us = number(conf, "linger_s") * TAPI_US_PER_S,
		.keepalive_us = number(conf, "keepalive_s") * TAPI_US_PER_S,
		.measured_ping_us = number(conf, "measured_ping_s") * TAPI_US_PER_S,
		.encryption = encryption(conf),
		.rekey_us = number(conf, "rekey_s") * TAPI_US_PER_S,
		.rekey_msgs = number(conf, "rekey_msgs"),
		.handshakes_per_s = number(conf, "handshakes_per_s"),
		.in_rate = number(conf, "in_rate"),
		.out_rate = number(conf, "out_rate"),
		.identity = text(conf, "identity"),
		.known_peers = text(conf, "known_peers"),
		.module_path = text(conf, "module_path"),
		.measured_table = text(conf, "measured"),
		.modules_first = tapi_conf_bool(conf, "core", tapi_core_keys, "modules_first"),
	};
	if (out->measured && out->measured_table == NULL) {
		snprintf(error->text, sizeof(error->text),
			"core.selection is \"measured\", and core.measured names no table (tpbench "
			"writes one)");
		return TAPI_ECONF;
	}
	return TAPI_OK;
}
