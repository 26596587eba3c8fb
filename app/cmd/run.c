// SPDX-License-Identifier: BSD-3-Clause
// The command `sluice run`, from startup to shutdown. Start-up order: whatever can be wrong is
// found before a port is touched, and no packet is taken before the policy is in force.
#include "cmd/run.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_lcore.h>
#include "control/cache/store.h"
#include "cmd/command.h"
#include "process/confinement.h"
#include "control/control_loop.h"
#include "machine/eal.h"
#include "pipeline/flow/table.h"
#include "pipeline/lcores.h"
#include "control/http/server.h"
#include "machine/lcore_launch.h"
#include "base/log.h"
#include "pipeline/loop.h"
#include "machine/mbuf_pool.h"
#include "base/phases.h"
#include "process/pidfile.h"
#include "machine/port.h"
#include "machine/port_claim.h"
#include "machine/port_link.h"
#include "machine/preflight.h"
#include "cmd/run_content.h"
#include "cmd/run_drain.h"
#include "cmd/run_ledger.h"
#include "cmd/run_limits.h"
#include "cmd/run_options.h"
#include "cmd/run_scan.h"
#include "cmd/run_scan_desk.h"
#include "process/service.h"
#include "control/ctl/telemetry.h"
#include "machine/standby.h"
#include "control/event/trace_log.h"
#include "control/stats/sum.h"

#define ERR_BYTES        4096
#define START_PATIENCE_S 120

struct run { // everything, in the order in which it is made
	struct phases phases;
	struct service service;
	struct confinement confinement;
	const struct run_arguments *arguments;
	struct gateway *gateway;
	char policy_path[COMMAND_PATH_MAX];
	struct pidfile pidfile;
	struct port_claims claims;
	struct event_base *base;
	struct dataplane *dp;
	struct lcore_limits limits;
	struct rule_names *names;
	struct sink *sink;
	struct trace_log *trace_log;
	struct reload *reload;
	struct control_context context;
	struct control_socket *socket;
	struct http_server *http;
	struct cache_store *cache_store;
	bool eal_up, ports_up;
	struct rte_mempool *pools[RTE_MAX_NUMA_NODES];
	struct lcore_thread threads[LCORES_MAX];
	struct run_scan scan; // its threads: when there is a scan engine
	struct run_scan_desk scan_desk;
	struct standby *standby; // when inspection fails open
	struct port_links *links;
	bool forwarded; // lcores have run
	struct run_content content;
	bool content_hangs; // its thread has not left: nothing that it uses may be freed
	bool lcores_lost;   // a lcore has not left: nothing of it may be freed
	uint64_t stop_ns;   // when they were told to end
	char err[ERR_BYTES];
};

// -errno to an exit code of the program.
static int exit_code(int error)
{
	return error == -EACCES || error == -EPERM ? EXIT_CODE_PERMISSION : EXIT_CODE_UNAVAILABLE;
}

static int fail(const struct run *run, int code)
{
	log_error("%s", run->err);
	service_failed(&run->service, code, run->err);
	return code;
}

// A document with errors.
static int refuse(const struct run *run, struct config_errors *errors)
{
	service_failed(&run->service, EXIT_CODE_CONFIG, errors->n ? errors->lines[0] : "no memory");
	return config_errors_print(errors);
}

static int load_gateway(struct run *run, const struct run_arguments *arguments)
{
	struct config_errors errors = {0};
	int rc = gateway_load(arguments->gateway, arguments->sets.items, arguments->sets.n,
		&run->gateway, &errors);
	if (rc < 0) {
		if (!errors.n)
			config_error_add(&errors, arguments->gateway, "", "%s", strerror(-rc));
		return refuse(run, &errors);
	}
	run_options_override(run->gateway, arguments);
	if (arguments->policy)
		snprintf(run->policy_path, sizeof(run->policy_path), "%s", arguments->policy);
	else
		policy_path_default(arguments->gateway, run->policy_path, sizeof(run->policy_path));
	phases_end(&run->phases, "configuration");
	return -1;
}

static int dump_config(const struct run *run)
{
	char *text = gateway_dump(run->gateway);

	if (!text) {
		log_error("no memory to print the configuration");
		return EXIT_CODE_FAILURE;
	}
	printf("%s\n", text);
	free(text);
	return EXIT_CODE_OK;
}

static void *aligned_zalloc(size_t size)
{
	size_t rounded = (size + 63) / 64 * 64;
	void *memory = aligned_alloc(64, rounded);

	if (memory)
		memset(memory, 0, rounded);
	return memory;
}

// What is shared by the lcores, and what needs neither EAL nor a port.
static int make_control(struct run *run)
{
	const struct gateway *gateway = run->gateway;
	struct sink_options sink = run_sink_options(gateway);

	run->base = event_base_new();
	run->dp = aligned_zalloc(sizeof(*run->dp));
	run->names = rule_names_new();
	if (!run->base || !run->dp || !run->names) {
		snprintf(run->err, sizeof(run->err), "no memory");
		return EXIT_CODE_FAILURE;
	}
	run->dp->n_lcores = gateway->n_data;
	run->dp->clock_ns = clock_ns;
	run->dp->stand_still = gateway->debug ? lcore_stand_still : NULL;
	struct hash_seed seed;
	int rc = run_seed(&seed);

	if (rc < 0) {
		snprintf(run->err, sizeof(run->err), "no seed from the kernel: %s", strerror(-rc));
		return EXIT_CODE_FAILURE;
	}
	run->limits = run_limits(gateway, &seed);
	run->dp->limits = &run->limits;
	uint32_t readers = gateway->n_data + 1; // and the standby
	run->dp->qsbr = aligned_zalloc(rte_rcu_qsbr_get_memsize(readers));
	if (!run->dp->qsbr || rte_rcu_qsbr_init(run->dp->qsbr, readers)) {
		snprintf(run->err, sizeof(run->err), "no memory");
		return EXIT_CODE_FAILURE;
	}
	run->context = (struct control_context){
		.base = run->base,
		.dp = run->dp,
		.names = run->names,
		.gateway = gateway,
		.now_ns = clock_ns,
	};
	rc = sink_new(&sink, run->dp, run->names, &run->sink, run->err, sizeof(run->err));
	if (rc < 0)
		return rc == -EACCES || rc == -EPERM ? EXIT_CODE_PERMISSION : EXIT_CODE_CONFIG;
	run->context.sink = run->sink;
	rc = trace_log_new(run->sink, &run->trace_log);
	if (rc < 0) {
		snprintf(run->err, sizeof(run->err), "no memory");
		return EXIT_CODE_FAILURE;
	}
	run->context.trace_log = run->trace_log;
	rc = reload_new(
		run->dp, run->names, gateway->paths.signatures, gateway->paths.cache, &run->reload);
	if (rc < 0) {
		snprintf(run->err, sizeof(run->err), "no memory");
		return EXIT_CODE_FAILURE;
	}
	reload_set_cache_days(run->reload, gateway->signature_cache_days);
	reload_set_engine(run->reload, gateway);
	reload_set_kept(run->reload, gateway);
	run->context.reload = run->reload;
	return -1;
}

// Before anything that another instance could feel: it tells us here that it exists.
static int acquire_pidfile(struct run *run)
{
	const struct gateway *gateway = run->gateway;
	int rc = pidfile_take(&run->pidfile, gateway->paths.pidfile, run->err, sizeof(run->err));

	if (rc < 0)
		return exit_code(rc);
	rc = control_socket_new(&run->context, gateway->paths.control, gateway->control_group,
		&run->socket, run->err, sizeof(run->err));
	if (rc == 0 && gateway->http.listen)
		rc = http_server_new(&run->context, gateway, &run->http, run->err, ERR_BYTES);
	if (rc == -EINVAL) // the token
		return EXIT_CODE_CONFIG;
	if (rc == 0)
		rc = port_claims_take(gateway, &run->claims, run->err, ERR_BYTES);
	return rc < 0 ? exit_code(rc) : -1;
}

// A reload takes the policy alone. When gateway.json has been edited since the start, what is on
// disk and what runs would part silently: the reload names the key and changes nothing.
static void guard_restart_keys(void *ctx, struct config_errors *errors)
{
	const struct run *run = ctx;
	struct gateway *now;

	if (gateway_load(run->arguments->gateway, run->arguments->sets.items,
		    run->arguments->sets.n, &now, errors) < 0)
		return; // its errors are the answer
	run_options_override(now, run->arguments);
	const char *key = gateway_restart_difference(run->gateway, now);

	if (key)
		config_error_add(errors, run->arguments->gateway, "",
			"%s has changed since the start and needs a restart: restart, or put it "
			"back and reload again; nothing was changed",
			key);
	gateway_free(now);
	run_scan_check_lists(&run->scan, run->arguments->gateway, errors);
}

static int load_policy(struct run *run)
{
	struct config_errors errors = {0};

	sink_follow(run->sink, run->reload);
	service_patience(
		&run->service, START_PATIENCE_S, "reading the policy and compiling signatures");
	if (reload_load(run->reload, run->policy_path, clock_ns(), &errors) < 0)
		return refuse(run, &errors);
	config_errors_free(&errors);
	reload_set_guard(run->reload, guard_restart_keys, run);
	phases_end(&run->phases, "policy and signatures");
	return -1;
}

static int check_machine(struct run *run)
{
	static struct preflight found;
	struct preflight_host host;

	preflight_host_init(&host);
	preflight_run(run->gateway, &host, memory_needed_mb(run->gateway), &found);
	int code = preflight_code(&found), reported = 0;
	for (unsigned i = 0; i < found.n; i++) {
		const struct preflight_item *item = &found.items[i];
		if (item->code || item->warning)
			log_message(item->code ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s: %s",
				item->what, item->text);
		if (item->code && !reported++)
			service_failed(&run->service, code, item->text);
	}
	return code ? code : -1;
}

static int start_eal(struct run *run, const struct run_arguments *arguments)
{
	// Tables and pools first, then room for what drivers take; memory is only reserved.
	uint32_t mb = memory_needed_mb(run->gateway) * 3 / 2;
	int code = eal_start(run->gateway, arguments->eal, (unsigned)arguments->n_eal, mb, run->err,
		sizeof(run->err));

	if (code)
		return fail(run, code);
	run->eal_up = true;
	clock_start();
	phases_end(&run->phases, "EAL");
	return -1;
}

static int make_ports(struct run *run)
{
	struct dataplane *dp = run->dp;
	const struct gateway *gateway = run->gateway;

	run->ports_up = true; // from here ports_close has something to do
	int rc = ports_attach(dp, gateway, run->err, sizeof(run->err));
	if (rc < 0)
		return fail(run, exit_code(rc));
	rc = mbuf_pools_new(
		gateway, ports_data_room(dp, gateway), run->pools, run->err, sizeof(run->err));
	if (rc < 0)
		return fail(run, exit_code(rc));
	phases_end(&run->phases, "pools");
	rc = ports_configure(dp, gateway, run->pools, run->err, sizeof(run->err));
	if (rc < 0)
		return fail(run, exit_code(rc));
	confinement_ports(&run->confinement, dp);
	phases_end(&run->phases, "ports");
	return -1;
}

static int make_lcores(struct run *run)
{
	struct dataplane *dp = run->dp;
	const struct gateway *gateway = run->gateway;

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		unsigned socket = rte_lcore_to_socket_id(i + 1);
		struct lcore *lcore;
		int rc = lcore_new(
			dp, i, (int)socket, run->pools[socket], &lcore, run->err, sizeof(run->err));
		if (rc < 0)
			return fail(run, exit_code(rc));
		run->threads[i] = (struct lcore_thread){.lcore = lcore,
			.turn = pipeline_turn,
			.idle_sleep = gateway->idle_sleep,
			.shares_cpu = run_shares_cpu(gateway, i)};
	}
	int rc = lcores_connect(dp, run->err, sizeof(run->err));
	dataplane_owner_fill(dp); // after the ports: as their NICs deal
	if (!rc)
		rc = ports_assign_rx_queues(dp, run->err, sizeof(run->err));
	if (!rc && gateway->stall.policy == STALL_OPEN)
		rc = standby_new(dp, &run->standby, run->err, sizeof(run->err));
	if (!rc)
		rc = run_scan_new(&run->scan, &run->context, &run->confinement.launcher, run->err,
			sizeof(run->err));
	run->context.scan = run_scan_desk_init(&run->scan_desk, run->scan.threads, dp);
	for (unsigned i = 0; run->scan.threads && i < dp->n_lcores; i++) {
		run->threads[i].wake = scan_threads_wake;
		run->threads[i].wake_ctx = run->scan.threads;
	}
	if (rc < 0)
		return fail(run, exit_code(rc));
	log_info(
		"memory: %u MB used, estimated %u MB", memory_used_mb(), memory_needed_mb(gateway));
	rc = telemetry_start(&run->context);
	if (rc < 0)
		log_warning("telemetry: /sluice is not there: %s", strerror(-rc));
	phases_end(&run->phases, "lcores");
	return -1;
}

// What was blocked before a restart stays blocked from the first packet on.
static int restore_state(struct run *run)
{
	const char *directory = run->gateway->paths.state;

	if (blocked_ids_new(run->dp, directory, run->context.now_ns(), &run->context.blocked) < 0) {
		snprintf(run->err, sizeof(run->err), "no memory for the list of content ids");
		return fail(run, EXIT_CODE_FAILURE);
	}
	if (!directory)
		return -1;
	int rc = cache_store_new(
		&run->context, directory, &run->cache_store, run->err, sizeof(run->err));

	if (!rc)
		rc = cache_store_start(run->cache_store);
	if (rc < 0)
		return fail(run, exit_code(rc));
	run->context.state = cache_store_stats(run->cache_store);
	phases_end(&run->phases, "state");
	return -1;
}

static int start_forwarding(struct run *run)
{
	char steps[512];
	int rc = ports_start(run->dp, run->err, sizeof(run->err));

	if (!rc)
		rc = port_links_new(&run->context, &run->confinement.launcher, &run->links,
			run->err, sizeof(run->err));
	if (rc < 0)
		return fail(run, exit_code(rc));
	// With everything open, and before the first packet is taken.
	int code = confinement_enter(&run->confinement, run->err, sizeof(run->err));
	if (code >= 0)
		return fail(run, code);
	rc = sink_start(run->sink);
	if (rc < 0) {
		snprintf(run->err, sizeof(run->err), "the writer of events cannot start: %s",
			strerror(-rc));
		return fail(run, EXIT_CODE_UNAVAILABLE);
	}
	if (run_content_begin(run->gateway, &run->context, run->err, sizeof(run->err)) < 0)
		return fail(run, EXIT_CODE_UNAVAILABLE);
	phases_end(&run->phases, "confinement");
	rc = lcores_launch(run->dp, run->threads, run->err, sizeof(run->err));
	if (rc < 0)
		return fail(run, exit_code(rc));
	run->forwarded = true;
	run->context.started_ns = clock_ns();
	sink_set_start(run->sink, run->context.started_ns);
	phases_end(&run->phases, "start");
	phases_print(&run->phases, steps, sizeof(steps));
	log_notice(
		"forwarding %" PRIu64 " ms after start (%s)", phases_total_ms(&run->phases), steps);
	log_notice("policy %s, generation %" PRIu64 ", %u data lcores, %u ports", run->policy_path,
		reload_generation(run->reload), run->dp->n_lcores, run->dp->n_ports);
	run_warn_impaired(run->gateway);
	service_forwarding(&run->service, &run->context, &run->confinement.launcher);
	return -1;
}

static void tick(void *ctx, uint64_t now_ns, bool healthy)
{
	struct run *run = ctx;

	if (port_links_tick(run->links, now_ns))
		run->service.status_ns = 0; // to be reported at once
	service_tick(&run->service, now_ns, healthy);
	port_claims_tick(&run->claims);
	run_scan_tick(&run->scan, reload_generation(run->reload));
	run_content_tick(&run->content, &run->context, now_ns);
	atomic_store_explicit(&run->dp->wall_error_ns, clock_error_ns(), memory_order_relaxed);
}

static void reopen(void *ctx)
{
	content_reader_reopen(((struct run *)ctx)->context.content);
}

static void pump(void *ctx)
{
	struct run *run = ctx;

	sink_drain(run->sink, 0);
	sink_flush(run->sink);
}

static void stop_forwarding(struct run *run)
{
	uint64_t began = run->stop_ns = clock_ns(), drain = run->gateway->drain_s * NS_PER_S;

	run->lcores_lost = lcores_stop(run->dp, drain / 2, pump, run) < 0;
	standby_free(run->standby); // what came for a lcore that stands still has been sent then
	run->standby = NULL;
	if (run->lcores_lost) {
		log_error("a data lcore did not leave its loop; ending without it");
		run_ledger_print(run->dp, true);
		return;
	}
	scan_threads_stop(run->scan.threads); // what waits for a verdict ends with its flow
	run_drain(run->dp, run->sink, began + drain * 3 / 4);
	run->content_hangs = !run_content_end(&run->context);
	sink_stats_event(run->sink, clock_ns(), stats_eve_json);
	sink_flush(run->sink);
	run_ledger_print(run->dp, false);
}

static bool take_over(void *ctx, unsigned lcore)
{
	return standby_take(((struct run *)ctx)->standby, lcore);
}

static bool has_taken_over(void *ctx, unsigned lcore)
{
	return standby_has(((struct run *)ctx)->standby, lcore);
}

static int forward(struct run *run)
{
	const struct control_options options = {
		.stats_interval_s = run->gateway->stats_interval_s,
		.stall = {.after_ms = run->gateway->stall.after_ms,
			.fail_open = run->standby != NULL,
			.take = take_over,
			.has = has_taken_over,
			.ctx = run},
		.tick = tick,
		.reopen = reopen,
		.ctx = run,
	};
	int rc = control_run(&run->context, &options);

	if (rc < 0)
		log_error("the control loop failed: %s", strerror(-rc));
	service_stopping(&run->service);
	stop_forwarding(run);
	return rc < 0 || run->lcores_lost ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

// The reverse of startup, from wherever it came to.
static void teardown(struct run *run, int code)
{
	// before the ports go: blocked peers are on the disk even if a driver hangs
	cache_store_free(run->cache_store, run->forwarded && !run->lcores_lost);
	if (run->lcores_lost)
		return; // the kernel takes it all back
	if (!run->content_hangs)
		run->content_hangs = !run_content_end(&run->context);
	blocked_ids_free(run->context.blocked);
	port_links_free(run->links);
	eal_log_closing();
	if (run->ports_up)
		ports_close(run->dp);
	run_scan_free(&run->scan);
	telemetry_stop();
	http_server_free(run->http);
	control_socket_free(run->socket);
	bool compiling = !reload_free(run->reload);
	sink_free(run->sink);
	trace_log_free(run->trace_log);
	// EAL's memory goes with the process: to zero a table of a million flows takes a second.
	if (run->eal_up && !run->content_hangs)
		eal_stop();
	rule_names_free(run->names);
	if (run->dp && !run->content_hangs) {
		free(run->dp->qsbr);
		free(run->dp);
	}
	if (run->base)
		event_base_free(run->base);
	port_claims_drop(&run->claims);
	pidfile_drop(&run->pidfile);
	service_close(&run->service);
	confinement_end(&run->confinement, code != EXIT_CODE_OK);
	if (run->forwarded) // nothing is said after it
		log_notice("stopped in %" PRIu64 " ms",
			(uint64_t)((clock_ns() - run->stop_ns) / NS_PER_MS));
	gateway_free(run->gateway);
	if (compiling || run->content_hangs) // a thread uses what it was given
		_exit(code);
}

static int startup(struct run *run, const struct run_arguments *arguments)
{
	int code = run_scan_arena(&run->scan, run->gateway, &run->confinement.launcher, run->err,
			   sizeof(run->err)) < 0
			   ? EXIT_CODE_UNAVAILABLE
			   : confinement_begin(&run->confinement, run->gateway, arguments->gateway,
				     run->policy_path, arguments->eal, (unsigned)arguments->n_eal,
				     run->err, sizeof(run->err));

	if (code < 0)
		code = make_control(run);
	if (code >= 0)
		return fail(run, code);
	code = acquire_pidfile(run);
	if (code >= 0)
		return fail(run, code);
	code = load_policy(run);
	if (code < 0)
		code = check_machine(run);
	if (code < 0)
		code = start_eal(run, arguments);
	if (code < 0)
		code = make_ports(run);
	if (code < 0)
		code = make_lcores(run);
	if (code < 0)
		code = restore_state(run);
	if (code < 0)
		code = start_forwarding(run);
	return code < 0 ? forward(run) : code;
}

int run_main(int argc, char **argv)
{
	static struct run run; // large, and of which there is one
	struct run_arguments arguments = {0};
	sigset_t all;
	int code = run_options_parse(&arguments, argc, argv);

	if (code >= 0)
		return code;
	phases_start(&run.phases);
	log_start((unsigned)arguments.verbose);
	// From here signals wait for the control loop, which takes them once the gateway is up.
	signals_blockable(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	run.arguments = &arguments;
	service_open(&run.service);
	code = load_gateway(&run, &arguments);
	if (code < 0 && arguments.dump_config)
		code = dump_config(&run);
	if (code < 0)
		code = startup(&run, &arguments);
	teardown(&run, code);
	return code;
}
