// SPDX-License-Identifier: BSD-3-Clause
// What the gateway still may do once it forwards: the files it needs (Landlock, as much of it as
// the kernel has) and the system calls it needs (seccomp), for every thread, for good. No
// exceptions are made for root. Control core only.
#ifndef SLUICE_SANDBOX_H
#define SLUICE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include "config/gateway.h"

#define SANDBOX_PATHS_MAX 32

struct sandbox_path {
	const char *path; // borrowed; one that is not there is left out
	bool write;       // below it files may be made, changed and removed
	bool moves;       // files move between its folders
};

struct sandbox {
	struct sandbox_path paths[SANDBOX_PATHS_MAX];
	unsigned n_paths;
	// Of drivers that go on opening what others do not: memif, virtio_user and vhost connect
	// to their peer again; af_xdp asks bpf(2) when its port is given back, and is refused.
	bool may_connect;
	bool asks_bpf;
	// Which ioctl and which sockets they still use (sandbox_devices.c).
	bool asks_tap;
	bool asks_vhost;
	bool has_hardware;
};

// Paths of gateway.json, and the folders of the two files; drivers by the ports' devices.
void sandbox_init(struct sandbox *sandbox, const struct gateway *gateway, const char *gateway_path,
	const char *policy_path);
void sandbox_add(struct sandbox *sandbox, const char *path, bool write);
// The folder that `path` stands in.
void sandbox_add_folder(struct sandbox *sandbox, const char *path, bool write);
// 0; -ENOSYS: the kernel has no seccomp; other -errno: a message, and the gateway must not go on.
// No thread may be made or end meanwhile. A kernel without Landlock is reported in the log.
int sandbox_enter(const struct sandbox *sandbox, char *err, size_t err_len);

// A port's device, as EAL has it: what its driver goes on asking for.
void sandbox_add_device(struct sandbox *sandbox, const char *device);

// The two halves. *abi: version of Landlock, 0: the kernel has none and nothing was done.
int sandbox_files(const struct sandbox *sandbox, int *abi, char *err, size_t err_len);
int sandbox_calls(const struct sandbox *sandbox, char *err, size_t err_len);
// A part of the latter, of ioctl and socket: `filter` is libseccomp's.
int sandbox_devices(void *filter, const struct sandbox *sandbox);

#endif
