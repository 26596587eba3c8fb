// SPDX-License-Identifier: BSD-3-Clause
#include "names_talk.h"
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "classify/user_apps.h"

static struct rig *rig; // the repository's signatures

int names_talk_setup(void **state)
{
	(void)state;
	rig = rig_new();
	return rig ? 0 : -1;
}

int names_talk_teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

struct names_talk names_talk_begin_with(size_t piece, const struct lcore_limits *limits)
{
	static uint16_t sport = 20000;
	struct names_talk c = {.pipe = pipe_new(1, limits),
		.packet = {.sport = ++sport, .dport = 80},
		.seq = {1000, 5000},
		.piece = piece};
	struct policy *policy;

	pipe_signatures(c.pipe, rig->db);
	policy = pipe_policy(c.pipe);
	pipe_rule_app(policy, 7, ACTION_DROP, "irc");
	policy->user_apps = user_apps_new();
	assert_non_null(policy->user_apps);
	assert_int_equal(
		user_apps_add_host(policy->user_apps, app_find("irc"), "blocked.example"), 0);
	assert_int_equal(
		user_apps_add_host(policy->user_apps, app_find("xmpp"), "allowed.example"), 0);
	pipe_publish(c.pipe, policy);
	return c;
}

struct names_talk names_talk_begin(size_t piece)
{
	return names_talk_begin_with(piece, NULL);
}

void names_talk_end(struct names_talk *c)
{
	pipe_free(c->pipe);
}

void names_talk_segment(
	struct names_talk *c, unsigned half, uint8_t flags, const void *bytes, size_t length)
{
	struct pipe_packet packet = c->packet;

	packet.from_outside = half == HALF_S2C;
	packet.tcp_flags = flags;
	packet.seq = c->seq[half];
	packet.ack = flags == TH_SYN ? 0 : c->seq[!half];
	packet.payload = bytes;
	packet.payload_length = (uint16_t)length;
	c->pipe->n_sent = 0;
	if (!pipe_run(c->pipe, 0, &packet) && length)
		c->reset = true;
	c->seq[half] += (uint32_t)length + !!(flags & TH_SYN);
}

void names_talk_open(struct names_talk *c)
{
	names_talk_segment(c, HALF_C2S, TH_SYN, NULL, 0);
	names_talk_segment(c, HALF_S2C, TH_SYN | TH_ACK, NULL, 0);
	names_talk_segment(c, HALF_C2S, TH_ACK, NULL, 0);
}

void names_talk_say(struct names_talk *c, unsigned half, const void *bytes, size_t length)
{
	size_t piece = c->piece < 1400 ? c->piece : 1400;

	for (size_t at = 0; at < length && !c->reset; at += piece) {
		names_talk_segment(c, half, TH_ACK, (const char *)bytes + at,
			length - at < piece ? length - at : piece);
		if (half == HALF_C2S)
			names_talk_segment(c, HALF_S2C, TH_ACK, NULL, 0);
	}
}
