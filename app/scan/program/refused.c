// SPDX-License-Identifier: BSD-3-Clause
// Stands between libclamav and the C library for the calls that fail when a limit is reached: the
// program's own symbols come before those of libraries. Each does what the library does, and
// remembers a failure.
#include "scan/program/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static volatile bool refused;

void scan_refused_forget(void)
{
	refused = false;
}

bool scan_refused(void)
{
	return refused;
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED ssize_t write(int fd, const void *bytes, size_t n)
{
	ssize_t done = syscall(SYS_write, fd, bytes, n);

	if ((done < 0 &&
		    (errno == ENOSPC || errno == EFBIG || errno == EDQUOT || errno == ENOMEM)) ||
		(done >= 0 && (size_t)done < n))
		refused = true;
	return done;
}

EXPORTED int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
		va_list rest;

		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOSPC || errno == ENOMEM))
		refused = true;
	return fd;
}

EXPORTED int mkdir(const char *path, mode_t mode)
{
	int rc = (int)syscall(SYS_mkdir, path, mode);

	if (rc < 0 && (errno == ENOSPC || errno == ENOMEM))
		refused = true;
	return rc;
}

// The sanitizers have these themselves.
#ifdef __has_feature // clang
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(SANITIZED)
EXPORTED void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	void *got = (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);

	if (got == MAP_FAILED && errno == ENOMEM)
		refused = true;
	return got;
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *old, size_t n);

EXPORTED void *malloc(size_t n)
{
	void *got = __libc_malloc(n);

	if (!got)
		refused = true;
	return got;
}

EXPORTED void *calloc(size_t n, size_t each)
{
	void *got = __libc_calloc(n, each);

	if (!got)
		refused = true;
	return got;
}

EXPORTED void *realloc(void *old, size_t n)
{
	void *got = __libc_realloc(old, n);

	if (!got && n)
		refused = true;
	return got;
}
#endif
