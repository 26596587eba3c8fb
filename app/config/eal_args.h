// SPDX-License-Identifier: BSD-3-Clause
// The argument vector that EAL gets, from the configuration alone: no DPDK, no I/O, so that it is
// tested without starting EAL: EAL starts once per process.
#ifndef SLUICE_EAL_ARGS_H
#define SLUICE_EAL_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include "config/gateway.h"

#define EAL_ARGS_MAX  (3 * GATEWAY_EAL_MAX)
#define EAL_ARGS_TEXT 16384

struct eal_args {
	int argc;
	char *argv[EAL_ARGS_MAX + 1]; // NULL-terminated, into `text`; EAL permutes it
	size_t used;
	char text[EAL_ARGS_TEXT]; // must live as long as EAL: it keeps pointers
};

// What a device string of gateway.json is.
enum device_type {
	DEVICE_PCI,     // "0000:3b:00.1", "3b:00.1"
	DEVICE_VIRTUAL, // "net_af_xdp0,iface=gA"
};
enum device_type device_type_of(const char *device);
// The device's name as ethdev knows it ("0000:3b:00.1", "net_af_xdp0"), without arguments.
void device_name_of(const char *device, char *out, size_t out_len);
// The driver's part of a virtual device's name: "net_af_xdp" of "net_af_xdp0,iface=gA".
void device_driver_of(const char *device, char *out, size_t out_len);
// The value of `key` in its arguments ("iface"); false if it has none.
bool device_arg_of(const char *device, const char *key, char *out, size_t out_len);
// The kernel's interface that its arguments name, if its driver is a front of one.
bool device_interface_of(const char *device, char *out, size_t out_len);
// Each of them, for those that name one to receive by and one to send by: `nth` from 0.
bool device_nth_interface_of(const char *device, unsigned nth, char *out, size_t out_len);

// Memory without hugepages when gateway.json does not say: MB.
#define EAL_MEMORY_DEFAULT_MB 1024

// `extra` comes after the configuration's options and wins. `mb` is used with --no-huge when the
// configuration has none (0: EAL_MEMORY_DEFAULT_MB). Virtual devices are not in it: they are probed
// one by one afterwards, so that each failure names its port. -EINVAL with a message for options
// that contradict gateway.json (lcores, devices, memory, a secondary process), -E2BIG.
int eal_args_build(const struct gateway *gateway, char *const *extra, unsigned n_extra, uint32_t mb,
	struct eal_args *out, char *err, size_t err_len);
// For replay and tests: nothing shared, nothing on disk, no PCI; the main thread may run on any of
// the CPUs of `cpus` ("0-3,7").
int eal_args_private(unsigned mb, const char *cpus, struct eal_args *out);
// The arguments as one line for the log.
void eal_args_line(const struct eal_args *args, char *out, size_t out_len);
bool eal_args_has(const struct eal_args *args, const char *option);
// The value of "--option=value" or "--option value", the last one; "" if there is none.
void eal_args_value(const struct eal_args *args, const char *option, char *out, size_t out_len);

#endif
