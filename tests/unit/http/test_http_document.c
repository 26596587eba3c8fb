// SPDX-License-Identifier: BSD-3-Clause
// Documents of the page: everybody reads the same one, a slow reader keeps his, and none is left.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/rig/heap.h"
#include "control/http/document.h"
#include "pipeline/vocab/tick.h"

static uint64_t clock_ns = NS_PER_S;

static uint64_t now_ns(void)
{
	return clock_ns;
}

static struct control_context context = {.now_ns = now_ns};
static const struct http_site site = {.context = &context};

static const struct http_place *place_of(const char *path)
{
	struct http_request request = {0};

	snprintf(request.path, sizeof(request.path), "%s", path);
	const struct http_place *place = http_place_find(&request);

	assert_non_null(place);
	return place;
}

static void a_reader_keeps_his(void **state)
{
	struct http_documents documents = {.site = &site};
	const struct http_place *place = place_of("/");
	struct http_document *first = http_document_get(&documents, place);
	struct http_document *second = http_document_get(&documents, place);
	(void)state;

	assert_non_null(first);
	assert_ptr_equal(first, second);
	assert_int_equal(first->refs, 3); // and the table's
	assert_non_null(memmem(first->bytes, first->length, "<html", 5));
	http_document_put(second);
	http_documents_free(&documents);
	assert_int_equal(first->refs, 1);
	assert_non_null(memmem(first->bytes, first->length, "<html", 5));
	http_document_put(first);
}

static void serve(void *ctx)
{
	struct http_documents documents = {.site = &site};
	const struct http_place *place = ctx;

	http_document_put(http_document_get(&documents, place));
	http_documents_free(&documents);
}

static void none_is_left(void **state)
{
	union {
		const struct http_place *place;
		void *ctx;
	} of = {.place = place_of("/")};
	(void)state;

	assert_int_equal(heap_leak(serve, of.ctx), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_keeps_his),
		cmocka_unit_test(none_is_left),
	};

	(void)argc;
	heap_begin(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
