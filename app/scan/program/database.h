// SPDX-License-Identifier: BSD-3-Clause
// A folder of signatures: which files in it are some, whether they stay as they are while they are
// loaded, and their digest.
#ifndef SLUICE_SCAN_PROGRAM_DATABASE_H
#define SLUICE_SCAN_PROGRAM_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_DATABASE_FILES_MAX 1024

struct scan_database_file {
	char name[256];
	uint64_t bytes, inode, mtime_ns;
};

struct scan_database {
	unsigned n;         // sorted by name
	unsigned detecting; // of them, those that can find something: not lists of exceptions
	struct scan_database_file files[SCAN_DATABASE_FILES_MAX];
};

// Reads what is there. 0; -errno with a message. A file of lines that ends within a line is
// being written: -EAGAIN.
int scan_database_list(struct scan_database *database, const char *folder, char *err, size_t len);
// A number that changes when a file of signatures comes, goes, or is written (by names, sizes,
// times and inodes; none is opened), or when the folder cannot be read.
uint64_t scan_database_mark(const char *folder);
bool scan_database_same(const struct scan_database *a, const struct scan_database *b);
// The newest file's time, in seconds since 1970.
uint64_t scan_database_time_s(const struct scan_database *database);
// SHA-256 over names and contents, and over `options`. 0; -errno with a message.
int scan_database_digest(const struct scan_database *database, const char *folder,
	const void *options, size_t n_options, uint8_t out[32], char *err, size_t len);

#endif
