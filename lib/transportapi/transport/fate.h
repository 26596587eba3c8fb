// SPDX-License-Identifier: BSD-3-Clause
// What becomes of messages in bad weather (chaos.c): drawn from a seed, and a list of those that
// wait. The fate of a message depends on the seed and on how many came before, on nothing else:
// each takes the same number of draws, whatever they decide.
#ifndef TRANSPORTAPI_FATE_H
#define TRANSPORTAPI_FATE_H

#include <sys/queue.h>

#include "transportapi/base/conf.h"

#define TAPI_FATE_MILLION 1000000u

// Rows for the table of keys of a transport that has fates.
#define TAPI_FATE_KEYS                                                                    \
	{"seed", TAPI_CONF_UINT, 0, INT64_MAX, 1, NULL, false,                            \
		"of the draws: the same seed and the same messages have the same fates"}, \
		{"drop_ppm", TAPI_CONF_UINT, 0, TAPI_FATE_MILLION, 0, NULL, true,         \
			"messages of a million that are lost"},                           \
		{"duplicate_ppm", TAPI_CONF_UINT, 0, TAPI_FATE_MILLION, 0, NULL, true,    \
			"messages of a million that are sent twice"},                     \
		{"reorder_ppm", TAPI_CONF_UINT, 0, TAPI_FATE_MILLION, 0, NULL, true,      \
			"messages of a million that later ones overtake"},                \
		{"reorder_depth", TAPI_CONF_UINT, 1, 64, 3, NULL, true,                   \
			"by how many messages they are overtaken"},                       \
		{"reorder_ms", TAPI_CONF_UINT, 1, 10000, 50, NULL, true,                  \
			"how long they wait for that many at most"},                      \
		{"delay_ms", TAPI_CONF_UINT, 0, 60000, 0, NULL, true,                     \
			"how late every message is"},                                     \
		{"jitter_ms", TAPI_CONF_UINT, 0, 60000, 0, NULL, true,                    \
			"at most so much is added to the delay, drawn for each message"}, \
	{                                                                                 \
		"hold_msgs", TAPI_CONF_UINT, 1, 65536, 1024, NULL, true,                  \
			"messages that wait at a time; one more goes at once"             \
	}

struct tapi_fate_rates {
	uint32_t drop_ppm, duplicate_ppm, reorder_ppm, reorder_depth, hold_msgs;
	uint64_t reorder_us, delay_us, jitter_us;
};

struct tapi_fate {
	bool dropped, twice, reordered;
	uint64_t late_us;
};

struct tapi_held { // a message that waits
	TAILQ_ENTRY(tapi_held) next;
	void *session; // the owner's
	uint64_t due_us;
	uint32_t overtake; // messages that still have to go first; 0: time alone counts
	uint32_t size, crc;
	bool is_encrypted, twice;
	uint8_t message[];
};
TAILQ_HEAD(tapi_held_list, tapi_held);

struct tapi_fates {
	struct tapi_fate_rates rates; // a reload writes others here
	uint64_t state;
	struct tapi_held_list held; // by due time, then by arrival
	uint32_t n_held, n_overtaken;
};

void tapi_fates_init(struct tapi_fates *fates, uint64_t seed);
void tapi_fates_end(struct tapi_fates *fates);
// After tapi_conf_check() with `keys`, which has TAPI_FATE_KEYS.
struct tapi_fate_rates tapi_fate_rates_read(
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys);
struct tapi_fate tapi_fates_draw(struct tapi_fates *fates);
// Copies; session, size, crc, is_encrypted and twice are those of `like`. false: the fate does not
// ask for it, or there is no room, or no memory: the message goes at once.
bool tapi_fates_hold(struct tapi_fates *fates, const struct tapi_fate *fate,
	const struct tapi_held *like, const void *message, uint64_t now_us);
// The first one is due; UINT64_MAX: nothing waits.
uint64_t tapi_fates_wish(const struct tapi_fates *fates);
// Takes out what goes now, one by one; NULL at the end; tapi_held_free() when it is gone.
struct tapi_held *tapi_fates_due(struct tapi_fates *fates, uint64_t now_us);
// One message went: counts for those that are to be overtaken. Then tapi_fates_overtaken() takes
// out those that have been.
void tapi_fates_passed(struct tapi_fates *fates);
struct tapi_held *tapi_fates_overtaken(struct tapi_fates *fates);
bool tapi_fates_waits(const struct tapi_fates *fates, const void *session);
// What waits for a session that ends.
struct tapi_held *tapi_fates_of(struct tapi_fates *fates, const void *session);
void tapi_held_free(struct tapi_held *held);

#endif
