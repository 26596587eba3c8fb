// SPDX-License-Identifier: BSD-3-Clause
// Known peers over a restart. What is read is checked like a HELO from the wire, and validated
// again before it is used.
#include "transportapi/core/store.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "transportapi/base/atomic_file.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/proto/helo.h"
#include "transportapi/proto/store.h"

struct reading {
	struct tapi_core *core;
	unsigned taken;
};

// When it was validated last: who is not needed in this life of the program is known in the next.
static void remember(struct tapi_core *core, const struct tapi_store_record *record)
{
	uint8_t hash[TAPI_ADDRESS_HASH_BYTES];
	struct tapi_peer_id id;
	struct tapi_peer *peer;

	tapi_helo_peer(&record->helo, &id);
	tapi_helo_address_hash(&record->helo, hash);
	peer = tapi_peer_find(core, &id);
	for (struct tapi_address *at = peer != NULL ? peer->addresses : NULL; at != NULL;
		at = at->next)
		if (memcmp(at->hash, hash, sizeof(hash)) == 0 && at->validated_wall_us == 0)
			at->validated_wall_us = record->validated_us;
}

static void take_record(void *context, const struct tapi_store_record *record)
{
	struct reading *reading = context;
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	size_t length = tapi_helo_encode(&record->helo, octets, sizeof(octets));

	if (length != 0 && tapi_core_take_helo(reading->core, &record->helo, octets, length,
				   TAPI_FROM_FILE) == TAPI_OK) {
		remember(reading->core, record);
		reading->taken++;
	}
}

void tapi_core_load_peers(struct tapi_core *core)
{
	struct reading reading = {.core = core};
	struct tapi_error error = {.text = ""};
	const char *path = core->settings.known_peers;
	enum tapi_result result;

	if (path == NULL)
		return;
	result = tapi_store_read(path, core->settings.max_peers, take_record, &reading, &error);
	if (result != TAPI_OK)
		tapi_core_log(core, LOG_WARNING, "known peers: %s: %s", tapi_result_name(result),
			error.text);
	if (!tapi_atomic_file_writable(
		    path)) // reported now, and not when there is something to lose
		tapi_core_log(core, LOG_WARNING,
			"known peers cannot be kept in %s: %s: its folder has to exist, and be "
			"ours to write",
			path, strerror(errno));
	tapi_core_log(core, LOG_INFO, "%u addresses of known peers in %s", reading.taken, path);
}

// A killed program loses what it learned since the file was written. New peers may come all the
// time, and each time the whole file is written: not more often than this is soon, nor for more
// than a fiftieth of the time.
#define STORE_SHARE 50

void tapi_core_store_soon(struct tapi_core *core)
{
	uint64_t soon_us = tapi_core_now(core) + core->settings.store_soon_us;
	uint64_t least_us = core->stored_us + STORE_SHARE * core->store_cost_us;

	core->store_due = true;
	if (core->settings.known_peers == NULL || !core->started)
		return;
	if (soon_us < least_us)
		soon_us = least_us;
	if (soon_us >= core->store_us)
		return;
	core->store_us = soon_us;
	tapi_core_wish(core, soon_us);
}

static bool worth_keeping(const struct tapi_address *at, uint64_t now_us)
{
	return at->proven && at->validated_wall_us != 0 && at->expires_us > now_us;
}

void tapi_core_store_peers(struct tapi_core *core)
{
	uint64_t now_us = tapi_core_now(core);
	struct tapi_store_record record;
	struct tapi_store_writer *writer;
	struct tapi_error error = {.text = ""};
	const char *path = core->settings.known_peers;
	enum tapi_result result;

	core->store_us = now_us + core->settings.store_us;
	if (!core->store_due || path == NULL) {
		core->store_due = false;
		return;
	}
	core->store_due = false;
	result = tapi_store_begin(&writer, path, &error);
	if (result == TAPI_OK) {
		for (struct tapi_peer *peer = core->peers; peer != NULL; peer = peer->hh.next)
			for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
				if (worth_keeping(at, now_us) &&
					tapi_address_helo(at, &record.helo)) {
					record.validated_us = at->validated_wall_us;
					// A failed add is kept for the commit to tell.
					if (result == TAPI_OK)
						result = tapi_store_add(writer, &record);
				}
		// Commit also gives the writer up; the old file stands where it fails.
		if (tapi_store_commit(writer, &error) != TAPI_OK)
			result = TAPI_ESYS;
	}
	if (result != TAPI_OK) {
		core->store_due = true; // a full disk may have room by then
		tapi_core_log(core, LOG_ERR,
			"known peers cannot be kept in %s (%s); this is tried again in %u s", path,
			error.text[0] != '\0' ? error.text : tapi_result_name(result),
			(unsigned)(core->settings.store_us / TAPI_US_PER_S));
	} else {
		core->counters.stored++;
	}
	core->stored_us = tapi_core_now(core);
	core->store_cost_us = core->stored_us - now_us;
}
