// SPDX-License-Identifier: BSD-3-Clause
// The event sink: takes struct event from the lcores' rings and writes EVE JSON lines
// (docs/events.md). Control core only; replay calls it inline after each packet so that the order
// is the packets'. Numbers of a capture run depend on nothing but the input.
#ifndef SLUICE_SINK_H
#define SLUICE_SINK_H

#include "base/redact.h"
#include "control/event/limit.h"
#include "pipeline/lcore/lcore.h"
#include "control/policy/load.h"
#include "control/policy/reload.h"

struct sink;
struct handshake_record;
struct json_t; // jansson's

struct sink_options {
	const char *path;   // "-": standard output; NULL: count only
	const char *source; // EVE pkt_src: "wire/pcap" or "pcap"
	bool flow_events;
	bool drop_events;
	bool greeting_events;       // of types tls, quic, http
	uint32_t greetings;         // flows whose ends' words are kept for their records; 0: none
	struct event_limits limits; // 0: none
	struct redact_rules redact;
	uint32_t file_mb; // a file longer than that is renamed to PATH.over1, 2 ...; 0: never
	uint32_t files;   // of which so many are kept, at least 1
	// A gateway: the file is appended to, and a reader that stands still (pipe, standard
	// output) costs records, not time. Else (replay) the file is made anew and readers are
	// waited for.
	bool live;
};
int sink_new(const struct sink_options *options, const struct dataplane *dp,
	const struct rule_names *names, struct sink **out, char *err, size_t err_len);
// Writes what is left, and waits for it for at most a second. Where the disk hangs, its thread and
// the memory that it reads stay until the process ends.
void sink_free(struct sink *sink);
// From now on a thread of its own writes the file: neither a disk nor a file system that hangs
// stops the caller. -errno.
int sink_start(struct sink *sink);

// Who else wants to see the lcores' events: called for each of them in sink_drain, whether or not
// it is written. Must not wait. At most SINK_LISTENERS_MAX; -ENOSPC.
#define SINK_LISTENERS_MAX 4
typedef void sink_listener_fn(void *ctx, const struct event *event);
int sink_listen(struct sink *sink, sink_listener_fn *listener, void *ctx);

// What app and signature numbers of later events mean (changes with a reload of signatures).
void sink_set_sigdb(struct sink *sink, const struct sigdb *db);
void sink_set_apps(struct sink *sink, const struct app_names *apps); // at first: built-in ones only
// Both from `reload` on, with a policy event for each of its loads.
void sink_follow(struct sink *sink, struct reload *reload);
// Drains every ring; returns the records written. Bounded by `max` per lcore (0: all).
unsigned sink_drain(struct sink *sink, unsigned max);
// Records of the control core itself. An event as a lcore would have sent it: listeners see it.
void sink_event(struct sink *sink, const struct event *event);
// An event whose object, of its type's name, is JSON already. Returns the line without its end, to
// be freed, or NULL: no memory.
char *sink_object_event(struct sink *sink, const struct event *event, const char *json,
	size_t json_length, size_t *length);
void sink_policy_event(struct sink *sink, uint64_t now_ns, uint64_t generation, bool ok,
	const char *file, const struct config_errors *errors);
// `make`: stats_eve_json, the members of the record; NULL: no memory.
void sink_stats_event(struct sink *sink, uint64_t now_ns,
	struct json_t *(*make)(const struct dataplane *dp, uint64_t uptime_ns));
enum stall_state {
	STALL_BEGINS,   // a data lcore's heart has rested for longer than stall.after_ms
	STALL_BYPASSED, // the standby forwards for it now; it could not when it began
	STALL_ENDS,
};
struct stall_report {
	unsigned lcore;
	enum stall_state state;
	bool fail_open; // stall.policy
	bool bypassed;  // the standby forwards, or has
	uint64_t rested_ns;
	// since it began, of all lcores
	uint64_t bypassed_pkts, bypassed_bytes;
	uint64_t rx_missed; // by the ports that it receives from
};
void sink_stall_event(struct sink *sink, uint64_t now_ns, const struct stall_report *report);
struct link_report {
	const char *port;
	const char *interface; // the kernel's; NULL: none
	enum port_link link;
	uint64_t down_ns;  // of "up": for how long it was not
	bool again;        // it is another interface, or device, than before
	uint64_t left_out; // changes since the last report that were not reported
};
void sink_link_event(struct sink *sink, uint64_t now_ns, const struct link_report *report);
struct scanner_report {     // the signatures that files are looked at with
	const char *state;  // taken, refused, gone
	const char *reason; // "": none
	bool in_force;      // the rest says which are; else there are none
	uint32_t signatures;
	uint64_t db_version; // 0: own files alone
	uint64_t db_time_s;
	uint8_t digest[32];
};
void sink_scanner_event(struct sink *sink, uint64_t now_ns, const struct scanner_report *report);
struct audit_report {          // somebody asked something of the gateway, or tried to
	const char *peer;      // from where
	const char *command;   // of the control socket
	const char *arguments; // a JSON object
	const char *result;    // OK, NOK, refused, unknown
	const char *message;   // "": none
};
void sink_audit_event(struct sink *sink, uint64_t now_ns, const struct audit_report *report);
void sink_reopen(struct sink *sink); // SIGHUP: log rotation
// Writes what is buffered, or has the thread do it; with a full disk it stays buffered and is tried
// again next time. What does not fit in the buffers (1 MiB, and as much with the writer) is lost
// and counted, and a record says how many were. Lines in a file are always whole.
void sink_flush(struct sink *sink);
// Flushes until all is written, for at most so long. False: it is not.
bool sink_settle(struct sink *sink, unsigned timeout_ms);
// False: the writer is behind, and what comes had better wait where it is. A writer that hangs is
// not waited for.
bool sink_has_room(struct sink *sink);
void sink_set_start(struct sink *sink, uint64_t started_ns); // of the uptime in stats records
// What is known of the flow's ends, or NULL; until the next drain.
const struct handshake_record *sink_handshake_meta(const struct sink *sink, uint64_t flow_id);
// Flows for which something is kept; those that were forgotten to make room.
uint32_t sink_greetings(const struct sink *sink);
uint64_t sink_greetings_forgotten(const struct sink *sink);
uint64_t sink_written(const struct sink *sink);
// Records beyond their limits (control/event/limit.h); of these, of flows of which one end alone
// was heard.
uint64_t sink_left_out(const struct sink *sink);
uint64_t sink_left_out_one_sided(const struct sink *sink);
uint64_t sink_failed(const struct sink *sink); // records that could not be written (disk full)
struct sink_stuck {
	const char *path;
	int error;     // errno; 0: its reader is too slow, or
	bool hangs;    // writing does not come to an end
	uint64_t lost; // records, since it is so
};
// Nothing can be written for now; it is tried again.
bool sink_is_stuck(const struct sink *sink, struct sink_stuck *out);

// "1:..." Community ID v1, seed 0; `out` at least 32 bytes. ICMP: sport/dport hold type and code
// as the specification maps them.
void community_id(const struct flow_ends *ends, uint8_t l4_proto, char *out, size_t out_len);
// EVE timestamp "2023-09-18T06:13:41.532140+0000"; `out` at least 40 bytes.
void eve_timestamp(uint64_t now_ns, char *out, size_t out_len);

#endif
