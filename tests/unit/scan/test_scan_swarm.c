// SPDX-License-Identifier: BSD-3-Clause
// A file that comes in parts over several connections, through the whole path: none of its
// receivers has the last of it before the verdict, on whatever lcore its connection is.
#include "lib/pipeline/swarm_gate.h"

#define PASS "'rules':[{'id':'av','match':{},'ranges':'pass','scan':{"
#define PART(tag, of)                                  \
	"HTTP/1.1 206 Partial Content\r\nETag: \"" tag \
	"\"\r\nContent-Length: 8\r\nContent-Range: bytes " of "/16\r\n\r\n"
#define FIRST  PART("v1", "0-7")
#define SECOND PART("v1", "8-15")
#define OF_LONG(of)                                        \
	"HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\n" \
	"Content-Length: 8\r\nContent-Range: bytes " of "/40\r\n\r\n"

// A connection that asks for a part. Whether its request left.
static bool asks_part(struct gate *gate, struct gate_tcp *tcp, uint16_t sport, const char *range)
{
	char request[200];

	*tcp = gate_connect(gate, 1, sport, 80);
	snprintf(request, sizeof(request),
		"GET /a.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=%s\r\n\r\n", range);
	return gate_send(gate, tcp, false, request, strlen(request)) == 1;
}

static const char *alert_reason(struct gate *gate)
{
	static char reason[32];
	json_t *alert = gate_event(gate, "alert");
	const char *word = json_string_value(
		json_object_get(json_object_get(alert, "scan"), alert ? "reason" : ""));

	snprintf(reason, sizeof(reason), "%s", word ? word : "");
	json_decref(alert);
	return alert ? reason : NULL;
}

// The halves of a file come over two connections, the second one first.
static void halves_of_a_file_are_scanned_as_one(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = swarm_world(1, PASS "}}]");
		struct gate_tcp one, two, next;
		struct left left[2] = {{.length = 0}, {.length = 0}};

		assert_true(asks_part(gate, &one, 42000, "0-7"));
		assert_true(asks_part(gate, &two, 42001, "8-15"));
		says(gate, &one, FIRST, &left[0]);
		says(gate, &two, SECOND, &left[1]);
		says(gate, &two, evil ? "EVIL!!!!" : "harmless", &left[1]);
		assert_false(has(&left[1], evil ? "EVIL!!!!" : "harmless"));
		passes(gate, 0.6, &left[1]);
		assert_true(has(&left[1], evil ? "EVIL!!!!" : "harmless")); // half of a file
		assert_int_equal(last_to, 16);
		says(gate, &one, "so. X5O-", &left[0]);
		assert_false(has(&left[0], "X5O-"));
		passes(gate, 0.4, &left[0]);
		assert_false(has(&left[0], "X5O-"));
		passes(gate, 0.2, &left[0]);
		assert_int_equal(jobs_seen, 2); // the half by itself, and the whole
		assert_int_equal(last_to, 16);
		assert_int_equal(has(&left[0], "X5O-"), !evil);
		assert_int_equal(left[0].resets >= 2, evil);
		assert_int_equal(stats(gate).scan_infected, evil);
		assert_int_equal(stats(gate).scan_clean, !evil);
		const char *reason = alert_reason(gate);

		assert_int_equal(reason != NULL, evil); // no half of a clean file is told
		// who asks for a part then is refused at the request
		assert_int_equal(asks_part(gate, &next, 42002, "0-7"), !evil);
		gives_up(gate, &one);
		gives_up(gate, &two);
		gives_up(gate, &next);
		swarm_world_free(gate);
	}
}

// Flows on two lcores: who completes it waits, and who brings some of it again meanwhile, wherever.
static void on_whatever_lcore(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = swarm_world(2, PASS "}}]");
		struct gate_tcp tcp[6];
		struct left left[6];
		uint64_t flows[2] = {0};

		memset(left, 0, sizeof(left));
		for (uint16_t i = 0; i < 6; i++) {
			bool first = i != 1 && i != 4;

			assert_true(asks_part(
				gate, &tcp[i], (uint16_t)(42000 + i), first ? "0-7" : "8-15"));
			says(gate, &tcp[i], first ? FIRST : SECOND, &left[i]);
		}
		for (unsigned i = 0; i < 2; i++)
			flows[i] = gate->pipe->dp.lcores[i]->stats.content_files;
		assert_true(flows[0] && flows[1]); // both have some
		says(gate, &tcp[0], "so. X5O-", &left[0]);
		assert_false(has(&left[0], "X5O-"));
		passes(gate, 0.6, &left[0]);
		assert_true(has(&left[0], "X5O-"));
		says(gate, &tcp[1], evil ? "EVIL!!!!" : "harmless", &left[1]);
		for (unsigned i = 2; i < 6; i++) {
			says(gate, &tcp[i], i == 4 ? evil ? "EVIL!!!!" : "harmless" : "so. X5O-",
				&left[i]);
			assert_false(has(&left[i], i == 4 ? "!!!!" : "X5O-"));
		}
		struct left after = {0};

		passes(gate, 0.6, &after);
		assert_int_equal(jobs_seen, 2);
		assert_int_equal(after.resets >= 10, evil);
		assert_int_equal(after.length, evil ? 0 : 5 * 8);
		for (unsigned i = 0; i < 6; i++)
			gives_up(gate, &tcp[i]);
		swarm_world_free(gate);
	}
}

static void a_scanner_that_says_nothing(void **state)
{
	(void)state;
	for (unsigned audit = 0; audit < 2; audit++) {
		struct gate *gate =
			swarm_world(1, audit ? PASS "'timeout':'audit'}}]" : PASS "}}]");
		struct gate_tcp one, two;
		struct left left = {0};

		assert_true(asks_part(gate, &one, 42000, "0-7"));
		assert_true(asks_part(gate, &two, 42001, "8-15"));
		says(gate, &two, SECOND "harmless", &left);
		passes(gate, 0.6, &left);
		is_deaf = true;
		left = (struct left){0};
		says(gate, &one, FIRST "so. X5O-", &left);
		passes(gate, 9.9, &left);
		assert_int_equal(left.length, 0);
		passes(gate, 0.3, &left);
		assert_int_equal(has(&left, "X5O-"), audit);
		assert_int_equal(left.resets >= 2, !audit);
		assert_int_equal(stats(gate).scan_timeouts, 1);
		gives_up(gate, &one);
		gives_up(gate, &two);
		swarm_world_free(gate);
	}
}

// The verdict stands for those who come later, though nobody waits for it.
static void who_completes_it_gives_up(void **state)
{
	struct gate *gate = swarm_world(1, PASS "}}]");
	struct gate_tcp one, two, three;
	struct left left = {0};

	(void)state;
	assert_true(asks_part(gate, &one, 42000, "0-7"));
	assert_true(asks_part(gate, &two, 42001, "8-15"));
	assert_true(asks_part(gate, &three, 42002, "8-15"));
	says(gate, &three, SECOND, &left);
	says(gate, &one, FIRST "so. X5O-", &left);
	passes(gate, 0.6, &left);
	left = (struct left){0};
	says(gate, &two, SECOND "EVIL!!!!", &left);
	assert_int_equal(left.length, 0);
	const struct pipe_packet reset = {.client = two.client,
		.sport = two.sport,
		.dport = two.dport,
		.seq = two.seq[0],
		.ack = two.seq[1],
		.tcp_flags = TH_RST | TH_ACK};

	gate_run(gate, &reset);
	passes(gate, 0.6, &left);
	left = (struct left){0};
	says(gate, &three, "EVIL!!!!", &left);
	assert_int_equal(left.length, 0);
	assert_true(left.resets >= 2);
	assert_int_equal(jobs_seen, 2);
	json_t *alert = gate_event(gate, "alert");

	assert_string_equal(
		json_string_value(json_object_get(json_object_get(alert, "scan"), "name")),
		"Test.Evil");
	json_decref(alert);
	gives_up(gate, &one);
	gives_up(gate, &two);
	gives_up(gate, &three);
	swarm_world_free(gate);
}

// Nobody brings the rest: what is there is no file. As long as somebody may, nothing is said of it.
static void a_part_alone_is_unscanned(void **state)
{
	static const struct {
		const char *policy;
		bool with_other, passes, alert;
	} rows[] = {
		{PASS "}}]", false, true, true},
		{PASS "'unscanned':{'protocol':'reset'}}}]", false, false, true},
		{PASS "'unscanned':{'protocol':'pass'}}}]", false, true, false},
		{PASS "'unscanned':{'protocol':'reset'}}}]", true, true, false},
		{"'mode':'monitor'," PASS "'unscanned':{'protocol':'reset'}}}]", false, true, true},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct gate *gate = swarm_world(1, rows[i].policy);
		struct gate_tcp one, other;
		struct left left = {0};

		if (rows[i].with_other) {
			assert_true(asks_part(gate, &other, 42001, "0-7"));
			says(gate, &other, FIRST, &left);
			left = (struct left){0};
		}
		assert_true(asks_part(gate, &one, 42000, "8-15"));
		says(gate, &one, SECOND "harmless", &left);
		passes(gate, 1, &left);
		if ((left.length > 0) != rows[i].passes)
			fail_msg("row %zu: %zu bytes left", i, left.length);
		const char *reason = alert_reason(gate);

		if (!reason != !rows[i].alert || (reason && strcmp(reason, "protocol") != 0))
			fail_msg("row %zu: an alert says %s", i, reason ? reason : "nothing");
		if (jobs_seen != 1 || last_to != 16)
			fail_msg("row %zu: %u jobs, to %lu", i, jobs_seen, last_to);
		gives_up(gate, &one);
		if (rows[i].with_other)
			gives_up(gate, &other);
		swarm_world_free(gate);
	}
}

// The same bytes of the file as others: somebody may have those, so nothing found says nothing.
static void other_bytes_of_a_part_are_not_clean(void **state)
{
	struct gate *gate = swarm_world(1, PASS "}}]");
	struct gate_tcp tcp[3];
	struct left left = {0};

	(void)state;
	assert_true(asks_part(gate, &tcp[0], 42000, "0-7"));
	assert_true(asks_part(gate, &tcp[1], 42001, "0-7"));
	assert_true(asks_part(gate, &tcp[2], 42002, "8-15"));
	says(gate, &tcp[1], FIRST, &left);
	says(gate, &tcp[2], SECOND, &left);
	says(gate, &tcp[0], FIRST "so. X5O-", &left);
	passes(gate, 0.6, &left);
	says(gate, &tcp[1], "harmless", &left);
	passes(gate, 0.6, &left);
	assert_int_equal(stats(gate).swarm_differs, 1);
	left = (struct left){0};
	says(gate, &tcp[2], "EVIL!!!!", &left);
	assert_int_equal(left.length, 0);
	passes(gate, 0.6, &left);
	assert_true(has(&left, "EVIL!!!!")); // audit, by default
	const char *reason = alert_reason(gate);

	assert_non_null(reason);
	assert_string_equal(reason, "protocol");
	for (unsigned i = 0; i < 3; i++)
		gives_up(gate, &tcp[i]);
	swarm_world_free(gate);
}

// Where the server says by its ETag that it is another file, or says nothing strong, nothing is put
// together.
static void another_file_is_another(void **state)
{
	static const char *const heads[] = {PART("v2", "8-15"),
		"HTTP/1.1 206 Partial Content\r\nETag: W/\"v1\"\r\nContent-Length: 8\r\n"
		"Content-Range: bytes 8-15/16\r\n\r\n",
		"HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Length: 8\r\n"
		"Content-Range: bytes 8-15/17\r\n\r\n"};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(heads); i++) {
		struct gate *gate = swarm_world(1, PASS "}}]");
		struct gate_tcp one, two;
		struct left left = {0};

		assert_true(asks_part(gate, &one, 42000, "0-7"));
		assert_true(asks_part(gate, &two, 42001, "8-15"));
		says(gate, &one, FIRST, &left);
		says(gate, &two, heads[i], &left);
		says(gate, &one, "so. X5O-", &left);
		says(gate, &two, "EVIL!!!!", &left);
		passes(gate, 1, &left);
		assert_int_equal(stats(gate).scan_infected, 0);
		assert_true(has(&left, "EVIL!!!!"));
		gives_up(gate, &one);
		gives_up(gate, &two);
		swarm_world_free(gate);
	}
}

// By an id that the server says, or the URL, a browser checks nothing: bytes that differ from those
// that have proven it are no file that is known to be clean.
static void an_id_of_http_vouches_for_no_bytes(void **state)
{
#define URN "urn:sha1:TWIXNZ66WLABJMBDFWLCIOSKVH4RZYNS" // of "so. harmless ok!"
	static const struct {
		const char *request, *answer;
		bool part;
	} rows[] = {
		{"GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
			"HTTP/1.1 200 OK\r\nX-Content-URN: " URN "\r\nContent-Length: 16\r\n\r\n",
			false},
		{"GET /uri-res/N2R?" URN " HTTP/1.1\r\nHost: a\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n", false},
		{"GET /a HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\n\r\n",
			"HTTP/1.1 206 Partial Content\r\nX-Gnutella-Content-URN: " URN
			"\r\nContent-Length: 16\r\nContent-Range: bytes 0-15/16\r\n\r\n",
			true},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct gate *gate = swarm_world(1, PASS "}}]");
		struct gate_tcp one = gate_connect(gate, 1, 42000, 80), two;
		struct left left = {0};

		assert_int_equal(
			gate_send(gate, &one, false, rows[i].request, strlen(rows[i].request)), 1);
		says(gate, &one, rows[i].answer, &left);
		says(gate, &one, "so. harmless ok!", &left);
		passes(gate, 1, &left);
		assert_true(has(&left, "ok!"));
		assert_int_equal(stats(gate).scan_clean, 1);
		two = gate_connect(gate, 1, 42001, 80);
		assert_int_equal(
			gate_send(gate, &two, false, rows[i].request, strlen(rows[i].request)), 1);
		left = (struct left){0};
		says(gate, &two, rows[i].answer, &left);
		says(gate, &two, "so. X5O-EVIL!!!!", &left);
		passes(gate, 1, &left);
		assert_int_equal(has(&left, "EVIL"), rows[i].part); // then audit, by default
		assert_int_equal(stats(gate).scan_infected, !rows[i].part);
		const char *reason = alert_reason(gate);

		assert_non_null(reason);
		assert_string_equal(reason, rows[i].part ? "protocol" : "");
		assert_int_equal(stats(gate).scan_clean, 1);
		gives_up(gate, &one);
		gives_up(gate, &two);
		swarm_world_free(gate);
	}
#undef URN
}

// All that a receiver wants may be in one part: each is looked at by itself, one after the other.
static void a_part_by_itself_is_scanned(void **state)
{
	enum { CLEAN, EVIL_PART, BROKEN, DEAF, ROWS };
	static const char *const second[ROWS] = {"harmless", EVIL, "BROKEN!!", "harmless"};
	static const size_t arrive[ROWS] = {24, 8, 16, 0}; // in all
	static const unsigned looked_at[ROWS] = {3, 2, 3, 1};
	static const char *const ranges[] = {"0-7", "16-23", "32-39"};
	static const char *const heads[] = {OF_LONG("0-7"), OF_LONG("16-23"), OF_LONG("32-39")};

	(void)state;
	for (unsigned row = CLEAN; row < ROWS; row++) {
		struct gate *gate = swarm_world(1, PASS "}}]");
		struct gate_tcp tcp[3];
		struct left left = {0};

		is_deaf = row == DEAF;
		for (unsigned i = 0; i < 3; i++) {
			assert_true(asks_part(gate, &tcp[i], (uint16_t)(42000 + i), ranges[i]));
			says(gate, &tcp[i], heads[i], &left);
		}
		left = (struct left){0};
		for (unsigned i = 0; i < 3; i++)
			says(gate, &tcp[i], i == 1 ? second[row] : "harmless", &left);
		assert_int_equal(left.length, 0);
		passes(gate, 0.6, &left); // the first one's
		assert_int_equal(left.length, row == DEAF ? 0 : 8);
		assert_int_equal(left.resets, 0);
		passes(gate, row == DEAF ? 9.5 : 1.2, &left);
		assert_int_equal(left.length, arrive[row]);
		assert_int_equal(left.resets >= 2, row != CLEAN);
		assert_int_equal(left.resets >= 4, row == EVIL_PART || row == DEAF); // others, too
		assert_int_equal(has(&left, second[row]), row == CLEAN);
		assert_int_equal(jobs_seen, looked_at[row]);
		assert_int_equal(stats(gate).scan_pending, 0);
		for (unsigned i = 0; i < 3; i++)
			gives_up(gate, &tcp[i]);
		swarm_world_free(gate);
	}
}

// In monitor mode nothing waits, and the verdict is told.
static void monitor_mode_holds_nothing(void **state)
{
	struct gate *gate = swarm_world(1, "'mode':'monitor'," PASS "}}]");
	struct gate_tcp one, two;
	struct left left = {0};

	(void)state;
	assert_true(asks_part(gate, &one, 42000, "0-7"));
	assert_true(asks_part(gate, &two, 42001, "8-15"));
	says(gate, &one, FIRST, &left);
	says(gate, &two, SECOND "EVIL!!!!", &left);
	says(gate, &one, "so. X5O-", &left);
	assert_true(has(&left, "X5O-"));
	passes(gate, 1.2, &left); // the half by itself, and the whole
	assert_int_equal(left.resets, 0);
	assert_int_equal(stats(gate).scan_infected, 2); // of either half
	assert_non_null(alert_reason(gate));
	gives_up(gate, &one);
	gives_up(gate, &two);
	swarm_world_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_of_a_file_are_scanned_as_one),
		cmocka_unit_test(on_whatever_lcore),
		cmocka_unit_test(a_scanner_that_says_nothing),
		cmocka_unit_test(who_completes_it_gives_up),
		cmocka_unit_test(a_part_alone_is_unscanned),
		cmocka_unit_test(a_part_by_itself_is_scanned),
		cmocka_unit_test(other_bytes_of_a_part_are_not_clean),
		cmocka_unit_test(another_file_is_another),
		cmocka_unit_test(an_id_of_http_vouches_for_no_bytes),
		cmocka_unit_test(monitor_mode_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
