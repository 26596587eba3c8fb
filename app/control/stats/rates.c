// SPDX-License-Identifier: BSD-3-Clause
// Samples counters once a second into rates and curves.
#include "control/stats/rates.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>

#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

static uint64_t peek(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

struct app_usage rates_app(const struct dataplane *dp, unsigned app)
{
	struct app_usage sum = {0};

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		const struct app_usage *usage = &dp->lcores[i]->apps[app];

		for (unsigned half = 0; half < 2; half++) {
			sum.pkts[half] += peek(&usage->pkts[half]);
			sum.bytes[half] += peek(&usage->bytes[half]);
		}
		sum.flows += peek(&usage->flows);
		sum.flows_active += peek(&usage->flows_active);
		sum.flows_blocked += peek(&usage->flows_blocked);
	}
	return sum;
}

// What was there before the first look is not news.
static void watch(struct rates *rates, struct rates_watch *watch, uint64_t value, uint64_t now_ns)
{
	if (rates->sampled_ns && value > watch->last) {
		if (now_ns - watch->grown_ns > RATES_WINDOW_S * NS_PER_S)
			watch->lately = 0;
		watch->lately += value - watch->last;
		watch->grown_ns = now_ns;
	}
	watch->last = value;
}

uint64_t rates_grown_by(const struct rates *rates, const struct rates_watch *watch)
{
	uint64_t now_ns = rates->context->now_ns();

	return watch->grown_ns && now_ns - watch->grown_ns <= RATES_WINDOW_S * NS_PER_S
		       ? watch->lately
		       : 0;
}

static uint64_t per_second(uint64_t more, uint64_t elapsed_ns)
{
	return (uint64_t)((double)more * 1e9 / (double)elapsed_ns + 0.5);
}

// A driver may begin anew when its port restarts.
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static void sample_ports(
	struct rates *rates, struct rates_sample *sample, uint64_t elapsed_ns, uint64_t now_ns)
{
	const struct dataplane *dp = rates->context->dp;

	for (unsigned i = 0; i < dp->n_ports; i++) {
		const struct port *port = &dp->ports[i];
		struct port_counters now, *before = &rates->ports[i];
		unsigned way = port->inside ? RATES_OUT : RATES_IN;

		if (!port_read(port, &now))
			continue;
		if (elapsed_ns) {
			sample->bytes[way] +=
				per_second(grown(now.rx_bytes, before->rx_bytes), elapsed_ns);
			sample->pkts[way] +=
				per_second(grown(now.rx_pkts, before->rx_pkts), elapsed_ns);
		}
		watch(rates, &rates->missed[i], now.rx_missed, now_ns);
		watch(rates, &rates->nombuf[i], now.rx_nombuf, now_ns);
		watch(rates, &rates->port_errors[i], now.rx_errors + now.tx_errors, now_ns);
		*before = now;
	}
}

static void sample_lcores(struct rates *rates, uint64_t elapsed_ns)
{
	const struct dataplane *dp = rates->context->dp;

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		const struct stats *stats = &dp->lcores[i]->stats;
		uint64_t pkts = peek(&stats->received_pkts) + peek(&stats->handoff_in_pkts);

		if (elapsed_ns)
			rates->lcore_pkts_s[i] =
				per_second(grown(pkts, rates->lcore_pkts[i]), elapsed_ns);
		rates->lcore_pkts[i] = pkts;
	}
	for (unsigned app = 0; app < APPS_MAX; app++) {
		struct app_usage usage = rates_app(dp, app);
		uint64_t bytes = usage.bytes[0] + usage.bytes[1];

		if (elapsed_ns)
			rates->app_bytes_s[app] =
				per_second(grown(bytes, rates->app_bytes[app]), elapsed_ns);
		rates->app_bytes[app] = bytes;
	}
}

static void sample_watches(struct rates *rates, uint64_t now_ns)
{
	uint64_t values[ALARM_COUNTERS_MAX];

	alarm_counters_read(rates->context, values);
	for (unsigned i = 0; i < ALARM_COUNTERS_MAX; i++)
		watch(rates, &rates->watches[i], values[i], now_ns);
}

void rates_sample(struct rates *rates)
{
	uint64_t now_ns = rates->context->now_ns();
	uint64_t elapsed_ns = rates->sampled_ns ? now_ns - rates->sampled_ns : 0;
	struct rates_sample sample = {0};
	uint64_t dropped = 0;
	struct ledger ledger;
	struct stats sum;

	if (rates->sampled_ns && !elapsed_ns)
		return;
	stats_sum(rates->context->dp, &sum, &ledger);
	sample_ports(rates, &sample, elapsed_ns, now_ns);
	sample_lcores(rates, elapsed_ns);
	sample_watches(rates, now_ns);
	dropped = ledger.dropped;
	if (elapsed_ns) {
		sample.dropped_pkts = per_second(grown(dropped, rates->dropped), elapsed_ns);
		rates->samples[rates->next] = sample;
		rates->next = (rates->next + 1) % RATES_SAMPLES;
		if (rates->n < RATES_SAMPLES)
			rates->n++;
	}
	rates->dropped = dropped;
	// Under traffic the lcores' counters are of slightly different moments.
	if (ledger.unaccounted && !sample.pkts[RATES_IN] && !sample.pkts[RATES_OUT])
		rates->unbalanced_s++;
	else
		rates->unbalanced_s = 0;
	rates->sampled_ns = now_ns;
}

static void due(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	rates_sample(ctx);
}

int rates_start(struct rates *rates, struct control_context *context)
{
	struct timeval second = {.tv_sec = 1};

	memset(rates, 0, sizeof *rates);
	rates->context = context;
	rates->timer = event_new(context->base, -1, EV_PERSIST, due, rates);
	if (!rates->timer || event_add(rates->timer, &second) < 0)
		return -ENOMEM;
	return 0;
}

void rates_stop(struct rates *rates)
{
	if (rates->timer)
		event_free(rates->timer);
	rates->timer = NULL;
}
