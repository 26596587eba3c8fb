// SPDX-License-Identifier: BSD-3-Clause
// `sluice replay`: captures through the same pipeline_run and the same control steps (reload, event
// sink) as a running gateway, inline, under the captures' own clock. No root, no hugepages, no
// device. The same input and options give the same bytes in every output.
#ifndef SLUICE_REPLAY_H
#define SLUICE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/policy/policy.h"

#define REPLAY_RELOADS_MAX 64

enum replay_checksum {
	REPLAY_CHECKSUM_VERIFY,
	REPLAY_CHECKSUM_IGNORE,
	REPLAY_CHECKSUM_AUTO, // ignore those of senders most of whose checksums are wrong
};

struct replay_reload {
	uint64_t before; // number of the packet that is the first under the new policy
	const char *path;
};

struct replay_options {
	char *const *inputs; // borrowed from argv
	unsigned n_inputs;
	const char *policy;
	const char *against;    // policy to compare it with, or NULL
	bool json;              // of what differs
	const char *signatures; // directory
	const char *cache;      // directory of compiled signatures, or NULL
	const char *write;      // capture, or NULL
	const char *events;     // EVE JSON lines, or NULL
	const char *stats;      // JSON, or NULL
	const char *streams;    // CSV, or NULL
	const char *extract;    // folder for files, or NULL
	const char *audit;      // folder for the audit log and stored files, or NULL
	const char *scan;       // gateway.json whose scanner looks at files, or NULL
	uint32_t scan_ms;       // that a verdict takes, of the captures' time
	uint32_t audit_pause_from_s, audit_pause_to_s; // in which nothing is written; 0: none
	struct address_set inside;
	bool has_inside;
	enum replay_checksum checksum;
	bool heap_mbufs;
	bool all_stages;        // struct dataplane
	uint32_t segment_bytes; // 0: as the buffers allow
	unsigned lcores;
	uint32_t flows;
	struct replay_reload reloads[REPLAY_RELOADS_MAX];
	unsigned n_reloads;
	unsigned verbose;
};

// Returns -1 to go on, else an exit code (help, usage). `options` is filled in any case and is to
// be freed with replay_options_fini().
int replay_options_parse(struct replay_options *options, int argc, char **argv);
void replay_options_fini(struct replay_options *options);

int replay_main(int argc, char **argv); // argv[0] is "replay"; returns an exit code

#endif
