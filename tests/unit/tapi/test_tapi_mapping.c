// SPDX-License-Identifier: BSD-3-Clause
// A port of the router (TA28), with programs in the place of the one that talks to it: what is
// asked and when, what is made of answers that are wrong, late or missing, and that nothing is left
// of it. The clock is the test's; the programs are shell scripts, and waited for as long as it
// takes.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/tapi/tapi_udp_end.h"
#include "transportapi/transport/mapping.h"
#include "transportapi/transport/udp.h"

#define S UINT64_C(1000000)

struct stage {
	struct event_base *base;
	struct tapi_mapping mapping;
	struct tapi_core_api core;
	struct tapi_transport_stats stats;
	struct tapi_mapping_settings settings;
	struct tapi_inet_list bound;
	struct tapi_conf *conf;
	struct tapi_acl *acl;
	const struct tapi_acl *acl_in_force;
	uint64_t now_us;
	unsigned changes, lines;
	char log[512]; // the last line
	char folder[32], program[64], asked[64], answer[64];
};

static uint64_t on_now(void *core)
{
	return ((struct stage *)core)->now_us;
}

__attribute__((format(printf, 3, 4))) static void on_log(
	void *core, int priority, const char *format, ...)
{
	struct stage *stage = core;
	va_list arguments;

	(void)priority;
	stage->lines++;
	va_start(arguments, format);
	vsnprintf(stage->log, sizeof(stage->log), format, arguments);
	va_end(arguments);
}

static void on_changed(void *context)
{
	((struct stage *)context)->changes++;
}

static void put_file(const char *path, const char *text)
{
	char fresh[80];
	FILE *file;

	snprintf(fresh, sizeof(fresh), "%s.fresh", path);
	file = fopen(fresh, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(fresh, 0700), 0);
	assert_int_equal(rename(fresh, path), 0);
}

static void get_file(const char *path, char *out, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t n = 0;

	if (file) {
		n = fread(out, 1, room - 1, file);
		fclose(file);
	}
	out[n] = '\0';
}

// Writes down what it is asked, says what is in the file `answer`, and "gone" when nobody asks.
static void write_program(struct stage *stage)
{
	char text[512];

	snprintf(text, sizeof(text),
		"#!/bin/sh\nwhile read -r line; do echo \"$line\" >>%s; cat %s; done\n"
		"echo gone >>%s\n",
		stage->asked, stage->answer, stage->asked);
	put_file(stage->program, text);
}

static int setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	struct tapi_error error;

	assert_non_null(stage);
	stage->base = event_base_new();
	snprintf(stage->folder, sizeof(stage->folder), "/tmp/tapi_mapping_XXXXXX");
	assert_non_null(mkdtemp(stage->folder));
	snprintf(stage->program, sizeof(stage->program), "%s/program", stage->folder);
	snprintf(stage->asked, sizeof(stage->asked), "%s/asked", stage->folder);
	snprintf(stage->answer, sizeof(stage->answer), "%s/answer", stage->folder);
	write_program(stage);
	stage->now_us = 1000 * S;
	stage->conf = tapi_conf_parse("{}", &error);
	assert_non_null(stage->conf);
	assert_int_equal(tapi_acl_new(&stage->acl, stage->conf, &error), TAPI_OK);
	stage->acl_in_force = stage->acl;
	stage->core = (struct tapi_core_api){.core = stage,
		.base = stage->base,
		.now_us = on_now,
		.log = on_log,
		.acl = &stage->acl_in_force};
	stage->mapping.core = &stage->core;
	stage->mapping.stats = &stage->stats;
	stage->mapping.name = "udp";
	stage->mapping.changed = on_changed;
	stage->mapping.context = stage;
	tapi_mapping_init(&stage->mapping);
	snprintf(stage->settings.how, sizeof(stage->settings.how), "auto");
	snprintf(stage->settings.program, sizeof(stage->settings.program), "%s", stage->program);
	stage->settings.lease_s = 120;
	stage->bound = (struct tapi_inet_list){
		2, {{.family = 6, .port = 2086}, {.family = 4, .port = 2086}}};
	*state = stage;
	return 0;
}

static int teardown(void **state)
{
	struct stage *stage = *state;

	tapi_mapping_stop(&stage->mapping);
	event_base_free(stage->base);
	tapi_acl_free(stage->acl);
	tapi_conf_free(stage->conf);
	unlink(stage->program);
	unlink(stage->asked);
	unlink(stage->answer);
	rmdir(stage->folder);
	free(stage);
	return 0;
}

static bool wait_for(struct event_base *base, const uint64_t *counter, uint64_t n)
{
	for (unsigned i = 0; i < 10000 && *counter < n; i++) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	return *counter >= n;
}

static bool wait_asked(struct stage *stage, const char *all)
{
	char text[1024] = "";

	for (unsigned i = 0; i < 10000; i++) {
		event_base_loop(stage->base, EVLOOP_NONBLOCK);
		get_file(stage->asked, text, sizeof(text));
		if (strcmp(text, all) == 0)
			return true;
		usleep(1000);
	}
	print_message("asked:\n%s", text);
	return false;
}

static void use(struct stage *stage)
{
	tapi_mapping_use(&stage->mapping, &stage->settings, &stage->bound);
}

// At the time that it wants to be called next.
static void go_on(struct stage *stage)
{
	uint64_t next_us = tapi_mapping_turn(&stage->mapping, stage->now_us);

	assert_true(next_us != UINT64_MAX && next_us > stage->now_us);
	stage->now_us = next_us;
	tapi_mapping_turn(&stage->mapping, stage->now_us);
}

static unsigned own(struct stage *stage, struct tapi_inet_list *out)
{
	out->n = 0;
	tapi_mapping_own(&stage->mapping, out);
	return out->n;
}

#define ASK "map udp 0.0.0.0 2086 2086 120 auto\n"

static void test_lease(void **state)
{
	struct stage *stage = *state;
	struct tapi_inet_list list;

	put_file(stage->answer, "mapped 198.51.100.7 2099 100 nat-pmp\n");
	use(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_granted, 1));
	assert_int_equal(stage->changes, 1);
	assert_int_equal(own(stage, &list), 1);
	assert_int_equal(list.address[0].port, 2099);
	assert_memory_equal(list.address[0].address, ((uint8_t[]){198, 51, 100, 7}), 4);
	assert_non_null(strstr(stage->log, "udp://198.51.100.7:2099"));
	assert_true(wait_asked(stage, ASK));

	// Again at half of what was granted, and the port that it has now; the same is no change.
	use(stage); // a reload that changes nothing
	assert_int_equal(tapi_mapping_turn(&stage->mapping, stage->now_us), 1050 * S);
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_granted, 2));
	assert_true(wait_asked(stage, ASK "map udp 0.0.0.0 2086 2099 120 auto\n"));
	assert_int_equal(stage->changes, 1);

	put_file(stage->answer, "mapped 198.51.100.8 2099 0 upnp\n"); // for ever: renewed as asked
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_granted, 3));
	assert_int_equal(stage->changes, 2);
	assert_int_equal(tapi_mapping_turn(&stage->mapping, stage->now_us), stage->now_us + 60 * S);

	// Refused from now on: it stands until its time is over.
	put_file(stage->answer, "failed nat-pmp: gone\n");
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_failed, 1));
	assert_int_equal(own(stage, &list), 1);
	for (unsigned i = 0; i < 3 && own(stage, &list) == 1; i++)
		go_on(stage);
	assert_int_equal(own(stage, &list), 0);
	assert_int_equal(stage->changes, 3);
	assert_int_equal(stage->stats.nat_changes, 3);

	tapi_mapping_stop(&stage->mapping);
	for (unsigned i = 0; i < 10000; i++) { // it sees its end, whenever
		char text[1024];

		get_file(stage->asked, text, sizeof(text));
		if (strstr(text, "gone"))
			break;
		usleep(1000);
		assert_int_not_equal(i, 9999);
	}
	assert_int_equal(stage->changes, 3);
	assert_int_equal(tapi_mapping_turn(&stage->mapping, stage->now_us), UINT64_MAX);
}

// Said once, however often; later and later: 60, 120 ... 3600 s.
static void test_refused(void **state)
{
	struct stage *stage = *state;
	uint64_t waits[8], last_us;

	put_file(stage->answer, "failed upnp: \x1b[2Jno router answers\n");
	use(stage);
	for (unsigned i = 0; i < 8; i++) {
		assert_true(wait_for(stage->base, &stage->stats.map_failed, i + 1));
		last_us = stage->now_us;
		go_on(stage);
		waits[i] = (stage->now_us - last_us) / S;
	}
	assert_int_equal(waits[0], 60);
	assert_int_equal(waits[1], 120);
	assert_int_equal(waits[5], 1920);
	assert_int_equal(waits[6], 3600);
	assert_int_equal(waits[7], 3600);
	assert_int_equal(stage->lines, 1);
	assert_non_null(strstr(stage->log, "upnp: ?[2Jno router answers")); // a terminal is safe
	assert_int_equal(stage->changes, 0);

	// Granted once, the next failure is news again.
	assert_true(wait_for(stage->base, &stage->stats.map_failed, 9));
	put_file(stage->answer, "mapped 198.51.100.7 2086 120 upnp\n");
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_granted, 1));
	put_file(stage->answer, "failed upnp: again\n");
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_failed, 10));
	assert_int_equal(stage->lines, 3);
}

// What no program of ours says makes no address; a program that ends is begun anew.
static void test_nonsense(void **state)
{
	static const char *const answers[] = {
		"mapped 198.51.100.7 0 60 upnp\n",
		"mapped 198.51.100.7 65536 60 upnp\n",
		"mapped 198.51.100.300 80 60 upnp\n",
		"mapped 198.51.100 80 60 upnp\n",
		"mapped 198.51.100.7 80 60 upnp more\n",
		"mapped 198.51.100.7 80 60\n",
		"mapped 198.51.100.7 80 60 upnp-and-more\n",
		"mapped 198.51.100.7 8080808080 60 upnp\n",
		"mapped 2001:db8::1 80 60 upnp\n",
		"mapped\n",
		"\n",
	};
	struct stage *stage = *state;
	char endless[400];
	unsigned i;

	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		put_file(stage->answer, answers[i]);
		if (i == 0)
			use(stage);
		else
			go_on(stage);
		assert_true(wait_for(stage->base, &stage->stats.map_failed, i + 1));
	}
	put_file(stage->answer, endless);
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_failed, ++i));
	put_file(stage->program, "#!/bin/sh\nexit 1\n");
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_failed, ++i));
	assert_int_equal(unlink(stage->program), 0);
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_failed, ++i));
	assert_int_equal(stage->stats.map_granted, 0);
	assert_int_equal(stage->changes, 0);
	assert_int_equal(stage->lines, 1);

	write_program(stage);
	put_file(stage->answer, "mapped 169.254.1.1 80 60 upnp\n"); // good, but denied
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_granted, 1));
	assert_int_equal(stage->stats.nat_denied, 1);
	assert_int_equal(own(stage, &(struct tapi_inet_list){0}), 0);
	assert_non_null(strstr(stage->log, "section acl denies udp://169.254.1.1:80"));
}

static void test_silent(void **state)
{
	struct stage *stage = *state;

	put_file(stage->answer, "");
	use(stage);
	assert_true(wait_asked(stage, ASK));
	assert_int_equal(tapi_mapping_turn(&stage->mapping, stage->now_us), 1060 * S);
	assert_int_equal(stage->stats.map_failed, 0);
	go_on(stage);
	assert_int_equal(stage->stats.map_failed, 1);
	assert_non_null(strstr(stage->log, "no answer within a minute"));
	assert_true(wait_asked(stage, ASK "gone\n"));
	put_file(stage->answer, "mapped 198.51.100.7 2086 120 upnp\n");
	go_on(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_granted, 1));
}

static void test_missing(void **state)
{
	struct stage *stage = *state;

	snprintf(
		stage->settings.program, sizeof(stage->settings.program), "%s/none", stage->folder);
	use(stage);
	assert_true(wait_for(stage->base, &stage->stats.map_failed, 1));
	assert_non_null(strstr(stage->log, "/none cannot be started (No such file or directory)"));
	// Off: nothing is asked. Nothing that is bound is IPv4: neither.
	snprintf(stage->settings.how, sizeof(stage->settings.how), "off");
	use(stage);
	assert_int_equal(tapi_mapping_turn(&stage->mapping, stage->now_us), UINT64_MAX);
	snprintf(stage->settings.how, sizeof(stage->settings.how), "upnp");
	stage->bound.n = 1;
	use(stage);
	assert_int_equal(tapi_mapping_turn(&stage->mapping, stage->now_us), UINT64_MAX);
}

// udp advertises it, and says what it is bound to. Stopped, it is gone.
static void test_udp(void **state)
{
	struct stage *stage = *state;
	struct tapi_helo helo = {0};
	char keys[256], text[TAPI_TEXT_BYTES], line[128];
	struct end *end;

	put_file(stage->answer, "mapped 198.51.100.7 2099 100 upnp\n");
	snprintf(keys, sizeof(keys),
		ON_V4 ", \"nat\": true, \"port_mapping\": \"upnp\", \"port_mapper\": \"%s\"",
		stage->program);
	end = udp_end(stage->base, 1, keys);
	assert_int_equal(end->api->create_helo(end->api, 0, &helo), TAPI_ENOADDR);
	assert_true(wait_for(stage->base, &end->api->stats(end->api)->map_granted, 1));
	end_helo(end, 0, &helo);
	assert_int_equal(helo.flags, 0); // who knows it can call
	assert_int_equal(end->api->address_to_string(end->api, &helo, text, sizeof(text)), TAPI_OK);
	assert_string_equal(text, "udp://198.51.100.7:2099");
	get_file(stage->asked, line, sizeof(line));
	assert_int_equal(strncmp(line, "map udp 127.0.0.1 ", 18), 0);
	assert_int_equal(udp_reload(end, ON_V4 ", \"nat\": true"), TAPI_OK);
	assert_int_equal(end->api->create_helo(end->api, 0, &helo), TAPI_ENOADDR);
	end_free(end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lease, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_udp, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
