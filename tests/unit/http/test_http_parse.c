// SPDX-License-Identifier: BSD-3-Clause
// Heads of HTTP requests: what is taken, and what is refused with which status, however the bytes
// come in pieces.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "config/http_address.h"
#include "control/http/parse.h"

// The status of `text`, which is a whole head, or one that goes wrong before its end.
static int status_of(const char *text, size_t length, struct http_request *out)
{
	size_t seen = 0;
	// of exact size: a byte too far is seen by the sanitizer
	char *bytes = malloc(length ? length : 1);
	long head;
	int status;

	assert_non_null(bytes);
	memcpy(bytes, text, length);
	head = http_head_find(bytes, length, &seen);
	if (head < 0)
		status = (int)-head;
	else if (!head)
		status = -1;
	else
		status = http_head_parse(bytes, (size_t)head, out);
	free(bytes);
	return status;
}

// The same byte by byte: the answer must not depend on where the pieces end.
static int status_in_pieces(const char *text, size_t length, struct http_request *out)
{
	size_t seen = 0;

	for (size_t i = 1; i <= length; i++) {
		long head = http_head_find(text, i, &seen);

		if (head < 0)
			return (int)-head;
		if (head)
			return http_head_parse(text, (size_t)head, out);
	}
	return -1;
}

static void expect(const char *text, size_t length, int status)
{
	struct http_request whole, pieces;
	int by_whole = status_of(text, length, &whole);
	int by_pieces = status_in_pieces(text, length, &pieces);

	if (by_whole != status || by_pieces != status)
		fail_msg("\"%.60s\": %d, in pieces %d, not %d", text, by_whole, by_pieces, status);
}
#define EXPECT(text, status) expect(text, sizeof(text) - 1, status)

static struct http_request taken(const char *text)
{
	struct http_request request;

	assert_int_equal(status_of(text, strlen(text), &request), 0);
	return request;
}

static void test_what_is_taken(void **state)
{
	struct http_request r = taken("GET /metrics?a=b HTTP/1.1\r\nHost: LocalHost:9111\r\n"
				      "Accept: text/html\r\naccept:  */* \r\n\r\n");

	(void)state;
	assert_string_equal(r.path, "/metrics");
	assert_string_equal(r.host, "localhost");
	assert_string_equal(r.accept, "text/html,*/*");
	assert_true(r.keep_alive && !r.head && r.has_host);
	r = taken("HEAD / HTTP/1.1\r\nHost: [::1]:9111\r\nConnection: foo, Close\r\n\r\n");
	assert_string_equal(r.host, "[::1]");
	assert_true(r.head && !r.keep_alive);
	r = taken("GET / HTTP/1.0\r\n\r\n");
	assert_true(!r.keep_alive && !r.has_host);
	r = taken("GET http://127.0.0.1:80/api/x?y HTTP/1.1\r\nHost: elsewhere\r\n\r\n");
	assert_string_equal(r.host, "127.0.0.1");
	assert_string_equal(r.path, "/api/x");
	taken("GET / HTTP/1.1\r\nHost:\r\nContent-Length: 0\r\n\r\n");
	taken("GET / HTTP/1.1\r\nHost: a\r\nX: \x80\xff\t~\r\n\r\n");
}

static void test_what_is_malformed(void **state)
{
	(void)state;
	EXPECT("\r\n", 400);
	EXPECT("GET / HTTP/1.1\nHost: a\n\n", 400);
	EXPECT("GET / HTTP/1.1\rHost: a\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 400);
	EXPECT("\x16\x03\x01\x02", 400); // TLS
	EXPECT("\0\0\0\0", 400);
	EXPECT("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400);
	EXPECT(" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET /\r\n\r\n", 400);
	EXPECT("GET / http/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.x\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET metrics HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\n\r\n", 400); // no Host
	EXPECT("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a:80x\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: [::1]x:1\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n", 400);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400);
}

static void test_what_is_not_done(void **state)
{
	char text[HTTP_HEAD_MAX];
	size_t at;

	(void)state;
	EXPECT("POST / HTTP/1.1\r\nHost: a\r\n\r\n", 405);
	EXPECT("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 405);
	EXPECT("get / HTTP/1.1\r\nHost: a\r\n\r\n", 405);
	EXPECT("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405);
	EXPECT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
	EXPECT("GET / HTTP/3.1\r\nHost: a\r\n\r\n", 505);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 413);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 501);
	at = (size_t)snprintf(text, sizeof text, "GET /");
	memset(text + at, 'x', HTTP_PATH_MAX);
	at += HTTP_PATH_MAX;
	at += (size_t)snprintf(text + at, sizeof text - at, " HTTP/1.1\r\nHost: a\r\n\r\n");
	expect(text, at, 414);
	at = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n");
	for (unsigned i = 0; i < HTTP_HEADERS_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "X-%u: y\r\n", i);
	at += (size_t)snprintf(text + at, sizeof text - at, "\r\n");
	expect(text, at, 431);
	EXPECT("GET / HTTP/1.1\r\nHost: a\r\n", -1); // not complete
}

static void test_long_fields_are_cut_or_refused(void **state)
{
	char text[HTTP_HEAD_MAX], value[3000];
	struct http_request request;

	(void)state;
	memset(value, 'a', sizeof value - 1);
	value[sizeof value - 1] = '\0';
	snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\nAccept: %s\r\nAccept: b\r\n\r\n",
		value);
	request = taken(text);
	assert_int_equal(strlen(request.accept), HTTP_ACCEPT_MAX);
	snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", value);
	expect(text, strlen(text), 400);
}

#define COMMAND "POST /api/command HTTP/1.1\r\nHost: LocalHost:9111\r\n"

static void test_a_command_has_a_body(void **state)
{
	struct http_request r = taken(COMMAND "Content-Length: 0004096\r\n"
					      "Content-Type: Application/JSON ; charset=utf-8\r\n"
					      "Origin: http://LOCALHOST:9111\r\n"
					      "Sec-Fetch-Site: same-origin\r\n"
					      "Authorization: bearer  abc.def \r\n\r\n");

	(void)state;
	assert_true(r.post && !r.head && r.json && r.has_length && r.has_origin && r.has_token);
	assert_int_equal(r.length, HTTP_BODY_MAX);
	assert_string_equal(r.authority, "localhost:9111");
	assert_string_equal(r.origin, r.authority);
	assert_string_equal(r.token, "abc.def");
	assert_true(r.has_site && r.same_site);
	r = taken(COMMAND "Content-Length: 0\r\nOrigin: null\r\nContent-Type: text/plain\r\n"
			  "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n"
			  "Authorization: Basic YTpi\r\n\r\n");
	assert_true(r.has_origin && r.has_site && !r.same_site && !r.json && !r.has_token);
	assert_string_equal(r.origin, "");
	// the order of the two does not matter
	r = taken(COMMAND "Content-Length: 0\r\nSec-Fetch-Site: cross-site\r\n"
			  "Sec-Fetch-Site: same-origin\r\n\r\n");
	assert_false(r.same_site);
	EXPECT(COMMAND "\r\n", 411);
	EXPECT(COMMAND "Content-Length: 4097\r\n\r\n", 413);
	EXPECT(COMMAND "Content-Length: 18446744073709551617\r\n\r\n", 413);
	EXPECT(COMMAND "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400);
	EXPECT(COMMAND "Content-Length: +1\r\n\r\n", 400);
	EXPECT(COMMAND "Content-Length: 1, 1\r\n\r\n", 400);
	EXPECT(COMMAND "Transfer-Encoding: chunked\r\n\r\n", 501);
	EXPECT(COMMAND
		"Content-Length: 1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
		400);
	EXPECT(COMMAND "Content-Length: 1\r\nOrigin: http://a\r\nOrigin: http://b\r\n\r\n", 400);
	EXPECT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 405);
	EXPECT("POST /api/commands HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 405);
	EXPECT("PUT /api/command HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 405);
	EXPECT("GET /api/command HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 413);
}

static void test_long_tokens_are_refused(void **state)
{
	char text[1024], token[HTTP_BEARER_MAX + 2];

	(void)state;
	memset(token, 'a', sizeof token);
	for (unsigned more = 0; more < 2; more++) {
		token[HTTP_BEARER_MAX + more] = '\0';
		snprintf(text, sizeof text,
			COMMAND "Content-Length: 1\r\nAuthorization: Bearer %s\r\n\r\n", token);
		expect(text, strlen(text), more ? 431 : 0);
		token[HTTP_BEARER_MAX] = 'a';
	}
}

static void test_openmetrics_is_asked_for(void **state)
{
	(void)state;
	// what Prometheus 2.42 sends
	assert_true(http_accepts_openmetrics("application/openmetrics-text;version=1.0.0,"
					     "application/openmetrics-text;version=0.0.1;q=0.75,"
					     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
	assert_true(http_accepts_openmetrics("text/plain, Application/OpenMetrics-Text ; q=0.2"));
	assert_false(http_accepts_openmetrics("application/openmetrics-text;q=0, */*"));
	assert_false(http_accepts_openmetrics("application/openmetrics-textual"));
	assert_false(http_accepts_openmetrics("*/*"));
	assert_false(http_accepts_openmetrics(""));
}

static void test_addresses(void **state)
{
	static const struct {
		const char *text;
		bool good, local;
	} cases[] = {
		{"127.0.0.1:9111", true, true},
		{"127.1.2.3:1", true, true},
		{"[::1]:65535", true, true},
		{"unix:/run/sluice/http.sock", true, true},
		{"0.0.0.0:9111", true, false},
		{"[::]:9111", true, false},
		{"192.0.2.1:80", true, false},
		{"[::ffff:127.0.0.1]:80", true, false},
		{"", false, false},
		{"9111", false, false},
		{":9111", false, false},
		{"localhost:9111", false, false},
		{"127.0.0.1", false, false},
		{"127.0.0.1:", false, false},
		{"127.0.0.1:0", false, false},
		{"127.0.0.1:65536", false, false},
		{"127.0.0.1:+80", false, false},
		{"127.0.0.1:80 ", false, false},
		{"127.0.0.256:80", false, false},
		{"::1:9111", false, false},
		{"[::1]", false, false},
		{"[::1%lo]:80", false, false},
		{"unix:", false, false},
		{"unix:relative.sock", false, false},
	};
	struct http_address address;
	char path[200] = "unix:/";

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int rc = http_address_parse(cases[i].text, &address);

		if ((rc == 0) != cases[i].good || (!rc && address.is_local != cases[i].local))
			fail_msg("%s: %d", cases[i].text, rc);
	}
	memset(path + 6, 'x', sizeof path - 7);
	assert_true(http_address_parse(path, &address) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_taken),
		cmocka_unit_test(test_what_is_malformed),
		cmocka_unit_test(test_what_is_not_done),
		cmocka_unit_test(test_long_fields_are_cut_or_refused),
		cmocka_unit_test(test_a_command_has_a_body),
		cmocka_unit_test(test_long_tokens_are_refused),
		cmocka_unit_test(test_openmetrics_is_asked_for),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
