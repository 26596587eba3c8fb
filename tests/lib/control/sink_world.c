// SPDX-License-Identifier: BSD-3-Clause
#include "sink_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct sink_world sink_world_new(unsigned lcores)
{
	struct sink_world world = {
		.dp = fake_dataplane_new(lcores, false), .dir = "/tmp/sink_world.XXXXXX"};

	assert_non_null(mkdtemp(world.dir));
	snprintf(world.path, sizeof world.path, "%s/eve.json", world.dir);
	world.names = rule_names_new();
	assert_int_equal(rule_names_intern(world.names, "no-bittorrent"), 1);
	return world;
}

void sink_world_open(struct sink_world *world, const struct sink_options *options)
{
	struct sink_options here = *options;
	char err[256] = "";

	here.path = world->path;
	if (sink_new(&here, world->dp, world->names, &world->sink, err, sizeof err))
		fail_msg("%s", err);
}

void sink_world_close(struct sink_world *world)
{
	sink_free(world->sink);
	world->sink = NULL;
}

void sink_world_free(struct sink_world *world)
{
	static const char *const suffixes[] = {"", ".1", ".over1", ".over2", ".over3"};
	char path[80];

	sink_world_close(world);
	rule_names_free(world->names);
	fake_dataplane_free(world->dp);
	for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
		snprintf(path, sizeof path, "%s%s", world->path, suffixes[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(world->dir), 0);
}

size_t lines_count(const char *path)
{
	json_t *list = lines_read(path);
	size_t n = json_array_size(list);

	json_decref(list);
	return n;
}
