#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sigdb_code.sh FILE...: a header that names what stands in these files (meson.build).
printf '#define SIGDB_CODE "%.32s"\n' "$(cat "$@" | sha256sum)"
