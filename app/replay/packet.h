// SPDX-License-Identifier: BSD-3-Clause
// Replay's receive side: records of a capture become mbufs, each comes from a side, and some
// senders' checksums are not to be taken seriously. Control core (replay has no other thread).
#ifndef SLUICE_REPLAY_PACKET_H
#define SLUICE_REPLAY_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>
#include "replay/capture.h"
#include "pipeline/policy/policy.h"

// How records become mbufs: the segments stand for the capture's own bytes, so that a packet that
// nobody has to look at is not even read; what the pipeline writes to them is a copy that the
// kernel makes (capture.h). `meta_offset` is of the dynamic field that keeps what a file knows of
// a packet and struct pkt does not.
struct replay_feed {
	struct rte_mempool *pool;
	int meta_offset;
	bool heap;              // a heap buffer of exact size per segment (--heap-mbufs)
	uint32_t segment_bytes; // longest segment
};
// What the buffers of `pool` must have room for: they carry no packets.
#define REPLAY_FEED_ROOM 64u
// A segment of a port's pool has as much.
#define REPLAY_SEGMENT_BYTES 2048u
struct replay_meta {
	uint64_t ts_ns; // as the file says: the virtual clock may be ahead of it
	uint32_t len;   // on the wire; the frame may be cut
	uint32_t caplen;
	uint16_t linktype;
};
// `segment_bytes`: 0 is REPLAY_SEGMENT_BYTES, and in the heap as long as a segment can be.
int replay_feed_init(
	struct replay_feed *feed, struct rte_mempool *pool, bool heap, uint32_t segment_bytes);
// NULL: no memory. The record's bytes stay where they are until the mbufs are freed. A record
// longer than CAPTURE_RECORD_MAX_BYTES is cut to that.
struct rte_mbuf *replay_mbuf_new(const struct replay_feed *feed, const struct capture_record *rec);
const struct replay_meta *replay_meta_of(const struct replay_feed *feed, struct rte_mbuf *m);

// Who is inside: an address set, or (NULL) per flow the sender of the first SYN, else of the first
// packet. Packets without a flow come from the inside.
struct replay_sides;
struct replay_sides *replay_sides_new(const struct address_set *inside);
void replay_sides_free(struct replay_sides *sides);
// `link` is enum pkt_link. Learns from the packet. Out of memory: true, not learned.
bool replay_from_inside(struct replay_sides *sides, const struct capture_record *rec, uint8_t link);

// --checksum auto: a sender most of whose checksums in one capture are wrong has them filled in by
// its network card behind the point of capture.
struct replay_offload;
struct replay_offload *replay_offload_new(void);
void replay_offload_free(struct replay_offload *offload);
// Forgets, reads all of `cap` and rewinds it. -ENOMEM, or capture_rewind()'s error.
int replay_offload_survey(
	struct replay_offload *offload, struct capture *cap, const struct replay_feed *feed);
bool replay_offload_sender(
	const struct replay_offload *offload, const struct capture_record *rec, uint8_t link);

#endif
