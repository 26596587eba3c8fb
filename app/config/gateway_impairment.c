// SPDX-License-Identifier: BSD-3-Clause
// The keys of gateway.json under `impairment`. Two directions with the same keys.
#include "config/gateway_fields.h"

#define LEAST_R \
	0.001 // bursts of 1,000 on average (app/pipeline/egress/impair_decide.c looks back for
	      // them)

void gateway_read_loss(const struct json_at *at, void *ctx)
{
	static const char *const others[] = {"r", "h", "k"};
	struct gateway_link *link = ctx;

	json_fields_read(at, gateway_loss_fields, NULL, link, link);
	if (link->loss.model == GATEWAY_LOSS_BERNOULLI) {
		for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
			json_t *value = json_object_get(at->value, others[i]);
			struct json_at child = json_at_key(at, others[i], value);

			if (value)
				json_at_error(&child,
					"does nothing with the model bernoulli, which knows only "
					"p: remove it, or set \"model\": \"gilbert_elliott\"");
		}
	} else if (!json_object_get(at->value, "r")) {
		json_at_error(at, "gilbert_elliott needs r, the chance to leave the bad state");
	} else if (link->loss.r < LEAST_R) {
		json_at_error(at,
			"r %g never ends a burst, or too late: it is the chance of each packet to "
			"end one, at least %g",
			link->loss.r, LEAST_R);
	}
}

static void read_link(const struct json_at *at, struct gateway_link *link)
{
	json_fields_read(at, gateway_link_fields, NULL, link, link);
	if (link->jitter_ms > link->delay_ms)
		json_at_error(at,
			"jitter_ms %g is more than delay_ms %g: the delay would be less than none",
			link->jitter_ms, link->delay_ms);
	if (link->reorder > 0 && link->delay_ms <= 0)
		json_at_error(
			at, "reorder lets packets skip the delay, and there is none: set delay_ms");
	if (json_object_get(at->value, "queue_ms") && link->rate_mbit <= 0)
		json_at_error(at, "queue_ms is the queue of a line: set rate_mbit");
}

void gateway_read_impairment_to_inside(const struct json_at *at, void *ctx)
{
	read_link(at, &((struct gateway *)ctx)->impairment.to_inside);
}

void gateway_read_impairment_to_outside(const struct json_at *at, void *ctx)
{
	read_link(at, &((struct gateway *)ctx)->impairment.to_outside);
}

int gateway_impairment_default(struct gateway *gateway)
{
	struct gateway_link *links[] = {
		&gateway->impairment.to_inside, &gateway->impairment.to_outside};
	int rc = 0;

	for (unsigned i = 0; i < 2 && !rc; i++) {
		rc = json_fields_default(gateway_link_fields, links[i]);
		if (!rc)
			rc = json_fields_default(gateway_loss_fields, links[i]);
	}
	return rc;
}

json_t *gateway_link_json(const struct gateway_link *link)
{
	json_t *object = json_fields_dump(gateway_link_fields, link);
	json_t *loss = json_fields_dump(gateway_loss_fields, link);

	// What the model does not know would be refused if the dump were read again.
	if (link->loss.model == GATEWAY_LOSS_BERNOULLI) {
		json_object_del(loss, "r");
		json_object_del(loss, "h");
		json_object_del(loss, "k");
	}
	if (link->rate_mbit <= 0)
		json_object_del(object, "queue_ms");
	if (json_object_set_new(object, "loss", loss) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static bool links_differ(const struct gateway_link *a, const struct gateway_link *b)
{
	return json_fields_difference(gateway_link_fields, a, b) ||
	       json_fields_difference(gateway_loss_fields, a, b);
}

const char *gateway_impairment_difference(const struct gateway *a, const struct gateway *b)
{
	const struct json_field *field = json_fields_difference(gateway_impairment_fields, a, b);

	if (field)
		return field->name;
	if (links_differ(&a->impairment.to_inside, &b->impairment.to_inside))
		return "impairment.to_inside";
	if (links_differ(&a->impairment.to_outside, &b->impairment.to_outside))
		return "impairment.to_outside";
	return NULL;
}
