// SPDX-License-Identifier: BSD-3-Clause
// The parser of the control socket's commands: every line is answered exactly once, with an object
// that says OK or NOK.
#include "control/ctl/command.h"

#include <stdlib.h>
#include <string.h>

#include "lib/control/fake_control.h"
#include "base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct world {
	struct control_context context;
	struct inquiries *inquiries;
	unsigned answers;
};

static uint64_t now_ns(void)
{
	return 1695017621000000000ull;
}

static void answer(void *ctx, json_t *reply)
{
	struct world *world = ctx;
	const char *result = json_string_value(json_object_get(reply, "return"));

	if (!result || (strcmp(result, "OK") && strcmp(result, "NOK")) ||
		!json_object_get(reply, "message"))
		abort();
	json_decref(reply);
	world->answers++;
}

static struct world *world_get(void)
{
	static struct world world;
	struct config_errors errors = {0};

	if (world.context.base)
		return &world;
	log_level_set(LOG_LEVEL_ERROR);
	world.context.base = event_base_new();
	world.context.dp = fake_dataplane_new(1, false);
	world.context.names = rule_names_new();
	world.context.now_ns = now_ns;
	if (reload_new(world.context.dp, world.context.names, "signatures", NULL,
		    &world.context.reload) ||
		reload_load(world.context.reload, "/etc/policy.json", 1, &errors) ||
		inquiries_new(world.context.base, world.context.dp, now_ns, &world.inquiries))
		abort();
	return &world;
}

// A lcore with nothing in its tables.
static void lcore_turn(struct world *world)
{
	void *next;

	while (rte_ring_dequeue(world->context.dp->lcores[0]->queries, &next) == 0)
		atomic_store(&((struct query *)next)->done, true);
}

static void run_line(struct world *world, const char *line, size_t length)
{
	struct request request = {
		.context = &world->context,
		.inquiries = world->inquiries,
		.answer = answer,
		.ctx = world,
	};

	world->answers = 0;
	command_run(&request, line, length);
	while (request_is_open(&request)) {
		lcore_turn(world);
		event_base_loop(world->context.base, EVLOOP_ONCE);
	}
	if (world->answers != 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct world *world = world_get();
	const char *at = (const char *)bytes, *end = at + len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		if (stop > at)
			run_line(world, at, (size_t)(stop - at));
		at = stop + 1;
	}
	return 0;
}
