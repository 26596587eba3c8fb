// SPDX-License-Identifier: BSD-3-Clause
// What a child gives up before it reads the first byte of a file: everything but its four
// descriptors, memory, and one folder. Once closed, a jail cannot be opened again.
#ifndef SLUICE_SCAN_PROGRAM_JAIL_H
#define SLUICE_SCAN_PROGRAM_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Exit codes of a child.
#define SCAN_EXIT_DONE    0
#define SCAN_EXIT_JAIL    70 // its jail did not close: it has read no file
#define SCAN_EXIT_INVALID 71 // a request was not sound

// A child's descriptors; there are no others.
#define SCAN_FD_NULL  0 // and 2: what libraries print
#define SCAN_FD_ARENA 1
#define SCAN_FD_FILES 3
#define SCAN_FD_READY 4 // until it has said that its jail is closed

struct scan_jail {
	bool change_user;
	uid_t uid;
	gid_t gid;
	uint64_t tmp_bytes, memory_bytes;
};

// In the parent, once. 0; -EINVAL, -EPERM with a message.
int scan_jail_prepare(struct scan_jail *jail, const char *user, char *err, size_t len);

// In the child, which has one thread: 0, or -errno with the step that failed. `folder` is then its
// current directory. `parent`: who forked it. `*ready` becomes SCAN_FD_READY.
int scan_jail_close(const struct scan_jail *jail, const char *folder, pid_t parent, int arena,
	int files, int *ready, char *err, size_t len);

// What these rights and this kernel give, for the log.
bool scan_jail_can_mount(void); // folders of a limited size
int scan_jail_landlock(void);   // version; 0: none

// The steps, each in a file of its own.
// -errno, and `what` with its words: of a step that failed.
int scan_jail_failed(const char *what, char *err, size_t len);
int scan_jail_folder(const struct scan_jail *jail, const char *folder, char *err, size_t len);
int scan_jail_files(char *err, size_t len); // Landlock: the current directory is all there is
int scan_jail_calls(char *err, size_t len); // seccomp
// The filter in libseccomp's pseudo code, into `fd`: for the test that compares it with calls.txt.
int scan_jail_calls_export(int fd);

#endif
