// SPDX-License-Identifier: BSD-3-Clause
#include "starved.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#define HEADS 8192
#define HELD  262144

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__real_rte_malloc_socket(const char *type, size_t size, unsigned align, int socket);
void *__real_rte_zmalloc_socket(const char *type, size_t size, unsigned align, int socket);
void __real_rte_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void __wrap_free(void *old);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
int __wrap_vasprintf(char **out, const char *format, va_list arguments);
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *__wrap_rte_malloc_socket(const char *type, size_t size, unsigned align, int socket);
void *__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned align, int socket);
void __wrap_rte_free(void *old);
json_t *__real_json_loadb(const char *text, size_t length, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t length, size_t flags, json_error_t *error);
json_t *__wrap_json_loads(const char *text, size_t flags, json_error_t *error);
char *__real_json_dumps(const json_t *root, size_t flags);
char *__wrap_json_dumps(const json_t *root, size_t flags);
int __wrap_json_unpack_ex(json_t *root, json_error_t *error, size_t flags, const char *format, ...);

static bool running, counted;
static bool sure;                // what is asked for is given
static unsigned asked, fails_at; // the fails_at-th is refused

// The blocks that were given out and not given back, by address.
static struct block {
	const void *at;
	unsigned request;
	uint32_t next;
} blocks[HELD];
static uint32_t heads[HEADS], n_blocks, freed; // freed: a list of those that can be used again
static unsigned n_held;

static uint32_t *head_of(const void *at)
{
	return &heads[((uintptr_t)at >> 4) * 2654435761u % HEADS];
}

static void *given(void *at)
{
	uint32_t i = freed ? freed : n_blocks + 1;

	if (!counted || !at)
		return at;
	if (freed)
		freed = blocks[i].next;
	else
		n_blocks++;
	assert_true(n_blocks < HELD - 1);
	blocks[i] = (struct block){.at = at, .request = asked, .next = *head_of(at)};
	*head_of(at) = i;
	n_held++;
	return at;
}

// What was there before is not among them.
static void given_back(const void *at)
{
	for (uint32_t *link = head_of(at); at && *link; link = &blocks[*link].next) {
		uint32_t i = *link;

		if (blocks[i].at != at)
			continue;
		*link = blocks[i].next;
		blocks[i].next = freed;
		freed = i;
		n_held--;
		return;
	}
}

static void forget_blocks(void)
{
	memset(heads, 0, sizeof(heads));
	n_blocks = freed = n_held = 0;
}

static bool refused(void)
{
	return counted && !sure && ++asked == fails_at;
}

void *__wrap_malloc(size_t size)
{
	return refused() ? NULL : given(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refused() ? NULL : given(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	void *fresh;

	if (refused())
		return NULL;
	given_back(old); // by its address, as it is no longer a pointer afterwards
	fresh = __real_realloc(old, size);
	return given(fresh);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? NULL : __wrap_realloc(old, bytes);
}

void __wrap_free(void *old)
{
	given_back(old);
	__real_free(old);
}

char *__wrap_strndup(const char *text, size_t length)
{
	size_t n = strnlen(text, length);
	char *copy = __wrap_malloc(n + 1);

	if (copy) {
		memcpy(copy, text, n);
		copy[n] = '\0';
	}
	return copy;
}

char *__wrap_strdup(const char *text)
{
	return __wrap_strndup(text, strlen(text));
}

int __wrap_vasprintf(char **out, const char *format, va_list arguments)
{
	va_list again;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	*out = length < 0 ? NULL : __wrap_malloc((size_t)length + 1);
	return *out ? vsnprintf(*out, (size_t)length + 1, format, arguments) : -1;
}

int __wrap_asprintf(char **out, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = __wrap_vasprintf(out, format, arguments);
	va_end(arguments);
	return length;
}

void *__wrap_rte_malloc_socket(const char *type, size_t size, unsigned align, int socket)
{
	return refused() ? NULL : given(__real_rte_malloc_socket(type, size, align, socket));
}

void *__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned align, int socket)
{
	return refused() ? NULL : given(__real_rte_zmalloc_socket(type, size, align, socket));
}

void __wrap_rte_free(void *old)
{
	given_back(old);
	__real_rte_free(old);
}

// jansson 2.14 asserts that its scanner gets memory: a text is refused before it is read, and with
// no word of why, which is what it says where it does check.
json_t *__wrap_json_loadb(const char *text, size_t length, size_t flags, json_error_t *error)
{
	json_t *root;

	if (refused()) {
		if (error)
			*error = (json_error_t){.line = -1, .column = -1};
		return NULL;
	}
	sure = true;
	root = __real_json_loadb(text, length, flags, error);
	sure = false;
	return root;
}

json_t *__wrap_json_loads(const char *text, size_t flags, json_error_t *error)
{
	return __wrap_json_loadb(text, strlen(text), flags, error);
}

// Nor does it tell keys that it had no memory to tick off from those that should not be there.
int __wrap_json_unpack_ex(json_t *root, json_error_t *error, size_t flags, const char *format, ...)
{
	va_list arguments;
	int rc;

	va_start(arguments, format);
	sure = true;
	rc = json_vunpack_ex(root, error, flags, format, arguments);
	sure = false;
	va_end(arguments);
	return rc;
}

// It leaves keys out when its buffer does not grow: a text is written whole or not at all.
char *__wrap_json_dumps(const json_t *root, size_t flags)
{
	char *text;

	if (refused())
		return NULL;
	sure = true;
	text = __real_json_dumps(root, flags);
	sure = false;
	return text;
}

void starved_begin(void)
{
	json_set_alloc_funcs(__wrap_malloc, __wrap_free);
}

void starved_pause(void)
{
	counted = false;
}

void starved_resume(void)
{
	counted = running;
}

bool starved_now(void)
{
	return running && asked >= fails_at;
}

// The requests whose blocks are held, for whoever has to find the place.
static void tell_held(void)
{
	for (uint32_t head = 0; head < HEADS; head++)
		for (uint32_t i = heads[head]; i; i = blocks[i].next)
			print_error("not given back: request %u\n", blocks[i].request);
	fail_msg("refusal %u: %u blocks are left", fails_at, n_held);
}

static unsigned run(enum starved_outcome (*step)(void *ctx), void *ctx, bool keeps)
{
	for (fails_at = 1;; fails_at++) {
		enum starved_outcome outcome;

		asked = 0;
		forget_blocks();
		running = counted = true;
		outcome = step(ctx);
		counted = false;
		if (n_held && !keeps)
			tell_held();
		if (!starved_now()) {
			running = false;
			assert_int_equal(outcome, STARVED_DONE);
			return asked;
		}
	}
}

unsigned starved_run(enum starved_outcome (*step)(void *ctx), void *ctx)
{
	return run(step, ctx, false);
}

unsigned starved_run_keeps(enum starved_outcome (*step)(void *ctx), void *ctx)
{
	return run(step, ctx, true);
}
