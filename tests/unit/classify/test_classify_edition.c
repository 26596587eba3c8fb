// SPDX-License-Identifier: BSD-3-Clause
// A reload in the midst of classification: a flow ends with the signatures that it began with, or,
// when these are retired, begins again with those in force.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "classify/classify.h"

struct set {
	struct sigdb *db;
	struct edition *edition;
};

// One signature: the application that begins with that text.
static struct set set_new(uint32_t number, const char *pattern, const char *app)
{
	struct signature signature = {
		.app = app_find(app),
		.l4 = IPPROTO_TCP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
	};
	struct set set;
	char err[256];

	snprintf(signature.id, sizeof signature.id, "s%u", number);
	snprintf(signature.pattern, sizeof signature.pattern, "%s", pattern);
	if (sigdb_new(&signature, 1, NULL, &set.db, NULL, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(edition_new(set.db, 2, &set.edition), 0);
	set.edition->number = number;
	return set;
}

static void set_free(struct set *set)
{
	edition_free(set->edition);
	sigdb_free(set->db);
}

struct talk {
	struct classifier *classifier;
	struct flow_ends ends;
	uint64_t offset;
	uint32_t state;
	uint8_t n_pkts;
	struct classify_verdict verdict;
	struct classify_work work;
};

static struct talk talk(struct classifier *classifier)
{
	return (struct talk){.classifier = classifier, .ends = {.port = {40000, 50000}}};
}

static void say(struct talk *flow, const struct edition *in_force, const char *text)
{
	const struct span span = {.offset64 = flow->offset,
		.unchecked = (const uint8_t *)text,
		.extent = (uint32_t)strlen(text)};

	flow->offset += span.extent;
	flow->n_pkts++;
	memset(&flow->work, 0, sizeof flow->work);
	const struct classify_flow about = {
		.ends = &flow->ends, .l4_proto = IPPROTO_TCP, .n_data_pkts = flow->n_pkts};

	classify_feed(flow->classifier, in_force, NULL, &about, &span, &flow->state, &flow->verdict,
		&flow->work);
	assert_int_equal(flow->work.errors, 0);
}

static const char *app_of(const struct talk *flow)
{
	return flow->verdict.app == APP_NONE ? "" : app_get(flow->verdict.app)->name;
}

static void flows_end_with_what_they_began_with(void **state)
{
	struct set first = set_new(1, "^HELLO ONE", "irc"), second = set_new(2, "^HELLO", "xmpp");
	struct classifier *classifier = classifier_new(4, 1, -1);
	struct talk old = talk(classifier), other = talk(classifier), young = talk(classifier);

	(void)state;
	say(&old, first.edition, "HELL");
	say(&other, first.edition, "HELL");
	assert_int_equal(classifier_open(classifier, 1), 2);
	// the second would say xmpp here
	say(&old, second.edition, "O ");
	assert_false(old.verdict.final);
	say(&young, second.edition, "HELL");
	assert_int_equal(classifier_open(classifier, 1), 2);
	assert_int_equal(classifier_open(classifier, 2), 1);
	say(&old, second.edition, "ONE\r\n");
	assert_true(old.verdict.final);
	assert_string_equal(app_of(&old), "irc");
	assert_int_equal(old.verdict.n_data_pkts, 3);
	assert_int_equal(classifier_open(classifier, 1), 1);
	say(&young, second.edition, "O ONE\r\n");
	assert_string_equal(app_of(&young), "xmpp");
	assert_int_equal(classifier_open(classifier, 2), 0);
	classify_end(classifier, &other.state); // it times out
	assert_int_equal(classifier_open(classifier, 1), 0);
	classifier_free(classifier);
	set_free(&first);
	set_free(&second);
}

static void flows_of_retired_signatures_begin_again(void **state)
{
	struct set first = set_new(1, "^HELLO ONE", "irc"), second = set_new(2, "^HELLO", "xmpp");
	struct classifier *classifier = classifier_new(4, 0, -1);
	struct talk late = talk(classifier), idle = talk(classifier);

	(void)state;
	say(&late, first.edition, "HE");
	say(&idle, first.edition, "HE");
	classifier_retire(classifier, 2);
	set_free(&first); // a look into it is the sanitizers' now
	assert_int_equal(classifier_open(classifier, 1), 2);
	say(&late, second.edition, "LL");
	assert_int_equal(classifier_open(classifier, 1), 1);
	assert_int_equal(classifier_open(classifier, 2), 1);
	say(&late, second.edition, "O ONE\r\n");
	assert_true(late.verdict.final);
	assert_string_equal(app_of(&late), "xmpp"); // from its first byte on
	classify_end(classifier, &idle.state);
	assert_int_equal(classifier_open(classifier, 1), 0);
	assert_int_equal(classifier_open(classifier, 2), 0);
	assert_int_equal(classifier_states_free(classifier), classifier_states_max(classifier));
	classifier_free(classifier);
	set_free(&second);
}

// Names of what went stay, and nothing is found by them.
static void what_is_gone_has_a_name_only(void **state)
{
	struct signature set[2] = {
		{.id = "went", .app = app_find("irc")},
		{.id = "is",
			.app = app_find("xmpp"),
			.l4 = IPPROTO_TCP,
			.halves = 1,
			.confidence = CONFIDENCE_DPI,
			.pattern = "^HELLO"},
	};
	struct classifier *classifier = classifier_new(1, 0, -1);
	struct talk flow = talk(classifier);
	struct edition *edition;
	struct sigdb *db;
	char err[256];

	(void)state;
	assert_int_equal(sigdb_new(set, 2, NULL, &db, NULL, err, sizeof err), 0);
	assert_int_equal(edition_new(db, 1, &edition), 0);
	assert_int_equal(sigdb_count(db), 1);
	assert_string_equal(sigdb_get(db, 0)->id, "went");
	say(&flow, edition, "HELLO");
	assert_string_equal(app_of(&flow), "xmpp");
	assert_int_equal(flow.verdict.signature, 1);
	classifier_free(classifier);
	edition_free(edition);
	sigdb_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_end_with_what_they_began_with),
		cmocka_unit_test(flows_of_retired_signatures_begin_again),
		cmocka_unit_test(what_is_gone_has_a_name_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
