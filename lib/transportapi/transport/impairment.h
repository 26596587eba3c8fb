// SPDX-License-Identifier: BSD-3-Clause
// What becomes of messages in bad weather (chaos.c): drawn from a seed, and a list of those that
// wait. The fate of a message depends on the seed and on how many came before, on nothing else:
// each takes the same number of draws, whatever they decide.
#ifndef TRANSPORTAPI_IMPAIRMENT_H
#define TRANSPORTAPI_IMPAIRMENT_H

#include <sys/queue.h>

#include "transportapi/base/conf.h"

#define TAPI_IMPAIRMENT_MILLION 1000000u

// Rows for the table of keys of a transport that has fates.
#define TAPI_IMPAIRMENT_KEYS                                                                 \
	{"seed", TAPI_CONF_UINT, 0, INT64_MAX, 1, NULL, false,                               \
		"of the draws: the same seed and the same messages have the same fates"},    \
		{"drop_ppm", TAPI_CONF_UINT, 0, TAPI_IMPAIRMENT_MILLION, 0, NULL, true,      \
			"messages of a million that are lost"},                              \
		{"duplicate_ppm", TAPI_CONF_UINT, 0, TAPI_IMPAIRMENT_MILLION, 0, NULL, true, \
			"messages of a million that are sent twice"},                        \
		{"reorder_ppm", TAPI_CONF_UINT, 0, TAPI_IMPAIRMENT_MILLION, 0, NULL, true,   \
			"messages of a million that later ones overtake"},                   \
		{"reorder_depth", TAPI_CONF_UINT, 1, 64, 3, NULL, true,                      \
			"by how many messages they are overtaken"},                          \
		{"reorder_ms", TAPI_CONF_UINT, 1, 10000, 50, NULL, true,                     \
			"how long they wait for that many at most"},                         \
		{"delay_ms", TAPI_CONF_UINT, 0, 60000, 0, NULL, true,                        \
			"how late every message is"},                                        \
		{"jitter_ms", TAPI_CONF_UINT, 0, 60000, 0, NULL, true,                       \
			"at most so much is added to the delay, drawn for each message"},    \
	{                                                                                    \
		"hold_msgs", TAPI_CONF_UINT, 1, 65536, 1024, NULL, true,                     \
			"messages that wait at a time; one more goes at once"                \
	}

struct tapi_impairment_rates {
	uint32_t drop_ppm, duplicate_ppm, reorder_ppm, reorder_depth, hold_msgs;
	uint64_t reorder_us, delay_us, jitter_us;
};

struct tapi_impaired {
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

struct tapi_impairment {
	struct tapi_impairment_rates rates; // a reload writes others here
	uint64_t state;
	struct tapi_held_list held; // by due time, then by arrival
	uint32_t n_held, n_overtaken;
};

void tapi_impairment_init(struct tapi_impairment *impairment, uint64_t seed);
void tapi_impairment_end(struct tapi_impairment *impairment);
// After tapi_conf_check() with `keys`, which has TAPI_IMPAIRMENT_KEYS.
struct tapi_impairment_rates tapi_impairment_rates_read(
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys);
struct tapi_impaired tapi_impairment_draw(struct tapi_impairment *impairment);
// Copies; session, size, crc, is_encrypted and twice are those of `like`. false: the fate does not
// ask for it, or there is no room, or no memory: the message goes at once.
bool tapi_impairment_hold(struct tapi_impairment *impairment, const struct tapi_impaired *impaired,
	const struct tapi_held *like, const void *message, uint64_t now_us);
// The first one is due; UINT64_MAX: nothing waits.
uint64_t tapi_impairment_wish(const struct tapi_impairment *impairment);
// Takes out what goes now, one by one; NULL at the end; tapi_held_free() when it is gone.
struct tapi_held *tapi_impairment_due(struct tapi_impairment *impairment, uint64_t now_us);
// One message went: counts for those that are to be overtaken. Then tapi_impairment_overtaken()
// takes out those that have been.
void tapi_impairment_passed(struct tapi_impairment *impairment);
struct tapi_held *tapi_impairment_overtaken(struct tapi_impairment *impairment);
bool tapi_impairment_waits(const struct tapi_impairment *impairment, const void *session);
// What waits for a session that ends.
struct tapi_held *tapi_impairment_of(struct tapi_impairment *impairment, const void *session);
void tapi_held_free(struct tapi_held *held);

#endif
