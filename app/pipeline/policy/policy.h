// SPDX-License-Identifier: BSD-3-Clause
// The policy snapshot: immutable after publication, shared by all lcores, read once per loop.
// Built by app/control/policy/load (JSON -> struct policy), published by app/control/policy/reload
// by one atomic pointer store, freed when every data lcore has reported a quiescent state since
// (docs/architecture.md). Nothing here points into JSON; strings are owned by the snapshot.
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/app_id.h"
#include "pipeline/policy/address_set.h"
#include "pipeline/policy/app_networks.h"
#include "pipeline/policy/content_id_set.h"
#include "classify/classify.h"
#include "pipeline/policy/mac_set.h"
#include "pipeline/policy/time_window.h"
#include "pipeline/policy/user_map.h"
#include "pipeline/vocab/link_protocol.h"
#include "pipeline/vocab/sizes.h"
#include "pipeline/vocab/verdict.h"

#define POLICY_RULES_MAX 4096
#define POLICY_ID_MAX    64
#define POLICY_PORTS_MAX 64    // ranges in one rule
#define POLICY_VLANS_MAX 32    // in one rule
#define POLICY_USERS_MAX 65536 // named in one rule

enum direction { // of the flow: who initiated it
	DIRECTION_ANY,
	DIRECTION_OUTBOUND, // initiator on the inside port of the pair
	DIRECTION_INBOUND,
};

enum cache_mode {
	CACHE_NONE,
	CACHE_TUPLE, // {initiator, responder, responder port, protocol}
	CACHE_PEER,  // {initiator, responder}: any port, any protocol
};

enum reevaluate {         // what a reload does with flows that live
	REEVALUATE_ALL,   // decide again on the stored application
	REEVALUATE_RATES, // only shaping changes (nothing in this version)
	REEVALUATE_NONE,
};

struct port_range {
	uint16_t first;
	uint16_t last;
};

struct rule_content; // content_rules.h
struct content_rules;

// match: every part that is present must hold. source is the initiator, destination the
// responder; ports are the responder's; the user is that of the inside end, whoever began.
struct rule {
	char id[POLICY_ID_MAX];
	uint32_t uid;      // interned id: the same id has the same uid over all reloads; never 0
	uint8_t action;    // enum action
	uint8_t mode;      // enum mode, already combined with the policy's
	uint8_t cache;     // enum cache_mode
	uint8_t direction; // enum direction
	uint8_t min_confidence; // enum confidence
	bool has_app;           // apps is a condition
	bool has_source;
	bool has_destination;
	bool has_host;   // either end
	bool asks_frame; // has_mac or dscps: what frames say that anybody may send
	bool has_mac;
	bool has_time; // windows is a condition
	bool has_user;
	bool only_content; // it has no action: it decides nothing, the search goes on
	uint8_t n_ports;
	uint8_t n_vlans;
	uint8_t l4_proto;    // 0: any; IPPROTO_TCP, IPPROTO_UDP ...
	struct app_set apps; // app, category and group, expanded at load
	struct address_set source;
	struct address_set destination;
	struct address_set host;
	struct mac_set mac; // of the inside end
	uint64_t dscps;     // a bit for each; 0: any
	char *comment;      // owned, or NULL
	struct port_range ports[POLICY_PORTS_MAX];
	uint16_t vlans[POLICY_VLANS_MAX];
	uint64_t windows;     // has_time: one of these is open (bits of policy.times)
	uint64_t not_windows; // none of these is
	uint32_t *users;      // has_user: indices into policy.users, sorted; owned
	uint32_t n_users;
	struct rule_content *content; // what it says of files and messages; owned, or NULL
};

// has_host: one of the ends is in it.
bool rule_has_host(const struct rule *rule, const struct flow_ends *ends);
bool rule_has_user(const struct rule *rule, uint32_t user);

// The rule's time condition, under the open windows.
static inline bool rule_is_open(const struct rule *rule, uint64_t windows)
{
	return (!rule->has_time || rule->windows & windows) && !(rule->not_windows & windows);
}

// An application that the policy defines. What data lcores ask of it is in the
// policy's user_apps, sigdb and app_networks; this is what the document says.
struct user_app {
	uint16_t app;
	uint8_t category;    // enum app_category
	char *name;          // these are owned
	char *title;         // NULL: none is given
	char *group;         // NULL: none
	uint32_t first_host; // in user_apps
	uint32_t n_hosts;
	uint32_t first_signature; // in user_signatures
	uint32_t n_signatures;
	struct port_range *ports[2]; // TCP, UDP
	uint32_t n_ports[2];
	bool has_networks; // they may be empty: a set without addresses
	struct address_set networks;
};

enum invalid_action {
	INVALID_OBSERVE, // forward uninspected, counted
	INVALID_DROP,
	INVALID_AUTO, // unsupported: drop, if the policy may refuse anything
};

// ICMP redirects tell a host to send to another router (RFC 792, RFC 4861 section 8).
enum icmp_redirect {
	ICMP_REDIRECT_PASS,
	ICMP_REDIRECT_DROP,
	ICMP_REDIRECT_AUTO, // drop, if the policy may refuse anything
};

// How TCP is kept to the law, bytes inspected == bytes delivered, under a policy that enforces
// (docs/architecture.md). Under one that enforces nothing they mean nothing: no packet is
// changed.
enum tcp_conflict {           // bytes that were sent come again, and are others
	TCP_CONFLICT_REWRITE, // they leave as what was first
	TCP_CONFLICT_DROP,    // the segment is dropped
};
enum tcp_mptcp {
	TCP_MPTCP_STRIP, // its options are taken out of SYNs: both ends fall back to TCP
	TCP_MPTCP_PASS,  // left alone; such flows are inspected by subflow, and `law: waived`
};
enum tcp_midstream { // flows whose SYN was not seen
	TCP_MIDSTREAM_INSPECT,
	TCP_MIDSTREAM_PASS, // not inspected; known by address and port at most
	TCP_MIDSTREAM_DROP, // but those of the gateway's first minute: they lived before it did
};
enum tcp_over_limit {        // a cap is reached
	TCP_OVER_LIMIT_DROP, // of the segment: it is sent again
	TCP_OVER_LIMIT_PASS, // the flow is bypassed from there on, and `law: waived`
};
struct tcp_rules {
	uint8_t conflict;   // enum tcp_conflict
	uint8_t mptcp;      // enum tcp_mptcp
	uint8_t midstream;  // enum tcp_midstream
	uint8_t over_limit; // enum tcp_over_limit
};

#define MIDSTREAM_GRACE_S 60 // in which connections that lived before the gateway did are picked up

struct conn_cache_policy {
	uint32_t ttl_s;            // an entry's life after its last hit; default 300
	uint32_t max_lifetime_s;   // from its making, so that a reused address heals; default 3600
	bool learn_only;           // count hits, let them through
	struct address_set exempt; // peers (either end) for which no entry is made
};

// A set of the document that has a comment. Rules hold the addresses themselves.
struct set_note {
	char *name; // owned, as is all of it
	char *comment;
	bool is_mac;
	struct address_set addresses;
	struct mac_set macs;
};

// Content ids that entries of "transfers" name.
struct named_ids {
	char *name; // of $.content_ids; NULL: they stand in one entry
	struct content_id_set *set;
};

// What a rule did under one snapshot, on one lcore. Flows, not packets.
struct rule_counts {
	uint64_t decisions;    // final ones
	uint64_t blocks;       // of these, drop or reset
	uint64_t monitor_hits; // would have been blocked, but for monitor mode
};

struct policy {
	uint64_t generation;          // 1, 2, ... per publication
	uint8_t mode;                 // enum mode; MODE_MONITOR turns every rule to monitor
	uint8_t default_action;       // enum action
	uint8_t malformed;            // enum invalid_action
	uint8_t unsupported;          // enum invalid_action
	uint8_t reevaluate;           // enum reevaluate
	uint8_t link[LINK_PROTO_MAX]; // ACTION_PASS or ACTION_DROP
	bool enforces_app;            // it does, and some rule asks for the application
	bool enforces;                // some rule or default may drop, reset or hold
	uint32_t icmp_rejects_per_s;  // per lcore; 0: UDP reset is a plain drop
	uint32_t icmp_errors_per_s;   // that pass, per lcore
	uint8_t icmp_redirect;        // enum icmp_redirect
	uint32_t resets_per_s;        // the same for RSTs; 0: TCP reset is a plain drop
	struct tcp_rules tcp;
	struct conn_cache_policy conn_cache;
	struct timetable times;
	struct user_app *applications; // in the order of the document
	uint32_t n_applications;
	struct user_apps *user_apps; // hosts and ports of these; NULL: there are none
	struct app_networks app_networks;
	struct signature *user_signatures; // beside those of the files, in sigdb
	uint32_t n_user_signatures;
	struct user_map users;
	bool asks_user;        // some rule does
	bool asks_mac;         // likewise
	bool asks_frame;       // likewise: for the MAC address or the DSCP
	bool asks_content;     // likewise: says something of files or messages
	bool edits_content;    // likewise: may change messages or requests on their way
	bool asks_ids;         // likewise: of content ids
	struct named_ids *ids; // owned
	uint32_t n_ids;
	struct content_rules *content; // asks_content: what those rules need together; owned
	struct set_note *notes;        // sets with a comment, for the dump
	uint32_t n_notes;
	struct rule *rules;
	uint32_t n_rules;
	const struct rule **by_uid; // n_rules, sorted by uid
	const struct edition
		*edition; // of the signatures; shared, owned by app/control/policy/snapshot
	// Per data lcore, which writes them: n_rules + 1, the last are the default's. Owned; NULL:
	// nobody counts. The only part of a snapshot that changes.
	struct rule_counts *counts[LCORES_MAX];
};

// The index of the user at the inside end of a flow, or USER_NONE.
static inline uint32_t policy_user(
	const struct policy *policy, const struct flow_ends *ends, bool c2s_from_inside)
{
	return user_map_find(&policy->users, ends->address[c2s_from_inside ? HALF_C2S : HALF_S2C]);
}

// What a decision stands on besides the flow: the policy and the set of open time windows. Flows
// and cache entries keep it, and are decided again when it is another. 22 bits of the generation:
// two that are 4 million reloads apart look the same, which no entry outlives.
#define POLICY_EPOCH_SET_BITS 10
static_assert(1 << POLICY_EPOCH_SET_BITS == WINDOW_SETS_MAX, "an epoch holds each set's number");

static inline uint32_t policy_epoch(uint64_t generation, uint16_t set)
{
	return (uint32_t)(generation << POLICY_EPOCH_SET_BITS) | set;
}

// The generation of an epoch that was made under `now` or not long before.
static inline uint64_t policy_epoch_generation(uint32_t epoch, uint64_t now)
{
	uint32_t mask = UINT32_MAX >> POLICY_EPOCH_SET_BITS;

	return now - (((uint32_t)now - (epoch >> POLICY_EPOCH_SET_BITS)) & mask);
}

static inline enum invalid_action policy_unsupported(const struct policy *policy)
{
	if (policy->unsupported != INVALID_AUTO)
		return policy->unsupported;
	return policy->enforces ? INVALID_DROP : INVALID_OBSERVE;
}

static inline bool policy_drops_redirects(const struct policy *policy)
{
	return policy->icmp_redirect == ICMP_REDIRECT_DROP ||
	       (policy->icmp_redirect == ICMP_REDIRECT_AUTO && policy->enforces);
}

const struct rule *policy_rule_by_uid(const struct policy *policy, uint32_t uid);
// Frees rules, sets, counts and the snapshot; not the edition. NULL is allowed.
void policy_free(struct policy *policy);

#endif
