// SPDX-License-Identifier: BSD-3-Clause
// Publication: all or nothing, grace periods, sharing of compiled signatures.
#include "control/policy/reload.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/policy/editions.h"
#include "lib/control/fake_control.h"
#include "control/policy/signature_order.h"

struct world {
	struct dataplane *dp;
	struct rule_names *names;
	struct reload *reload;
	struct config_errors errors;
};

static struct world world_new(unsigned n_lcores, bool with_qsbr)
{
	struct world w = {.dp = fake_dataplane_new(n_lcores, with_qsbr)};

	fake_signatures = "ab";
	fake_sigdb_made = 0;
	w.names = rule_names_new();
	assert_int_equal(reload_new(w.dp, w.names, "signatures", NULL, &w.reload), 0);
	return w;
}

static void world_free(struct world *w)
{
	reload_free(w->reload);
	assert_null(atomic_load(&w->dp->policy));
	rule_names_free(w->names);
	config_errors_free(&w->errors);
	fake_dataplane_free(w->dp);
	assert_int_equal(fake_sigdbs, 0);
	assert_int_equal(fake_scratches, 0);
}

// Published and alive.
static unsigned policies(const struct world *w)
{
	return (unsigned)(reload_generation(w->reload) - reload_freed(w->reload));
}

// Alive, by their scratches: one for each lcore.
static unsigned editions(const struct world *w)
{
	return fake_scratches / w->dp->n_lcores;
}

static int load(struct world *w, const char *path)
{
	return reload_load(w->reload, path, 1, &w->errors);
}

static void the_first_policy_is_in_force_at_once(void **state)
{
	struct world w = world_new(2, true);
	const struct policy *policy;

	(void)state;
	assert_null(atomic_load(&w.dp->policy));
	assert_null(reload_sigdb(w.reload));
	assert_int_equal(load(&w, "policy.json"), 0);
	policy = atomic_load(&w.dp->policy);
	assert_ptr_equal(policy, reload_policy(w.reload));
	assert_int_equal(policy->generation, 1);
	assert_int_equal(policy->edition->number, 1);
	assert_int_equal(policy->edition->n_scratch, 2);
	assert_non_null(policy->edition->scratch[1]);
	assert_ptr_equal(policy->edition->db, reload_sigdb(w.reload));
	assert_string_equal(reload_path(w.reload), "policy.json");
	assert_true(reload_step(w.reload, 1));
	world_free(&w);
}

static void the_old_policy_is_freed_after_the_last_lcore(void **state)
{
	struct world w = world_new(2, true);

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_int_equal(reload_generation(w.reload), 2);
	assert_int_equal(policies(&w), 2);
	assert_false(reload_step(w.reload, 1));
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
	assert_false(reload_step(w.reload, 1));
	assert_int_equal(reload_freed(w.reload), 0);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 1);
	assert_true(reload_step(w.reload, 1));
	assert_int_equal(reload_freed(w.reload), 1);
	assert_int_equal(policies(&w), 1);
	world_free(&w);
}

// What rules did under policies that are gone, that wait for a lcore, and that are in force.
static void what_rules_counted_outlives_reloads(void **state)
{
	struct world w = world_new(1, true);

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		struct rule_counts sum = {0};

		assert_int_equal(load(&w, "policy.json"), 0);
		const struct policy *policy = atomic_load(&w.dp->policy);
		struct rule_counts *of_default = &policy->counts[0][policy->n_rules];

		of_default->decisions = 100 + i;
		of_default->blocks = 10 + i;
		of_default->monitor_hits = i;
		if (i == 2) { // the first is freed
			rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
			assert_true(reload_step(w.reload, 1));
			assert_int_equal(reload_freed(w.reload), 1);
		}
		reload_rule_counts(w.reload, 0, &sum);
		assert_int_equal(sum.decisions, 100 * i + i * (i + 1) / 2);
		assert_int_equal(sum.blocks, 10 * i + i * (i + 1) / 2);
		assert_int_equal(sum.monitor_hits, i * (i + 1) / 2);
	}
	world_free(&w);
}

static void several_wait_for_one_slow_lcore(void **state)
{
	struct world w = world_new(2, true);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(load(&w, "policy.json"), 0);
		rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
	}
	assert_false(reload_step(w.reload, 1));
	assert_int_equal(policies(&w), 4);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 1);
	assert_true(reload_step(w.reload, 1));
	assert_int_equal(reload_freed(w.reload), 3);
	world_free(&w);
}

static void without_rcu_the_grace_is_immediate(void **state)
{
	struct world w = world_new(1, false);

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_true(reload_step(w.reload, 1));
	assert_int_equal(policies(&w), 1);
	world_free(&w);
}

static void an_error_changes_nothing(void **state)
{
	struct world w = world_new(1, true);
	const struct policy *before;

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	before = atomic_load(&w.dp->policy);
	assert_int_equal(load(&w, "bad.json"), -22);
	assert_int_equal(w.errors.n, 2);
	fake_signatures = "!";
	assert_int_equal(load(&w, "bad.json"), -22);
	assert_int_equal(w.errors.n, 5); // the signatures' and the policy's: all at once
	fake_signatures = "a?";
	assert_int_equal(load(&w, "policy.json"), -22);
	assert_non_null(strstr(w.errors.lines[5], "sig-?"));
	assert_ptr_equal(atomic_load(&w.dp->policy), before);
	assert_int_equal(reload_generation(w.reload), 1);
	assert_int_equal(reload_failures(w.reload), 3);
	assert_string_equal(reload_path(w.reload), "policy.json");
	assert_int_equal(policies(&w), 1);
	assert_int_equal(fake_sigdbs, 1);
	world_free(&w);
}

static void refuse(void *ctx, struct config_errors *errors)
{
	if (*(bool *)ctx)
		config_error_add(errors, "gateway.json", "", "limits.flows has changed");
}

static void a_guard_refuses_load_and_check(void **state)
{
	struct world w = world_new(1, false);
	bool changed = true;

	(void)state;
	reload_set_guard(w.reload, refuse, &changed);
	assert_int_equal(load(&w, "policy.json"), -EINVAL);
	assert_int_equal(w.errors.n, 1);
	assert_int_equal(reload_check(w.reload, "policy.json", &w.errors), -EINVAL);
	assert_int_equal(reload_failures(w.reload), 1);
	assert_int_equal(reload_generation(w.reload), 0);
	changed = false;
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_int_equal(reload_generation(w.reload), 1);
	world_free(&w);
}

static void unchanged_signatures_are_not_compiled_again(void **state)
{
	struct world w = world_new(1, true);
	const struct sigdb *first;

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	first = reload_sigdb(w.reload);
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_ptr_equal(reload_sigdb(w.reload), first);
	assert_int_equal(fake_sigdb_made, 1);
	fake_signatures = "abc";
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_int_equal(fake_sigdb_made, 2);
	assert_int_equal(fake_sigdbs, 2); // the old one lives as long as a snapshot uses it
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
	assert_true(reload_step(w.reload, 1));
	assert_int_equal(fake_sigdbs, 1);
	world_free(&w);
}

static void a_check_changes_nothing(void **state)
{
	struct world w = world_new(1, true);

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_int_equal(reload_check(w.reload, "policy.json", &w.errors), 0);
	assert_int_equal(reload_check(w.reload, "bad.json", &w.errors), -22);
	assert_int_equal(w.errors.n, 2);
	assert_int_equal(reload_generation(w.reload), 1);
	assert_int_equal(reload_failures(w.reload), 0);
	assert_int_equal(policies(&w), 1);
	world_free(&w);
}

// A capital is one that is gone.
static void order(const char *before, const char *now, const char *expected)
{
	struct signature a[16] = {0}, *b = calloc(16, sizeof *b);
	unsigned n = (unsigned)strlen(before), m = (unsigned)strlen(now);

	assert_non_null(b);
	for (unsigned i = 0; i < n; i++) {
		a[i].id[0] = (char)tolower(before[i]);
		a[i].halves = islower(before[i]) != 0;
	}
	for (unsigned i = 0; i < m; i++) {
		b[i].id[0] = now[i];
		b[i].halves = 1;
	}
	assert_int_equal(signature_order_keep(a, n, &b, &m), 0);
	assert_int_equal(m, strlen(expected));
	for (unsigned i = 0; i < m; i++) {
		assert_int_equal(b[i].id[0], tolower(expected[i]));
		assert_int_equal(signature_is_gone(&b[i]), isupper(expected[i]) != 0);
	}
	assert_int_equal(signature_order_same(a, n, b, m), !strcmp(before, expected));
	free(b);
}

static void signatures_keep_their_numbers(void **state)
{
	(void)state;
	order("abc", "abc", "abc");
	order("abc", "cab", "abc");
	order("abc", "xaybzc", "abcxyz");
	order("abc", "cxa", "aBcx");
	order("abc", "c", "ABc");
	order("aBc", "ca", "aBc");
	order("aBc", "bca", "abc");
	order("aBc", "xc", "ABcx");
	order("", "ab", "ab");
	order("ab", "", "AB");
}

static struct signature named(unsigned number)
{
	struct signature signature = {.halves = 1};

	snprintf(signature.id, sizeof signature.id, "s%u", number);
	return signature;
}

// A set whose every reload has another id does not grow for ever.
static void so_many_that_are_gone_are_kept(void **state)
{
	struct signature *before = NULL;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < SIGNATURES_GONE_MAX + 100; i++) {
		struct signature *now = calloc(2, sizeof *now);
		unsigned n_now = 2;

		assert_non_null(now);
		now[0] = named(i);
		now[1] = named(9999); // stays
		assert_int_equal(signature_order_keep(before, n, &now, &n_now), 0);
		free(before);
		before = now;
		n = n_now;
		assert_true(n <= SIGNATURES_GONE_MAX + 2);
		assert_string_equal(before[1].id, "s9999");
		assert_false(signature_is_gone(&before[1]));
	}
	assert_int_equal(n, SIGNATURES_GONE_MAX + 2);
	free(before);
}

static void all_quiet(struct world *w)
{
	for (unsigned i = 0; i < w->dp->n_lcores; i++)
		rte_rcu_qsbr_quiescent(w->dp->qsbr, i);
}

static void load_other_signatures(struct world *w, const char *signatures)
{
	fake_signatures = signatures;
	assert_int_equal(load(w, "policy.json"), 0);
	all_quiet(w);
	assert_true(reload_step(w->reload, 1));
}

// Freed when every lcore's count of open flows for it is 0.
static void signatures_stay_for_the_flows_that_began_with_them(void **state)
{
	struct world w = world_new(2, true);

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	fake_classifier_open(w.dp, 1, 1, 3);
	load_other_signatures(&w, "abc");
	assert_int_equal(reload_policy(w.reload)->edition->number, 2);
	assert_int_equal(policies(&w), 1);
	assert_int_equal(editions(&w), 2);
	assert_int_equal(reload_editions(w.reload).leaving, 1);
	fake_classifier_open(w.dp, 0, 2, 5);
	fake_classifier_open(w.dp, 1, 1, 1);
	reload_step(w.reload, 2);
	assert_int_equal(editions(&w), 2);
	fake_classifier_open(w.dp, 1, 1, 0);
	reload_step(w.reload, 3);
	assert_int_equal(editions(&w), 1);
	assert_int_equal(fake_sigdbs, 1);
	assert_int_equal(reload_editions(w.reload).drained, 1);
	assert_int_equal(reload_editions(w.reload).leaving, 0);
	assert_int_equal(w.dp->oldest_edition, 0);
	world_free(&w);
}

static void signatures_that_flows_keep_too_long_are_retired(void **state)
{
	const uint64_t late_ns = 1 + EDITION_DRAIN_S * NS_PER_S;
	struct world w = world_new(2, true);

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	fake_classifier_open(w.dp, 0, 1, 1);
	load_other_signatures(&w, "abc");
	reload_step(w.reload, late_ns - 1);
	assert_int_equal(w.dp->oldest_edition, 0);
	reload_step(w.reload, late_ns);
	assert_int_equal(w.dp->oldest_edition, 2); // reported; freed when the lcores have heard
	assert_int_equal(editions(&w), 2);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
	reload_step(w.reload, late_ns);
	assert_int_equal(editions(&w), 2);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 1);
	reload_step(w.reload, late_ns);
	assert_int_equal(editions(&w), 1);
	assert_int_equal(reload_editions(w.reload).retired, 1);
	assert_int_equal(reload_editions(w.reload).drained, 0);
	world_free(&w);
}

static void of_too_many_the_oldest_signatures_are_retired(void **state)
{
	static const char *const sets[] = {"abc", "abd", "abe", "abf", "abg", "abh", "abi"};
	struct world w = world_new(1, true);

	(void)state;
	static_assert(sizeof sets / sizeof *sets == EDITIONS_LEAVE_MAX + 1, "one too many");
	assert_int_equal(load(&w, "policy.json"), 0);
	for (unsigned i = 0; i <= EDITIONS_LEAVE_MAX; i++) {
		fake_classifier_open(w.dp, 0, i + 1, 1);
		assert_int_equal(w.dp->oldest_edition, 0);
		load_other_signatures(&w, sets[i]);
	}
	reload_step(w.reload, 1);
	assert_int_equal(w.dp->oldest_edition, 2);
	all_quiet(&w);
	reload_step(w.reload, 1);
	assert_int_equal(reload_editions(w.reload).leaving, EDITIONS_LEAVE_MAX);
	assert_int_equal(reload_editions(w.reload).retired, 1);
	world_free(&w);
}

static void observer(void *ctx, enum reload_progress progress)
{
	char *heard = ctx;

	heard[strlen(heard)] = "brf"[progress]; // begins, refused, in force
}

// A service manager is reported the beginning, and of exactly one end, which comes when the last
// lcore obeys.
static void an_observer_hears_of_each_reload_once(void **state)
{
	struct world w = world_new(2, true);
	char heard[32] = "";

	(void)state;
	assert_int_equal(load(&w, "first"), 0);
	reload_set_observer(w.reload, observer, heard);
	assert_true(reload_step(w.reload, 1));
	assert_string_equal(heard, "");
	assert_int_equal(load(&w, "second"), 0);
	assert_false(reload_step(w.reload, 1));
	assert_string_equal(heard, "b");
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 1);
	assert_true(reload_step(w.reload, 1));
	assert_true(reload_step(w.reload, 1));
	assert_string_equal(heard, "bf");
	assert_int_equal(load(&w, "bad"), -EINVAL);
	assert_true(reload_step(w.reload, 1));
	assert_string_equal(heard, "bfbr");
	assert_int_equal(reload_check(w.reload, "third", &w.errors), 0);
	assert_string_equal(heard, "bfbr");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_policy_is_in_force_at_once),
		cmocka_unit_test(the_old_policy_is_freed_after_the_last_lcore),
		cmocka_unit_test(what_rules_counted_outlives_reloads),
		cmocka_unit_test(several_wait_for_one_slow_lcore),
		cmocka_unit_test(without_rcu_the_grace_is_immediate),
		cmocka_unit_test(an_error_changes_nothing),
		cmocka_unit_test(a_guard_refuses_load_and_check),
		cmocka_unit_test(an_observer_hears_of_each_reload_once),
		cmocka_unit_test(unchanged_signatures_are_not_compiled_again),
		cmocka_unit_test(a_check_changes_nothing),
		cmocka_unit_test(signatures_keep_their_numbers),
		cmocka_unit_test(so_many_that_are_gone_are_kept),
		cmocka_unit_test(signatures_stay_for_the_flows_that_began_with_them),
		cmocka_unit_test(signatures_that_flows_keep_too_long_are_retired),
		cmocka_unit_test(of_too_many_the_oldest_signatures_are_retired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
