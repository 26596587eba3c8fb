// SPDX-License-Identifier: BSD-3-Clause
#include "fake_control.h"
#include "control/policy/app_tables.h"
#include "control/policy/content_check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/policy/signature_load.h"
#include "pipeline/stage/stages.h"
#include "pipeline/limits.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/lcore/port.h"
#include "classify/classify.h"
#include "pipeline/policy/policy.h"
#include "pipeline/loop.h"

const char *fake_signatures = "ab";
atomic_uint fake_sigdbs, fake_sigdb_made, fake_scratches, fake_build_ms;

static struct rte_ring *ring_new(unsigned element, unsigned count)
{
	size_t size = (size_t)rte_ring_get_memsize_elem(element, count);
	struct rte_ring *ring = aligned_alloc(64, size);

	if (!ring || rte_ring_init(ring, "fake", count, RING_F_SP_ENQ | RING_F_SC_DEQ))
		abort();
	return ring;
}

struct dataplane *fake_dataplane_new(unsigned n_lcores, bool with_qsbr)
{
	static const struct lcore_limits limits;
	struct dataplane *dp = calloc(1, sizeof *dp);

	if (!dp)
		abort();
	dp->limits = &limits;
	dp->n_lcores = n_lcores;
	dp->n_ports = 2;
	snprintf(dp->ports[0].name, sizeof dp->ports[0].name, "lan");
	snprintf(dp->ports[1].name, sizeof dp->ports[1].name, "wan");
	dp->ports[0].inside = true;
	dp->ports[0].peer = 1;
	for (unsigned i = 0; i < n_lcores; i++) {
		struct lcore *lcore = aligned_alloc(64, sizeof *lcore);

		if (!lcore)
			abort();
		memset(lcore, 0, sizeof *lcore);
		lcore->index = i;
		lcore->dp = dp;
		lcore->events = ring_new(sizeof(struct event), 1024);
		lcore->queries = ring_new(sizeof(void *), 64);
		dp->lcores[i] = lcore;
	}
	if (with_qsbr) {
		dp->qsbr = aligned_alloc(64, (rte_rcu_qsbr_get_memsize(n_lcores) + 63) / 64 * 64);
		if (!dp->qsbr || rte_rcu_qsbr_init(dp->qsbr, n_lcores))
			abort();
		for (unsigned i = 0; i < n_lcores; i++) {
			rte_rcu_qsbr_thread_register(dp->qsbr, i);
			rte_rcu_qsbr_thread_online(dp->qsbr, i);
		}
	}
	return dp;
}

void fake_dataplane_free(struct dataplane *dp)
{
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		free(dp->lcores[i]->events);
		free(dp->lcores[i]->queries);
		free(dp->lcores[i]->classifier);
		free(dp->lcores[i]);
	}
	free(dp->qsbr);
	free(dp);
}

void fake_event_send(struct dataplane *dp, unsigned lcore, const struct event *event)
{
	if (rte_ring_enqueue_elem(
		    dp->lcores[lcore]->events, (void *)(uintptr_t)event, sizeof *event))
		abort();
}

static void address(const char *text, uint8_t out[16])
{
	memset(out, 0, 16);
	if (strchr(text, ':')) {
		inet_pton(AF_INET6, text, out);
		return;
	}
	out[10] = out[11] = 0xff;
	inet_pton(AF_INET, text, out + 12);
}

struct flow_ends fake_ends(const char *c2s, uint16_t c2s_port, const char *s2c, uint16_t s2c_port)
{
	struct flow_ends ends = {.port = {c2s_port, s2c_port}};

	address(c2s, ends.address[HALF_C2S]);
	address(s2c, ends.address[HALF_S2C]);
	return ends;
}

// app/classify

static const struct app_proto apps[] = {
	{.name = "bittorrent",
		.title = "BitTorrent",
		.group = "file-sharing",
		.category = APP_CATEGORY_P2P},
	{.name = "http", .title = "HTTP", .category = APP_CATEGORY_WEB},
};

unsigned app_count(void)
{
	return 2;
}

const struct app_proto *app_get(uint16_t app)
{
	return app >= 1 && app <= 2 ? &apps[app - 1] : NULL;
}

uint16_t app_find(const char *name)
{
	for (uint16_t i = 0; i < 2; i++) {
		if (!strcmp(apps[i].name, name))
			return (uint16_t)(i + 1);
	}
	return APP_NONE;
}

const char *app_category_word(enum app_category category)
{
	static const char *const words[] = {"p2p", "im", "web"};

	return category <= APP_CATEGORY_WEB ? words[category] : "other";
}

int app_category_find(const char *word)
{
	return strcmp(word, "p2p") ? -1 : APP_CATEGORY_P2P;
}

struct sigdb {
	const struct sigdb *base;
	unsigned n;
	struct signature signatures[32];
};
struct sigdb_scratch {
	const struct sigdb *db;
};

int sigdb_new_overlay(const struct sigdb *base, const struct signature *own, unsigned n,
	const char *cache_dir, struct sigdb **out, bool *from_cache, char *err, size_t err_len)
{
	int rc = sigdb_new(own, n, cache_dir, out, from_cache, err, err_len);

	if (!rc)
		(*out)->base = base;
	return rc;
}

int sigdb_new(const struct signature *signatures, unsigned n, const char *cache_dir,
	struct sigdb **out, bool *from_cache, char *err, size_t err_len)
{
	(void)cache_dir;
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(signatures[i].id, "sig-?")) {
			snprintf(err, err_len, "signature sig-?: bad pattern");
			return -EINVAL;
		}
	}
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	(*out)->n = n;
	memcpy((*out)->signatures, signatures, n * sizeof *signatures);
	if (from_cache)
		*from_cache = false;
	fake_sigdbs++;
	fake_sigdb_made++;
	return 0;
}

int sigdb_cache_prune(const char *dir, const struct sigdb *db, unsigned days, int64_t now_s)
{
	(void)dir;
	(void)db;
	(void)days;
	(void)now_s;
	return 0;
}

void sigdb_free(struct sigdb *db)
{
	fake_sigdbs -= db != NULL;
	free(db);
}

unsigned sigdb_count(const struct sigdb *db)
{
	return db->base ? db->base->n : db->n;
}

const struct signature *sigdb_get(const struct sigdb *db, unsigned index)
{
	if (db->base && index >= SIGNATURE_USER_FIRST)
		return index - SIGNATURE_USER_FIRST < db->n
			       ? &db->signatures[index - SIGNATURE_USER_FIRST]
			       : NULL;
	if (db->base)
		db = db->base;
	return index < db->n ? &db->signatures[index] : NULL;
}

int sigdb_scratch_new(const struct sigdb *db, struct sigdb_scratch **out)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	(*out)->db = db;
	fake_scratches++;
	return 0;
}

int edition_new(const struct sigdb *db, unsigned n_scratch, struct edition **out)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	(*out)->db = db;
	for (; (*out)->n_scratch < n_scratch; (*out)->n_scratch++)
		sigdb_scratch_new(db, &(*out)->scratch[(*out)->n_scratch]);
	return 0;
}

void edition_free(struct edition *edition)
{
	if (!edition)
		return;
	for (unsigned i = 0; i < edition->n_scratch; i++)
		sigdb_scratch_free(edition->scratch[i]);
	free(edition);
}

struct classifier {
	uint32_t open[EDITIONS_OPEN_MAX];
};

uint32_t classifier_open(const struct classifier *classifier, uint32_t edition)
{
	return classifier->open[edition % EDITIONS_OPEN_MAX];
}

void fake_classifier_open(struct dataplane *dp, unsigned lcore, uint32_t edition, uint32_t n)
{
	if (!dp->lcores[lcore]->classifier)
		dp->lcores[lcore]->classifier = calloc(1, sizeof(struct classifier));
	dp->lcores[lcore]->classifier->open[edition % EDITIONS_OPEN_MAX] = n;
}

void sigdb_scratch_free(struct sigdb_scratch *scratch)
{
	// Touches the database: the sanitizers tell if it went first.
	if (scratch && scratch->db->n <= 32)
		fake_scratches--;
	free(scratch);
}

// The loaders of app/control

void app_tables_free(struct app_tables *tables)
{
	free(tables);
}

void policy_check_content(const struct policy *policy, const struct app_tables *tables,
	const char *file, struct config_errors *errors)
{
	(void)policy;
	(void)tables;
	if (strstr(file, "odd"))
		config_warning_add(errors, file, "$.rules[0].chat", "half of it is not decoded");
}

void policy_check_kept(const struct policy *policy, const struct content_kept *kept,
	const char *file, struct config_errors *errors)
{
	(void)policy;
	(void)file;
	(void)errors;
	if (kept->known) // no test here gives a gateway.json
		abort();
}

int app_tables_apply(const struct app_tables *tables, struct policy *policy)
{
	return tables && policy ? 0 : -EINVAL;
}

int signature_load_dir(const char *dir, struct signature **out, unsigned *n,
	struct app_tables **tables, struct config_errors *errors)
{
	size_t count = strlen(fake_signatures);

	if (*fake_signatures == '!') {
		config_error_add(errors, dir, "$.signatures[0].id", "required");
		return -EINVAL;
	}
	*out = calloc(count + 1, sizeof **out);
	*tables = calloc(1, sizeof **tables);
	if (!*out || !*tables)
		abort();
	for (size_t i = 0; i < count; i++) {
		snprintf((*out)[i].id, sizeof(*out)[i].id, "sig-%c", fake_signatures[i]);
		(*out)[i].app = 1;
	}
	*n = (unsigned)count;
	return 0;
}

struct rule_names {
	struct app_names *apps;
	uint32_t n;
	char ids[POLICY_RULES_MAX + 64][POLICY_ID_MAX];
};

struct rule_names *rule_names_new(void)
{
	struct rule_names *names = calloc(1, sizeof *names);

	if (!names)
		abort();
	names->apps = app_names_new();
	return names;
}

void rule_names_free(struct rule_names *names)
{
	app_names_free(names->apps);
	free(names);
}

struct app_names *rule_names_apps(const struct rule_names *names)
{
	return names->apps;
}

uint32_t rule_names_intern(struct rule_names *names, const char *id)
{
	for (uint32_t i = 0; i < names->n; i++) {
		if (!strcmp(names->ids[i], id))
			return i + 1;
	}
	snprintf(names->ids[names->n], POLICY_ID_MAX, "%s", id);
	return ++names->n;
}

uint32_t rule_names_find(const struct rule_names *names, const char *id)
{
	for (uint32_t i = 0; i < names->n; i++) {
		if (!strcmp(names->ids[i], id))
			return i + 1;
	}
	return 0;
}

const char *rule_names_get(const struct rule_names *names, uint32_t uid)
{
	return uid && uid <= names->n ? names->ids[uid - 1] : NULL;
}

int policy_load(const char *path, struct rule_names *names, struct policy **out,
	struct config_errors *errors)
{
	struct policy *policy;

	while (fake_build_ms == FAKE_BUILD_HELD)
		usleep(1000);
	usleep(fake_build_ms * 1000);
	if (strstr(path, "bad")) {
		config_error_add(errors, path, "$.rules[0].action", "\"rest\" is not an action");
		config_error_add(errors, path, "$.rules[1].id", "duplicate");
		for (unsigned i = 2; strstr(path, "worse") && i < CONFIG_ERRORS_MAX + 7; i++)
			config_error_add(errors, path, "", "mistake %u", i);
		return -EINVAL;
	}
	policy = calloc(1, sizeof *policy);
	if (!policy)
		abort();
	policy->n_rules = strstr(path, "many") ? POLICY_RULES_MAX : 1;
	policy->rules = calloc(policy->n_rules, sizeof *policy->rules);
	policy->by_uid = calloc(policy->n_rules, sizeof(const struct rule *));
	if (!policy->rules || !policy->by_uid)
		abort();
	for (uint32_t i = 0; i < policy->n_rules; i++) { // uids rise: nobody has taken one before
		struct rule *rule = &policy->rules[i];

		snprintf(rule->id, POLICY_ID_MAX, "no-bittorrent");
		if (i)
			snprintf(rule->id, POLICY_ID_MAX, "rule-%u-of-many", i);
		rule->uid = rule_names_intern(names, rule->id);
		policy->by_uid[i] = rule;
	}
	policy->users.users = calloc(1, sizeof *policy->users.users);
	if (!policy->users.users)
		abort();
	policy->users.n_users = 1;
	snprintf(policy->users.users[0].name, USER_NAME_SIZE, "anna");
	policy->users.users[0].uid = rule_names_intern(names, "anna");
	*out = policy;
	return 0;
}

int policy_intern(struct policy *policy, struct rule_names *names)
{
	for (uint32_t i = 0; i < policy->n_rules; i++)
		policy->rules[i].uid = rule_names_intern(names, policy->rules[i].id);
	policy->users.users[0].uid = rule_names_intern(names, policy->users.users[0].name);
	return 0;
}

char *policy_dump(const struct policy *policy, const struct rule_names *names)
{
	char *text = NULL;

	(void)names;
	if (asprintf(&text, "{\"schema_version\":1,\"rules\":[{\"id\":\"%s\"}]}",
		    policy->rules[0].id) < 0)
		abort();
	return text;
}

const char *stage_meter_name(unsigned step)
{
	return step == METER_PARSE ? "parse" : NULL;
}
