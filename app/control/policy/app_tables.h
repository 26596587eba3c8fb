// SPDX-License-Identifier: BSD-3-Clause
// "applications" of config/signatures/*.json: hosts and networks of built-in applications, as what
// their makers publish. The same machinery as a policy's own applications, behind them. Control
// core only; what `hosts` holds is asked on data lcores, through the policy's user_apps.
#ifndef SLUICE_APP_TABLES_H
#define SLUICE_APP_TABLES_H

#include "config/json_strict.h"
#include "pipeline/policy/policy.h"

struct app_table {
	uint16_t app;
	uint32_t n_hosts;
	uint32_t n_shared_hosts;
	struct address_set networks; // may be empty
};

struct app_tables {
	struct user_apps *hosts;
	struct app_table *tables; // one for each entry, in the order of the files
	uint32_t n_tables;
	uint32_t n_networks;
};

struct app_tables *app_tables_new(void); // NULL: no memory
void app_tables_free(struct app_tables *tables);
// Reads the value of "applications" of one file. Problems are reported.
void app_tables_read(const struct json_at *at, struct app_tables *tables);
// "app" of an entry or a signature: APP_NONE and reported if the build does not know it.
uint16_t app_want_builtin(const struct json_at *at);

// Puts the tables behind what `policy` says itself; `tables` outlives it. -ENOMEM.
int app_tables_apply(const struct app_tables *tables, struct policy *policy);

#endif
