// SPDX-License-Identifier: BSD-3-Clause
// What the suite runs over: one row per transport and way to have it. A row more, and its name in
// meson.build, is all that a new transport needs.
#ifndef TESTS_TRANSPORT_ROWS_H
#define TESTS_TRANSPORT_ROWS_H

#include "rig.h"

enum row_traits {
	ROW_RAW_SOCKET = 1 << 0, // needs CAP_NET_RAW
	ROW_OBJECT = 1 << 1,     // loaded from libtransportapi_NAME.so
	ROW_SILENT = 1 << 2,     // delivers nothing (null)
	ROW_EXCLUSIVE = 1 << 3,  // an address is bound by one instance only
	ROW_ACL = 1 << 4,        // addresses that a deny list can name
	ROW_NAT = 1 << 5,        // has the key "nat"
};

struct row {
	const char *name;
	const char *transport;
	// Its sections. '#' becomes the number of the node, 1 and more, and '@' the scratch folder.
	const char *sections;
	const char *below;  // "udp" where it wraps that one
	const char *family; // "127.0.0." or "fd00::", what '#' comes behind; NULL: none
	const char *scheme; // what the text of an address begins with
	uint16_t protocol;
	uint32_t mtu, cost;
	uint32_t flags; // exactly these
	unsigned traits;
};

extern const struct row rows[]; // ended by a NULL name
extern const struct row *row;   // the one that is tested

struct row_wish {
	const char *acl;   // members of the section "acl" besides "local", or NULL
	const char *extra; // members of the transport's own section (below: of that one), or NULL
	const char *chaos; // members of the section "chaos", or NULL
	const char *seed;  // of chaos; NULL: 7
};
// The configuration of a node, 0 and more; static storage until the next call.
const char *row_conf(unsigned node, const struct row_wish *wish);
// Loads node `index` with it; starts it.
struct rig_node *row_node(struct rig *rig, unsigned index, const struct row_wish *wish);
// The address of node `index` as the suite has it; for who delivers nothing: one that looks right.
struct tapi_helo row_helo(struct rig_node *from, struct rig_node *to);
bool row_is(unsigned flags);   // TAPI_*
bool row_has(unsigned traits); // ROW_*
// A pair (a listens, b is connected to it).
struct row_pair {
	struct rig rig;
	struct rig_node *a, *b;
	struct rig_session *out; // b's
};
void row_pair_begin(struct row_pair *pair);
void row_pair_begin_as(
	struct row_pair *pair, const struct row_wish *wish_a, const struct row_wish *wish_b);
void row_pair_end(struct row_pair *pair);
// b says something, and a's session that it came in by.
struct rig_session *row_pair_meet(struct row_pair *pair);

int case_begin(void **state);
int case_end(void **state);
#define CASE(f) cmocka_unit_test_setup_teardown(f, case_begin, case_end)

// Groups of cases, each ended; run in this order.
int cases_table(void);
int cases_address(void);
int cases_life(void);
int cases_messages(void);
int cases_limits(void);
int cases_reload(void);
int cases_weather(void);
int cases_random(void);

#endif
