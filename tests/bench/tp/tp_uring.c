// SPDX-License-Identifier: BSD-3-Clause
// io_uring's zero-copy send by bare system calls: one request at a time, its completion waited for.
// The kernel's second word, that the pages are free again, is taken when it is there.
#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tp.h"

enum { ENTRIES = 64 };

struct tp_uring {
	int fd;
	struct io_uring_params set;
	uint8_t *rings;
	size_t rings_size;
	struct io_uring_sqe *requests;
	uint32_t *sq_tail, *sq_mask, *sq_array;
	uint32_t *cq_head, *cq_tail, *cq_mask;
	struct io_uring_cqe *completions;
};

static uint32_t *word(struct tp_uring *ring, uint32_t offset)
{
	return (uint32_t *)(void *)&ring->rings[offset];
}

int tp_uring_new(struct tp_uring **out)
{
	struct tp_uring *ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring->set);
	int error = ring->fd < 0 ? -errno : 0;
	if (!error && !(ring->set.features & IORING_FEAT_SINGLE_MMAP))
		error = -ENOSYS;
	if (!error) {
		size_t sq = ring->set.sq_off.array + ring->set.sq_entries * sizeof(uint32_t);
		size_t cq =
			ring->set.cq_off.cqes + ring->set.cq_entries * sizeof(struct io_uring_cqe);
		ring->rings_size = sq > cq ? sq : cq;
		ring->rings = mmap(NULL, ring->rings_size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQ_RING);
		ring->requests = mmap(NULL, ring->set.sq_entries * sizeof(struct io_uring_sqe),
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
			IORING_OFF_SQES);
		if (ring->rings == MAP_FAILED || ring->requests == MAP_FAILED)
			error = -ENOMEM;
	}
	if (error) {
		tp_uring_free(ring);
		return error;
	}
	ring->sq_tail = word(ring, ring->set.sq_off.tail);
	ring->sq_mask = word(ring, ring->set.sq_off.ring_mask);
	ring->sq_array = word(ring, ring->set.sq_off.array);
	ring->cq_head = word(ring, ring->set.cq_off.head);
	ring->cq_tail = word(ring, ring->set.cq_off.tail);
	ring->cq_mask = word(ring, ring->set.cq_off.ring_mask);
	ring->completions = (struct io_uring_cqe *)(void *)&ring->rings[ring->set.cq_off.cqes];
	*out = ring;
	return 0;
}

void tp_uring_free(struct tp_uring *ring)
{
	if (ring->requests && ring->requests != MAP_FAILED)
		munmap(ring->requests, ring->set.sq_entries * sizeof(struct io_uring_sqe));
	if (ring->rings && ring->rings != MAP_FAILED)
		munmap(ring->rings, ring->rings_size);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring);
}

// Takes what is there. true: the send's own completion was among it, its result in *result.
static bool take(struct tp_uring *ring, int *result)
{
	bool done = false;
	uint32_t head = *ring->cq_head;
	while (head != __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE)) {
		const struct io_uring_cqe *told = &ring->completions[head++ & *ring->cq_mask];
		if (!(told->flags & IORING_CQE_F_NOTIF)) {
			*result = told->res;
			done = true;
		}
	}
	__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
	return done;
}

int tp_uring_send(struct tp_uring *ring, int fd, const uint8_t *octets, uint32_t size)
{
	uint32_t tail = *ring->sq_tail, at = tail & *ring->sq_mask;
	ring->requests[at] = (struct io_uring_sqe){
		.opcode = IORING_OP_SEND_ZC,
		.fd = fd,
		.addr = (uint64_t)(uintptr_t)octets,
		.len = size,
		.msg_flags = 0x4000, // MSG_NOSIGNAL
	};
	ring->sq_array[at] = at;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	int result = 0;
	for (unsigned submit = 1;; submit = 0) {
		long entered = syscall(
			SYS_io_uring_enter, ring->fd, submit, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		if (entered < 0 && errno != EINTR)
			return -errno;
		if (take(ring, &result))
			return result;
		if (entered < 0 && tp_expired())
			return -EINTR;
	}
}
