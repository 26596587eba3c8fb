// SPDX-License-Identifier: BSD-3-Clause
// Whose network an address is in: the networks of a policy's user-defined applications, as sorted
// disjoint ranges. Filled in the control core, immutable once published; found by binary search.
#ifndef SLUICE_APP_NETWORKS_H
#define SLUICE_APP_NETWORKS_H

#include <stdbool.h>
#include <stdint.h>

struct address_set;

struct app_network {
	uint8_t first[16]; // IPv4: v4-mapped
	uint8_t last[16];
	uint16_t app;
};

struct app_networks {
	struct app_network *ranges[2]; // IPv4, IPv6
	uint32_t n[2];
};

// What of `set` (sealed) no earlier application has. -ENOMEM: nothing is changed.
int app_networks_add(struct app_networks *networks, const struct address_set *set, uint16_t app);
// The application of an address (v4-mapped for IPv4), or APP_NONE. Data lcores.
uint16_t app_networks_find(const struct app_networks *networks, const uint8_t address[16]);
void app_networks_free(struct app_networks *networks);

static inline bool app_networks_empty(const struct app_networks *networks)
{
	return !networks->n[0] && !networks->n[1];
}

#endif
