// SPDX-License-Identifier: BSD-3-Clause
// Flows of any content against all signatures, verifiers, shapes and decoders. An input is one
// octet of bits (1 UDP, 2 picked up midstream, 4 port 53 at the responder, 8 with user-defined
// applications), then packets: an octet (1 the half, 2 a gap before it), length u16 BE, bytes.
// Held, besides what the sanitizers see: verdicts and states agree (in the rig), and a flow that is
// cut after the data packets that its verdict names is still the same application.
#include "lib/classify/classify_rig.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void expect(void *ctx, const struct expectation *expectation)
{
	(void)ctx;
	if (expectation->app == APP_NONE || !app_get(expectation->app))
		abort();
}

static void endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	(void)ctx;
	if (!endpoint->port || endpoint->from >= LEARNED_FROM_MAX || endpoint->half > 1)
		abort();
}

static void name(void *ctx, const struct learned_name *name)
{
	(void)ctx;
	if (!name->length || name->length > USER_HOST_NAME_MAX ||
		memchr(name->name, 0, name->length) || (name->alias && !name->alias_length))
		abort();
}

struct input {
	const uint8_t *at;
	size_t left;
};

static bool next_packet(struct input *in, uint8_t *bits, const uint8_t **bytes, size_t *length)
{
	if (in->left < 3)
		return false;
	*bits = in->at[0];
	*length = (size_t)in->at[1] << 8 | in->at[2];
	in->at += 3;
	in->left -= 3;
	if (*length > in->left)
		*length = in->left;
	*bytes = in->at;
	in->at += *length;
	in->left -= *length;
	return true;
}

struct overheard {
	struct app_overheard whole, bytewise;
	bool over;
};

// Nothing that is overheard depends on how bytes are cut.
static void overhear(
	struct overheard *overheard, unsigned half, const uint8_t *bytes, size_t length)
{
	const struct app_proto *irc = app_get(app_find("irc"));
	enum verify whole, bytewise = VERIFY_MORE;

	if (overheard->over)
		return;
	whole = irc->overhear(&overheard->whole, half, bytes, (uint32_t)length);
	for (size_t i = 0; i < length && bytewise == VERIFY_MORE; i++)
		bytewise = irc->overhear(&overheard->bytewise, half, &bytes[i], 1);
	if (whole != bytewise)
		abort();
	overheard->over = whole != VERIFY_MORE;
}

// Feeds at most `limit` data packets.
static struct rig_flow run(struct rig *rig, const uint8_t *input, size_t len, unsigned limit)
{
	struct rig_flow flow = rig_flow(
		rig, input[0] & 1 ? IPPROTO_UDP : IPPROTO_TCP, 40000, input[0] & 4 ? 53 : 50000);
	struct input in = {input + 1, len - 1};
	struct asked asked = {0};
	const struct decoder_sink sink = {
		.expect = expect, .endpoint = endpoint, .name = name, .asked = &asked};
	bool decoded = false;
	const uint8_t *bytes;
	uint32_t decoder_state = CLASSIFY_NO_STATE;
	struct overheard overheard[2] = {0};
	uint8_t bits;
	size_t length;

	flow.midstream = input[0] & 2 && flow.l4 == IPPROTO_TCP;
	while (flow.n_data_pkts < limit && next_packet(&in, &bits, &bytes, &length)) {
		unsigned half = bits & 1;

		if (bits & 2 && flow.l4 == IPPROTO_TCP) {
			rig_feed_span(&flow, (struct span){.offset64 = flow.offset[half],
						     .extent = 100,
						     .half = (uint8_t)half,
						     .flags = SPAN_GAP});
			flow.offset[half] += 100;
		}
		bool decode = flow.verdict.final;

		if (flow.l4 == IPPROTO_TCP)
			overhear(&overheard[half], half, bytes, length);
		rig_feed(&flow, half, bytes, length);
		if (decoded || !(decode || flow.verdict.final) ||
			!app_has_decoder(flow.verdict.app))
			continue;
		uint8_t *exact = malloc(length ? length : 1);

		if (!exact)
			abort();
		memcpy(exact, bytes, length);
		const struct span span = {.unchecked = exact,
			.extent = (uint32_t)length,
			.half = (uint8_t)half,
			.flags = flow.l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0};

		decoded = decoder_feed(rig->classifier, flow.verdict.app, &flow.ends, &span,
				  &decoder_state, &sink) == DECODER_DONE;
		free(exact);
	}
	classify_end(rig->classifier, &decoder_state);
	rig_end(&flow);
	return flow;
}

// Three applications of a policy: by host, by a pattern, and one whose host is below the first's.
static struct rig *rig_with_users(void)
{
	struct rig *rig = rig_new();
	struct user_apps *user = user_apps_new();
	uint16_t first = (uint16_t)(app_count() + 1);
	const struct signature own = {.id = "own/1",
		.app = (uint16_t)(first + 1),
		.l4 = IPPROTO_TCP,
		.halves = 3,
		.confidence = CONFIDENCE_DPI,
		.dotall = true,
		.pattern = "^OWN.{4}x"};

	if (!user || user_apps_add_host(user, first, "wiki.example") ||
		user_apps_add_host(user, (uint16_t)(first + 2), "a.wiki.example") ||
		user_apps_add_ports(user, first, IPPROTO_UDP, 50000, 50001))
		abort();
	for (uint16_t i = 0; i < 3; i++)
		user_apps_add(user, (uint16_t)(first + i));
	rig_user_take(rig, user, &own, 1);
	return rig;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct rig *rigs[2];

	if (!len)
		return 0;
	bool users = bytes[0] & 8;

	if (!rigs[users])
		rigs[users] = users ? rig_with_users() : rig_new();
	struct rig *rig = rigs[users];
	struct rig_flow whole = run(rig, bytes, len, UINT8_MAX);

	if (whole.verdict.confidence >= CONFIDENCE_PARTIAL) {
		struct rig_flow cut = run(rig, bytes, len, whole.verdict.n_data_pkts);

		if (cut.verdict.app != whole.verdict.app)
			abort();
	}
	if (classifier_states_free(rig->classifier) != classifier_states_max(rig->classifier))
		abort();
	return 0;
}
