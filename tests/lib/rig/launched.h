// SPDX-License-Identifier: BSD-3-Clause
// A gateway's life as a child of the test, with a launcher of its own that outlives it. As root in
// a network namespace of the test's own.
#ifndef TESTS_LAUNCHED_H
#define TESTS_LAUNCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "process/launcher.h"

extern char dir[], hook[128], heard[128], control[128], pidfile[128];
extern struct gateway gateway;

int launched_begin(void **state); // cmocka's group setup and teardown
int launched_end(void **state);
// POSIX shell; $DIR is where the test's files are.
void hook_script(const char *body, mode_t mode);
// A gateway that lives `life`, in a child. Its exit code, or minus its signal.
int gateway_lives(void (*life)(struct launcher *launcher));
int a_socket_at(const char *path);
bool is_there(const char *path);
void gone_within(const char *path, unsigned ms);

#endif
