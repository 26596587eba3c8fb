// SPDX-License-Identifier: BSD-3-Clause
// Members of objects that fail as a whole for want of memory: put into NULL does nothing, and
// `parent` is given up (decref, NULL) when a put fails.
#ifndef SLUICE_JSON_PUT_H
#define SLUICE_JSON_PUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

void put_number(json_t **parent, const char *key, uint64_t value);
void put_text(json_t **parent, const char *key, const char *value); // not UTF-8: "?"
void put_bool(json_t **parent, const char *key, bool value);
void put_json(json_t **parent, const char *key, json_t *value); // takes it
void put_item(json_t **list, json_t *value);                    // the same for an array

#endif
