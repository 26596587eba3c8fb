// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "stream_fake.h"

#define BIAS     1024
#define PLACES   (STREAM_OFFSETS_MAX + 300000 + BIAS)
#define HELD_MAX 512

enum { NONE, COPY, SENT };

struct fake_half {
	bool started, taken;
	uint32_t first; // number of offset 0
	int32_t next, most, acked;
	int32_t touched;
	uint8_t byte[PLACES];
	uint8_t kind[PLACES];
	// the job
	const struct stream_job *job;
	uint64_t job_at, until_ms;
	bool pending;
};

struct held_frame {
	uint8_t half;
	unsigned length;
	uint8_t frame[STREAM_FRAME_MAX];
};

static struct fake {
	enum fake_mutation mutation;
	const struct stream_schedule *s;
	struct fake_half half[2];
	uint64_t now_ms;
	struct stream_ledger ledger;
	struct held_frame held[HELD_MAX];
	unsigned n_held;
} fake;

static void drop(void)
{
	fake.ledger.dropped++;
}

static void send_frame(unsigned half, const uint8_t *frame, unsigned length)
{
	stream_world_frame(half, frame, length);
}

// Brings a checksum in step with one byte that changed (RFC 1624); `odd`: its place in its word.
static void mend(uint8_t *sum, bool odd, uint8_t was, uint8_t is)
{
	uint32_t old = (uint32_t)was << (odd ? 0 : 8), new = (uint32_t)is << (odd ? 0 : 8);
	uint32_t x = (~(uint32_t)(sum[0] << 8 | sum[1]) & 0xffff) + (~old & 0xffff) + new;

	while (x >> 16)
		x = (x & 0xffff) + (x >> 16);
	x = ~x;
	sum[0] = (uint8_t)(x >> 8);
	sum[1] = (uint8_t)x;
}

static void inspect(unsigned index, int32_t from, int32_t to)
{
	struct fake_half *half = &fake.half[index];

	if (to <= from)
		return;
	stream_world_span(
		index, (uint64_t)from, half->byte + BIAS + from, (uint32_t)(to - from), false);
	const struct stream_job *job = half->job;

	if (job && !half->pending && (uint64_t)to >= half->job_at) {
		half->pending = true;
		half->until_ms = job->never ? UINT64_MAX : fake.now_ms + job->delay_ms;
		half->job_at = job->every ? (uint64_t)to + job->after_bytes : UINT64_MAX;
	}
}

static void consume(unsigned index)
{
	struct fake_half *half = &fake.half[index];
	int32_t from = half->next;

	while (half->kind[BIAS + half->next] == COPY) {
		half->kind[BIAS + half->next++] = SENT;
		if (fake.mutation == FAKE_SKIPS_COPIES && half->next > from + 30)
			break;
	}
	inspect(index, from, half->next);
}

static void acknowledge(unsigned index, int32_t ack)
{
	struct fake_half *half = &fake.half[index];

	if (ack > half->most && fake.mutation != FAKE_BELIEVES)
		return;
	if (ack > half->acked)
		half->acked = ack;
	if (ack <= half->next || half->pending)
		return;
	while (half->next < ack && half->next < PLACES - BIAS) { // gaps, and copies between them
		int32_t from = half->next;
		uint8_t kind = half->kind[BIAS + from];

		while (half->next < ack && half->kind[BIAS + half->next] == kind)
			half->next++;
		if (kind == NONE)
			stream_world_span(
				index, (uint64_t)from, NULL, (uint32_t)(half->next - from), true);
		else
			inspect(index, from, half->next);
	}
	consume(index);
}

// The bytes of a segment that is in the window: first ones stay, others are put in their place.
static bool take_bytes(unsigned index, struct stream_read *read, int32_t at, uint8_t *frame)
{
	struct fake_half *half = &fake.half[index];
	uint8_t *payload = frame + read->header, *sum;
	bool conflict = false;

	sum = frame + (frame[12] == 0x86 ? 70 : 50);
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < read->length; i++) {
			int32_t place = BIAS + at + (int32_t)i;

			if (place < BIAS)
				continue;
			uint8_t *byte = &half->byte[place], *kind = &half->kind[place];
			bool known =
				*kind == COPY || (*kind == SENT && fake.mutation != FAKE_FORGETS);

			if (!pass) {
				conflict |= known && *byte != payload[i];
				continue;
			}
			if (!known) {
				*byte = payload[i];
				*kind = COPY;
			} else if (*byte != payload[i]) {
				if (fake.mutation == FAKE_LAST_WINS && *kind == COPY) {
					*byte = payload[i];
					continue;
				}
				if (fake.mutation == FAKE_NO_REWRITE ||
					(fake.mutation == FAKE_TAIL && i + 1 == read->length))
					continue;
				if (fake.mutation != FAKE_NO_CHECKSUM)
					mend(sum, (read->header - 54 + i) & 1, payload[i], *byte);
				payload[i] = *byte;
			}
			if (place > half->touched)
				half->touched = place;
		}
	return conflict;
}

static bool conflicts(const struct fake_half *half, const struct stream_read *read, int32_t at)
{
	for (unsigned i = 0; i < read->length; i++) {
		int32_t place = BIAS + at + (int32_t)i;

		if (place >= BIAS && half->kind[place] != NONE &&
			half->byte[place] != read->payload[i])
			return true;
	}
	return false;
}

static bool hold(unsigned index, const uint8_t *frame, unsigned length)
{
	if (fake.n_held == HELD_MAX)
		return false;
	struct held_frame *held = &fake.held[fake.n_held++];

	held->half = (uint8_t)index;
	held->length = length;
	memcpy(held->frame, frame, length);
	fake.ledger.held++;
	return true;
}

static void pass_frame(unsigned index, const uint8_t *frame, unsigned length, bool may_hold);

static void release(void)
{
	static struct held_frame all[HELD_MAX];

	for (unsigned index = 0; index < 2; index++) {
		struct fake_half *half = &fake.half[index];

		if (!half->pending || half->until_ms > fake.now_ms)
			continue;
		half->pending = false;
		unsigned n = 0;

		for (unsigned i = 0; i < fake.n_held;) {
			if (fake.held[i].half != index) {
				i++;
				continue;
			}
			all[n++] = fake.held[i];
			memmove(fake.held + i, fake.held + i + 1,
				(fake.n_held - i - 1) * sizeof(fake.held[0]));
			fake.n_held--;
			fake.ledger.held--;
		}
		for (unsigned i = 0; i < n; i++) {
			if (fake.mutation == FAKE_LOSES && i == 1)
				continue;
			pass_frame(index, all[i].frame, all[i].length, true);
			if (fake.mutation == FAKE_TWICE && i == 1)
				send_frame(index, all[i].frame, all[i].length);
		}
		acknowledge(index, half->acked);
	}
}

static void end_held(unsigned index)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < fake.n_held; i++) {
		if (fake.held[i].half != index) {
			fake.held[kept++] = fake.held[i];
			continue;
		}
		fake.ledger.held--;
		drop();
	}
	fake.n_held = kept;
}

// Control bits and the like; true: the frame has met its end.
static bool is_no_payload(unsigned index, const uint8_t *frame, unsigned length,
	const struct stream_read *read, int32_t at)
{
	struct fake_half *half = &fake.half[index];

	if (read->tcp_flags & TH_RST) {
		if (fake.mutation == FAKE_RST_ENDS)
			fake.half[0].started = fake.half[1].started = false;
		else
			end_held(index);
		send_frame(index, frame, length);
		return true;
	}
	if (!(read->tcp_flags & (TH_ACK | TH_SYN)) || at < -BIAS || at > 300000 + 20000) {
		drop();
		return true;
	}
	if (read->length)
		return false;
	if (read->tcp_flags & TH_FIN && at >= half->most)
		half->most = at + 1;
	send_frame(index, frame, length);
	return true;
}

static void pass_frame(unsigned index, const uint8_t *bytes, unsigned length, bool may_hold)
{
	struct fake_half *half = &fake.half[index];
	struct stream_read read;
	uint8_t frame[STREAM_FRAME_MAX];

	memcpy(frame, bytes, length);
	stream_frame_read(frame, length, &read);
	bool syn = read.tcp_flags & TH_SYN;

	if (!read.checksum_good && fake.mutation != FAKE_BAD_CHECKSUMS) {
		send_frame(index, frame, length);
		return;
	}
	bool began = !half->started;

	if (began) {
		if (!syn && (!read.length || !(read.tcp_flags & TH_ACK) ||
				    read.tcp_flags & TH_RST || fake.mutation == FAKE_RST_ENDS)) {
			send_frame(index, frame, length);
			return;
		}
		half->started = true;
		half->first = read.seq + syn;
	}
	// the last SYN counts, until the other end says which one it took
	if (syn && !half->next && !half->acked && !(fake.s->midstream) && !half->taken)
		half->first = read.seq + 1;
	if (syn && read.tcp_flags & TH_ACK && fake.half[!index].started) {
		if (!fake.half[!index].next && !half->taken)
			fake.half[!index].first = read.ack;
		fake.half[!index].taken = half->taken = true;
	}
	int32_t at = (int32_t)(read.seq + syn - half->first);

	const struct fake_half *other = &fake.half[!index];

	if (!syn && !(read.tcp_flags & TH_RST) && read.tcp_flags & TH_ACK && other->started &&
		(int32_t)(read.ack - other->first) > other->most &&
		fake.mutation != FAKE_BELIEVES) {
		drop(); // of what was never sent (RFC 9293 section 3.10.7.4)
		half->started = !began;
		return;
	}
	if (is_no_payload(index, frame, length, &read, at)) {
		if (read.tcp_flags & TH_ACK && !(read.tcp_flags & TH_RST) && at > -BIAS &&
			at < PLACES && fake.half[!index].started)
			acknowledge(!index, (int32_t)(read.ack - fake.half[!index].first));
		return;
	}
	if (read.tcp_flags & TH_ACK && fake.half[!index].started)
		acknowledge(!index, (int32_t)(read.ack - fake.half[!index].first));
	if (half->pending && may_hold && fake.mutation != FAKE_OVERTAKES) {
		if (!hold(index, frame, length))
			drop();
		return;
	}
	if (fake.mutation == FAKE_REFUSES && at + (int32_t)read.length <= half->next) {
		drop();
		return;
	}
	if (fake.s->drop && conflicts(half, &read, at)) {
		drop();
		return;
	}
	take_bytes(index, &read, at, frame);
	int32_t end = at + (int32_t)read.length + !!(read.tcp_flags & TH_FIN);

	if (end > half->most)
		half->most = end;
	if (fake.mutation == FAKE_LATE && at > half->next - 8 && read.length > 8 && !half->pending)
		half->kind[BIAS + at + (int32_t)read.length - 1] = NONE;
	if (!half->pending)
		consume(index);
	send_frame(index, frame, length);
}

static bool fake_begin(void *ctx, const struct stream_schedule *s, uint32_t client)
{
	(void)ctx;
	(void)client;
	for (unsigned index = 0; index < 2; index++) {
		struct fake_half *half = &fake.half[index];

		memset(half->kind, 0, (size_t)half->touched + 2);
		half->touched = 0;
		half->started = half->taken = half->pending = false;
		half->next = half->most = half->acked = 0;
		half->job = NULL;
		for (unsigned i = 0; i < s->n_jobs; i++)
			if (s->jobs[i].half == index) {
				half->job = &s->jobs[i];
				half->job_at = s->jobs[i].after_bytes;
			}
	}
	fake.s = s;
	fake.n_held = 0;
	fake.ledger.held = 0;
	return true;
}

static void fake_packet(void *ctx, const uint8_t *frame, unsigned length, unsigned half, bool split)
{
	(void)ctx;
	(void)split;
	pass_frame(half, frame, length, true);
}

static void fake_time(void *ctx, unsigned ms)
{
	(void)ctx;
	fake.now_ms += ms;
	release();
}

static void fake_reload(void *ctx)
{
	(void)ctx;
}

static const char *fake_end(void *ctx)
{
	(void)ctx;
	end_held(0);
	end_held(1);
	return NULL;
}

static struct stream_ledger fake_ledger(void *ctx)
{
	(void)ctx;
	return fake.ledger;
}

struct stream_gateway stream_fake(enum fake_mutation mutation)
{
	fake.mutation = mutation;
	return (struct stream_gateway){
		.begin = fake_begin,
		.packet = fake_packet,
		.time = fake_time,
		.reload = fake_reload,
		.end = fake_end,
		.ledger = fake_ledger,
	};
}
