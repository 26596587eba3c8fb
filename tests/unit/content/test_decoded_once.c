// SPDX-License-Identifier: BSD-3-Clause
// No line is parsed twice: where content is asked for, an application's own decoder (app/classify)
// gets no bytes of a flow that a decoder of app/content reads. But for two, which learn of other
// hosts in messages that the latter has no use for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "classify/classify.h"
#include "content/decoders.h"

static void two_are_fed_beside(void **state)
{
	unsigned both = 0, beside = 0;
	(void)state;

	for (uint16_t app = 1; app <= app_count(); app++) {
		const struct app_proto *proto = app_get(app);
		const struct content_decoder *decoder =
			proto ? content_decoder_of(proto->name) : NULL;

		both += decoder && app_has_decoder(app);
		if (!decoder || !proto->decodes_for_others)
			continue;
		beside++;
		assert_true(!strcmp(proto->name, "bittorrent") || !strcmp(proto->name, "edonkey"));
	}
	assert_true(both >= 3); // FTP, IRC, XMPP: there is something to be decoded twice
	assert_int_equal(beside, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(two_are_fed_beside)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
