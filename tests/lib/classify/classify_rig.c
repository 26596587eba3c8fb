// SPDX-License-Identifier: BSD-3-Clause
#include "classify_rig.h"

#include <dirent.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *name)
{
	fprintf(stderr, "classify_rig: %s: %s\n", name, what);
	abort();
}

static void take_text(char *to, size_t room, const json_t *item, const char *key)
{
	const char *text = json_string_value(json_object_get(item, key));

	if (!text || strlen(text) >= room)
		die("text missing or too long", key);
	memcpy(to, text, strlen(text) + 1);
}

static void take_signature(struct rig *rig, const json_t *item)
{
	struct signature *s;
	char word[64];
	const char *flags = json_string_value(json_object_get(item, "flags"));
	const char *direction = json_string_value(json_object_get(item, "direction"));
	const char *confidence = json_string_value(json_object_get(item, "confidence"));

	rig->signatures =
		realloc(rig->signatures, (rig->n_signatures + 1) * sizeof(*rig->signatures));
	if (!rig->signatures)
		die("no memory", "signatures");
	s = &rig->signatures[rig->n_signatures++];
	memset(s, 0, sizeof(*s));
	take_text(s->id, sizeof(s->id), item, "id");
	take_text(s->pattern, sizeof(s->pattern), item, "pattern");
	take_text(word, sizeof(word), item, "app");
	s->app = app_find(word);
	if (s->app == APP_NONE)
		die("unknown application", word);
	take_text(word, sizeof(word), item, "l4");
	s->l4 = strcmp(word, "udp") ? IPPROTO_TCP : IPPROTO_UDP;
	s->halves = 3;
	if (direction && !strcmp(direction, "c2s"))
		s->halves = 1 << HALF_C2S;
	else if (direction && !strcmp(direction, "s2c"))
		s->halves = 1 << HALF_S2C;
	s->confidence =
		confidence && !strcmp(confidence, "partial") ? CONFIDENCE_PARTIAL : CONFIDENCE_DPI;
	s->verify = json_is_true(json_object_get(item, "verify"));
	s->midstream = json_is_true(json_object_get(item, "midstream"));
	s->bits = (uint8_t)json_integer_value(json_object_get(item, "bits"));
	s->min_length = (uint16_t)json_integer_value(json_object_get(item, "min_length"));
	s->caseless = flags && strchr(flags, 'i');
	s->dotall = flags && strchr(flags, 's');
}

static void take_hosts(struct rig *rig, const json_t *entry)
{
	json_t *host;
	size_t i;
	char word[64];

	take_text(word, sizeof(word), entry, "app");
	if (app_find(word) == APP_NONE)
		die("unknown application", word);
	json_array_foreach (json_object_get(entry, "hosts"), i, host)
		if (user_apps_add_host(rig->hosts, app_find(word), json_string_value(host)))
			die("not added", json_string_value(host));
	json_array_foreach (json_object_get(entry, "shared_hosts"), i, host)
		if (user_apps_add_shared_host(rig->hosts, app_find(word), json_string_value(host)))
			die("not added", json_string_value(host));
}

static void take_file(struct rig *rig, const char *name)
{
	char path[1024];
	json_error_t error;
	json_t *root, *item;
	size_t i;

	snprintf(path, sizeof(path), "%s/%s", SIGNATURES_DIR, name);
	root = json_load_file(path, 0, &error);
	if (!root)
		die(error.text, path);
	json_array_foreach (json_object_get(root, "signatures"), i, item)
		take_signature(rig, item);
	json_array_foreach (json_object_get(root, "applications"), i, item)
		take_hosts(rig, item);
	json_decref(root);
}

static int is_json(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && !strcmp(entry->d_name + n - 5, ".json");
}

static struct rig *rig_finish(struct rig *rig, unsigned n_states)
{
	char err[512];

	if (sigdb_new(rig->signatures, rig->n_signatures, SIGNATURES_CACHE, &rig->db, NULL, err,
		    sizeof(err)))
		die(err, "sigdb");
	if (edition_new(rig->db, 1, &rig->edition))
		die("no memory", "edition");
	rig->edition->number = 1;
	rig->classifier = classifier_new(n_states, 0, -1);
	if (!rig->classifier)
		die("no memory", "classifier");
	return rig;
}

static struct rig *rig_alloc(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (!rig)
		die("no memory", "rig");
	rig->hosts = user_apps_new();
	rig->user = user_apps_new();
	if (!rig->hosts || !rig->user)
		die("no memory", "hosts");
	user_apps_set_files(rig->user, rig->hosts);
	return rig;
}

struct rig *rig_new(void)
{
	struct rig *rig = rig_alloc();
	struct dirent **files;
	int n = scandir(SIGNATURES_DIR, &files, is_json, alphasort);

	if (n <= 0)
		die("no signatures", SIGNATURES_DIR);
	for (int i = 0; i < n; i++) {
		take_file(rig, files[i]->d_name);
		free(files[i]);
	}
	free(files);
	return rig_finish(rig, 16);
}

struct rig *rig_new_with(const struct signature *signatures, unsigned n, unsigned n_states)
{
	struct rig *rig = rig_alloc();

	rig->n_signatures = n;
	rig->signatures = calloc(n + 1, sizeof(*signatures));
	if (!rig->signatures)
		die("no memory", "signatures");
	if (n)
		memcpy(rig->signatures, signatures, n * sizeof(*signatures));
	return rig_finish(rig, n_states);
}

void rig_user_take(struct rig *rig, struct user_apps *user, const struct signature *own, unsigned n)
{
	char err[512];

	user_apps_free(rig->user);
	rig->user = user;
	user_apps_set_files(user, rig->hosts);
	rig->files = rig->db;
	edition_free(rig->edition);
	if (sigdb_new_overlay(rig->files, own, n, NULL, &rig->db, NULL, err, sizeof(err)))
		die(err, "sigdb");
	if (edition_new(rig->db, 1, &rig->edition))
		die("no memory", "edition");
	rig->edition->number = 1;
}

void rig_free(struct rig *rig)
{
	if (classifier_states_free(rig->classifier) != classifier_states_max(rig->classifier))
		die("a state is still taken", "rig_free");
	classifier_free(rig->classifier);
	edition_free(rig->edition);
	sigdb_free(rig->db);
	sigdb_free(rig->files);
	user_apps_free(rig->user);
	user_apps_free(rig->hosts);
	free(rig->signatures);
	free(rig);
}

struct rig_flow rig_flow(struct rig *rig, uint8_t l4, uint16_t sport, uint16_t dport)
{
	struct rig_flow flow = {.rig = rig, .l4 = l4};

	flow.ends.port[HALF_C2S] = sport;
	flow.ends.port[HALF_S2C] = dport;
	return flow;
}

void rig_feed_span(struct rig_flow *flow, struct span span)
{
	struct rig *rig = flow->rig;
	uint8_t *exact = NULL;

	if (!(span.flags & SPAN_GAP)) {
		exact = malloc(span.extent ? span.extent : 1);
		if (!exact)
			die("no memory", "payload");
		if (span.extent)
			memcpy(exact, span.unchecked, span.extent);
		span.unchecked = exact;
		if (span.extent && flow->n_data_pkts < UINT8_MAX)
			flow->n_data_pkts++;
	}
	const struct classify_flow about = {
		.ends = &flow->ends,
		.l4_proto = flow->l4,
		.n_data_pkts = flow->n_data_pkts,
		.midstream = flow->midstream,
		.either_began = flow->midstream,
		.one_sided = flow->one_sided,
		.datagram_bytes = flow->datagram_bytes,
		.c2s_from_inside = true,
		.named = flow->named,
		.media = flow->l4 == IPPROTO_UDP ? &flow->media : NULL,
	};

	rig->work.named = rig->work.hello_refused = false;
	if (!flow->verdict.final)
		classify_feed(rig->classifier, rig->edition, rig->user, &about, &span, &flow->state,
			&flow->verdict, &rig->work);
	else if (flow->l4 == IPPROTO_UDP && classify_may_ask(span_bytes(&span), span_length(&span)))
		classify_listen(rig->classifier, rig->edition, rig->user, &about, &span,
			&flow->state, &flow->verdict, &rig->work);
	flow->named |= rig->work.named;
	flow->refused = rig->work.hello_refused;
	if (flow->l4 == IPPROTO_TCP && flow->verdict.final && flow->state != CLASSIFY_NO_STATE)
		die("a final verdict keeps its state", "rig_feed");
	if (flow->verdict.app != APP_NONE && flow->verdict.n_data_pkts > flow->n_data_pkts)
		die("decided in the future", "rig_feed");
	free(exact);
}

void rig_feed(struct rig_flow *flow, unsigned half, const void *bytes, size_t length)
{
	const struct span span = {
		.offset64 = flow->offset[half],
		.unchecked = bytes,
		.extent = (uint32_t)length,
		.half = (uint8_t)half,
		.flags = flow->l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0,
	};

	rig_feed_span(flow, span);
	flow->offset[half] += length;
}

void rig_end(struct rig_flow *flow)
{
	classify_end(flow->rig->classifier, &flow->state);
}

const char *rig_app(const struct rig_flow *flow)
{
	const struct app_proto *proto = app_get(flow->verdict.app);

	return proto && flow->verdict.confidence >= CONFIDENCE_PARTIAL ? proto->name : "";
}

const char *rig_first(struct rig *rig, uint8_t l4, unsigned half, const void *bytes, size_t length)
{
	struct rig_flow flow = rig_flow(rig, l4, 40000, 50000);

	rig_feed(&flow, half, bytes, length);
	rig_end(&flow);
	return rig_app(&flow);
}

// A part of the bytes may show what carries the application (HTTP), but then the answer is open.
static bool is_open(const struct rig_flow *flow)
{
	const struct app_proto *proto = app_get(flow->verdict.app);

	return !*rig_app(flow) || (proto->carrier && !flow->verdict.final);
}

static void must_be(const struct rig_flow *flow, const char *app, bool or_open, size_t at)
{
	const char *found = rig_app(flow);
	char what[64];

	if (!strcmp(found, app) || (or_open && is_open(flow)))
		return;
	snprintf(what, sizeof(what), "cut at %zu: it is \"%s\"", at, found);
	die(what, app);
}

void rig_cuts(struct rig *rig, uint8_t l4, unsigned half, const void *bytes, size_t length,
	const char *app)
{
	const uint8_t *at = bytes;

	for (size_t cut = 0; cut <= length; cut++) {
		struct rig_flow flow = rig_flow(rig, l4, 40000, 50000);

		rig_feed(&flow, half, at, cut);
		must_be(&flow, app, cut < length, cut);
		if (l4 == IPPROTO_TCP && cut && cut < length) {
			rig_feed(&flow, half, at + cut, length - cut);
			must_be(&flow, app, false, cut);
		}
		rig_end(&flow);
	}
}

void rig_random(struct rig *rig, uint8_t l4, const void *prefix, size_t length, const char *app)
{
	uint64_t random = 0x9e3779b97f4a7c15;
	uint8_t bytes[600];

	memcpy(bytes, prefix, length);
	for (unsigned run = 0; run < 2000; run++) {
		struct rig_flow flow = rig_flow(rig, l4, 40000, 50000);

		for (unsigned packet = 0; packet < 4; packet++) {
			size_t size = length;

			for (size_t i = length; i < sizeof(bytes); i++) {
				random = random * 6364136223846793005 + 1442695040888963407;
				bytes[i] = (uint8_t)(random >> 56);
			}
			size += (size_t)(random >> 40) % (sizeof(bytes) - length);
			rig_feed(&flow, packet & 1, bytes, size);
		}
		if (!strcmp(rig_app(&flow), app))
			die("random bytes are it", app);
		rig_end(&flow);
	}
}
