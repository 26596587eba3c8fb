// SPDX-License-Identifier: BSD-3-Clause
// EVE records in tests: an event of each kind, and what its line says.
#ifndef SLUICE_EVE_LINES_H
#define SLUICE_EVE_LINES_H

#include <jansson.h>
#include "fake_control.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/event/event.h"

#define T0 (1695017621ull * NS_PER_S + 532140000)

struct event event_of(enum event_type type); // TCP, rule 1, everything set
// All lines of a file, each a JSON object; a last line without its end fails.
json_t *lines_read(const char *path);
// Members by path ("alert.signature"); a difference fails.
json_t *at(json_t *object, const char *path);
void has_text(json_t *object, const char *path, const char *text);
void has_number(json_t *object, const char *path, json_int_t number);
void has_not(json_t *object, const char *path);

#endif
