// SPDX-License-Identifier: BSD-3-Clause
// What the number of an application means: the built-in table, and the user-defined ones of every
// policy that was in force since the start. An id that was given to a name stays its own for the
// process's life, also while no policy defines it: flows, cache entries and events carry ids and
// outlive a policy. Control core only; owned by app/control/policy/reload.
#ifndef SLUICE_APP_NAMES_H
#define SLUICE_APP_NAMES_H

#include "classify/app_proto.h"

struct app_names;
struct app_names *app_names_new(void); // NULL: no memory
void app_names_free(struct app_names *names);

// For whoever prints: as app_get(), and user-defined ones, too (name, title, group and category;
// nothing else is set). NULL for APP_NONE and ids never given. `names` NULL: built-in ones only.
// Borrowed until the next reload.
const struct app_proto *app_names_get(const struct app_names *names, uint16_t app);
uint16_t app_names_find(const struct app_names *names, const char *name); // APP_NONE if unknown

// The id of a user-defined application: its old one, whose title, group and category are replaced,
// or a new one. What is pointed to is copied. -EEXIST: a built-in application has that name;
// -ENOSPC: no id is left (APPS_MAX); -ENOMEM.
int app_names_intern(struct app_names *names, const struct app_proto *app, uint16_t *id);

void app_names_swap(struct app_names *a, struct app_names *b);
// For a policy that is only being built: a copy to intern in, and what makes it the truth.
struct app_names *app_names_copy(const struct app_names *names);            // NULL: no memory
void app_names_adopt_take(struct app_names *names, struct app_names *copy); // of a successor

#endif
