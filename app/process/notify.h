// SPDX-License-Identifier: BSD-3-Clause
// Messages to the service manager that started us: sd_notify(3) without libsystemd. Control core
// only; without a manager everything here is a no-op.
#ifndef SLUICE_NOTIFY_H
#define SLUICE_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

struct notify { // zeroed: no manager
	int fd_plus_1;
	uint64_t watchdog_ns; // WATCHDOG=1 is due this often (half of what is asked); 0: never
};

// `address`: $NOTIFY_SOCKET, a path or "@" and an abstract name; NULL: no manager. `watchdog_us`
// and `watchdog_pid`: $WATCHDOG_USEC and $WATCHDOG_PID, may be NULL. 0, or -errno and a message.
int notify_open(struct notify *notify, const char *address, const char *watchdog_us,
	const char *watchdog_pid, char *err, size_t err_len);
void notify_close(struct notify *notify);
// "READY=1\nSTATUS=..." One datagram, at most 1 KiB. A manager that does not read is waited for at
// most 100 ms. 0 (also without a manager) or -errno.
int notify_send(const struct notify *notify, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
// CLOCK_MONOTONIC in microseconds, as RELOADING=1 wants it beside it.
uint64_t notify_monotonic_us(void);

#endif
