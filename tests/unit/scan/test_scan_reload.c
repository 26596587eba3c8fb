// SPDX-License-Identifier: BSD-3-Clause
// Scan parents that come and go: one is let go before the next is there, the folder of signatures
// changes under one, and one dies when nobody is left who could say so.
#include "peer_rig.h"

#include <unistd.h>
#include "scan/peer.h"

#define ORPHAN (5 * NS_PER_S)

static void retire(uint32_t number)
{
	config.ops->adopt(
		engine, &(struct scan_news){.fd = -1, .parent = number, .retire = true}, now_ns);
}

static void the_launcher_is_dead(void)
{
	config.ops->adopt(engine, &(struct scan_news){.fd = -1}, now_ns);
}

static void is_let_go(struct peer *peer)
{
	char byte;

	assert_int_equal(read(peer->control, &byte, 1), 0);
	assert_int_equal(read(peer->file, &byte, 1), 0);
	peer_close(peer);
}

static void one_is_let_go_between_two_files(void **state)
{
	struct peer old = peer_ready(1);

	(void)state;
	assert_true(submit(1, 100));
	assert_true(submit(2, 100));
	tells_nothing();
	retire(7); // another
	retire(1);
	now_ns += NS_PER_S;
	tells_nothing(); // its file is looked at to the end
	assert_int_equal(status().parent, 1);
	peer_answers(&old, peer_must_hear(&old), SCAN_INFECTED);
	tells(1, SCAN_INFECTED, SCAN_REASON_NONE);
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	assert_int_equal(status().state, SCAN_STATE_ABSENT);
	is_let_go(&old);
	assert_int_equal(status().lost[0], 0); // nobody is to be killed for it
	assert_true(submit(3, 100));
	tells(3, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	peer_is_dead(1);
	struct peer new = peer_ready(2);

	assert_true(submit(4, 100));
	tells_nothing();
	peer_answers(&new, peer_must_hear(&new), SCAN_CLEAN);
	tells(4, SCAN_CLEAN, SCAN_REASON_NONE);
	peer_close(&new);
}

static void one_without_a_job_is_let_go_at_once(void **state)
{
	struct peer old = peer_ready(1);

	(void)state;
	retire(2);
	tells_nothing();
	assert_int_equal(status().parent, 1);
	retire(1);
	tells_nothing();
	assert_int_equal(status().parent, 0);
	is_let_go(&old);
}

static void says_folder(const struct peer *peer, const char *text)
{
	struct scan_wire_control message = {0};

	scan_wire_head_set(&message.head, SCAN_WIRE_FOLDER, 0);
	scan_wire_text(message.text, sizeof(message.text), text);
	assert_int_equal(scan_wire_send(peer->control, &message, sizeof(message), -1), 0);
}

static void a_folder_that_changes_is_heard_of(void **state)
{
	struct peer old = peer_ready(1);

	(void)state;
	assert_int_equal(status().folders, 0);
	says_folder(&old, "");
	tells_nothing();
	assert_int_equal(status().folders, 1);
	assert_string_equal(status().folder, "");
	says_folder(&old, "it ends within a line");
	tells_nothing();
	assert_int_equal(status().folders, 2);
	assert_string_equal(status().folder, "it ends within a line");
	assert_int_equal(status().state, SCAN_STATE_READY);
	struct peer new = peer_new(2);

	peer_born(&new);
	tells_nothing();
	assert_int_equal(status().parent, 2);
	assert_int_equal(status().folders, 0);
	assert_string_equal(status().folder, "");
	peer_close(&old);
	peer_close(&new);
}

// What the one aside sees before it takes over is not lost.
static void a_folder_may_change_under_the_one_aside(void **state)
{
	struct peer old = peer_ready(1), new;

	(void)state;
	assert_true(submit(1, 100));
	tells_nothing();
	new = peer_new(2);
	peer_born(&new);
	says_folder(&new, "");
	tells_nothing();
	assert_int_equal(status().folders, 0);
	peer_answers(&old, peer_must_hear(&old), SCAN_CLEAN);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	assert_int_equal(status().parent, 2);
	assert_int_equal(status().folders, 1);
	peer_close(&old);
	peer_close(&new);
}

static struct peer peer_with_a_file(void)
{
	struct peer peer = peer_ready(1);

	assert_true(submit(1, 100));
	tells_nothing();
	peer_must_hear(&peer);
	return peer;
}

// Its child was killed when it closed its socket, and reads nothing any more a while later.
static void without_a_launcher_a_closed_socket_ends_a_job_later(void **state)
{
	struct peer peer = peer_with_a_file();

	(void)state;
	the_launcher_is_dead();
	tells_nothing();
	peer_close(&peer);
	tells_nothing();
	assert_int_equal(config.ops->next_ns(engine), now_ns + ORPHAN);
	now_ns += ORPHAN - 1;
	tells_nothing();
	now_ns++;
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	assert_int_equal(config.ops->next_ns(engine), SCAN_NEVER);
	tells_nothing();
}

static void the_launcher_may_die_after_it(void **state)
{
	struct peer peer = peer_with_a_file();

	(void)state;
	peer_close(&peer);
	tells_nothing();
	now_ns += 10 * ORPHAN;
	tells_nothing(); // the launcher kills, and says so
	the_launcher_is_dead();
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
}

// A parent that lives on, and does not do as it is told, may have a child that lives on.
static void without_a_launcher_one_that_has_not_closed_is_not_believed_dead(void **state)
{
	struct peer peer = peer_with_a_file();

	(void)state;
	the_launcher_is_dead();
	assert_int_equal(write(peer.control, "garbage", 7), 7);
	tells_nothing();
	now_ns += 100 * ORPHAN;
	tells_nothing();
	assert_int_equal(config.ops->next_ns(engine), SCAN_NEVER);
	peer_is_dead(1);
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	peer_close(&peer);
}

static void says_its_last(const struct peer *peer)
{
	struct scan_wire_verdict verdict = {.value = SCAN_CLEAN, .last = 1};

	scan_wire_head_set(&verdict.head, SCAN_WIRE_VERDICT, peer_must_hear(peer));
	assert_int_equal(scan_wire_send(peer->file, &verdict, sizeof(verdict), -1), 0);
}

// Nothing is asked of one that ends: it would be lost with it.
static void one_that_has_done_its_jobs_is_not_asked(void **state)
{
	struct peer peer = peer_ready(1);
	struct scan_wire_request request;

	(void)state;
	assert_true(submit(1, 100));
	assert_true(submit(2, 100));
	tells_nothing();
	says_its_last(&peer);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	tells_nothing();
	assert_false(peer_hears(&peer, &request));
	close(peer.file);
	peer.file = -1;
	tells_nothing();
	assert_int_equal(status().state, SCAN_STATE_WAITING);
	peer_gone(&peer);
	tells_nothing();
	peer_born(&peer);
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	tells(2, SCAN_CLEAN, SCAN_REASON_NONE);
	assert_int_equal(status().replaced, 0);
	assert_int_equal(status().finished, 1);
	assert_int_equal(status().died, 0);
	peer_gone(&peer); // the next one, and it has not said so
	tells_nothing();
	assert_int_equal(status().finished, 1);
	assert_int_equal(status().died, 1);
	peer_close(&peer);
}

static void one_that_says_so_and_does_not_end_is_replaced(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	assert_true(submit(1, 100));
	tells_nothing();
	says_its_last(&peer);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	assert_int_equal(config.ops->next_ns(engine), now_ns + SCAN_GONE_PATIENCE_NS);
	now_ns += SCAN_GONE_PATIENCE_NS;
	tells_nothing();
	peer_is_asked_to_replace(&peer);
	peer_gone(&peer);
	tells_nothing();
	peer_born(&peer);
	assert_true(submit(2, 100));
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	tells(2, SCAN_CLEAN, SCAN_REASON_NONE);
	assert_int_equal(status().replaced, 1);
	assert_int_equal(status().finished, 0);
	assert_int_equal(status().died, 0);
	peer_close(&peer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_is_let_go_between_two_files),
		TEST(one_without_a_job_is_let_go_at_once),
		TEST(a_folder_that_changes_is_heard_of),
		TEST(a_folder_may_change_under_the_one_aside),
		TEST(without_a_launcher_a_closed_socket_ends_a_job_later),
		TEST(the_launcher_may_die_after_it),
		TEST(without_a_launcher_one_that_has_not_closed_is_not_believed_dead),
		TEST(one_that_has_done_its_jobs_is_not_asked),
		TEST(one_that_says_so_and_does_not_end_is_replaced),
	};

	return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
