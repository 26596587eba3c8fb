// SPDX-License-Identifier: BSD-3-Clause
// Maps application numbers to names, over all policies since the start.
#include "control/policy/app_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// name, title and group are owned, whatever the const of struct app_proto says.
struct app_names {
	uint16_t n; // ids app_count() + 1 .. app_count() + n
	struct app_proto *apps[APPS_MAX];
};

struct app_names *app_names_new(void)
{
	return calloc(1, sizeof(struct app_names));
}

static void app_free(struct app_proto *app)
{
	if (!app)
		return;
	free((void *)(uintptr_t)app->name);
	free((void *)(uintptr_t)app->title);
	free((void *)(uintptr_t)app->group);
	free(app);
}

void app_names_free(struct app_names *names)
{
	if (!names)
		return;
	for (unsigned i = 0; i < names->n; i++)
		app_free(names->apps[i]);
	free(names);
}

const struct app_proto *app_names_get(const struct app_names *names, uint16_t app)
{
	unsigned builtin = app_count();

	if (app <= builtin)
		return app_get(app);
	return names && app - builtin <= names->n ? names->apps[app - builtin - 1] : NULL;
}

uint16_t app_names_find(const struct app_names *names, const char *name)
{
	uint16_t app = app_find(name);

	for (unsigned i = 0; app == APP_NONE && names && i < names->n; i++)
		if (strcmp(names->apps[i]->name, name) == 0)
			app = (uint16_t)(app_count() + 1 + i);
	return app;
}

static struct app_proto *app_copy(const struct app_proto *app)
{
	struct app_proto *copy = calloc(1, sizeof *copy);

	if (!copy)
		return NULL;
	copy->category = app->category;
	copy->name = strdup(app->name);
	copy->title = strdup(app->title ? app->title : app->name);
	copy->group = app->group ? strdup(app->group) : NULL;
	if (copy->name && copy->title && (copy->group || !app->group))
		return copy;
	app_free(copy);
	return NULL;
}

int app_names_intern(struct app_names *names, const struct app_proto *app, uint16_t *id)
{
	uint16_t known = app_names_find(names, app->name);
	unsigned at = names->n;
	struct app_proto *copy;

	if (app_find(app->name) != APP_NONE)
		return -EEXIST;
	if (known != APP_NONE)
		at = known - app_count() - 1;
	else if (app_count() + 1 + names->n >= APPS_MAX)
		return -ENOSPC;
	copy = app_copy(app);
	if (!copy)
		return -ENOMEM;
	if (at == names->n)
		names->n++;
	else
		app_free(names->apps[at]);
	names->apps[at] = copy;
	*id = (uint16_t)(app_count() + 1 + at);
	return 0;
}

struct app_names *app_names_copy(const struct app_names *names)
{
	struct app_names *copy = app_names_new();

	for (unsigned i = 0; copy && i < names->n; i++) {
		copy->apps[i] = app_copy(names->apps[i]);
		if (!copy->apps[i]) {
			app_names_free(copy);
			return NULL;
		}
		copy->n++;
	}
	return copy;
}

void app_names_swap(struct app_names *a, struct app_names *b)
{
	struct app_names swap = *a;

	*a = *b;
	*b = swap;
}

void app_names_adopt_take(struct app_names *names, struct app_names *copy)
{
	app_names_swap(names, copy);
	app_names_free(copy);
}
