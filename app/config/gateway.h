// SPDX-License-Identifier: BSD-3-Clause
// The configuration gateway.json: what the machine is (docs/gateway.md). Strict: an unknown key, a
// wrong type or a value out of range is an error with its JSON path. Keys are tagged live or
// restart in config/schema/gateway.schema.json; this struct is read at start and compared at a
// reload.
#ifndef SLUICE_GATEWAY_H
#define SLUICE_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/error.h"
#include "scan/engine.h"

#define GATEWAY_PORTS_MAX  32
#define GATEWAY_PAIRS_MAX  16
#define GATEWAY_LCORES_MAX 64
#define GATEWAY_EAL_MAX    64
#define GATEWAY_HOOK_MAX   16

struct gateway_port {
	char name[32];    // [a-z0-9_-]+
	char device[256]; // PCI address, or vdev with arguments: "net_af_xdp0,iface=gA"
	uint32_t mtu;     // 0: leave as the device has it
	uint16_t rx_desc; // default 2048
	uint16_t tx_desc;
	uint16_t queues; // 0: as many as lcores and the device allow
	bool one_way;    // of flows that come in here the other direction takes another path
};

struct gateway_pair {
	char inside[32];
	char outside[32]; // mode is "bridge", the only one so far
};

enum gateway_vlan { // whether VLAN tags tell networks apart (realm.h)
	GATEWAY_VLAN_SEPARATE,
	GATEWAY_VLAN_SHARED,
};

enum stall_policy {   // what becomes of packets for a data lcore that stands still
	STALL_CLOSED, // they are lost
	STALL_OPEN,   // they pass uninspected
};

enum scan_engine_word { // gateway.json: scan.engine
	SCAN_ENGINE_NONE,
	SCAN_ENGINE_NULL, // verdicts by script
};

enum gateway_impair_place { GATEWAY_IMPAIR_RX, GATEWAY_IMPAIR_TX };
enum gateway_flow_key { GATEWAY_FLOW_KEY_SERVICE, GATEWAY_FLOW_KEY_TUPLE };
enum gateway_loss { GATEWAY_LOSS_BERNOULLI, GATEWAY_LOSS_GILBERT_ELLIOTT };

struct gateway_link { // one direction of the impairment stage (docs/impairment.md)
	double delay_ms, jitter_ms;
	double rate_mbit; // 0: no line
	double queue_ms;  // longest wait for the line
	struct {
		uint8_t model; // enum gateway_loss
		double p;      // Bernoulli: share lost; else good -> bad
		double r;      // bad -> good
		double h, k;   // share that passes in the bad and in the good state
	} loss;
	double reorder, duplicate, corrupt; // shares
};

struct gateway {
	char *eal[GATEWAY_EAL_MAX]; // owned
	unsigned n_eal;
	struct gateway_port ports[GATEWAY_PORTS_MAX];
	unsigned n_ports;
	struct gateway_pair pairs[GATEWAY_PAIRS_MAX];
	unsigned n_pairs;
	// CPUs. Several data lcores may name the same CPU (they are then EAL lcores 1.. with
	// --lcores N@cpu); control is one CPU.
	unsigned data_cpus[GATEWAY_LCORES_MAX];
	unsigned n_data;
	unsigned scan_cpus[GATEWAY_LCORES_MAX];
	unsigned n_scan;
	unsigned control_cpu;
	struct {
		uint32_t mbufs; // of the receive pool per socket; 0: computed (mbuf_pool.h)
		bool hugepages; // false: --no-huge
		uint32_t mb;    // with --no-huge: EAL -m
	} memory;
	struct {
		uint32_t flows;        // all lcores together; default 1048576
		uint32_t embryos;      // default 1048576
		uint32_t classifying;  // default 65536
		uint32_t heads;        // default 4096
		uint32_t conn_cache;   // default 65536
		uint32_t expectations; // default 16384
		uint32_t endpoints;    // default 32768; 0: the cache is off
		uint32_t names;        // the same
		uint32_t greetings;    // default 65536; 0: none are read
		uint32_t evidence;     // per data lcore; default 65536
		uint32_t source_pct;   // share of flows and embryos; default 10
		uint32_t tcp_s, tcp_unheard_s, tcp_closing_s, udp_s, udp_one_way_s, embryonic_s,
			stateless_s,
			condemned_s; // time-outs; defaults in flow_timeouts_default
	} limits;
	struct {
		uint32_t datagrams;    // that a data lcore puts together at once; default 1024
		uint32_t packets;      // that it holds for them; default 4096
		uint32_t per_datagram; // default 128
		uint32_t timeout_ms;   // default 30000
	} fragments;
	struct {
		uint32_t mbit_s;  // a flow as fast as that, both directions together; 0: off
		uint32_t seconds; // for so long is an elephant
	} elephant;
	struct {
		uint32_t per_s;        // records of a type in a second; 0: no limit; default 5000
		uint32_t source_per_s; // of one source; the same; default 500
		uint32_t file_mb;      // a longer event file is renamed; 0: never; default 1024
		uint32_t files;        // such files that are kept; default 4
	} events;
	struct {
		uint32_t memory_mb; // for copies and sent bytes, all data lcores together
		uint32_t tracked;   // TCP flows under inspection at once, all lcores together
		uint32_t half_kb;   // most that one half of a flow keeps
		uint32_t held;      // packets held, per data lcore
		uint32_t half_held; // of these, of one half
		uint32_t hold_ms;   // held packets leave by time-out
		bool fast_pass;     // what is ahead of a hole is forwarded, and a copy kept
	} reassembly;
	struct {
		uint32_t after_ms; // a data lcore without a turn for so long stands still
		uint8_t policy;    // enum stall_policy
	} stall;
	struct {
		uint8_t engine; // enum scan_engine_word
		uint32_t flows; // under scan at once, all lcores together; default 16384
		uint32_t timeout_ms;
		uint8_t on_timeout; // enum scan_failure
		uint8_t on_error;
		struct scan_script script[SCAN_SCRIPT_MAX];
		unsigned n_script;
	} scan;
	struct {
		uint8_t at;       // enum gateway_impair_place
		uint8_t flow_key; // enum gateway_flow_key
		uint32_t seed;
		uint32_t limit; // packets on their way, each data lcore
		struct gateway_link to_inside, to_outside;
	} impairment;
	struct {
		char *events;     // EVE JSON lines, "-" for standard output
		char *control;    // socket
		char *signatures; // directory
		char *cache;      // directory of serialized databases, or NULL
		char *state;      // directory of what outlives a restart, or NULL
		char *pidfile;    // or NULL
	} paths;
	struct {
		char *listen; // http_address.h; NULL: no HTTP server
		bool allow_remote;
		char *token_file; // control/http/token.h; NULL: nothing can be done from the page
		uint32_t hosts;   // rows of hosts, and of users, for the page; default 4096
	} http;
	struct {
		char *command[GATEWAY_HOOK_MAX]; // owned: a path and fixed arguments
		unsigned n_command;              // 0: no hook
		uint32_t timeout_s;              // of one run; default 5
		bool heartbeat;                  // also once a second while healthy
	} hook;
	char *user;                // to become when the ports are open, or NULL: stay
	char *group;               // or NULL: the user's
	bool sandbox;              // Landlock and seccomp once the ports are open; default true
	char *control_group;       // of the control socket, or NULL
	uint32_t stats_interval_s; // EVE stats; 0: none; default 10
	// Compiled signatures that nobody has used for that long are removed; 0: never; default 30.
	uint32_t signature_cache_days;
	uint32_t drain_s;     // at stop; default 2
	uint8_t vlan;         // enum gateway_vlan; default separate
	bool debug;           // commands for tests (debug-stall); default false
	bool idle_sleep;      // idle ramp of data lcores; default false
	bool flow_events;     // EVE flow records; default true
	bool drop_events;     // EVE drop records; default true
	bool greeting_events; // EVE tls, quic and http records; default true
};

// Reads and checks the file; every problem goes to `errors`. 0, -EINVAL (errors), -errno of the
// file. `sets`: "KEY=VALUE" overrides as `--set` gives them ("limits.flows=1000"), may be NULL.
int gateway_load(const char *path, char *const *sets, unsigned n_sets, struct gateway **out,
	struct config_errors *errors);
// The same for a text in memory; `file` is what messages call it.
int gateway_parse(const char *text, const char *file, char *const *sets, unsigned n_sets,
	struct gateway **out, struct config_errors *errors);
// Values of absent keys; ports, pairs and lcores stay empty. -ENOMEM.
int gateway_defaults(struct gateway *gateway);
void gateway_free(struct gateway *gateway); // NULL is allowed
// The name of the first restart key whose value differs, or NULL.
const char *gateway_restart_difference(const struct gateway *now, const struct gateway *then);
// The effective configuration as JSON text, to free().
char *gateway_dump(const struct gateway *gateway);
// Does the impairment stage do anything? And in words, for people: "to the outside: 10 ms ...".
static inline bool gateway_link_loses(const struct gateway_link *link)
{
	if (link->loss.model == GATEWAY_LOSS_BERNOULLI)
		return link->loss.p > 0;
	return link->loss.k < 1 || (link->loss.p > 0 && link->loss.h < 1);
}
static inline bool gateway_link_impairs(const struct gateway_link *link)
{
	return link->delay_ms > 0 || link->rate_mbit > 0 || gateway_link_loses(link) ||
	       link->duplicate > 0 || link->corrupt > 0;
}
static inline bool gateway_impairs(const struct gateway *gateway)
{
	return gateway_link_impairs(&gateway->impairment.to_inside) ||
	       gateway_link_impairs(&gateway->impairment.to_outside);
}
void gateway_impairment_text(const struct gateway *gateway, char *out, size_t out_len);

#endif
