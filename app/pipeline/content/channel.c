// SPDX-License-Identifier: BSD-3-Clause
// Records of content between a data lcore and its reader.
#include "pipeline/content/channel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include "content/memory.h"
#include "pipeline/vocab/pages.h"

#define RING_SIZE   4096 // power of two; holds one less
#define REAP_BUDGET 64   // records taken back for each that is made
static_assert(
	CONTENT_CHANNEL_RECORDS == RING_SIZE - 1, "what is out always has room on its way back");

struct content_channel {
	struct content_memory *memory; // over the arena; the lcore's
	uint8_t *arena;
	size_t bytes;
	int fd;
	struct rte_ring *out, *back;
	uint32_t n_out; // made, and not taken back
	uint64_t sent, lost, parts, parts_lost;
	bool fails; // written by the reader
};

static bool arena_new(struct content_channel *channel, size_t bytes, int socket)
{
	channel->fd = memfd_create("sluice-content", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (channel->fd < 0 || ftruncate(channel->fd, (off_t)bytes) ||
		fcntl(channel->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return false;
	channel->arena = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, channel->fd, 0);
	if (channel->arena == MAP_FAILED)
		channel->arena = NULL;
	else
		pages_prefer(channel->arena, bytes, socket);
	return channel->arena;
}

struct content_channel *content_channel_new(unsigned lcore, size_t bytes, int socket)
{
	struct content_channel *channel =
		rte_zmalloc_socket("content_channel", sizeof(*channel), 64, socket);
	char name[RTE_RING_NAMESIZE];

	if (!channel)
		return NULL;
	channel->fd = -1;
	channel->bytes = content_memory_round(bytes);
	if (!arena_new(channel, channel->bytes, socket))
		goto failed;
	channel->memory = content_memory_over(channel->arena, channel->bytes);
	snprintf(name, sizeof(name), "sl_content_out_%u", lcore);
	channel->out = rte_ring_create(name, RING_SIZE, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
	snprintf(name, sizeof(name), "sl_content_back_%u", lcore);
	channel->back = rte_ring_create(name, RING_SIZE, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (channel->memory && channel->out && channel->back)
		return channel;
failed:
	content_channel_free(channel);
	return NULL;
}

void content_channel_free(struct content_channel *channel)
{
	if (!channel)
		return;
	content_memory_free(channel->memory);
	rte_ring_free(channel->out);
	rte_ring_free(channel->back);
	if (channel->arena)
		munmap(channel->arena, channel->bytes);
	if (channel->fd >= 0)
		close(channel->fd);
	rte_free(channel);
}

static void reap(struct content_channel *channel)
{
	void *record;

	for (unsigned i = 0; i < REAP_BUDGET && !rte_ring_sc_dequeue(channel->back, &record); i++) {
		content_give(channel->memory, record);
		channel->n_out--;
	}
}

static void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static struct content_record *record_new(
	struct content_channel *channel, uint32_t bytes, uint64_t *lost)
{
	struct content_record *record = NULL;

	reap(channel);
	if (channel->n_out < CONTENT_CHANNEL_RECORDS)
		record = content_take(channel->memory, sizeof(*record) + bytes);
	if (!record) {
		count(lost);
		return NULL;
	}
	channel->n_out++;
	memset(record, 0, sizeof(*record));
	return record;
}

struct content_record *content_record_new(struct content_channel *channel, uint32_t bytes)
{
	return record_new(channel, bytes, &channel->lost);
}

struct content_record *content_part_new(struct content_channel *channel, uint32_t bytes)
{
	return record_new(channel, bytes, &channel->parts_lost);
}

static bool is_part(const struct content_record *record)
{
	return record->kind == CONTENT_RECORD_BYTES || record->kind == CONTENT_RECORD_PACKET;
}

void content_record_send(struct content_channel *channel, struct content_record *record)
{
	count(is_part(record) ? &channel->parts : &channel->sent);
	// has room: n_out is less than the ring's
	rte_ring_sp_enqueue(channel->out, record);
}

void content_record_drop(struct content_channel *channel, struct content_record *record)
{
	content_give(channel->memory, record);
	channel->n_out--;
}

const struct content_record *content_channel_next(struct content_channel *channel)
{
	void *record;

	return rte_ring_sc_dequeue(channel->out, &record) ? NULL : record;
}

void content_channel_done(struct content_channel *channel, const struct content_record *record)
{
	rte_ring_sp_enqueue(channel->back, (void *)(uintptr_t)record);
}

void content_channel_fail(struct content_channel *channel, bool fails)
{
	__atomic_store_n(&channel->fails, fails, __ATOMIC_RELAXED);
}

bool content_channel_is_failing(const struct content_channel *channel)
{
	return __atomic_load_n(&channel->fails, __ATOMIC_RELAXED);
}

void content_channel_look(const struct content_channel *channel, struct content_channel_use *use)
{
	struct content_memory_use memory;

	content_memory_look(channel->memory, &memory);
	*use = (struct content_channel_use){
		.sent = __atomic_load_n(&channel->sent, __ATOMIC_RELAXED),
		.lost = __atomic_load_n(&channel->lost, __ATOMIC_RELAXED),
		.parts = __atomic_load_n(&channel->parts, __ATOMIC_RELAXED),
		.parts_lost = __atomic_load_n(&channel->parts_lost, __ATOMIC_RELAXED),
		.arena_bytes = memory.bytes,
		.arena_used = memory.used,
		.arena_peak = memory.peak,
	};
}
