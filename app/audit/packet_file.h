// SPDX-License-Identifier: BSD-3-Clause
// Packets of incidents, each a pcapng file (draft-ietf-opsawg-pcapng) of a folder:
//
//   FOLDER/<date>-<flow's number>.pcapng    20260723T081500Z-1234567890.pcapng
//
// The folder has a quota of its own; the oldest files go. One thread calls it, which may wait for
// the disk. What goes wrong costs the file that it happened to, and is counted.
#ifndef SLUICE_AUDIT_PACKET_FILE_H
#define SLUICE_AUDIT_PACKET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_folder;
struct packet_file; // an incident whose packets come

struct packet_folder_counters {
	uint64_t written; // files
	uint64_t removed; // for room
	uint64_t errors;
	uint64_t used_bytes;
	int error; // errno of what failed last
};

struct packet_file_result {
	char name[64];   // in the folder; "": not written
	char sha256[65]; // "": the machine's rules do not allow it
	unsigned packets;
	uint64_t bytes; // of the file
	int error;      // errno; 0: it is written
};

// `bytes`: of all files, 0: no limit. `software` is named in each, and borrowed. -errno with a
// sentence in `err`.
int packet_folder_open(const char *folder, uint64_t bytes, const char *software,
	struct packet_folder **out, char *err, size_t err_len);
void packet_folder_close(struct packet_folder *folder);
void packet_folder_look(const struct packet_folder *folder, struct packet_folder_counters *out);

// `comment`: what the file says of itself, as text; `link_type` of its packets (LINKTYPE_). NULL:
// no memory.
struct packet_file *packet_file_begin(
	struct packet_folder *folder, const char *comment, uint16_t link_type);
// `wire_bytes`: its length, of which `length` are there. `comment` may be NULL.
void packet_file_add(struct packet_file *file, uint64_t at_ns, const void *frame, uint32_t length,
	uint32_t wire_bytes, const char *comment);
// Writes the file, and ends the life of `file`. The date is that of its newest packet.
void packet_file_end(struct packet_file *file, uint64_t flow_id, struct packet_file_result *result);
void packet_file_drop(struct packet_file *file);

#endif
