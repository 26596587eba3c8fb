// SPDX-License-Identifier: BSD-3-Clause
// Section "tcp" of the configuration.
#ifndef TRANSPORTAPI_TCP_H
#define TRANSPORTAPI_TCP_H

#include "transportapi/base/conf.h"

extern const struct tapi_conf_key tapi_tcp_keys[];

#endif
