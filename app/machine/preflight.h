// SPDX-License-Identifier: BSD-3-Clause
// What the machine must have before EAL is started: user, CPUs, memory, permissions, devices. Every
// finding names the thing and the exact way out. Control side; reads /sys and
// asks the kernel, changes nothing.
#ifndef SLUICE_PREFLIGHT_H
#define SLUICE_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include "config/gateway.h"
#include "machine/interfaces.h"

#define PREFLIGHT_ITEMS_MAX 128

struct preflight_item {
	int code;     // 0: fine; else the exit code that it means: 69, 77 or 78
	bool warning; // of code 0: it starts, but not as its operator may think
	char what[96];
	char text[768]; // what was found; for a failure also what to do
};
struct preflight {
	unsigned n;
	struct preflight_item items[PREFLIGHT_ITEMS_MAX];
};

// Where to look; tests bring their own.
struct preflight_host {
	const char *sys;                     // "/sys"
	const char *vfio;                    // "/dev/vfio/vfio"
	const struct interfaces *interfaces; // of the kernel
	uint64_t capabilities;               // effective, 1 << CAP_*
	uint64_t memlock;                    // RLIMIT_MEMLOCK in bytes
	uint64_t memory_mb;                  // what the machine has; 0: not known
	uint64_t available_mb;               // what of it is not in use
	uint64_t cpus[16];                   // bit set of CPUs that we may use
};
void preflight_host_init(struct preflight_host *host);

// `memory_mb`: what the gateway will take from hugepages.
void preflight_run(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out);
// 0, or the exit code of the first failure.
int preflight_code(const struct preflight *preflight);

// Why the device of `port`, the `index`th, cannot be found, and which there are: "interface gX does
// not exist; there are: lo, eth0".
void device_describe_missing(
	const struct gateway_port *port, unsigned index, char *out, size_t out_len);

// For the preflight's own files: a finding; `code` may be PREFLIGHT_WARNING.
#define PREFLIGHT_WARNING (-1)
void preflight_note(struct preflight *out, int code, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool preflight_read(const char *path, char *text, size_t text_len); // its first line
// The ports, each alone and by pairs.
void preflight_ports(
	const struct gateway *gateway, const struct preflight_host *host, struct preflight *out);
// The engine clamav; `memory_mb` as above.
void preflight_scan(const struct gateway *gateway, const struct preflight_host *host,
	uint32_t memory_mb, struct preflight *out);

#endif
