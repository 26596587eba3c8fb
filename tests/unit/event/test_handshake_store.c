// SPDX-License-Identifier: BSD-3-Clause
// What flows' ends say of themselves, from the lcores' events to records: both sides joined, those
// for which there is no room, and garbage.
#include "control/event/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/event/eve.h"
#include "lib/control/sink_world.h"

// A field of a greeting, as metadata.h packs them.
static void put_field(struct event *event, uint8_t field, const char *content, size_t length)
{
	uint8_t *at = event->meta.bytes + event->meta.length;

	at[0] = field;
	at[1] = (uint8_t)length;
	at[2] = 0;
	memcpy(at + 3, content, length);
	event->meta.length = (uint8_t)(event->meta.length + 3 + length);
	event->meta.total = event->meta.length;
}

static struct event handshake_meta_event(uint64_t flow_id, uint8_t of_server, uint8_t awaits)
{
	struct event event = event_of(EVENT_HANDSHAKE_META);

	event.flow_id = flow_id;
	memset(&event.meta, 0, sizeof event.meta);
	event.meta.kind = HANDSHAKE_META_TLS;
	event.meta.of_server = of_server;
	event.meta.awaits = awaits;
	return event;
}

static struct sink_world greeted_open(uint32_t greetings)
{
	struct sink_world w = sink_world_new(2);

	sink_world_open(
		&w, &(struct sink_options){
			    .flow_events = true, .greeting_events = true, .greetings = greetings});
	return w;
}

static json_t *greeted_close(struct sink_world *w)
{
	json_t *list;

	sink_world_close(w);
	list = lines_read(w->path);
	sink_world_free(w);
	return list;
}

// Both sides of a flow, in its own record and in that of the flow; escaped.
static void a_handshake_meta(void **state)
{
	struct event client = handshake_meta_event(5, 0, 1), server = handshake_meta_event(5, 1, 0);
	struct event flow = event_of(EVENT_FLOW);
	struct sink_world w = greeted_open(8);

	(void)state;
	put_field(&client, HANDSHAKE_META_NAME, "a\"\\\x01\xff.b", 7);
	put_field(&client, HANDSHAKE_META_OFFERED, "\2h2\377x", 5); // the second is cut off
	put_field(&client, HANDSHAKE_META_HIGHEST, "\x03\x04", 2);
	put_field(&client, HANDSHAKE_META_JA3, "0123456789abcdef", 16);
	put_field(&client, HANDSHAKE_META_JA4, "t13d", 4);
	put_field(&server, HANDSHAKE_META_VERSION, "\x12\x34", 2);
	put_field(&server, HANDSHAKE_META_SELECTED, "h2", 2);
	flow.flow_id = 5;
	fake_event_send(w.dp, 1, &client);
	assert_int_equal(sink_drain(w.sink, 0), 0); // the server's is awaited
	assert_int_equal(sink_greetings(w.sink), 1);
	fake_event_send(w.dp, 1, &server);
	assert_int_equal(sink_drain(w.sink, 0), 1);
	fake_event_send(w.dp, 1, &flow);
	assert_int_equal(sink_drain(w.sink, 0), 1);
	assert_int_equal(sink_greetings(w.sink), 0);
	json_t *list = greeted_close(&w);

	assert_int_equal(json_array_size(list), 2);
	has_text(json_array_get(list, 0), "event_type", "tls");
	has_text(json_array_get(list, 1), "event_type", "flow");
	for (size_t i = 0; i < 2; i++) {
		json_t *o = json_array_get(list, i);

		has_text(o, "tls.sni", "a\"\\\x01\xef\xbf\xbd.b");
		assert_int_equal(json_array_size(at(o, "tls.client_alpns")), 1);
		has_text(o, "tls.offered_version", "TLS 1.3");
		has_text(o, "tls.ja3.hash", "30313233343536373839616263646566");
		has_not(o, "tls.ja3.string");
		has_text(o, "tls.ja4", "t13d");
		has_text(o, "tls.version", "0x1234");
		assert_int_equal(json_array_size(at(o, "tls.server_alpns")), 1);
	}
	json_decref(list);
}

// The oldest goes, and is reported; one whose flow ends is reported before it.
static void greetings_without_room(void **state)
{
	struct sink_world w = greeted_open(2);

	(void)state;
	for (uint64_t id = 1; id <= 3; id++) {
		struct event client = handshake_meta_event(id, 0, 1);

		put_field(&client, HANDSHAKE_META_NAME, "x", 1);
		fake_event_send(w.dp, 1, &client);
	}
	assert_int_equal(sink_drain(w.sink, 0), 1);
	assert_int_equal(sink_greetings(w.sink), 2);
	assert_int_equal(sink_greetings_forgotten(w.sink), 1);
	struct event flow = event_of(EVENT_FLOW);

	for (uint64_t id = 1; id <= 3; id += 2) {
		flow.flow_id = id;
		fake_event_send(w.dp, 1, &flow);
	}
	assert_int_equal(sink_drain(w.sink, 0), 3);
	json_t *list = greeted_close(&w);

	has_text(json_array_get(list, 0), "tls.sni", "x");
	has_not(json_array_get(list, 1), "tls"); // flow 1 was forgotten
	has_text(json_array_get(list, 2), "event_type", "tls");
	has_text(json_array_get(list, 3), "tls.sni", "x");
	json_decref(list);
}

// Whatever a greeting holds: whole lines of JSON, and a total that lies does no harm.
static void send_client(struct sink_world *w, uint64_t id, enum event_heard heard)
{
	struct event client = handshake_meta_event(id, 0, 1);

	client.heard = (uint8_t)heard;
	put_field(&client, HANDSHAKE_META_NAME, "x", 1);
	fake_event_send(w->dp, 1, &client);
	sink_drain(w->sink, 0);
}

// Of those that anybody may have sent the oldest goes first. What the server answers is heard.
static void greetings_of_the_heard_stay(void **state)
{
	struct event server = handshake_meta_event(2, 1, 0), flow = event_of(EVENT_FLOW);
	struct sink_world w = greeted_open(3);

	(void)state;
	send_client(&w, 1, EVENT_OF_BOTH);
	send_client(&w, 2, EVENT_UNHEARD);
	server.heard = EVENT_ANSWERED;
	fake_event_send(w.dp, 1, &server);
	sink_drain(w.sink, 0);
	for (uint64_t id = 3; id <= 9; id++)
		send_client(&w, id, EVENT_UNHEARD);
	assert_int_equal(sink_greetings_forgotten(w.sink), 6);
	for (uint64_t id = 1; id <= 2; id++) {
		flow.flow_id = id;
		assert_non_null(sink_handshake_meta(w.sink, id));
		fake_event_send(w.dp, 1, &flow);
		sink_drain(w.sink, 0);
	}
	assert_non_null(sink_handshake_meta(w.sink, 9));
	assert_int_equal(sink_greetings(w.sink), 1);
	json_decref(greeted_close(&w));
}

static void greetings_of_garbage(void **state)
{
	unsigned lines = 0;
	struct sink_world w = greeted_open(16);

	(void)state;
	srand(11);
	for (unsigned i = 0; i < 4000; i++) {
		struct event event = handshake_meta_event(
			1 + (uint64_t)rand() % 32, (uint8_t)(rand() % 2), (uint8_t)(rand() % 2));

		event.type = rand() % 4 ? EVENT_HANDSHAKE_META : EVENT_HANDSHAKE_META_MORE;
		event.meta.kind = (uint8_t)(rand() % 5);
		event.meta.length = (uint8_t)(rand() % 160);
		event.meta.total = (uint16_t)(rand() % 3 ? event.meta.length : rand() % 3000);
		for (size_t k = 0; k < sizeof event.meta.bytes; k++)
			event.meta.bytes[k] = (uint8_t)(rand() % 4 ? rand() % 20 : rand());
		if (rand() % 8 == 0) {
			event = event_of(EVENT_FLOW);
			event.flow_id = 1 + (uint64_t)rand() % 32;
		}
		fake_event_send(w.dp, 1, &event);
		lines += sink_drain(w.sink, 0);
	}
	json_t *list = greeted_close(&w);

	assert_int_equal(json_array_size(list), lines);
	assert_true(lines > 500);
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handshake_meta),
		cmocka_unit_test(greetings_without_room),
		cmocka_unit_test(greetings_of_the_heard_stay),
		cmocka_unit_test(greetings_of_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
