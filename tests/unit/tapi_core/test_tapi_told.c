// SPDX-License-Identifier: BSD-3-Clause
// What an operator is reported when a core begins with a configuration that is not as it was meant:
// what, where, what to do. And which of a friend's addresses are taken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <cmocka.h>

#include "transportapi/core/core.h"

#define LOOPBACK                                                                         \
	"\"acl\": {\"local\": true}, \"udp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}," \
	" \"tcp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}"

struct begun {
	struct event_base *base;
	struct tapi_conf *conf;
	struct tapi_core *core;
	struct tapi_error error;
	char log[4096];
};

static void on_log(void *context, int priority, const char *text)
{
	struct begun *begun = context;
	size_t used = strlen(begun->log);

	(void)priority;
	snprintf(&begun->log[used], sizeof(begun->log) - used, "%s\n", text);
}

// Made and started, as far as it goes.
static enum tapi_result begin(struct begun *begun, uint8_t who, const char *text)
{
	uint8_t seed[TAPI_SEED_BYTES] = {who};
	struct tapi_core_options options = {.log = on_log, .context = begun};
	struct tapi_identity identity;
	enum tapi_result result;

	memset(begun, 0, sizeof(*begun));
	begun->conf = tapi_conf_parse(text, &begun->error);
	if (!begun->conf)
		return TAPI_ECONF;
	tapi_identity_from_seed(&identity, seed);
	begun->base = event_base_new();
	options.base = begun->base;
	options.conf = begun->conf;
	options.identity = &identity;
	result = tapi_core_new(&begun->core, &options, &begun->error);
	return result == TAPI_OK ? tapi_core_start(begun->core, &begun->error) : result;
}

static void end(struct begun *begun)
{
	if (begun->core)
		tapi_core_free(begun->core);
	if (begun->base)
		event_base_free(begun->base);
	tapi_conf_free(begun->conf);
}

static void refusals_have_their_place(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"{\"transports\": [\"udp\"],\n\"upd\": {\"port\": 0}}",
			"configuration:2: upd: a section of nothing that runs: there is \"core\""},
		{"{\"transports\": [\"udp\"],\n\n\"core\": {\"modules_first\": true}}",
			"configuration:3: core.modules_first: nothing is loaded without "
			"core.module_path"},
		{"{\"transport\": [\"udp\"]}",
			"configuration:1: transport: has to be an object, {...}: a section of keys "
			"(the one list outside of a section is \"transports\")"},
		{"{\"transports\": [\"pigeon\"]}",
			"transport pigeon: not built in (tcp, udp and others are), and "
			"core.module_path names no folder"},
	};
	struct begun begun;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(begin(&begun, 1, cases[i].text), TAPI_ECONF);
		if (!strstr(begun.error.text, cases[i].said))
			fail_msg("%s: %s", cases[i].text, begun.error.text);
		end(&begun);
	}
}

// The log says who speaks once, and where the mistake is.
static void transports_speak_with_their_place(void **state)
{
	struct begun begun;

	(void)state;
	begin(&begun, 1,
		"{\"transports\": [\"udp\", \"tcp\"], \"acl\": {\"local\": true},\n"
		"\"udp\": {\"port\": 0, \"bind\": [\"127.0.0.1\",\n\"localhost\"]},\n"
		"\"tcp\": {\"port\": 0, \"bind\": [\"192.0.2.77\"]}}");
	if (!strstr(begun.log, "udp: configuration:3: udp.bind[1]: \"localhost\" is no address") ||
		!strstr(begun.log, "\ntcp: cannot listen on tcp://192.0.2.77:0"))
		fail_msg("%s", begun.log);
	assert_null(strstr(begun.log, "udp: udp:"));
	assert_null(strstr(begun.log, "tcp: tcp:"));
	end(&begun);
}

// What is said behind the address of `scheme`.
static const char *fault_of(const char *log, const char *scheme)
{
	static char out[2][256];
	static unsigned turn;
	char begin[64];
	const char *at;

	turn = !turn;
	snprintf(begin, sizeof(begin), "cannot listen on %s", scheme);
	at = strstr(log, begin);
	if (!at)
		fail_msg("%s", log);
	at += strlen(begin);
	snprintf(out[turn], sizeof(out[turn]), "%.*s", (int)strcspn(at, "\n"), at);
	return out[turn];
}

// One fault, one wording, whatever the transport is.
static void one_fault_has_one_wording(void **state)
{
	struct sockaddr_in taken = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(taken);
	const int stream = socket(AF_INET, SOCK_STREAM, 0),
		  datagram = socket(AF_INET, SOCK_DGRAM, 0);
	struct begun begun;
	char text[512];

	(void)state;
	begin(&begun, 1,
		"{\"transports\": [\"udp\", \"tcp\"], \"udp\": {\"port\": 0, \"bind\": "
		"[\"192.0.2.77\"]}, \"tcp\": {\"port\": 0, \"bind\": [\"192.0.2.77\"]}}");
	assert_string_equal(fault_of(begun.log, "udp"), fault_of(begun.log, "tcp"));
	assert_non_null(strstr(begun.log, "this machine has no such address"));
	end(&begun);
	// A port that both have taken.
	assert_int_equal(bind(stream, (struct sockaddr *)&taken, sizeof(taken)), 0);
	assert_int_equal(listen(stream, 1), 0);
	assert_int_equal(getsockname(stream, (struct sockaddr *)&taken, &length), 0);
	if (bind(datagram, (struct sockaddr *)&taken, sizeof(taken)) == 0) { // or somebody else has
		snprintf(text, sizeof(text),
			"{\"transports\": [\"udp\", \"tcp\"], \"udp\": {\"port\": %u, \"bind\": "
			"[\"127.0.0.1\"]}, \"tcp\": {\"port\": %u, \"bind\": [\"127.0.0.1\"]}}",
			ntohs(taken.sin_port), ntohs(taken.sin_port));
		begin(&begun, 1, text);
		assert_string_equal(fault_of(begun.log, "udp"), fault_of(begun.log, "tcp"));
		assert_non_null(strstr(begun.log, "ss -anp"));
		end(&begun);
	}
	close(stream);
	close(datagram);
}

static void odd_starts_are_told(void **state)
{
	char folder[] = "/tmp/tapi_told_XXXXXX", text[1024];
	struct begun begun;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(text, sizeof(text),
		"{\"transports\": [\"udp\"], \"core\": {\"module_path\": \"%s/mod\","
		" \"known_peers\": \"%s/no/peers\"}, \"udp\": {\"port\": 0, \"nat\": true}}",
		folder, folder);
	assert_int_equal(begin(&begun, 1, text), TAPI_OK);
	if (!strstr(begun.log, "/mod: No such file or directory; no transport is loaded from") ||
		!strstr(begun.log, "/no/peers: No such file or directory: its folder has to") ||
		!strstr(begun.log, "no address of ours can be advertised"))
		fail_msg("%s", begun.log);
	end(&begun);
	snprintf(text, sizeof(text),
		"{\"transports\": [\"udp\", \"tcp\"], \"core\": {\"module_path\": \"%s\","
		" \"modules_first\": true, \"known_peers\": \"%s/peers\"}, " LOOPBACK "}",
		MODULE_DIRECTORY, folder);
	assert_int_equal(begin(&begun, 1, text), TAPI_OK); // as it should be: nothing but what is
	if (!strstr(begun.log, "transport tcp was loaded from " MODULE_DIRECTORY) ||
		strstr(begun.log, "cannot") || strstr(begun.log, "no address of ours"))
		fail_msg("%s", begun.log);
	end(&begun);
	rmdir(folder);
}

// Of a friend's addresses the good ones are taken; where none is, it is said why.
static void good_addresses_of_a_text_are_taken(void **state)
{
	struct begun friend, begun;
	struct tapi_peer_info info;
	char text[4096];

	(void)state;
	assert_int_equal(begin(&friend, 1,
				 "{\"transports\": [\"udp\"], \"acl\": {\"local\": true}, \"udp\": "
				 "{\"port\": 0, \"bind\": [\"127.0.0.2\", \"127.0.0.3\"]}}"),
		TAPI_OK);
	assert_true(tapi_core_own_helos_text(friend.core, text, sizeof(text)) > 0);
	assert_int_equal(
		begin(&begun, 2,
			"{\"transports\": [\"udp\"], \"acl\": {\"local\": true, \"deny\": "
			"[\"127.0.0.2\"]}, \"udp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}}"),
		TAPI_OK);
	if (tapi_core_add_helos_text(begun.core, text, &begun.error) != TAPI_OK)
		fail_msg("%s", begun.error.text);
	assert_int_equal(
		tapi_core_peer(begun.core, &tapi_core_identity(friend.core)->id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 1);
	end(&begun);
	assert_int_equal(begin(&begun, 2,
				 "{\"transports\": [\"udp\"], \"udp\": {\"port\": 0, "
				 "\"bind\": [\"127.0.0.1\"]}}"),
		TAPI_OK);
	assert_int_equal(tapi_core_add_helos_text(begun.core, text, &begun.error), TAPI_EACL);
	assert_non_null(strstr(begun.error.text, "need acl.local"));
	end(&begun);
	assert_int_equal(begin(&begun, 2,
				 "{\"transports\": [\"tcp\"], \"acl\": {\"local\": true}, "
				 "\"tcp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}}"),
		TAPI_OK);
	assert_int_equal(tapi_core_add_helos_text(begun.core, text, &begun.error), TAPI_EADDR);
	assert_non_null(strstr(begun.error.text, "see \"transports\" at both ends"));
	end(&begun);
	end(&friend);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_have_their_place),
		cmocka_unit_test(transports_speak_with_their_place),
		cmocka_unit_test(one_fault_has_one_wording),
		cmocka_unit_test(odd_starts_are_told),
		cmocka_unit_test(good_addresses_of_a_text_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
