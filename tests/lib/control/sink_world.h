// SPDX-License-Identifier: BSD-3-Clause
// An event sink in tests: lcores that are made up, and a folder of its own for what it writes.
#ifndef SLUICE_SINK_WORLD_H
#define SLUICE_SINK_WORLD_H

#include "control/event/sink.h"
#include "eve_lines.h"

struct sink_world {
	struct dataplane *dp;
	struct rule_names *names; // rule 1 is "no-bittorrent"
	struct sink *sink;        // NULL: not opened yet
	char dir[40];
	char path[64]; // of the file
};

struct sink_world sink_world_new(unsigned lcores);
// The sink, at `path` of the world whatever the options say. An error fails the test.
void sink_world_open(struct sink_world *world, const struct sink_options *options);
// The sink writes what it still has; its files stay until sink_world_free().
void sink_world_close(struct sink_world *world);
// Removes what a sink makes in its folder. What a test has put there besides fails the test.
void sink_world_free(struct sink_world *world);
// Whole lines of a file, each a JSON object.
size_t lines_count(const char *path);

#endif
