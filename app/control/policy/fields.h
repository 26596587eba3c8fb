// SPDX-License-Identifier: BSD-3-Clause
// The keys and words of policy.json, shared by its reader and its dump; and what the reader keeps
// while it reads. config/schema/policy.schema.json says the same to others.
#ifndef SLUICE_POLICY_FIELDS_H
#define SLUICE_POLICY_FIELDS_H

#include "config/json_strict.h"
#include "control/policy/load.h"

extern const char *const policy_action_words[];            // by enum action
extern const char *const policy_mode_words[];              // by enum mode
extern const char *const policy_cache_words[];             // by enum cache_mode
extern const char *const policy_direction_words[];         // by enum direction
extern const char *const policy_confidence_words[];        // by enum confidence, less 1
extern const char *const policy_content_direction_words[]; // by enum content_direction

struct protocol_word {
	const char *word;
	uint8_t number;
};
extern const struct protocol_word policy_protocols[]; // ends with word NULL

struct suggestion;

struct named_set {
	const char *name; // borrowed from the document
	struct address_set set;
};

struct named_macs {
	const char *name; // borrowed from the document
	struct mac_set set;
};

struct policy_reader {
	const struct json_doc *doc;
	struct policy *policy;
	struct app_names *apps; // what ids are interned in
	struct named_set *sets;
	size_t n_sets;
	struct named_macs *mac_sets;
	size_t n_mac_sets;
	const char *frame_passer;      // id of a rule before that lets pass by MAC address or DSCP
	struct content_build *content; // patterns of rules on content so far
	uint32_t n_transfers, n_chats; // entries of rules so far
	size_t n_content_ids;          // of all sets so far
	size_t n_networks;             // ranges of applications so far
	bool users_told; // something in `users` was wrong: who is missing is not reported
};

// An application that rules can name: built-in, or the policy's own.
struct app_view {
	uint16_t app;
	const char *name;  // borrowed
	const char *group; // or NULL
	enum app_category category;
	uint8_t confidence; // that it is known with at best; of built-in ones, the highest
};

struct rule_reader {
	struct policy_reader *reader;
	struct rule *rule;
	bool has_action;
	bool has_cache;
	bool has_content; // it says something of files or messages, good or bad
	bool has_confidence;
	bool match_reported; // something in `match` was wrong: what follows from it is not reported
};

extern const struct json_field policy_fields[]; // target struct policy, context policy_reader
extern const struct json_field policy_invalid_fields[];
extern const struct json_field policy_link_fields[];
extern const struct json_field policy_icmp_fields[];
extern const struct json_field policy_tcp_fields[];
extern const struct json_field policy_conn_cache_fields[];
extern const struct json_field policy_rule_fields[];  // target struct rule, context rule_reader
extern const struct json_field policy_match_fields[]; // the same
extern const struct json_later policy_later[];
extern const struct json_later policy_rule_later[];
extern const struct json_later policy_match_later[];

// Readers of rows, by object: control/policy/load.c ...
void policy_read_rules(const struct json_at *at, void *ctx);
void policy_read_invalid(const struct json_at *at, void *ctx);
void policy_read_link(const struct json_at *at, void *ctx);
void policy_read_icmp(const struct json_at *at, void *ctx);
void policy_read_tcp(const struct json_at *at, void *ctx);
void policy_read_conn_cache(const struct json_at *at, void *ctx);
void policy_read_exempt(const struct json_at *at, void *ctx);
void policy_read_rule_id(const struct json_at *at, void *ctx);
void policy_read_rule_match(const struct json_at *at, void *ctx);
void policy_read_rule_action(const struct json_at *at, void *ctx);
void policy_read_rule_cache(const struct json_at *at, void *ctx);
// ... and control/policy/match.c.
void policy_read_match_app(const struct json_at *at, void *ctx);
void policy_read_match_category(const struct json_at *at, void *ctx);
void policy_read_match_group(const struct json_at *at, void *ctx);
void policy_read_match_source(const struct json_at *at, void *ctx);
void policy_read_match_destination(const struct json_at *at, void *ctx);
void policy_read_match_host(const struct json_at *at, void *ctx);
void policy_read_match_ports(const struct json_at *at, void *ctx);
void policy_read_match_vlan(const struct json_at *at, void *ctx);
void policy_read_match_protocol(const struct json_at *at, void *ctx);
void policy_read_match_confidence(const struct json_at *at, void *ctx);

// control/policy/time.c: "time_windows" (before the rules, wherever it stands), the zone, and both
// again as JSON.
extern const struct json_field policy_span_fields[];
void policy_read_time_zone(const struct json_at *at, void *ctx);
void policy_read_time_windows(const struct json_at *at, struct policy_reader *reader);
void policy_seal_times(const struct json_at *at, struct policy_reader *reader);
void policy_read_match_time(const struct json_at *at, void *ctx);
void policy_read_match_not_time(const struct json_at *at, void *ctx);
json_t *policy_time_zone_json(const struct policy *policy);
json_t *policy_time_windows_json(const struct policy *policy);
json_t *policy_windows_json(const struct policy *policy, uint64_t windows); // names

// control/policy/app.c: "applications" (before the rules, wherever it stands); and as JSON again.
extern const struct json_field policy_application_fields[];
extern const struct json_field policy_app_ports_fields[];
extern const struct json_field policy_regex_fields[];
void policy_read_applications(const struct json_at *at, struct policy_reader *reader);
json_t *policy_applications_json(const struct policy *policy);
// The applications by `index` from 0; false: there are no more.
bool policy_app_at(const struct policy *policy, unsigned index, struct app_view *out);

// "443" or "6881-6889"; false: reported.
bool policy_read_port_range(const struct json_at *at, struct port_range *range);
// control/policy/dump.c: of address sets. An empty list is refused (it may be meant as "any"), an
// empty set is not: policy_list_json writes the name of a set that the dump adds.
json_t *policy_addresses_json(const struct address_set *set);
json_t *policy_list_json(const struct policy *policy, const struct address_set *set);
json_t *policy_ports_json(const struct port_range *ports, uint32_t n);

// A name that the file gives: letters, digits, - and _, the first a letter, at most 63. Tells.
bool policy_name_is_good(const struct json_at *at);
// Tells that no `what` has the name nearest->word: the one that is meant, or how to mend it.
void policy_report_unnamed(const struct json_at *at, const char *what,
	const struct suggestion *suggestion, const char *mend);

// Entries of one list, of a set or of a rule: a dump writes sets out in the rules.
#define POLICY_LIST_MAX 1000000

// control/policy/address.c: "address_sets" (before the rest, wherever it stands), and lists of
// CIDRs and names of sets into `set`, sealed.
void policy_read_address_sets(const struct json_at *at, struct policy_reader *reader);
void policy_read_addresses(
	const struct json_at *at, const struct policy_reader *reader, struct address_set *set);
void policy_sets_free(struct policy_reader *reader);

// control/policy/frame.c: "mac_sets" (before the rules), "mac" and "dscp" of a match, and as JSON.
void policy_read_mac_sets(const struct json_at *at, struct policy_reader *reader);
void policy_read_match_mac(const struct json_at *at, void *ctx);
void policy_read_match_dscp(const struct json_at *at, void *ctx);
void policy_mac_sets_free(struct policy_reader *reader);
json_t *policy_macs_json(const struct mac_set *set); // NULL: no memory
json_t *policy_dscps_json(uint64_t dscps);

// control/policy/content.c: what a rule says of files and messages; dump.c: again as JSON.
void policy_read_rule_transfers(const struct json_at *at, void *ctx);
void policy_read_rule_chat(const struct json_at *at, void *ctx);
void policy_read_rule_audit(const struct json_at *at, void *ctx);
void policy_read_rule_opaque(const struct json_at *at, void *ctx);
void policy_read_rule_notice(const struct json_at *at, void *ctx);
void policy_read_rule_ranges(const struct json_at *at, void *ctx);
void policy_read_rule_scan(const struct json_at *at, void *ctx); // content_scan.c
// As a rule's "scan" has it; NULL: no memory.
struct rule_scan;
json_t *policy_scan_json(const struct rule_scan *scan);
// The rule's content, made where it has none; NULL: told.
struct rule_content *policy_rule_content(const struct json_at *at, struct rule_reader *reader);
// Behind the rules: compiles their patterns.
void policy_seal_content(struct policy_reader *reader);
// Adds the keys to a rule's object. -1: no memory.
int policy_put_content(
	json_t *object, const struct policy *policy, const struct rule_content *content);

// control/policy/content_ids.c: "content_ids" (before the rules, wherever it stands), "content_id"
// of an entry, and both as JSON; NULL: no memory.
#define POLICY_CONTENT_ID_LIST_MAX 10000 // of one entry; longer lists have a name
struct transfer_entry;
void policy_read_content_ids(const struct json_at *at, struct policy_reader *reader);
void policy_read_entry_ids(
	const struct json_at *at, struct policy_reader *reader, struct transfer_entry *entry);
json_t *policy_content_ids_json(const struct policy *policy);
json_t *policy_entry_ids_json(const struct policy *policy, const struct transfer_entry *entry);

// control/policy/note.c: comments, of rules and sets. A set is an array, or an object with
// "comment" and "addresses", which is that array.
extern const struct json_field policy_set_fields[];
#define POLICY_COMMENT_MAX 255
void policy_read_rule_comment(const struct json_at *at, void *ctx);
// The array of a set's entries; of an object the one below it, NULL: reported. *comment: borrowed.
struct json_at policy_set_entries(const struct json_at *at, const char **comment);
// Keeps a copy of a set that has a comment. Exactly one of the sets is not NULL.
void policy_note_set(const struct json_at *at, struct policy *policy, const char *comment,
	const struct address_set *addresses, const struct mac_set *macs);
// {name: {"comment", "addresses"}} of one kind, into `object`. -1: no memory.
int policy_notes_json(json_t *object, const struct policy *policy, bool is_mac);
#define POLICY_ADDRESS_TEXT 64 // longer than any address with its prefix
// What user_map_add and address_set_add say of `text`.
void policy_address_error(const struct json_at *at, const char *text, int error);
// control/policy/dump.c: the CIDRs that make up a range. -1: no memory.
int policy_range4_json(json_t *array, uint32_t first, uint32_t last);
int policy_range6_json(json_t *array, const uint8_t first[16], const uint8_t last[16]);

// control/policy/users.c: "users" (before the rules, wherever it stands; inline or a file), and as
// JSON.
void policy_read_users(const struct json_at *at, struct policy_reader *reader);
void policy_read_match_user(const struct json_at *at, void *ctx);
json_t *policy_users_json(const struct policy *policy);
json_t *policy_rule_users_json(const struct policy *policy, const struct rule *rule);

#endif
