// SPDX-License-Identifier: BSD-3-Clause
// Cycles per packet of the packet path, in process (README.md). Prints one JSON object for each
// scenario, frame length and number of flows.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_cycles.h>
#include "pipeline/stage/stages.h"
#include "scenario.h"

#define ROUNDS_MAX   1024
#define STEPS_MAX    10
#define WARM_ROUNDS  2
#define METER_ROUNDS 20

// Cycles of each step's rounds. Steps are told apart, as a round of ten is hardly ever left alone
// by the other programs of a machine, but each of its steps is, now and then.
struct samples {
	double values[STEPS_MAX][ROUNDS_MAX];
	unsigned n;
};

struct arguments {
	struct rig_options rig;
	const char *scenario;
	uint32_t flows;
	uint16_t length;
	unsigned rounds;
	bool once; // one round of one kind, for callgrind
	bool without_hyperscan;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const struct samples *samples, unsigned steps, double share)
{
	double sum = 0;

	for (unsigned step = 0; step < steps; step++)
		sum += samples->values[step][(unsigned)((samples->n - 1) * share)];
	return sum;
}

static void print_samples(const char *name, struct samples *samples, unsigned steps, uint64_t units)
{
	if (!samples->n)
		return;
	for (unsigned step = 0; step < steps; step++)
		qsort(samples->values[step], samples->n, sizeof(double), by_value);
	printf(", \"%s\": {\"min\": %.1f, \"median\": %.1f, \"p90\": %.1f}", name,
		quantile(samples, steps, 0) / (double)units,
		quantile(samples, steps, 0.5) / (double)units,
		quantile(samples, steps, 0.9) / (double)units);
	printf(", \"%s_steps\": [", name);
	for (unsigned step = 0; step < steps; step++)
		printf("%s%.1f", step ? ", " : "", samples->values[step][0] / ROUND_PKTS);
	printf("]");
}

enum kind { KIND_PATH, KIND_PATH_WITHOUT_HYPERSCAN, KIND_WIRE };

static uint64_t run_step(struct rig *rig, enum kind kind, bool warm)
{
	if (kind == KIND_WIRE)
		return rig_round_wire(rig, ROUND_PKTS);
	return warm ? rig_warm(rig, ROUND_PKTS) : rig_round(rig, ROUND_PKTS);
}

static void run_round(struct rig *rig, const struct scenario *scenario, unsigned round,
	enum kind kind, struct samples *samples)
{
	unsigned steps = scenario->steps ? scenario->steps : 1;

	hyperscan_off = kind == KIND_PATH_WITHOUT_HYPERSCAN;
	if (scenario->before && kind != KIND_WIRE)
		scenario->before(rig, round);
	for (unsigned step = 0; step < steps; step++) {
		if (scenario->lay_out)
			scenario->lay_out(rig, round, step);
		uint64_t cycles = run_step(rig, kind, !samples);

		if (samples)
			samples->values[step][samples->n] = (double)cycles;
	}
	if (samples)
		samples->n++;
	if (scenario->after && kind != KIND_WIRE)
		scenario->after(rig, round);
}

// What a reading of the TSC costs, of those that stand in the figures of each step.
static double reading_cycles(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < 1000; i++) {
		uint64_t start = rte_rdtsc(), cycles = rte_rdtsc() - start;

		least = cycles < least ? cycles : least;
	}
	return (double)least;
}

// Each step's cycles, of rounds in which every burst is measured: the round of the least sum
// counts.
static void print_stages(struct rig *rig, const struct scenario *scenario, unsigned *n)
{
	struct stage_meter *meter = &rig->lcore->meter, best = {0};
	uint64_t least = UINT64_MAX;
	double reading = reading_cycles();
	const char *separator = "";

	atomic_store(&rig->dp.meter_every, 1);
	for (unsigned round = 0; round < METER_ROUNDS; round++) {
		uint64_t sum = 0;

		memset(meter, 0, sizeof(*meter));
		run_round(rig, scenario, (*n)++,
			scenario->hyperscan ? KIND_PATH_WITHOUT_HYPERSCAN : KIND_PATH, NULL);
		for (unsigned step = 0; step < METER_MAX; step++)
			sum += meter->costs[step].cycles;
		if (sum < least) {
			least = sum;
			best = *meter;
		}
	}
	atomic_store(&rig->dp.meter_every, 0);
	printf(", \"stages\": {");
	for (unsigned step = 0; step < METER_MAX; step++) {
		const struct stage_cost *cost = &best.costs[step];
		// the burst's steps are read once a burst
		double readings = step <= METER_LOOKUP ? reading / BURST : reading;

		if (!cost->pkts || !stage_meter_name(step))
			continue;
		printf("%s\"%s\": {\"cycles\": %.1f, \"pkts\": %llu}", separator,
			stage_meter_name(step),
			(double)cost->cycles / (double)cost->pkts - readings,
			(unsigned long long)cost->pkts);
		separator = ", ";
	}
	printf("}");
}

static const char *const way_names[] = {
	[WAY_STAGES] = "all stages",
	[WAY_FINAL] = "the short way of final flows",
	[WAY_FOLLOWED] = "the short way of followed flows",
	[WAY_REFUSED] = "the short way of cache hits",
	[WAY_CLASSIFIED] = "all stages while it was classified",
};

// How many packets of a round of `pkts` should take all stages: handshakes, which came before it,
// those that classification has read, and one or two of a unit until both its halves are settled.
static uint64_t classified(const struct rig *rig, const struct stats *before, const uint64_t *taken,
	uint64_t pkts, uint64_t units)
{
	const struct stats *now = &rig->lcore->stats;
	uint64_t all = now->received_pkts - before->received_pkts;
	uint64_t least = all - pkts + now->classify_pkts - before->classify_pkts;
	bool settles = taken[WAY_STAGES] >= least && taken[WAY_STAGES] <= least + 2 * units &&
		       taken[WAY_STAGES] + taken[WAY_FINAL] == all;

	return settles ? taken[WAY_STAGES] : least;
}

// Ends the program unless the packets of one more round take the way that the scenario is about.
// Prints how many states of the classifier each unit takes.
static void check_way(struct rig *rig, const struct scenario *scenario, unsigned *n, enum kind kind,
	uint64_t units)
{
	const struct stage_cost *costs = rig->lcore->meter.costs;
	unsigned steps = scenario->steps ? scenario->steps : 1;
	uint64_t pkts = (uint64_t)ROUND_PKTS * steps, expected = pkts;
	uint64_t states = classifier_states_taken(rig->lcore->classifier);
	const struct stats before = rig->lcore->stats;

	memset(&rig->lcore->meter, 0, sizeof(rig->lcore->meter));
	atomic_store(&rig->dp.meter_every, 1);
	run_round(rig, scenario, (*n)++, kind, NULL);
	atomic_store(&rig->dp.meter_every, 0);
	const uint64_t taken[] = {
		[WAY_STAGES] = costs[METER_STAGES].pkts,
		[WAY_FINAL] = costs[METER_FINAL].pkts,
		[WAY_FOLLOWED] = costs[METER_FOLLOWED].pkts,
		[WAY_REFUSED] = costs[METER_REFUSED].pkts,
		[WAY_CLASSIFIED] = costs[METER_STAGES].pkts,
	};

	if (scenario->way == WAY_CLASSIFIED)
		expected = classified(rig, &before, taken, pkts, units);
	if (taken[scenario->way] != expected)
		rig_die("%s: %llu packets of %llu took %s: all stages %llu, final %llu, followed "
			"%llu, cache %llu",
			scenario->name, (unsigned long long)taken[scenario->way],
			(unsigned long long)expected, way_names[scenario->way],
			(unsigned long long)taken[WAY_STAGES], (unsigned long long)taken[WAY_FINAL],
			(unsigned long long)taken[WAY_FOLLOWED],
			(unsigned long long)taken[WAY_REFUSED]);
	printf(", \"way\": \"%s\", \"states\": %.2f", way_names[scenario->way],
		(double)(classifier_states_taken(rig->lcore->classifier) - states) / (double)units);
}

static void measure(const struct scenario *scenario, const struct arguments *arguments)
{
	static struct samples path, without, wire;
	unsigned steps = scenario->steps ? scenario->steps : 1, n = 0;
	uint64_t units = (uint64_t)ROUND_PKTS * (scenario->by_flow ? 1 : steps);
	enum kind first = arguments->without_hyperscan ? KIND_PATH_WITHOUT_HYPERSCAN : KIND_PATH;
	struct rig *rig = rig_new(&arguments->rig);

	scenario->setup(rig, arguments->flows, arguments->length);
	for (; n < WARM_ROUNDS; n++)
		run_round(rig, scenario, n, first, NULL);
	for (unsigned round = 0; round < arguments->rounds; round++) {
		run_round(rig, scenario, n++, first, &path);
		if (arguments->once)
			continue;
		if (scenario->hyperscan)
			run_round(rig, scenario, n++, KIND_PATH_WITHOUT_HYPERSCAN, &without);
		run_round(rig, scenario, n, KIND_WIRE, &wire);
	}
	printf("{\"scenario\": \"%s\", \"row\": \"%c\", \"frame\": %u, \"flows\": %u, "
	       "\"unit\": \"%s\", \"rounds\": %u, \"packets_per_unit\": %u, \"hugepages\": %s, "
	       "\"tsc_hz\": %llu",
		scenario->name, scenario->letter, arguments->length + 4u, arguments->flows,
		scenario->by_flow ? "flow" : "packet", arguments->rounds,
		scenario->by_flow ? steps : 1, rig->hugepages ? "true" : "false",
		(unsigned long long)rte_get_tsc_hz());
	print_samples("path", &path, steps, units);
	print_samples("path_without_hyperscan", &without, steps, units);
	print_samples("wire", &wire, steps, units);
	if (!arguments->once)
		print_stages(rig, scenario, &n);
	check_way(rig, scenario, &n, first, units);
	scenario->check(rig, (uint64_t)n * ROUND_PKTS * steps);
	printf("}\n");
	rig_free(rig);
}

static const char usage[] =
	"usage: bench_stages --list | --scenario NAME [--flows N] [--frame BYTES] [--rounds N]\n"
	"                    --signatures DIR --policy FILE [--cache DIR]\n"
	"                    [--once [--without-hyperscan]]\n\n"
	"Cycles per packet of one scenario; see tests/bench/README.md. --frame is the length on\n"
	"the wire (64, 1250), --flows a power of two. --once: one round, for callgrind.\n";

static const struct scenario *scenario_find(const char *name)
{
	for (unsigned i = 0; name && i < n_scenarios; i++)
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	return NULL;
}

static uint32_t number(const char *text, uint32_t least, uint32_t most, const char *option)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text || value < least || value > most)
		rig_die("%s: %s is not a number from %u to %u", option, text, least, most);
	return (uint32_t)value;
}

static void list(void)
{
	for (unsigned i = 0; i < n_scenarios; i++)
		printf("%s %c %u %s\n", scenarios[i].name, scenarios[i].letter,
			scenarios[i].length ? scenarios[i].length + 4u : 0, scenarios[i].what);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"list", no_argument, NULL, 'l'},
		{"scenario", required_argument, NULL, 's'},
		{"flows", required_argument, NULL, 'f'},
		{"frame", required_argument, NULL, 'b'},
		{"rounds", required_argument, NULL, 'r'},
		{"signatures", required_argument, NULL, 'S'},
		{"policy", required_argument, NULL, 'P'},
		{"cache", required_argument, NULL, 'C'},
		{"once", no_argument, NULL, 'o'},
		{"without-hyperscan", no_argument, NULL, 'w'},
		{0},
	};
	struct arguments arguments = {.flows = 4096, .length = RIG_FRAME_MIN, .rounds = 100};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'l': list(); return 0;
		case 's': arguments.scenario = optarg; break;
		case 'f': arguments.flows = number(optarg, 4096, 1 << 20, "--flows"); break;
		case 'b':
			arguments.length = (uint16_t)(number(optarg, 64, 1518, "--frame") - 4);
			break;
		case 'r': arguments.rounds = number(optarg, 1, ROUNDS_MAX, "--rounds"); break;
		case 'S': arguments.rig.signatures = optarg; break;
		case 'P': arguments.rig.policy = optarg; break;
		case 'C': arguments.rig.cache = optarg; break;
		case 'o': arguments.once = true; break;
		case 'w': arguments.without_hyperscan = true; break;
		default: fputs(usage, stderr); return 2;
		}
	}
	const struct scenario *scenario = scenario_find(arguments.scenario);

	if (!scenario || optind != argc || !arguments.rig.signatures || !arguments.rig.policy ||
		arguments.flows & (arguments.flows - 1)) {
		fputs(usage, stderr);
		return 2;
	}
	if (arguments.once)
		arguments.rounds = 1;
	if (scenario->length)
		arguments.length = scenario->length;
	// an eighth of a table is for newcomers: who fills it with flows that are heard loses some
	arguments.rig.flows = arguments.flows + arguments.flows / 4 + 2 * ROUND_PKTS;
	arguments.rig.mb = 256 + arguments.flows / 1024 * 2;
	measure(scenario, &arguments);
	return 0;
}
