// SPDX-License-Identifier: BSD-3-Clause
// What the impairment stage does, in words: one sentence for the log and for the list of what to
// look into.
#include <stdio.h>
#include "config/gateway.h"

static void link_text(const char *where, const struct gateway_link *link, FILE *out)
{
	if (!gateway_link_impairs(link))
		return;
	fprintf(out, "%sto the %s:", ftell(out) ? "; " : "", where);
	if (link->delay_ms > 0)
		fprintf(out, " delay %g ms", link->delay_ms);
	if (link->jitter_ms > 0)
		fprintf(out, " +- %g ms", link->jitter_ms);
	if (link->rate_mbit > 0)
		fprintf(out, " rate %g Mbit/s", link->rate_mbit);
	if (gateway_link_loses(link) && link->loss.model == GATEWAY_LOSS_BERNOULLI)
		fprintf(out, " loss %g %%", 100 * link->loss.p);
	else if (gateway_link_loses(link))
		fprintf(out, " loss in bursts (p %g, r %g, h %g, k %g)", link->loss.p, link->loss.r,
			link->loss.h, link->loss.k);
	if (link->reorder > 0)
		fprintf(out, " reorder %g %%", 100 * link->reorder);
	if (link->duplicate > 0)
		fprintf(out, " duplicate %g %%", 100 * link->duplicate);
	if (link->corrupt > 0)
		fprintf(out, " corrupt %g %%", 100 * link->corrupt);
}

void gateway_impairment_text(const struct gateway *gateway, char *out, size_t out_len)
{
	FILE *file = fmemopen(out, out_len, "w");

	snprintf(out, out_len, "?");
	if (!file)
		return;
	link_text("inside", &gateway->impairment.to_inside, file);
	link_text("outside", &gateway->impairment.to_outside, file);
	fclose(file);
}
