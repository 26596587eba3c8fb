// SPDX-License-Identifier: BSD-3-Clause
// The decoder of HTTP/1.x: files in requests and responses (message.h says which).
#ifndef SLUICE_CONTENT_HTTP_H
#define SLUICE_CONTENT_HTTP_H

#include "content/content.h"

extern const struct content_decoder content_http;

#endif
