// SPDX-License-Identifier: BSD-3-Clause
// What the documents of /api have in common. Control core only.
#ifndef SLUICE_API_H
#define SLUICE_API_H

#include <jansson.h>
#include "control/http/site.h"

json_t *api_begin(const struct http_site *site); // with the time
int api_finish(json_t *root, struct text *out);  // takes `root`; 0 or -ENOMEM
void api_put_ms(json_t **parent, const char *key, uint64_t ns);
// Name, title and category of an application.
void api_put_app(json_t **parent, const struct control_context *context, uint16_t app);

#endif
