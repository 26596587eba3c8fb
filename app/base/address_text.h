// SPDX-License-Identifier: BSD-3-Clause
// Addresses of struct flow_ends as text: IPv4 (stored v4-mapped) dotted, IPv6 as RFC 5952 says.
#ifndef SLUICE_ADDRESS_TEXT_H
#define SLUICE_ADDRESS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_TEXT_BYTES 46 // INET6_ADDRSTRLEN

bool address_is_v4(const uint8_t address[16]);
#define MAC_TEXT_SIZE 18

// "02:00:5e:10:00:01"; returns `out`.
const char *mac_text(const uint8_t mac[6], char out[MAC_TEXT_SIZE]);
void address_text(const uint8_t address[16], char out[ADDRESS_TEXT_BYTES]);

#endif
