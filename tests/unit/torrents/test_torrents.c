// SPDX-License-Identifier: BSD-3-Clause
// The store of torrents: what is learned on one lcore is known on all, held while somebody uses it,
// and goes for what is newer.
#include <openssl/sha.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "content/memory.h"
#include "lib/content/bittorrent_talk.h"
#include "lib/pipeline/pipe.h"
#include "pipeline/content/torrents.h"

#define STORE_BYTES CONTENT_BLOCK_MAX
#define TEXT(text)  (const uint8_t *)(text), sizeof(text) - 1

static const struct content_id one = {CONTENT_ID_BTIH, ONE_HASH};
static const struct content_id hybrid2 = {CONTENT_ID_BTIH, HYBRID_HASH2};
static const struct content_id second = {CONTENT_ID_BTIH, SECOND_HASH};

struct stand {
	struct pipe *pipe;
	struct content_torrents of[2]; // lcores
};

static struct stand stand_new(void)
{
	struct lcore_limits limits = pipe_limits();
	struct stand stand;

	limits.content = (struct content_limits){.flows = 8,
		.turn_bytes = 64u << 10,
		.memory_bytes = 1,
		.arena_bytes = 1,
		.torrents_bytes = STORE_BYTES};
	stand.pipe = pipe_new(2, &limits);
	assert_non_null(stand.pipe->dp.torrents);
	for (unsigned i = 0; i < 2; i++)
		stand.of[i] = torrents_for(stand.pipe->dp.lcores[i]);
	return stand;
}

static const struct stats *stats_of(const struct stand *stand)
{
	return &stand->pipe->dp.lcores[0]->stats;
}

static enum torrent_learned learn(const struct stand *stand, const struct content_id *of,
	const uint8_t *info, uint32_t length)
{
	return stand->of[0].learn(stand->of[0].ctx, of, info, length);
}

static const struct torrent *hold(
	const struct stand *stand, unsigned lcore, const struct content_id *id)
{
	return stand->of[lcore].hold(stand->of[lcore].ctx, id);
}

static void release(const struct stand *stand, unsigned lcore, const struct torrent *torrent)
{
	stand->of[lcore].release(stand->of[lcore].ctx, torrent);
}

static void what_one_learns_all_know(void **state)
{
	struct stand stand = stand_new();
	const struct torrent *torrent;
	(void)state;

	assert_null(hold(&stand, 1, &one));
	assert_int_equal(learn(&stand, &one, TEXT(ONE)), TORRENT_LEARNED);
	torrent = hold(&stand, 1, &one);
	assert_non_null(torrent);
	assert_int_equal(torrent->n_files, 1);
	assert_int_equal(torrent->id.kind, CONTENT_ID_BTIH);
	assert_ptr_equal(hold(&stand, 0, &one), torrent);
	release(&stand, 0, torrent);
	release(&stand, 1, torrent);
	// again it is not made anew
	assert_int_equal(learn(&stand, &one, TEXT(ONE)), TORRENT_LEARNED);
	assert_int_equal(stats_of(&stand)->torrents_learned, 1);
	pipe_free(stand.pipe);
}

static void a_hybrid_has_two_ids(void **state)
{
	struct stand stand = stand_new();
	struct content_id first, both;
	const struct torrent *torrent;
	(void)state;

	assert_int_equal(learn(&stand, &hybrid2, TEXT(HYBRID)), TORRENT_LEARNED);
	torrent = hold(&stand, 0, &hybrid2);
	assert_non_null(torrent);
	assert_true(torrent->has_also && torrent->also.kind == CONTENT_ID_BTMH);
	first = torrent->id;
	both = torrent->also;
	assert_int_equal(first.kind, CONTENT_ID_BTIH);
	assert_ptr_equal(hold(&stand, 0, &first), torrent);
	assert_ptr_equal(hold(&stand, 0, &both), torrent);
	for (unsigned i = 0; i < 3; i++)
		release(&stand, 0, torrent);
	assert_int_equal(learn(&stand, NULL, TEXT(SECOND)), TORRENT_LEARNED);
	torrent = hold(&stand, 0, &second);
	assert_non_null(torrent);
	assert_int_equal(torrent->id.kind, CONTENT_ID_BTMH);
	release(&stand, 0, torrent);
	pipe_free(stand.pipe);
}

static void what_proves_nothing_is_not_kept(void **state)
{
	struct stand stand = stand_new();
	uint8_t *large = calloc(1, TORRENT_INFO_MAX + 1);
	(void)state;

	assert_non_null(large);
	assert_int_equal(learn(&stand, &one, TEXT(TWO)), TORRENT_OTHER);
	assert_null(hold(&stand, 0, &one));
	assert_int_equal(stats_of(&stand)->torrents_unread, 0);
	assert_int_equal(learn(&stand, NULL, TEXT("d4:name1:ae")), TORRENT_BROKEN);
	assert_int_equal(learn(&stand, NULL, large, TORRENT_INFO_MAX + 1), TORRENT_TOO_BIG);
	assert_int_equal(stats_of(&stand)->torrents_unread, 1);
	free(large);
	pipe_free(stand.pipe);
}

static void a_file_of_torrents_is_learned(void **state)
{
	struct stand stand = stand_new();
	struct lcore *lcore = stand.pipe->dp.lcores[1];
	const struct torrent *torrent;
	(void)state;

	torrents_learn_file(lcore, TEXT("d8:announce12:http://a/ann4:info" ONE "e"));
	torrent = hold(&stand, 0, &one);
	assert_non_null(torrent);
	release(&stand, 0, torrent);
	// of a key that comes twice clients take either
	torrents_learn_file(lcore, TEXT("d4:infodei3e4:info" SECOND "e"));
	assert_null(hold(&stand, 0, &second));
	torrents_learn_file(lcore, TEXT("d4:infode4:info" SECOND "e"));
	torrent = hold(&stand, 0, &second);
	assert_non_null(torrent);
	release(&stand, 0, torrent);
	torrents_learn_file(lcore, TEXT(""));
	torrents_learn_file(lcore, TEXT("d4:info"));
	torrents_learn_file(lcore, TEXT("d4:info" ONE));
	pipe_free(stand.pipe);
}

// A torrent of `digests` pieces, which no other number has.
static uint32_t numbered(uint8_t *info, uint32_t number, uint32_t digests)
{
	uint32_t n = (uint32_t)snprintf((char *)info, 200,
		"d6:lengthi%ue4:name8:%08u12:piece lengthi16e6:pieces%u:", 16 * digests, number,
		20 * digests);

	memset(info + n, 'a', 20u * digests);
	info[n + 20 * digests] = 'e';
	return n + 20 * digests + 1;
}

static void the_oldest_that_nobody_holds_goes(void **state)
{
	enum { DIGESTS = 100000, MANY = 5 }; // 2 MB each; three fit beside the held one
	struct stand stand = stand_new();
	uint8_t *info = malloc(20 * DIGESTS + 200);
	const struct torrent *torrent;
	(void)state;

	assert_non_null(info);
	assert_int_equal(learn(&stand, &one, TEXT(ONE)), TORRENT_LEARNED);
	torrent = hold(&stand, 0, &one); // takes a small block of the memory
	assert_non_null(torrent);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(
			learn(&stand, NULL, info, numbered(info, i, DIGESTS)), TORRENT_LEARNED);
	assert_int_equal(stats_of(&stand)->torrents_learned, 1 + MANY);
	assert_int_equal(stats_of(&stand)->torrents_evicted, MANY - 3);
	assert_ptr_equal(hold(&stand, 0, &one), torrent);
	release(&stand, 0, torrent);
	release(&stand, 0, torrent);
	free(info);
	pipe_free(stand.pipe);
}

static void what_is_held_makes_no_room(void **state)
{
	enum { DIGESTS = 300000 }; // 6 MB: a block of 8 MiB, which is all there is
	struct stand stand = stand_new();
	uint8_t *info = malloc(20 * DIGESTS + 200);
	const struct torrent *torrent;
	(void)state;

	assert_non_null(info);
	assert_int_equal(learn(&stand, &one, TEXT(ONE)), TORRENT_LEARNED);
	torrent = hold(&stand, 0, &one);
	assert_int_equal(learn(&stand, NULL, info, numbered(info, 1, DIGESTS)), TORRENT_FULL);
	assert_int_equal(stats_of(&stand)->torrents_full, 1);
	assert_int_equal(stats_of(&stand)->torrents_evicted, 0);
	release(&stand, 0, torrent);
	assert_int_equal(learn(&stand, NULL, info, numbered(info, 1, DIGESTS)), TORRENT_LEARNED);
	assert_int_equal(stats_of(&stand)->torrents_evicted, 1);
	assert_null(hold(&stand, 0, &one));
	free(info);
	pipe_free(stand.pipe);
}

static void there_are_no_more_than_places(void **state)
{
	struct stand stand = stand_new();
	uint8_t info[200];
	(void)state;

	for (uint32_t i = 0; i < TORRENTS_MAX + 10; i++)
		assert_int_equal(learn(&stand, NULL, info, numbered(info, i, 1)), TORRENT_LEARNED);
	assert_int_equal(stats_of(&stand)->torrents_evicted, 10);
	assert_int_equal(stats_of(&stand)->torrents_full, 0);
	pipe_free(stand.pipe);
}

static struct content_id id_of(const uint8_t *info, uint32_t length)
{
	uint8_t digest[SHA_DIGEST_LENGTH];

	SHA1(info, length, digest);
	return content_id_of(CONTENT_ID_BTIH, digest);
}

// Two lcores learn, hold and give back what goes meanwhile; what is held is whole.
struct worker {
	struct content_torrents torrents;
	uint32_t begins;
	bool good;
};

static void *work(void *arg)
{
	enum { TURNS = 20000, DIFFERENT = 200, HELD = 16, DIGESTS = 500 };
	struct worker *worker = arg;
	const struct content_torrents *torrents = &worker->torrents;
	const struct torrent *held[HELD] = {NULL};
	uint8_t info[20 * DIGESTS + 200];
	uint32_t random = worker->begins;

	worker->good = true;
	for (uint32_t i = 0; i < TURNS; i++) {
		random = random * 1664525 + 1013904223;
		uint32_t number = random >> 16, at = number % HELD;

		uint32_t length = numbered(info, number % DIFFERENT, DIGESTS);
		const struct content_id id = id_of(info, length);

		if (torrents->learn(torrents->ctx, &id, info, length) != TORRENT_LEARNED)
			worker->good = false;
		if (held[at]) {
			worker->good &= held[at]->n_files == 1 && held[at]->n_pieces == DIGESTS &&
					held[at]->texts[0] == '0';
			torrents->release(torrents->ctx, held[at]);
			held[at] = NULL;
		} else {
			held[at] = torrents->hold(torrents->ctx, &id);
		}
	}
	for (unsigned i = 0; i < HELD; i++)
		if (held[i])
			torrents->release(torrents->ctx, held[i]);
	return NULL;
}

static void lcores_do_so_at_once(void **state)
{
	struct stand stand = stand_new();
	struct worker workers[2];
	pthread_t threads[2];
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		workers[i] = (struct worker){.torrents = stand.of[i], .begins = i};
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_true(workers[i].good);
	}
	pipe_free(stand.pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_one_learns_all_know),
		cmocka_unit_test(a_hybrid_has_two_ids),
		cmocka_unit_test(what_proves_nothing_is_not_kept),
		cmocka_unit_test(a_file_of_torrents_is_learned),
		cmocka_unit_test(the_oldest_that_nobody_holds_goes),
		cmocka_unit_test(what_is_held_makes_no_room),
		cmocka_unit_test(there_are_no_more_than_places),
		cmocka_unit_test(lcores_do_so_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
