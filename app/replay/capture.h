// SPDX-License-Identifier: BSD-3-Clause
// Capture files: a reader of pcap and pcapng and a writer of classic pcap. Layer 4, libc only.
//
// The format is told by the first four bytes, never by the file's name:
//   a1b2c3d4 pcap, microseconds    a1b23c4d pcap, nanoseconds    a1b2cd34 pcap with longer record
//   headers (Kuznetzov's "modified" format), all in both byte orders; 0a0d0d0a pcapng.
// Record headers of 16, 24 or 20 bytes under a1b2c3d4 (libpcap, with the patch ss990417, Nokia's)
// and of 24 or 28 under a1b2cd34 (ss991029, ss990915) are told apart by the first records
// (as Wireshark does). Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng (SHB,
// IDB, EPB, SPB and the obsolete Packet Block; other blocks are skipped). Compressed files are
// refused by name.
//
// No number in a file is trusted: a length is cut to what the file holds, tables have caps. What a
// record is in a damaged file: a pcap record that runs over the end is returned with the bytes that
// are there; a pcapng block that does is not returned. Both then end the file as broken.
//
// One capture belongs to one thread. Errors are -errno with a message that names file and offset.
#ifndef SLUICE_CAPTURE_H
#define SLUICE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Longest record the writer writes; other readers refuse larger ones.
#define CAPTURE_RECORD_MAX_BYTES 262144u
// Room that every message fits in.
#define CAPTURE_ERROR_LEN 512u

struct capture;

struct capture_record {
	uint64_t ts_ns;    // since the epoch, saturated; a record without time has the last one's
	uint32_t caplen;   // bytes held
	uint32_t len;      // bytes the packet had on the wire, as the file says (may be < caplen)
	uint16_t linktype; // LINKTYPE_ value, without the bits that describe a frame check sequence
	// caplen bytes, valid until capture_close(). What capture_open() gives is this process'
	// own: who writes to it (replay's packets are these bytes) changes no file.
	const uint8_t *bytes;
};

// Counters of what was not handed out.
struct capture_counters {
	uint64_t records; // handed out
	uint64_t orphans; // packet blocks of an interface that no block describes, or too short
	uint64_t untimed; // simple packet blocks: they carry no time
};

// Opens `path` and reads its first header. On error *out is NULL and `err` has the message.
// A regular file is mapped: it must not shrink while it is read. Pipes are read to their end first.
int capture_open(const char *path, struct capture **out, char *err, size_t err_len);

// The same over memory of the caller's, which must outlive the capture; `name` is for messages.
int capture_open_memory(const char *name, const void *bytes, size_t len, struct capture **out,
	char *err, size_t err_len);

// 1: *rec is the next record. 0: the file ended where a record ends. -EBADMSG: the file is broken
// here, capture_error() says how; there is nothing to be read behind that (further calls repeat
// it).
int capture_next(struct capture *cap, struct capture_record *rec);

// Back to the first record, as after opening. 0, or -EBADMSG as capture_open() has it.
int capture_rewind(struct capture *cap);

// The message of the last negative return; "" before one.
const char *capture_error(const struct capture *cap);

// Are the time stamps finer than a microsecond? For pcapng any interface seen so far counts.
bool capture_is_nano(const struct capture *cap);

void capture_counters_get(const struct capture *cap, struct capture_counters *out);

void capture_close(struct capture *cap);

// Writer: classic pcap, little-endian, one link type. Records of another link type cannot be held
// by such a file: they are counted and not written, which is no error.
struct capture_writer;

struct capture_writer_counters {
	uint64_t records;        // written
	uint64_t other_linktype; // not written: another link type than the file's
	uint64_t cut;            // written with CAPTURE_RECORD_MAX_BYTES bytes only
};

// Creates or truncates `path`. `nano` chooses the resolution; a microsecond file rounds time down.
int capture_writer_open(const char *path, uint16_t linktype, bool nano, struct capture_writer **out,
	char *err, size_t err_len);

// Appends a record. Times over 2106 are saturated. 0 or -errno; an error sticks until close.
int capture_writer_write(struct capture_writer *writer, const struct capture_record *rec);

void capture_writer_counters_get(
	const struct capture_writer *writer, struct capture_writer_counters *out);

// Flushes, closes and frees. Returns the first error of the file's whole life, with a message. NULL
// is fine.
int capture_writer_close(struct capture_writer *writer, char *err, size_t err_len);

#endif
