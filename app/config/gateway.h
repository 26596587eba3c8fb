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
#include "generated/gateway_keys.h"
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
	SCAN_ENGINE_NULL,   // verdicts by script
	SCAN_ENGINE_CLAMAV, // files, by sluice-scan
};

enum scan_reload_word { // gateway.json: scan.reload
	SCAN_RELOAD_CONCURRENT,
	SCAN_RELOAD_SEQUENTIAL,
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
	// Keys that are one value are made of config/schema/gateway.schema.json, which describes
	// them: a string is owned, or NULL where null is allowed; a word is a uint8_t, in the
	// schema's order.
	struct {
		GATEWAY_MEMORY_KEYS;
	} memory;
	struct {
		GATEWAY_LIMITS_KEYS;
	} limits;
	struct {
		GATEWAY_FRAGMENTS_KEYS;
	} fragments;
	struct {
		GATEWAY_CONTENT_KEYS; // store_full: enum store_full; redact_: enum redact
	} content;
	struct {
		GATEWAY_ELEPHANT_KEYS;
	} elephant;
	struct {
		GATEWAY_EVENTS_KEYS;
	} events;
	struct {
		GATEWAY_REASSEMBLY_KEYS;
	} reassembly;
	struct {
		GATEWAY_STALL_KEYS; // policy: enum stall_policy
	} stall;
	struct {
		GATEWAY_SCAN_KEYS; // engine: enum scan_engine_word; on_*: enum scan_failure
		struct scan_script script[SCAN_SCRIPT_MAX];
		unsigned n_script;
	} scan;
	struct {
		GATEWAY_IMPAIRMENT_KEYS; // enum gateway_impair_place, gateway_flow_key
		struct gateway_link to_inside, to_outside;
	} impairment;
	struct {
		GATEWAY_PATHS_KEYS;
	} paths;
	struct {
		GATEWAY_HTTP_KEYS;
	} http;
	struct {
		GATEWAY_HOOK_KEYS;
		char *command[GATEWAY_HOOK_MAX]; // owned: a path and fixed arguments
		unsigned n_command;              // 0: no hook
	} hook;
	GATEWAY_KEYS; // vlan: enum gateway_vlan
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
// The program that scans: as it says, or as `ninja install` puts it.
const char *gateway_scan_program(const struct gateway *gateway);
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
