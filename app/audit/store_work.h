// SPDX-License-Identifier: BSD-3-Clause
// What the files of the file store share (store*.c).
#ifndef SLUICE_AUDIT_STORE_WORK_H
#define SLUICE_AUDIT_STORE_WORK_H

#include <dirent.h>

#include "audit/ranges.h"
#include "audit/store.h"
#include "audit/store_index.h"

#define STORE_NAME_MAX 112 // sha256.seconds.id.json, and tmp/
#define STORE_FOLDERS  256

struct store {
	int folder; // -1: only digests
	struct store_limits limits;
	struct store_counters counters;
	struct store_index index;
	struct store_file *open; // a list
	uint64_t next_tmp;
	// The walk at the start: folders before `walked` are counted. What is stored in those
	// behind it is counted when the walk comes there.
	unsigned walked;
	DIR *walk; // folder number `walked`, of which a part was read
};

struct store_file {
	struct store *store;
	struct store_file *previous, *next;
	struct ranges ranges;
	struct file_digest *digest;
	uint64_t digested; // bytes from the beginning of the file
	int fd;            // in tmp/; -1: not stored
	uint64_t tmp;      // its number there
	uint64_t charged;  // bytes that it has of `used_bytes`: up to its end; and one of
			   // `used_files`
	bool unknown;      // not all that came is in `ranges`
	int error;
};

// store.c
// What `file` has on the disk goes; digests go on.
void store_drop_tmp(struct store_file *file);

// store_infected.c: what the store has of a file, by the digests of `result`, goes.
void store_withdraw(struct store_file *file, struct store *quarantine, uint64_t now_s,
	struct store_result *result);

// store_folder.c: names and files below the folder. 0 or -errno.
void store_tmp_name(uint64_t number, char out[STORE_NAME_MAX]);      // tmp/...
void store_place_name(const char *sha256, char out[STORE_NAME_MAX]); // ab/ab...
void store_side_name(const char *sha256, uint64_t now_s, uint64_t id, char out[STORE_NAME_MAX]);
int store_tmp_create(struct store *store, uint64_t *number);
// A file of tmp/ gets that name, in a folder that is made for it.
int store_move(struct store *store, uint64_t tmp, const char *name);
// Opened below the folder, no links; -errno.
int store_open_folder(const struct store *store, const char *name);
int store_remove_tmp_files(struct store *store);
// For reading; -errno.
int store_open_file(const struct store *store, const char *name);
// The file of that hash, and its sidecars if there are any.
int store_unlink(struct store *store, const uint8_t sha256[32], bool sidecars);
// 64 digits as 32 bytes.
bool store_hash_read(const char *hex, uint8_t out[32]);
void store_fail(struct store *store, int rc); // counts an error

// store_limits.c: room.
// Takes it from what the limits allow, evicting if that is the rule; false: there is none, counted.
bool store_charge(struct store *store, uint64_t bytes, uint64_t files);
void store_release(struct store *store, uint64_t bytes, uint64_t files);
// What an entry has of the limits is free, and its number, too.
void store_forget(struct store *store, uint32_t number);
// Removes the oldest; -errno: that failed, it is the newest now.
int store_evict(struct store *store);

// store_walk.c: what the folder has.
// True: what is in that folder is counted. What is half counted is counted to its end.
bool store_is_counted(struct store *store, const uint8_t sha256[32]);
// The entry of the hash, made if there is none; NULL: no memory.
struct store_entry *store_entry_of(struct store *store, const uint8_t sha256[32], int64_t time_s);

#endif
