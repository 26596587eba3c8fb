// SPDX-License-Identifier: BSD-3-Clause
// The engine that looks at nothing: what it says, and when, is written in gateway.json.
#include <errno.h>
#include <stdio.h>
#include <rte_malloc.h>
#include "scan/engine.h"
#include "pipeline/vocab/tick.h"

#define JOB_NONE UINT32_MAX

struct waiting {
	struct scan_job job;
	uint64_t taken_ns;
	uint32_t next;
};

// Jobs of one line of the script: all wait equally long, so the first is due first.
struct queue {
	uint32_t first, last;
};

struct scan_engine {
	const struct scan_config *config;
	struct queue queues[SCAN_SCRIPT_MAX + 1]; // the last: no line is about it, it is clean
	uint32_t free;                            // list
	struct waiting jobs[SCAN_JOBS_MAX];
};

static bool fires(const struct scan_script *line, uint64_t from64, uint64_t to64)
{
	if (line->every)
		return from64 / line->after_bytes != to64 / line->after_bytes;
	return from64 < line->after_bytes && to64 >= line->after_bytes;
}

static int null_trigger(
	const struct scan_config *config, enum half half, uint64_t from64, uint64_t to64)
{
	for (unsigned i = 0; i < config->n_script; i++)
		if (config->script[i].half == half && fires(&config->script[i], from64, to64))
			return (int)i;
	return SCAN_TRIGGER_NONE;
}

static int null_make(const struct scan_config *config, int socket, struct scan_engine **out,
	char *err, size_t err_len)
{
	struct scan_engine *engine = rte_zmalloc_socket("scan_null", sizeof(*engine), 64, socket);

	if (!engine) {
		snprintf(err, err_len, "no memory for %u scan jobs", SCAN_JOBS_MAX);
		return -ENOMEM;
	}
	engine->config = config;
	for (unsigned i = 0; i <= SCAN_SCRIPT_MAX; i++)
		engine->queues[i] = (struct queue){JOB_NONE, JOB_NONE};
	for (uint32_t i = 0; i < SCAN_JOBS_MAX; i++)
		engine->jobs[i].next = i + 1 < SCAN_JOBS_MAX ? i + 1 : JOB_NONE;
	*out = engine;
	return 0;
}

static void null_destroy(struct scan_engine *engine)
{
	rte_free(engine);
}

// The line that is about a file that has so many bytes: the last one whose bytes are there.
static unsigned line_of(const struct scan_config *config, const struct scan_job *job)
{
	unsigned line = SCAN_SCRIPT_MAX;

	for (unsigned i = 0; i < config->n_script; i++)
		if (config->script[i].half == job->half &&
			job->to64 >= config->script[i].after_bytes)
			line = i;
	return line;
}

static int null_submit(struct scan_engine *engine, const struct scan_job *job, uint64_t now_ns)
{
	uint32_t index = engine->free, line = job->trigger;

	if (job->flags & SCAN_JOB_FILE)
		line = line_of(engine->config, job);
	else if (line >= engine->config->n_script)
		return -EAGAIN;
	if (index == JOB_NONE)
		return -EAGAIN;
	struct queue *queue = &engine->queues[line];
	struct waiting *waiting = &engine->jobs[index];

	engine->free = waiting->next;
	*waiting = (struct waiting){.job = *job, .taken_ns = now_ns, .next = JOB_NONE};
	if (queue->first == JOB_NONE)
		queue->first = index;
	else
		engine->jobs[queue->last].next = index;
	queue->last = index;
	return 0;
}

static uint64_t due_ns(const struct scan_engine *engine, unsigned line)
{
	uint32_t first = engine->queues[line].first;

	if (first == JOB_NONE)
		return SCAN_NEVER;
	const struct waiting *waiting = &engine->jobs[first];

	if (line == SCAN_SCRIPT_MAX)
		return waiting->taken_ns;
	const struct scan_script *script = &engine->config->script[line];

	if (script->verdict == SCAN_SCRIPT_NEVER)
		return waiting->job.deadline_ns + NS_PER_S;
	return waiting->taken_ns + script->delay_ms * NS_PER_MS;
}

// The line whose first job is due before those of the others.
static unsigned first_line(const struct scan_engine *engine, uint64_t *due)
{
	unsigned line = 0;

	*due = SCAN_NEVER;
	for (unsigned i = 0; i <= SCAN_SCRIPT_MAX; i++) {
		uint64_t at = due_ns(engine, i);

		if (at < *due) {
			*due = at;
			line = i;
		}
	}
	return line;
}

static void answer(
	struct scan_engine *engine, unsigned line, uint64_t due, struct scan_verdict *out)
{
	static const uint8_t values[] = {[SCAN_SCRIPT_CLEAN] = SCAN_CLEAN,
		[SCAN_SCRIPT_INFECTED] = SCAN_INFECTED,
		[SCAN_SCRIPT_ERROR] = SCAN_ERROR,
		[SCAN_SCRIPT_NEVER] = SCAN_TIMEOUT};
	struct queue *queue = &engine->queues[line];
	uint32_t index = queue->first;
	struct waiting *waiting = &engine->jobs[index];

	*out = (struct scan_verdict){
		.job = waiting->job,
		.taken_ns = waiting->taken_ns,
		.done_ns = due,
		.source = SCAN_SOURCE_ENGINE,
		.value = line < SCAN_SCRIPT_MAX ? values[engine->config->script[line].verdict]
						: SCAN_CLEAN,
		.by = SCAN_BY_NULL,
	};
	if (out->value == SCAN_INFECTED)
		snprintf(out->name, sizeof(out->name), "Sluice.Script.%u", line);
	queue->first = waiting->next;
	waiting->next = engine->free;
	engine->free = index;
}

static unsigned null_poll(
	struct scan_engine *engine, uint64_t now_ns, struct scan_verdict *out, unsigned max)
{
	unsigned n = 0;

	for (; n < max; n++) {
		uint64_t due;
		unsigned line = first_line(engine, &due);

		if (due == SCAN_NEVER || due > now_ns)
			break;
		answer(engine, line, due, &out[n]);
	}
	return n;
}

static uint64_t null_next_ns(const struct scan_engine *engine)
{
	uint64_t due;

	first_line(engine, &due);
	return due;
}

const struct scan_engine_ops scan_engine_null = {
	.name = "null",
	.trigger = null_trigger,
	.make = null_make,
	.destroy = null_destroy,
	.submit = null_submit,
	.poll = null_poll,
	.next_ns = null_next_ns,
};
