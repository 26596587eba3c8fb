// SPDX-License-Identifier: BSD-3-Clause
// The tables of the keys and words of policy.json.
#include "control/policy/fields.h"
#include <netinet/in.h>

const char *const policy_action_words[] = {"pass", "drop", "reset", "scan", NULL};
// A default is for what no rule knows: that is not scanned.
static const char *const default_words[] = {"pass", "drop", "reset", NULL};
const char *const policy_mode_words[] = {"enforce", "monitor", NULL};
const char *const policy_cache_words[] = {"none", "tuple", "peer", NULL};
const char *const policy_direction_words[] = {"any", "outbound", "inbound", NULL};
const char *const policy_confidence_words[] = {
	"port", "ip", "cache", "partial", "dpi", "verified", NULL};
static const char *const reevaluate_words[] = {"all", "rates", "none", NULL};
static const char *const invalid_words[] = {"observe", "drop", NULL};
static const char *const unsupported_words[] = {"observe", "drop", "auto", NULL};
static const char *const conflict_words[] = {"rewrite", "drop", NULL};
static const char *const mptcp_words[] = {"strip", "pass", NULL};
static const char *const midstream_words[] = {"inspect", "pass", "drop", NULL};
static const char *const over_limit_words[] = {"drop", "pass", NULL};
static const char *const redirect_words[] = {"pass", "drop", "auto", NULL};
static const char *const link_words[] = {"pass", "drop", NULL};

// IANA protocol numbers.
const struct protocol_word policy_protocols[] = {
	{"tcp", IPPROTO_TCP},
	{"udp", IPPROTO_UDP},
	{"icmp", IPPROTO_ICMP},
	{"icmpv6", IPPROTO_ICMPV6},
	{"sctp", IPPROTO_SCTP},
	{"gre", IPPROTO_GRE},
	{"esp", IPPROTO_ESP},
	{"ah", IPPROTO_AH},
	{"igmp", IPPROTO_IGMP},
	{"ipip", IPPROTO_IPIP},
	{"ipv6", IPPROTO_IPV6},
	{"ospf", 89},
	{NULL, 0},
};

#define READ(dotted, function)                                                         \
	{                                                                              \
		.name = dotted, .kind = JSON_KIND_READ, .read = function, .live = true \
	}
#define NEED(dotted, function)                                                              \
	{                                                                                   \
		.name = dotted, .kind = JSON_KIND_READ, .read = function, .required = true, \
		.live = true                                                                \
	}
#define WORD(dotted, type, member, list, value)                                           \
	{                                                                                 \
		.name = dotted, .kind = JSON_KIND_WORD, .offset = offsetof(type, member), \
		.words = list, .fallback = value, .live = true                            \
	}
#define NUMBER(dotted, member, low, high, value)                                                  \
	{                                                                                         \
		.name = dotted, .kind = JSON_KIND_U32, .offset = offsetof(struct policy, member), \
		.min = low, .max = high, .fallback = value, .live = true                          \
	}

const struct json_field policy_fields[] = {
	{.name = "$schema", .kind = JSON_KIND_IGNORE},
	NEED("schema_version", json_read_schema_version),
	WORD("mode", struct policy, mode, policy_mode_words, MODE_ENFORCE),
	{.name = "address_sets", .kind = JSON_KIND_IGNORE}, // read before the others
	{.name = "mac_sets", .kind = JSON_KIND_IGNORE},     // read before the others
	{.name = "applications", .kind = JSON_KIND_IGNORE}, // read before the others
	READ("time_zone", policy_read_time_zone),
	{.name = "time_windows", .kind = JSON_KIND_IGNORE}, // read before the others
	{.name = "users", .kind = JSON_KIND_IGNORE},        // read before the others
	{.name = "content_ids", .kind = JSON_KIND_IGNORE},  // read before the others
	READ("rules", policy_read_rules),
	WORD("default", struct policy, default_action, default_words, ACTION_PASS),
	READ("invalid", policy_read_invalid),
	READ("tcp", policy_read_tcp),
	READ("conn_cache", policy_read_conn_cache),
	WORD("reevaluate", struct policy, reevaluate, reevaluate_words, REEVALUATE_ALL),
	READ("link", policy_read_link),
	READ("icmp", policy_read_icmp),
	NUMBER("icmp_rejects_per_s", icmp_rejects_per_s, 0, 1000000, 100),
	NUMBER("resets_per_s", resets_per_s, 0, 1000000, 1000),
	JSON_FIELD_END,
};

const struct json_field policy_invalid_fields[] = {
	WORD("invalid.malformed", struct policy, malformed, invalid_words, INVALID_OBSERVE),
	WORD("invalid.unsupported", struct policy, unsupported, unsupported_words, INVALID_AUTO),
	JSON_FIELD_END,
};

const struct json_field policy_icmp_fields[] = {
	WORD("icmp.redirect", struct policy, icmp_redirect, redirect_words, ICMP_REDIRECT_AUTO),
	NUMBER("icmp.errors_per_s", icmp_errors_per_s, 0, 1000000, 10000),
	JSON_FIELD_END,
};

#define LINK(key, symbol, value) WORD("link." key, struct policy, link[symbol], link_words, value)

const struct json_field policy_link_fields[] = {
	LINK("arp", LINK_PROTO_ARP, ACTION_PASS),
	LINK("stp", LINK_PROTO_STP, ACTION_PASS),
	LINK("pause", LINK_PROTO_PAUSE, ACTION_DROP), // ends at the port that it stops
	LINK("lacp", LINK_PROTO_LACP, ACTION_PASS),
	LINK("eapol", LINK_PROTO_EAPOL, ACTION_PASS),
	LINK("lldp", LINK_PROTO_LLDP, ACTION_PASS),
	LINK("other", LINK_PROTO_OTHER, ACTION_PASS),
	JSON_FIELD_END,
};

#define TCP(key, list, value) WORD("tcp." #key, struct policy, tcp.key, list, value)

const struct json_field policy_tcp_fields[] = {
	TCP(conflict, conflict_words, TCP_CONFLICT_REWRITE),
	TCP(mptcp, mptcp_words, TCP_MPTCP_STRIP),
	TCP(midstream, midstream_words, TCP_MIDSTREAM_INSPECT),
	TCP(over_limit, over_limit_words, TCP_OVER_LIMIT_DROP),
	JSON_FIELD_END,
};

const struct json_field policy_conn_cache_fields[] = {
	NUMBER("conn_cache.ttl_s", conn_cache.ttl_s, 1, 86400, 300),
	NUMBER("conn_cache.max_lifetime_s", conn_cache.max_lifetime_s, 1, 604800, 3600),
	READ("conn_cache.exempt", policy_read_exempt),
	{.name = "conn_cache.learn_only",
		.kind = JSON_KIND_FLAG,
		.offset = offsetof(struct policy, conn_cache.learn_only),
		.live = true},
	JSON_FIELD_END,
};

const struct json_field policy_rule_fields[] = {
	NEED("rules[].id", policy_read_rule_id),
	NEED("rules[].match", policy_read_rule_match),
	READ("rules[].action", policy_read_rule_action), // needed, but for rules on content alone
	WORD("rules[].mode", struct rule, mode, policy_mode_words, MODE_ENFORCE),
	READ("rules[].cache", policy_read_rule_cache),
	READ("rules[].comment", policy_read_rule_comment),
	READ("rules[].transfers", policy_read_rule_transfers),
	READ("rules[].chat", policy_read_rule_chat),
	READ("rules[].audit", policy_read_rule_audit),
	READ("rules[].opaque", policy_read_rule_opaque),
	READ("rules[].ranges", policy_read_rule_ranges),
	READ("rules[].notice", policy_read_rule_notice),
	READ("rules[].scan", policy_read_rule_scan),
	JSON_FIELD_END,
};

const struct json_field policy_match_fields[] = {
	READ("rules[].match.app", policy_read_match_app),
	READ("rules[].match.category", policy_read_match_category),
	READ("rules[].match.group", policy_read_match_group),
	READ("rules[].match.min_confidence", policy_read_match_confidence),
	WORD("rules[].match.direction", struct rule, direction, policy_direction_words,
		DIRECTION_ANY),
	READ("rules[].match.source", policy_read_match_source),
	READ("rules[].match.destination", policy_read_match_destination),
	READ("rules[].match.host", policy_read_match_host),
	READ("rules[].match.mac", policy_read_match_mac),
	READ("rules[].match.ports", policy_read_match_ports),
	READ("rules[].match.vlan", policy_read_match_vlan),
	READ("rules[].match.dscp", policy_read_match_dscp),
	READ("rules[].match.protocol", policy_read_match_protocol),
	READ("rules[].match.user", policy_read_match_user),
	READ("rules[].match.time", policy_read_match_time),
	READ("rules[].match.not_time", policy_read_match_not_time),
	JSON_FIELD_END,
};

const struct json_later policy_later[] = {
	{"scan", "virus scanning"},
	{"shape", "traffic shaping"},
	{"nat", "address translation"},
	{NULL, NULL},
};

const struct json_later policy_rule_later[] = {
	{"shape", "traffic shaping"},
	{NULL, NULL},
};

const struct json_later policy_match_later[] = {
	{NULL, NULL},
};
