// SPDX-License-Identifier: BSD-3-Clause
// Applications by the name of the responder, and by its port, as the classifier asks for them:
// those that a policy defines, and behind them what the signature files say of the
// ones that are built in. Filled in the control core, in the order of the document, immutable once
// published; the look-ups are the data lcores', and allocate nothing. Patterns are signatures of
// the policy's sigdb; networks are the pipeline's.
#ifndef SLUICE_USER_APPS_H
#define SLUICE_USER_APPS_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/app_id.h"

#define USER_HOSTS_MAX      65536 // suffixes, of all applications
#define USER_HOST_NAME_MAX  253   // RFC 1035 2.3.4, written out, without the root's dot
#define USER_HOST_LABEL_MAX 63

struct user_apps;
struct user_apps *user_apps_new(void); // NULL: no memory
void user_apps_free(struct user_apps *apps);

// The next application of the document. Those that stand before it win ties.
void user_apps_add(struct user_apps *apps, uint16_t app);
// "wiki.example": lower case, no dot at either end, 1 to USER_HOST_NAME_MAX bytes. -EINVAL for what
// is longer, -ENOSPC beyond USER_HOSTS_MAX, -ENOMEM.
int user_apps_add_host(struct user_apps *apps, uint16_t app, const char *suffix);
// The same for one that clients of other applications ask for, too: it hints at `app`, no more.
int user_apps_add_shared_host(struct user_apps *apps, uint16_t app, const char *suffix);
// Ports of the responder, both ends included. -ENOMEM.
int user_apps_add_ports(
	struct user_apps *apps, uint16_t app, uint8_t l4_proto, uint16_t first, uint16_t last);
// What is asked for a name that none of `apps` has: `files`, which outlives it.
void user_apps_set_files(struct user_apps *apps, const struct user_apps *files);

// The application of the longest suffix that is the name, or ends it behind a dot; of equal ones,
// the first; any of the policy before those of the files. Case and a dot at the end do not count.
// APP_NONE if there is none, or if that suffix is shared. `apps` may be NULL in all that follow.
uint16_t user_apps_of_host(const struct user_apps *apps, const uint8_t *name, uint32_t length);
// What a name hints at whose longest suffix is a shared one of the files.
uint16_t user_apps_of_shared_host(
	const struct user_apps *apps, const uint8_t *name, uint32_t length);
uint16_t user_apps_of_port(const struct user_apps *apps, uint8_t l4_proto, uint16_t port);
bool user_apps_have_hosts(const struct user_apps *apps);
// Its place in the document; UINT32_MAX for what is not of this policy.
uint32_t user_apps_place(const struct user_apps *apps, uint16_t app);

// Whether exactly this suffix was added, and for which application.
bool user_apps_has_host(const struct user_apps *apps, const char *suffix, uint16_t *app);
// The suffixes, as they were added; not those of the files.
uint32_t user_apps_n_hosts(const struct user_apps *apps);
const char *user_apps_host(const struct user_apps *apps, uint32_t index, uint16_t *app);

#endif
