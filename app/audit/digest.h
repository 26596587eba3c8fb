// SPDX-License-Identifier: BSD-3-Clause
// MD5, SHA-1 and SHA-256 of a file, as its bytes come. Any thread.
#ifndef SLUICE_AUDIT_DIGEST_H
#define SLUICE_AUDIT_DIGEST_H

#include <stddef.h>

struct file_digests { // lower-case hex; "": the machine's rules (FIPS) do not allow it
	char md5[33];
	char sha1[41];
	char sha256[65];
};

struct file_digest;

struct file_digest *file_digest_new(void); // NULL: no memory
void file_digest_add(struct file_digest *digest, const void *bytes, size_t length);
// Once, and then only freed.
void file_digest_end(struct file_digest *digest, struct file_digests *out);
void file_digest_free(struct file_digest *digest);

#endif
