// SPDX-License-Identifier: BSD-3-Clause
// Counts traffic by host and by user from the live flows, for the live page.
#include "control/http/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "base/address_text.h"
#include "control/ctl/flow_group.h"
#include "base/log.h"
#include "pipeline/limits.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/query.h"

#define OTHERS       (CENSUS_APPS - 1) // the place of all applications that have none
#define BLOCK_WEIGHT 100000            // bytes that a blocked flow counts as, when one has to go
#define STALE_NS     (24 * 3600 * NS_PER_S)
#define OTHERS_APP   UINT16_MAX

static void use_add(struct census_use *use, const struct census_use *more)
{
	use->flows += more->flows;
	use->bytes[0] += more->bytes[0];
	use->bytes[1] += more->bytes[1];
	use->rate_bytes_s += more->rate_bytes_s;
}

struct census_use census_app_use(const struct census_app *app)
{
	struct census_use use = app->past;

	use_add(&use, &app->live);
	return use;
}

struct census_use census_row_live(const struct census_row *row)
{
	struct census_use use = {0};

	for (unsigned i = 0; i < row->n_apps; i++)
		use_add(&use, &row->apps[i].live);
	return use;
}

struct census_use census_row_use(const struct census_row *row)
{
	struct census_use use = {0};

	for (unsigned i = 0; i < row->n_apps; i++) {
		use_add(&use, &row->apps[i].past);
		use_add(&use, &row->apps[i].live);
	}
	return use;
}

// The rows

static uint32_t *slot_of(const struct census_table *table, const struct census *census,
	const struct group_by_key *key)
{
	uint64_t words[2];

	memcpy(words, key->bytes, sizeof words);
	return &table->slots[hash_words(&census->context->dp->limits->parse.seed, words, 2) &
			     (table->n_slots - 1)];
}

struct census_row *census_find(const struct census_table *table, const struct census *census,
	const struct group_by_key *key)
{
	for (uint32_t at = *slot_of(table, census, key); at; at = table->rows[at - 1].next) {
		if (memcmp(&table->rows[at - 1].key, key, sizeof *key) == 0)
			return &table->rows[at - 1];
	}
	return NULL;
}

static void row_unlink(struct census_table *table, const struct census *census, uint32_t row)
{
	uint32_t *at = slot_of(table, census, &table->rows[row].key);

	while (*at != row + 1)
		at = &table->rows[*at - 1].next;
	*at = table->rows[row].next;
}

// What would be lost with it.
static uint64_t weight(const struct census_row *row, uint64_t now_ns)
{
	uint64_t sum = row->blocked * BLOCK_WEIGHT;

	if (now_ns > row->seen_ns && now_ns - row->seen_ns > STALE_NS)
		return 0;
	for (unsigned i = 0; i < row->n_apps; i++) {
		const struct census_app *app = &row->apps[i];
		uint64_t live = app->live.bytes[0] + app->live.bytes[1];
		uint64_t fresh = app->fresh.bytes[0] + app->fresh.bytes[1];

		sum += app->ended.bytes[0] + app->ended.bytes[1] + (live > fresh ? live : fresh);
	}
	return sum;
}

static uint32_t row_least(struct census_table *table, uint64_t now_ns)
{
	uint32_t least = table->hand % table->n;
	uint64_t least_weight = UINT64_MAX;

	for (unsigned i = 0; i < CENSUS_LOOK; i++) {
		uint32_t at = table->hand++ % table->n;
		uint64_t its = weight(&table->rows[at], now_ns);

		if (its < least_weight) {
			least = at;
			least_weight = its;
		}
	}
	return least;
}

// The row of `key`. NULL: it has none, and none is made of what one end alone has sent.
static struct census_row *row_of(struct census_table *table, const struct census *census,
	const struct group_by_key *key, bool heard, uint64_t now_ns)
{
	struct census_row *row = census_find(table, census, key);
	uint32_t at, *slot;

	if (row) {
		row->seen_ns = now_ns;
		return row;
	}
	if (!heard && table->n >= table->max / 2) {
		table->unheard++;
		return NULL;
	}
	if (table->n < table->max) {
		at = table->n++;
	} else {
		at = row_least(table, now_ns);
		row_unlink(table, census, at);
		table->evicted++;
	}
	row = &table->rows[at];
	slot = slot_of(table, census, key);
	*row = (struct census_row){.key = *key, .next = *slot, .seen_ns = now_ns};
	*slot = at + 1;
	return row;
}

// Applications of a row

static bool rests(const struct census_app *app)
{
	return !app->live.flows && !app->fresh.flows;
}

static void app_join(struct census_app *others, const struct census_app *app)
{
	others->app = OTHERS_APP;
	use_add(&others->past, &app->past);
	use_add(&others->ended, &app->ended);
	use_add(&others->begun, &app->begun);
}

// The place of an application. With all in use, the least of those that rest joins the others.
static struct census_app *app_of(struct census_row *row, uint16_t app)
{
	unsigned least = OTHERS;
	uint64_t least_bytes = UINT64_MAX;

	for (unsigned i = 0; i < row->n_apps && i < OTHERS; i++) {
		const struct census_app *at = &row->apps[i];
		uint64_t bytes = at->ended.bytes[0] + at->ended.bytes[1];

		if (at->app == app)
			return &row->apps[i];
		if (rests(at) && !at->blocked && bytes < least_bytes) {
			least = i;
			least_bytes = bytes;
		}
	}
	if (row->n_apps < OTHERS) {
		row->apps[row->n_apps].app = app;
		return &row->apps[row->n_apps++];
	}
	row->n_apps = CENSUS_APPS;
	row->apps[OTHERS].app = OTHERS_APP;
	if (least == OTHERS)
		return &row->apps[OTHERS];
	app_join(&row->apps[OTHERS], &row->apps[least]);
	row->apps[least] = (struct census_app){.app = app};
	return &row->apps[least];
}

// Live flows

// The slowest of those that are kept makes room.
static void keep_flow(struct census_row *row, const struct census_flow *flow)
{
	struct census_flow *slowest = &row->fresh[0];

	for (unsigned i = 0; i < CENSUS_FLOWS; i++) {
		struct census_flow *at = &row->fresh[i];

		if (!at->flow_id) {
			slowest = at;
			break;
		}
		if (at->rate_bytes_s < slowest->rate_bytes_s ||
			(at->rate_bytes_s == slowest->rate_bytes_s && at->bytes < slowest->bytes))
			slowest = at;
	}
	if (!slowest->flow_id || flow->rate_bytes_s > slowest->rate_bytes_s ||
		(flow->rate_bytes_s == slowest->rate_bytes_s && flow->bytes > slowest->bytes))
		*slowest = *flow;
}

static void row_add(struct census_row *row, const struct flow_record *record,
	const struct census_use *use, const struct census_flow *flow)
{
	if (!row)
		return;
	use_add(&app_of(row, record->app)->fresh, use);
	if (record->lru_class != FLOW_CLASS_BLOCKED)
		keep_flow(row, flow);
}

// A multicast or broadcast address is no host.
static bool is_group(const uint8_t address[16])
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (!address_is_v4(address))
		return address[0] == 0xff;
	return address[12] >> 4 == 0xe || memcmp(address + 12, broadcast, 4) == 0;
}

void census_add(struct census *census, const struct flow_record *record)
{
	enum half host = flow_group_inside(record);
	bool heard = record->heard != EVENT_UNHEARD;
	uint64_t now_ns = census->context->now_ns();
	struct census_use use = {.flows = 1,
		.bytes = {record->bytes[host], record->bytes[!host]},
		.rate_bytes_s = record->rate_bytes_s};
	struct census_flow flow = {.flow_id = record->flow_id & INT64_MAX,
		.rate_bytes_s = record->rate_bytes_s,
		.bytes = record->bytes[0] + record->bytes[1],
		.realm = record->realm,
		.port = record->ends.port[HALF_S2C],
		.app = record->app,
		.l4_proto = record->l4_proto,
		.action = record->action,
		.outbound = host == HALF_C2S};
	struct group_by_key key, user = flow_group_number_key(record->user_uid);
	struct census_row *row;

	if (is_group(record->ends.address[host]))
		return;
	memcpy(flow.host, record->ends.address[host], sizeof flow.host);
	memcpy(flow.peer, record->ends.address[!host], sizeof flow.peer);
	memcpy(key.bytes, flow.host, sizeof key.bytes);
	row = row_of(&census->hosts, census, &key, heard, now_ns);
	if (row)
		row->user_uid = record->user_uid;
	row_add(row, record, &use, &flow);
	if (record->user_uid)
		row_add(row_of(&census->users, census, &user, heard, now_ns), record, &use, &flow);
}

static void table_begin(struct census_table *table)
{
	for (uint32_t i = 0; i < table->n; i++) {
		for (unsigned k = 0; k < table->rows[i].n_apps; k++)
			table->rows[i].apps[k].begun = table->rows[i].apps[k].ended;
	}
}

void census_begin(struct census *census)
{
	table_begin(&census->hosts);
	table_begin(&census->users);
}

// A flow that has ended since the count began was met by it or not. It is left out, unless less
// would be shown then than before: sums do not fall because a flow ends.
static uint64_t past_of(uint64_t begun, uint64_t ended, uint64_t shown, uint64_t live)
{
	uint64_t missing = shown > live ? shown - live : 0;

	if (missing > ended)
		missing = ended;
	return missing > begun ? missing : begun;
}

static void app_publish(struct census_app *app)
{
	struct census_use shown = census_app_use(app);

	app->live = app->fresh;
	app->fresh = (struct census_use){0};
	app->past.flows = past_of(app->begun.flows, app->ended.flows, shown.flows, app->live.flows);
	for (unsigned i = 0; i < 2; i++)
		app->past.bytes[i] = past_of(app->begun.bytes[i], app->ended.bytes[i],
			shown.bytes[i], app->live.bytes[i]);
}

static void table_publish(struct census_table *table)
{
	for (uint32_t i = 0; i < table->n; i++) {
		struct census_row *row = &table->rows[i];

		for (unsigned k = 0; k < row->n_apps; k++)
			app_publish(&row->apps[k]);
		memcpy(row->flows, row->fresh, sizeof row->flows);
		memset(row->fresh, 0, sizeof row->fresh);
	}
}

void census_publish(struct census *census)
{
	table_publish(&census->hosts);
	table_publish(&census->users);
	census->counted_ns = census->context->now_ns();
}

static void table_forget_fresh(struct census_table *table)
{
	for (uint32_t i = 0; i < table->n; i++) {
		for (unsigned k = 0; k < table->rows[i].n_apps; k++)
			table->rows[i].apps[k].fresh = (struct census_use){0};
		memset(table->rows[i].fresh, 0, sizeof table->rows[i].fresh);
	}
}

static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void count_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct census *census = ctx;
	const struct flow_record *records = query->out;
	uint64_t begin_ns = spent_ns();

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n; i++)
		census_add(census, &records[i]);
	census->cost_ns += spent_ns() - begin_ns;
}

static void rest(struct census *census)
{
	uint64_t ms = CENSUS_REST_TIMES * census->cost_ns / NS_PER_MS;
	struct timeval delay;

	if (ms < CENSUS_EVERY_MS)
		ms = CENSUS_EVERY_MS;
	delay = (struct timeval){
		.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000) * 1000};
	event_add(census->timer, &delay);
}

static void count_end(void *ctx, const char *error)
{
	struct census *census = ctx;

	if (error) {
		log_info("http: hosts and users were not counted: %s", error);
		table_forget_fresh(&census->hosts);
		table_forget_fresh(&census->users);
	} else {
		uint64_t begin_ns = spent_ns();

		census_publish(census);
		census->cost_ns += spent_ns() - begin_ns;
	}
	rest(census);
}

static bool is_wanted(const struct census *census)
{
	return census->wanted_ns &&
	       census->context->now_ns() - census->wanted_ns <= CENSUS_WANTED_S * NS_PER_S;
}

static void count(struct census *census)
{
	const struct inquiry_question question = {
		.type = QUERY_FLOWS, .page = count_page, .end = count_end, .ctx = census};

	uint64_t begin_ns = spent_ns();

	census_begin(census);
	census->cost_ns = spent_ns() - begin_ns;
	if (inquiry_start(census->inquiries, &question, &census->inquiry) < 0)
		rest(census); // others ask much just now
}

static void due(evutil_socket_t fd, short what, void *ctx)
{
	struct census *census = ctx;

	(void)fd;
	(void)what;
	if (is_wanted(census))
		count(census);
}

void census_want(struct census *census)
{
	census->wanted_ns = census->context->now_ns();
	// Between two counts it is the timer that begins the next one.
	if (!census->inquiry && !evtimer_pending(census->timer, NULL))
		count(census);
}

// Events

static bool of_inside(const struct census *census, const struct event *event)
{
	const struct dataplane *dp = census->context->dp;

	return event->in_port < dp->n_ports && dp->ports[event->in_port].inside;
}

static bool is_same(const struct census_block *a, const struct census_block *b)
{
	return a->count && a->rule_uid == b->rule_uid && a->app == b->app && a->port == b->port &&
	       a->l4_proto == b->l4_proto && a->monitor == b->monitor &&
	       memcmp(a->peer, b->peer, sizeof a->peer) == 0 &&
	       memcmp(a->host, b->host, sizeof a->host) == 0;
}

// With all places in use the oldest makes room: of those that would only have been blocked, if
// there are any. These never take the place of what was blocked.
static struct census_block *block_place(struct census_row *row, const struct census_block *block)
{
	struct census_block *place = NULL;

	for (unsigned i = 0; i < CENSUS_BLOCKS; i++) {
		struct census_block *at = &row->blocks[i];

		if (!at->count || is_same(at, block))
			return at;
		if (!at->monitor && (block->monitor || (place && place->monitor)))
			continue;
		if (!place || (at->monitor && !place->monitor) || at->at_ns < place->at_ns)
			place = at;
	}
	return place;
}

static void row_block(struct census_row *row, const struct census_block *block)
{
	struct census_block *place = block_place(row, block);
	uint64_t count = 1;

	if (block->monitor) {
		row->monitored++;
	} else {
		row->blocked++;
		app_of(row, block->app)->blocked++;
	}
	if (!place)
		return;
	if (is_same(place, block))
		count = place->count + 1;
	*place = *block;
	place->count = count;
}

static void see_verdict(struct census_row *row, const struct event *event, enum half host)
{
	struct census_block block = {.count = 1,
		.flow_id = event->flow_id,
		.at_ns = event->now_ns,
		.rule_uid = event->rule_uid,
		.port = event->ends.port[HALF_S2C],
		.app = event->app,
		.l4_proto = event->l4_proto,
		.action = event->action,
		.monitor = event->mode == MODE_MONITOR,
		.outbound = host == HALF_C2S};

	memcpy(block.host, event->ends.address[host], sizeof block.host);
	memcpy(block.peer, event->ends.address[!host], sizeof block.peer);
	row_block(row, &block);
}

static void see_end(struct census_row *row, const struct event *event, enum half host)
{
	struct census_use use = {
		.flows = 1, .bytes = {event->flow.bytes[host], event->flow.bytes[!host]}};

	use_add(&app_of(row, event->app)->ended, &use);
}

void census_see(void *ctx, const struct event *event)
{
	struct census *census = ctx;
	enum half host = of_inside(census, event) ? HALF_C2S : HALF_S2C;
	bool verdict = event->type == EVENT_ALERT && action_blocks(event->action);
	bool heard = event->heard != EVENT_UNHEARD;
	struct group_by_key keys[2];

	if ((!verdict && event->type != EVENT_FLOW) || is_group(event->ends.address[host]))
		return;
	memcpy(keys[0].bytes, event->ends.address[host], sizeof keys[0].bytes);
	keys[1] = flow_group_number_key(event->user_uid);
	for (unsigned i = 0; i < (event->user_uid ? 2 : 1); i++) {
		struct census_row *row = row_of(i ? &census->users : &census->hosts, census,
			&keys[i], heard, event->now_ns);

		if (!row)
			continue;
		if (!i)
			row->user_uid = event->user_uid;
		if (verdict)
			see_verdict(row, event, host);
		else
			see_end(row, event, host);
	}
}

// Life

static int table_new(struct census_table *table, uint32_t max)
{
	table->max = max;
	table->n_slots = 64;
	while (table->n_slots < max)
		table->n_slots *= 2;
	table->rows = calloc(max, sizeof *table->rows);
	table->slots = calloc(table->n_slots, sizeof *table->slots);
	return table->rows && table->slots ? 0 : -ENOMEM;
}

int census_start(struct census *census, struct control_context *context,
	struct inquiries *inquiries, uint32_t max)
{
	census->context = context;
	census->inquiries = inquiries;
	census->timer = evtimer_new(context->base, due, census);
	if (!census->timer || table_new(&census->hosts, max) < 0 ||
		table_new(&census->users, max) < 0)
		return -ENOMEM;
	return 0;
}

void census_stop(struct census *census)
{
	if (census->inquiry)
		inquiry_cancel(census->inquiry);
	if (census->timer)
		event_free(census->timer);
	free(census->hosts.rows);
	free(census->hosts.slots);
	free(census->users.rows);
	free(census->users.slots);
	*census = (struct census){0};
}
