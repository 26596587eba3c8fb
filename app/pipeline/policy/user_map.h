// SPDX-License-Identifier: BSD-3-Clause
// Who an address belongs to: one table of sorted, disjoint ranges per family and snapshot, so that
// an address is one binary search whatever the number of users. Built by the policy loader, then
// read-only. A user's index is of this snapshot only, by rising name; its uid
// (control/policy/load.h) outlives reloads, and is what events carry.
#ifndef SLUICE_USER_MAP_H
#define SLUICE_USER_MAP_H

#include <stdint.h>

#define USERS_MAX      1000000
#define USER_NAME_SIZE 64
#define USER_NONE      UINT32_MAX

struct user_range4 {
	uint32_t first; // host order, inclusive
	uint32_t last;
	uint32_t user;
	uint32_t entry; // of the user's list, for messages
};
struct user_range6 {
	uint8_t first[16];
	uint8_t last[16];
	uint32_t user;
	uint32_t entry;
};

struct user {
	char name[USER_NAME_SIZE];
	uint32_t uid;
};

struct user_map { // all owned
	struct user *users;
	struct user_range4 *v4;
	struct user_range6 *v6;
	uint32_t n_users;
	uint32_t n_v4;
	uint32_t n_v6;
};

struct user_clash { // two ranges that overlap, and are of two users
	uint32_t user[2];
	uint32_t entry[2];
};

// What `text` says ("10.0.0.5", "2001:db8::/64") belongs to `user`. As address_set_add.
int user_map_add(struct user_map *map, uint32_t user, uint32_t entry, const char *text);
// Sorts, once, after the last add; a user's own overlaps become one. -EEXIST with `clash`.
int user_map_seal(struct user_map *map, struct user_clash *clash);
void user_map_free(struct user_map *map);

// Index in `users`, or USER_NONE. `address` is v4-mapped for IPv4.
uint32_t user_map_find(const struct user_map *map, const uint8_t address[16]);
// The index of a name, or USER_NONE.
uint32_t user_map_named(const struct user_map *map, const char *name);

#endif
