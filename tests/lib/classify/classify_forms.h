// SPDX-License-Identifier: BSD-3-Clause
// For unit tests of the classifier: tables of what one side says, in one segment or in two, from
// the beginning or from the middle, and of datagrams. `rig` is the test's own.
#ifndef SLUICE_TEST_CLASSIFY_FORMS_H
#define SLUICE_TEST_CLASSIFY_FORMS_H

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "classify_rig.h"

static struct rig *rig;

struct form {
	const char *text;
	size_t length;
};

#define FORM(text)                       \
	{                                \
		(text), sizeof(text) - 1 \
	}
#define N_OF(forms) (sizeof(forms) / sizeof((forms)[0]))

static inline const char *first_midstream(const struct form *form, unsigned half, size_t cut)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 40001);
	const char *found;

	flow.midstream = true;
	rig_feed(&flow, half, form->text, cut);
	if (cut < form->length)
		rig_feed(&flow, half, form->text + cut, form->length - cut);
	found = rig_app(&flow);
	rig_end(&flow);
	return found;
}

// The first bytes of a connection, or of what is seen of it, said by either side, in one segment
// or in two cut anywhere.
static inline void check_stream(const struct form *forms, size_t n, const char *app, bool cuts)
{
	for (size_t i = 0; i < n; i++) {
		for (unsigned half = 0; half < 2; half++) {
			const char *found =
				rig_first(rig, IPPROTO_TCP, half, forms[i].text, forms[i].length);

			if (strcmp(found, app))
				fail_msg("%s, not %s (%u): %.60s", found, app, half, forms[i].text);
			for (size_t cut = cuts ? 1 : forms[i].length; cut <= forms[i].length;
				cut++) {
				found = first_midstream(&forms[i], half, cut);
				if (strcmp(found, app))
					fail_msg("%s, not %s (midstream %u, cut at %zu): %.60s",
						found, app, half, cut, forms[i].text);
			}
		}
	}
}

static inline void check_never(const struct form *forms, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned half = 0; half < 2; half++) {
			if (!strcmp(rig_first(
					    rig, IPPROTO_TCP, half, forms[i].text, forms[i].length),
				    app) ||
				!strcmp(first_midstream(&forms[i], half, forms[i].length), app))
				fail_msg("%s in %zu (%u): %.60s", app, i, half, forms[i].text);
		}
}

#define STREAM(forms, app) check_stream(forms, N_OF(forms), app, true)
// Answers of HTTP: the status line alone says what the carrier is.
#define WHOLE(forms, app) check_stream(forms, N_OF(forms), app, false)
#define NEVER(forms, app) check_never(forms, N_OF(forms), app)

// One datagram of either side.
static inline void check_datagrams(const struct form *forms, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned half = 0; half < 2; half++) {
			const char *found =
				rig_first(rig, IPPROTO_UDP, half, forms[i].text, forms[i].length);

			if (strcmp(found, app))
				fail_msg("%s, not %s: datagram %zu", found, app, i);
			for (size_t cut = 0; cut < forms[i].length; cut++) // reads no further
				rig_first(rig, IPPROTO_UDP, half, forms[i].text, cut);
		}
}

static inline void check_no_datagrams(const struct form *forms, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rig_first(rig, IPPROTO_UDP, 0, forms[i].text, forms[i].length), app))
			fail_msg("%s: datagram %zu", app, i);
}

#define DATAGRAMS(forms, app)    check_datagrams(forms, N_OF(forms), app)
#define NO_DATAGRAMS(forms, app) check_no_datagrams(forms, N_OF(forms), app)

#define HASH16 "\x9b\x12\xe0\x47\x5d\xa8\x31\xfc\x66\x0d\xb3\x94\x2a\x7e\xc1\x58"
#define HASH20 HASH16 "\x03\xf7\x89\x4e"
#define ZERO8  "\0\0\0\0\0\0\0\0"

#endif
