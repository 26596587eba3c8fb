// SPDX-License-Identifier: BSD-3-Clause
// Publication: all or nothing, grace periods, sharing of compiled signatures.
#include "reload.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_control.h"
#include "signature_order.h"

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

// Alive, by their scratches: one for each lcore.
static unsigned policies(const struct world *w)
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
	assert_int_equal(policy->n_scratch, 2);
	assert_non_null(policy->scratch[1]);
	assert_ptr_equal(policy->sigdb, reload_sigdb(w.reload));
	assert_string_equal(reload_path(w.reload), "policy.json");
	assert_true(reload_step(w.reload));
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
	assert_false(reload_step(w.reload));
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
	assert_false(reload_step(w.reload));
	assert_int_equal(reload_freed(w.reload), 0);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 1);
	assert_true(reload_step(w.reload));
	assert_int_equal(reload_freed(w.reload), 1);
	assert_int_equal(policies(&w), 1);
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
	assert_false(reload_step(w.reload));
	assert_int_equal(policies(&w), 4);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 1);
	assert_true(reload_step(w.reload));
	assert_int_equal(reload_freed(w.reload), 3);
	world_free(&w);
}

static void without_rcu_the_grace_is_immediate(void **state)
{
	struct world w = world_new(1, false);

	(void)state;
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_int_equal(load(&w, "policy.json"), 0);
	assert_true(reload_step(w.reload));
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
	assert_true(reload_step(w.reload));
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

static void order(const char *before, const char *now, const char *expected)
{
	struct signature a[16] = {0}, b[16] = {0};
	unsigned n = (unsigned)strlen(before), m = (unsigned)strlen(now);

	for (unsigned i = 0; i < n; i++)
		a[i].id[0] = before[i];
	for (unsigned i = 0; i < m; i++)
		b[i].id[0] = now[i];
	assert_int_equal(signature_order_keep(a, n, b, m), 0);
	for (unsigned i = 0; i < m; i++)
		assert_int_equal(b[i].id[0], expected[i]);
	assert_int_equal(signature_order_same(a, n, b, m), !strcmp(before, expected));
}

static void signatures_keep_their_numbers(void **state)
{
	(void)state;
	order("abc", "abc", "abc");
	order("abc", "cab", "abc");
	order("abc", "xaybzc", "abcxyz");
	order("abc", "cxa", "axc");
	order("abc", "c", "c");
	order("", "ab", "ab");
	order("ab", "", "");
}

static void observer(void *ctx, enum reload_progress progress)
{
	char *heard = ctx;

	heard[strlen(heard)] = "brf"[progress]; // begins, refused, in force
}

// A service manager is told of the beginning, and of exactly one end, which comes when the last
// lcore obeys.
static void an_observer_hears_of_each_reload_once(void **state)
{
	struct world w = world_new(2, true);
	char heard[32] = "";

	(void)state;
	assert_int_equal(load(&w, "first"), 0);
	reload_set_observer(w.reload, observer, heard);
	assert_true(reload_step(w.reload));
	assert_string_equal(heard, "");
	assert_int_equal(load(&w, "second"), 0);
	assert_false(reload_step(w.reload));
	assert_string_equal(heard, "b");
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 0);
	rte_rcu_qsbr_quiescent(w.dp->qsbr, 1);
	assert_true(reload_step(w.reload));
	assert_true(reload_step(w.reload));
	assert_string_equal(heard, "bf");
	assert_int_equal(load(&w, "bad"), -EINVAL);
	assert_true(reload_step(w.reload));
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
		cmocka_unit_test(several_wait_for_one_slow_lcore),
		cmocka_unit_test(without_rcu_the_grace_is_immediate),
		cmocka_unit_test(an_error_changes_nothing),
		cmocka_unit_test(a_guard_refuses_load_and_check),
		cmocka_unit_test(an_observer_hears_of_each_reload_once),
		cmocka_unit_test(unchanged_signatures_are_not_compiled_again),
		cmocka_unit_test(a_check_changes_nothing),
		cmocka_unit_test(signatures_keep_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
