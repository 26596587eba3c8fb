// SPDX-License-Identifier: BSD-3-Clause
// Applications that are known by the responder's network: from the first packet on, with their name
// in events, and over a reload that takes them out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/policy/address_set.h"

#define LAB (uint16_t)(app_count() + 1)

// "lab" has the network of the server that pipe_build writes.
static struct policy *lab_policy(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);
	struct address_set set = {0};

	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	user_apps_add(policy->user_apps, LAB);
	assert_int_equal(address_set_add(&set, "10.0.0.2"), 0);
	assert_int_equal(address_set_add(&set, "fd00::a00:2"), 0);
	address_set_seal(&set);
	assert_int_equal(app_networks_add(&policy->app_networks, &set, LAB), 0);
	address_set_free(&set);
	return policy;
}

static struct rule *lab_rule(struct policy *policy, enum action action)
{
	struct rule *rule = pipe_rule(policy, 7, action);

	rule->has_app = true;
	policy->enforces_app = policy->enforces;
	rule->min_confidence = CONFIDENCE_IP;
	app_set_add(&rule->apps, LAB);
	return rule;
}

static const struct pipe_packet syn = {.seq = 1000, .tcp_flags = TH_SYN};

static uint8_t server_of(struct pipe *pipe)
{
	uint8_t frame[256];

	(void)pipe;
	assert_true(pipe_build(&syn, frame, sizeof frame) > 34);
	return frame[33]; // last octet of the IPv4 destination
}

static void a_syn_is_enough(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = lab_policy(pipe);
	struct event event = {0};

	(void)state;
	assert_int_equal(server_of(pipe), 2); // what lab_policy is about
	lab_rule(policy, ACTION_RESET);
	pipe_publish(pipe, policy);
	assert_int_equal(pipe_run(pipe, 0, &syn), 1); // the RST to the client
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], 1);
	assert_int_equal(pipe_stats(pipe).classify_scans, 0);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.app, LAB);
	assert_int_equal(event.confidence, CONFIDENCE_IP);
	assert_true(pipe_event(pipe, 0, EVENT_DROP, &event));
	assert_int_equal(event.app, LAB);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.app, LAB);
	assert_int_equal(event.confidence, CONFIDENCE_IP);
	pipe_free(pipe);
}

static void other_servers_and_other_directions_pass(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = lab_policy(pipe);
	struct pipe_packet other = syn, inbound = syn;

	(void)state;
	lab_rule(policy, ACTION_DROP);
	pipe_publish(pipe, policy);
	other.server = 3;
	assert_int_equal(pipe_run(pipe, 0, &other), 1);
	// a connection that the lab server opens: the responder is another
	inbound.from_outside = true;
	inbound.sport = 40009;
	assert_int_equal(pipe_run(pipe, 0, &inbound), 1);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 0);
	pipe_free(pipe);
}

static void datagrams_of_both_families(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = lab_policy(pipe);
	struct pipe_packet datagram = {
		.proto = IPPROTO_UDP, .dport = 9, .payload = "xyz", .payload_length = 3};
	struct pipe_packet six = datagram;
	struct event event = {0};

	(void)state;
	lab_rule(policy, ACTION_DROP);
	pipe_publish(pipe, policy);
	assert_int_equal(pipe_run(pipe, 0, &datagram), 0);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.app, LAB);
	assert_int_equal(event.l4_proto, IPPROTO_UDP);
	six.v6 = true;
	assert_int_equal(pipe_run(pipe, 0, &six), 0);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.app, LAB);
	pipe_free(pipe);
}

static void monitored_by_name(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = lab_policy(pipe);
	struct event event = {0};

	(void)state;
	lab_rule(policy, ACTION_RESET)->mode = MODE_MONITOR;
	pipe_publish(pipe, policy);
	assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.app, LAB);
	assert_int_equal(event.confidence, CONFIDENCE_IP);
	assert_int_equal(event.mode, MODE_MONITOR);
	pipe_free(pipe);
}

// A flow keeps what it is known as when the application is taken out, and the next policy decides
// on that.
static void a_flow_keeps_its_application(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet answer = {
		.from_outside = true, .seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK};
	struct pipe_packet text = {
		.seq = 1001, .ack = 5001, .payload = "nothing known", .payload_length = 13};
	struct policy *policy;
	struct event event = {0};

	(void)state;
	pipe_publish(pipe, lab_policy(pipe));
	assert_int_equal(pipe_run(pipe, 0, &syn), 1);
	assert_int_equal(pipe_run(pipe, 0, &answer), 1);
	assert_int_equal(pipe_run(pipe, 0, &text), 1);
	// without the application: nothing names it, the flow lives
	pipe_publish(pipe, pipe_policy(pipe));
	text.seq += 13;
	assert_int_equal(pipe_run(pipe, 0, &text), 1);
	// it is there again, and refused
	policy = lab_policy(pipe);
	lab_rule(policy, ACTION_DROP);
	pipe_publish(pipe, policy);
	text.seq += 13;
	assert_int_equal(pipe_run(pipe, 0, &text), 0);
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.app, LAB);
	assert_int_equal(event.confidence, CONFIDENCE_IP);
	pipe_free(pipe);
}

// HTTP to the network: events tell both, and the first rule on either decides.
static void its_carrier_is_told_and_matches(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n";
	struct pipe_packet answer = {
		.from_outside = true, .seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK};
	struct pipe_packet asks = {.seq = 1001, .ack = 5001, .payload = request};
	struct signature get = {.id = "get",
		.l4 = IPPROTO_TCP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.pattern = "^GET /"};
	struct event event = {0};
	struct sigdb *db;
	char err[256];

	(void)state;
	get.app = app_find("http");
	assert_int_equal(sigdb_new(&get, 1, NULL, &db, NULL, err, sizeof(err)), 0);
	asks.payload_length = sizeof(request) - 1;
	for (unsigned refuses = 0; refuses < 2; refuses++) {
		struct pipe *pipe = pipe_new(1, NULL);

		pipe_signatures(pipe, db);
		struct policy *policy = lab_policy(pipe);

		if (refuses) {
			struct rule *rule = lab_rule(policy, ACTION_DROP);

			rule->min_confidence = CONFIDENCE_DPI;
			app_set_add(&rule->apps, app_find("http"));
		}
		pipe_publish(pipe, policy);
		assert_int_equal(pipe_run(pipe, 0, &syn), 1);
		assert_int_equal(pipe_run(pipe, 0, &answer), 1);
		assert_int_equal(pipe_run(pipe, 0, &asks), !refuses);
		if (!refuses) {
			pipe_advance(pipe, 8000); // it ages out
			pipe_turns(pipe);
		}
		assert_true(pipe_event(pipe, 0, refuses ? EVENT_ALERT : EVENT_FLOW, &event));
		assert_int_equal(event.app, LAB);
		assert_int_equal(event.confidence, CONFIDENCE_IP);
		assert_int_equal(event.carrier, get.app);
		pipe_free(pipe);
	}
	sigdb_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_syn_is_enough),
		cmocka_unit_test(its_carrier_is_told_and_matches),
		cmocka_unit_test(other_servers_and_other_directions_pass),
		cmocka_unit_test(datagrams_of_both_families),
		cmocka_unit_test(monitored_by_name),
		cmocka_unit_test(a_flow_keeps_its_application),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
