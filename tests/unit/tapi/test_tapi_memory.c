// SPDX-License-Identifier: BSD-3-Clause
// Memory runs out at each place where it can, one after the other: what was asked for is refused
// with TAPI_ENOMEM, nothing is lost, and the next time it is there. The linker puts the functions
// below in the place of the C library's (--wrap).
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>
#include <jansson.h>

#include "lib/tapi/tapi_vectors.h"
#include "transportapi/base/acl.h"
#include "transportapi/core/core.h"
#include "transportapi/base/limit.h"
#include "transportapi/core/cost_table.h"
#include "transportapi/proto/frame.h"
#include "transportapi/proto/store.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *old);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool counted;
static unsigned asked, fails_at; // the fails_at-th is refused
static int held;                 // blocks that were not given back

static bool refused(void)
{
	return counted && ++asked == fails_at;
}

static void *given(void *block)
{
	held += counted && block;
	return block;
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
	fresh = __real_realloc(old, size);
	held += counted && !old && fresh;
	return fresh;
}

void __wrap_free(void *old)
{
	held -= counted && old;
	__real_free(old);
}

char *__wrap_strndup(const char *text, size_t length)
{
	char *copy = __wrap_malloc(strnlen(text, length) + 1);

	if (copy) {
		memcpy(copy, text, strnlen(text, length));
		copy[strnlen(text, length)] = '\0';
	}
	return copy;
}

char *__wrap_strdup(const char *text)
{
	return __wrap_strndup(text, strlen(text));
}

int __wrap_asprintf(char **out, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	*out = __wrap_strdup(text);
	return *out ? length : -1;
}

static char folder[64], path[128];

static int folder_make(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/tapi_starved.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	json_set_alloc_funcs(__wrap_malloc, __wrap_free);
	return 0;
}

static int folder_remove(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void put_file(const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	fclose(out);
}

// Calls until nothing was refused; how often memory was asked for then.
static unsigned starve(enum tapi_result (*step)(struct tapi_error *error))
{
	for (fails_at = 1;; fails_at++) {
		struct tapi_error error = {""};
		enum tapi_result result;

		asked = 0;
		held = 0;
		counted = true;
		result = step(&error);
		counted = false;
		assert_int_equal(held, 0);
		if (asked < fails_at) {
			assert_int_equal(result, TAPI_OK);
			return asked;
		}
		if (result == TAPI_OK)
			continue;
		// jansson calls some of them a mistake in the text, at a line
		if (result != TAPI_ENOMEM || !strstr(error.text, "out of memory"))
			if (!strstr(error.text, "file:1: "))
				fail_msg("refusal %u: \"%s\"", fails_at, error.text);
	}
}

static const struct tapi_conf_key keys[] = {
	{"mode", TAPI_CONF_CHOICE, 0, 0, 0, "seed|measured", false, "how to choose"},
	{.name = NULL},
};

static enum tapi_result conf_step(struct tapi_error *error)
{
	struct tapi_conf *conf = tapi_conf_load(path, error);
	enum tapi_result result;

	if (!conf)
		return TAPI_ENOMEM;
	result = tapi_conf_check(conf, "core", keys, error);
	if (result == TAPI_OK)
		assert_string_equal(tapi_conf_text(conf, "core", keys, "mode"), "seed");
	tapi_conf_free(conf);
	return result;
}

static void test_conf(void **state)
{
	(void)state;
	put_file("{\"transports\": [\"udp\"], \"core\": {}, \"udp\": {\"port\": 1}}");
	assert_true(starve(conf_step) > 10);
	unlink(path);
}

static struct tapi_conf *acl_conf;

static enum tapi_result acl_step(struct tapi_error *error)
{
	struct tapi_acl *acl;
	enum tapi_result result = tapi_acl_new(&acl, acl_conf, error);

	assert_true((result == TAPI_OK) == (acl != NULL));
	tapi_acl_free(acl);
	return result;
}

static void test_acl(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fprintf(out, "{\"acl\": {\"private\": false, \"deny_peers\": [\"" ID_1 "\"], \"deny\": [");
	for (unsigned i = 0; i < 200; i++)
		fprintf(out, "\"8.1.%u.0/24\", \"2001:db8:%x::/48\", ", i, i);
	fprintf(out, "\"9.0.0.0/8\"]}}");
	fclose(out);
	acl_conf = tapi_conf_parse(text, NULL);
	free(text);
	assert_non_null(acl_conf);
	assert_true(starve(acl_step) > 5);
	tapi_conf_free(acl_conf);
}

// Here nobody is reported it: who cannot be remembered is not let through.
static enum tapi_result rate_step(struct tapi_error *error)
{
	struct tapi_rate_map *map = tapi_rate_map_new(2, 1000, 4096);
	unsigned taken = 0;

	tapi_error_format(error, "out of memory");
	if (!map)
		return TAPI_ENOMEM;
	for (uint32_t key = 0; key < 500; key++)
		taken += tapi_rate_map_take(map, &key, sizeof(key), 0);
	assert_int_equal(tapi_rate_map_count(map), taken);
	assert_true(taken >= 499);
	for (uint32_t key = 0; key < 500; key++)
		taken += tapi_rate_map_take(map, &key, sizeof(key), 0);
	assert_true(taken >= 999);
	tapi_rate_map_free(map);
	return taken == 1000 ? TAPI_OK : TAPI_ENOMEM;
}

static void test_rates(void **state)
{
	(void)state;
	assert_true(starve(rate_step) > 500);
}

static void count_peer(void *context, const struct tapi_store_record *record)
{
	*(unsigned *)context += record->validated_us == 7;
}

static enum tapi_result store_step(struct tapi_error *error)
{
	const struct tapi_store_record record = {.helo = {.protocol = 17}, .validated_us = 7};
	struct tapi_store_writer *writer;
	enum tapi_result result = tapi_store_begin(&writer, path, error);
	unsigned count = 0;

	if (result) {
		assert_null(writer);
		return result;
	}
	assert_int_equal(tapi_store_add(writer, &record), TAPI_OK);
	assert_int_equal(tapi_store_commit(writer, error), TAPI_OK);
	assert_int_equal(tapi_store_read(path, 9, count_peer, &count, error), TAPI_OK);
	assert_int_equal(count, 1);
	return TAPI_OK;
}

static void test_store(void **state)
{
	(void)state;
	assert_true(starve(store_step) >= 3);
	assert_int_equal(unlink(path), 0);
}

static enum tapi_result identity_step(struct tapi_error *error)
{
	struct tapi_identity identity;
	enum tapi_result result = tapi_identity_load(&identity, path, error);

	unlink(path);
	return result;
}

static void test_identity(void **state)
{
	(void)state;
	assert_true(starve(identity_step) >= 1);
}

static enum tapi_result measured_step(struct tapi_error *error)
{
	struct tapi_cost_table *measured;
	enum tapi_result result = tapi_cost_table_load(&measured, path, error);

	assert_true((result == TAPI_OK) == (measured != NULL));
	tapi_cost_table_free(measured);
	return result;
}

static void test_measured(void **state)
{
	(void)state;
	put_file("{\"rows\": [{\"transport\": \"udp\", \"size\": 7, \"median_us\": 1, "
		 "\"loss\": 0}]}");
	assert_true(starve(measured_step) > 5);
	unlink(path);
}

static struct event_base *base;

// A transport that gets no memory is left out, and the log says so; the core lives with the others.
static enum tapi_result core_step(struct tapi_error *error)
{
	static const uint8_t seed[TAPI_SEED_BYTES];
	struct tapi_conf *conf = tapi_conf_load(path, error);
	struct tapi_core_options options = {.conf = conf, .base = base};
	struct tapi_identity identity;
	enum tapi_result result;
	struct tapi_core *core;

	if (!conf)
		return TAPI_ENOMEM;
	tapi_identity_from_seed(&identity, seed);
	options.identity = &identity;
	result = tapi_core_new(&core, &options, error);
	assert_true((result == TAPI_OK) == (core != NULL));
	if (core)
		result = tapi_core_start(core, error);
	tapi_core_free(core);
	tapi_conf_free(conf);
	if (result == TAPI_ENOMEM && !error->text[0]) // the core itself: its caller has the result
		tapi_error_format(error, "out of memory");
	return result;
}

static void test_core(void **state)
{
	(void)state;
	base = event_base_new();
	put_file("{\"transports\": [\"null\", \"tcp\", \"udp\"], \"tcp\": {\"port\": 0}, "
		 "\"udp\": {\"port\": 0}, \"acl\": {\"deny\": [\"192.0.2.0/24\"]}}");
	assert_true(starve(core_step) > 10);
	event_base_free(base);
	unlink(path);
}

static bool count_frame(void *context, struct tapi_message_pack *pack)
{
	*(unsigned *)context += pack->size == 100 && pack->message[0] == 7;
	return true;
}

// Each piece of a stream is kept until its frame is whole; nothing is kept of what was refused.
static enum tapi_result frame_step(struct tapi_error *error)
{
	uint8_t octets[TAPI_WELCOME_BYTES + TAPI_FRAME_HEAD_BYTES + 100] = {0};
	static const uint8_t nonce[TAPI_WELCOME_NONCE_BYTES];
	enum tapi_result result = TAPI_OK;
	struct tapi_frame_reader reader;
	struct tapi_peer_id sender = {{1}};
	unsigned n = 0;

	tapi_error_format(error, "out of memory");
	tapi_welcome_encode(octets, &sender, nonce);
	tapi_frame_encode(octets + TAPI_WELCOME_BYTES, 100, false, 0);
	octets[TAPI_WELCOME_BYTES + TAPI_FRAME_HEAD_BYTES] = 7;
	tapi_frame_reader_init(&reader, 1000);
	for (size_t at = 0; at < sizeof(octets) && result == TAPI_OK; at += 20) {
		size_t left = sizeof(octets) - at;

		result = tapi_frame_reader_feed(
			&reader, octets + at, left < 20 ? left : 20, count_frame, &n);
	}
	tapi_frame_reader_free(&reader);
	assert_int_equal(n, result == TAPI_OK);
	return result;
}

static void test_frames(void **state)
{
	(void)state;
	assert_true(starve(frame_step) >= 3);
}

// Who cannot be denied is not half denied.
static void test_deny_peer(void **state)
{
	static const uint8_t seed[TAPI_SEED_BYTES];
	struct tapi_conf *conf = tapi_conf_parse("{\"transports\": [\"null\"]}", NULL);
	struct tapi_core_options options = {.conf = conf, .own_turns = true};
	struct tapi_outgoing outgoing = {.type = TAPI_TYPE_USER};
	const struct tapi_peer_id peer = {.octets = {7}};
	struct tapi_identity identity;
	enum tapi_result result;
	struct tapi_error error;
	struct tapi_core *core;

	(void)state;
	tapi_identity_from_seed(&identity, seed);
	options.identity = &identity;
	assert_int_equal(tapi_core_new(&core, &options, &error), TAPI_OK);
	assert_int_equal(tapi_core_start(core, &error), TAPI_OK);
	for (fails_at = 1;; fails_at++) {
		asked = 0;
		held = 0;
		counted = true;
		result = tapi_core_deny_peer(core, &peer, 0);
		counted = false;
		if (asked < fails_at)
			break;
		assert_int_equal(result, TAPI_ENOMEM);
		assert_int_equal(held, 0);
		assert_int_equal(tapi_core_send(core, &peer, &outgoing), TAPI_ENOADDR);
	}
	assert_true(fails_at > 2);
	assert_int_equal(result, TAPI_OK);
	assert_int_equal(tapi_core_send(core, &peer, &outgoing), TAPI_EACL);
	tapi_core_free(core);
	tapi_conf_free(conf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf),
		cmocka_unit_test(test_acl),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_measured),
		cmocka_unit_test(test_core),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_deny_peer),
	};

	return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
