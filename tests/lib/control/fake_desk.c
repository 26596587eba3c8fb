// SPDX-License-Identifier: BSD-3-Clause
#include "fake_desk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/vocab/tick.h"

static const struct scan_engine_ops engine = {.name = "clamav"};

static bool status(void *ctx, unsigned index, struct scan_status *out)
{
	*out = ((struct fake_desk *)ctx)->status[index];
	return true;
}

static bool files(void *ctx, unsigned lcore, struct scan_files_use *out)
{
	*out = ((struct fake_desk *)ctx)->use;
	return lcore == 0;
}

static const char *reload(void *ctx)
{
	((struct fake_desk *)ctx)->reloads.is_loading = true;
	return NULL;
}

static int begin(void *ctx, uint64_t bytes, uint64_t now_ns, uint64_t *number)
{
	struct fake_desk *fake = ctx;

	(void)now_ns;
	if (fake->refuses)
		return fake->refuses;
	if (bytes > FAKE_DESK_BYTES)
		return -EFBIG;
	fake->bytes = bytes;
	fake->have = 0;
	fake->runs = false;
	*number = ++fake->number;
	return 0;
}

static int add(void *ctx, uint64_t number, uint64_t at, const uint8_t *bytes, size_t length,
	uint64_t now_ns)
{
	struct fake_desk *fake = ctx;

	(void)now_ns;
	if (number != fake->number)
		return -ESTALE;
	if (at != fake->have || length > fake->bytes - at)
		return -EINVAL;
	memcpy(fake->file + at, bytes, length);
	fake->have += length;
	return 0;
}

static int run(void *ctx, uint64_t number, uint64_t now_ns, unsigned *worker)
{
	struct fake_desk *fake = ctx;

	(void)now_ns;
	if (number != fake->number)
		return -ESTALE;
	if (fake->have != fake->bytes)
		return -EINVAL;
	fake->runs = true;
	*worker = 0;
	return 0;
}

static int verdict(void *ctx, uint64_t number, uint64_t now_ns, struct scan_verdict *out)
{
	struct fake_desk *fake = ctx;
	bool evil = memmem(fake->file, fake->bytes, "EVIL", 4);

	(void)now_ns;
	if (number != fake->number || !fake->runs)
		return -ESTALE;
	if (fake->looks) {
		fake->looks--;
		return -EAGAIN;
	}
	fake->runs = false;
	*out = (struct scan_verdict){
		.job = {.to64 = fake->bytes, .submitted_ns = 1000000},
		.taken_ns = 3000000,
		.done_ns = 43000000,
		.value = evil ? SCAN_INFECTED : SCAN_CLEAN,
		.by = SCAN_BY_CLAMAV,
		.db_version = 27001,
	};
	if (evil)
		snprintf(out->name, sizeof(out->name), "Test.Eicar");
	if (memmem(fake->file, fake->bytes, "LOCKED", 6)) {
		out->value = SCAN_UNSCANNED;
		out->reason = SCAN_REASON_ENCRYPTED;
	}
	return 0;
}

static void drop(void *ctx, uint64_t number)
{
	(void)number;
	((struct fake_desk *)ctx)->drops++;
}

void fake_desk_init(struct fake_desk *fake)
{
	struct scan_status *good = &fake->status[0];

	memset(fake, 0, sizeof(*fake));
	fake->config = (struct scan_config){
		.ops = &engine, .max_file_bytes = FAKE_DESK_BYTES, .timeout_ns = 10000000000};
	fake->desk = (struct scan_desk){.config = &fake->config,
		.n = 2,
		.ctx = fake,
		.status = status,
		.files = files,
		.begin = begin,
		.add = add,
		.run = run,
		.verdict = verdict,
		.drop = drop};
	fake->use = (struct scan_files_use){
		.arena_bytes = 128 << 20, .arena_used = 3 << 20, .arena_peak = 7 << 20, .held = 2};
	*good = (struct scan_status){
		.verdicts = {[SCAN_CLEAN] = 90,
			[SCAN_UNSCANNED] = 5,
			[SCAN_TIMEOUT] = 1,
			[SCAN_INFECTED] = 4},
		.unscanned = {[SCAN_REASON_ENCRYPTED] = 3, [SCAN_REASON_FORMAT] = 2},
		.replaced = 1,
		.died = 2,
		.finished = 8,
		.waiting = 6,
		.running = 1,
		.state = SCAN_STATE_READY,
		.parent = 3,
		.pid = 4711,
		.signatures = 8000000,
		.db_version = 27001,
		.db_time_s = FAKE_DESK_TIME_S,
		.digest = {0xab, 0xcd, [31] = 0xef},
		.text = "child 7: killed, as was asked",
		.known = {.hits = 300,
			.misses = 95,
			.joined = 7,
			.listed = 12,
			.evicted = 3,
			.entries = 88,
			.limit = 65536},
	};
	histogram_add(&good->queue, 2000000, 90);
	histogram_add(&good->queue, 300000000, 10);
	histogram_add(&good->run, 40000000, 99);
	histogram_add(&good->run, 9000000000, 1);
	fake->status[1] = (struct scan_status){.state = SCAN_STATE_FAILED,
		.text = "/var/lib/clamav has no signatures",
		.known = {.hits = 20, .evicted = 3, .entries = 88, .limit = 65536}};
	fake->reloads = (struct scan_reloads){.ctx = fake,
		.ask = reload,
		.taken = 5,
		.refused = 1,
		.taken_ns = FAKE_DESK_TIME_S * NS_PER_S,
		.refused_ns = (FAKE_DESK_TIME_S + 90) * NS_PER_S,
		.refusal = "custom.ndb: it ends within a line"};
}
