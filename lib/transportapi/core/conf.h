// SPDX-License-Identifier: BSD-3-Clause
// The settings of one core, read from section "core" of the configuration.
#ifndef TRANSPORTAPI_CORE_CONF_H
#define TRANSPORTAPI_CORE_CONF_H

#include "transportapi/base/conf.h"

enum tapi_encryption { TAPI_ENCRYPTION_OFF, TAPI_ENCRYPTION_PREFER, TAPI_ENCRYPTION_REQUIRE };

struct tapi_core_settings {
	bool measured, fragment, eager, introduce;
	unsigned hysteresis_percent, advertise, observed_agree;
	uint32_t queue_msgs, max_peers, helos_per_peer;
	uint64_t queue_bytes, queue_total_bytes, fragment_total_bytes, memory_total_bytes,
		queue_deadline_us;
	uint64_t flush_us, flush_stream_us, store_us, store_soon_us;
	uint64_t helo_lifetime_us, pong_valid_us, ping_wait_us;
	uint64_t ping_address_us, ping_prefix_per_min, ping_per_s, pongs_per_s, helos_per_s;
	uint64_t retry_min_us, retry_max_us;
	uint64_t quiet_us, quiet_ping_us, idle_ping_us, helo_repeat_us, idle_close_us, linger_us,
		keepalive_us;
	uint64_t measured_ping_us;
	unsigned quiet_pings;
	uint64_t in_rate, out_rate;
	uint64_t rekey_us, rekey_msgs, handshakes_per_s;
	enum tapi_encryption encryption;
	const char *identity, *known_peers, *module_path, *measured_table; // the configuration's
	bool modules_first;
};

extern const struct tapi_conf_key tapi_core_keys[];
// All sections: "transports", "core", "acl" and those of the transports that are named.
enum tapi_result tapi_core_settings_read(
	struct tapi_core_settings *out, const struct tapi_conf *conf, struct tapi_error *error);

#endif
