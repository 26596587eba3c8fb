// SPDX-License-Identifier: BSD-3-Clause
// One end of a transport with a core that writes down what it hears: for unit tests of transports
// that also look at their octets and their sockets. Several ends share a loop.
#ifndef TESTS_LIB_TAPI_END_H
#define TESTS_LIB_TAPI_END_H

#include <event2/event.h>

#include "transportapi/base/acl.h"
#include "transportapi/base/conf.h"
#include "transportapi/proto/helo.h"
#include "transportapi/base/transport.h"

#define END_HEARD_MAX 4096
#define END_KEPT      64 // octets of a message that are kept

struct end_heard {
	struct tapi_session *session;
	struct tapi_peer_id sender;
	struct tapi_source source;
	uint32_t size, crc;
	bool is_encrypted;
	uint8_t octets[END_KEPT];
};

struct end_down {
	struct tapi_session *session;
	enum tapi_down why;
};

struct end {
	struct tapi_core_api core;
	struct tapi_peer_id id;
	struct tapi_conf *conf;
	struct tapi_acl *acl;
	const struct tapi_conf *conf_in_force;
	const struct tapi_acl *acl_in_force;
	struct tapi_transport_api *api; // NULL: it refused
	tapi_done_fn *done;
	uint64_t skew_us; // tests own the clock: added to the system's
	bool inside;      // a method runs: nothing may be called back
	struct end_heard heard[END_HEARD_MAX];
	unsigned n_heard; // all of them; the last END_HEARD_MAX are kept
	struct end_down downs[END_HEARD_MAX];
	unsigned n_downs;
	char log[8192];                                                            // all lines
	void (*on_receive)(struct end *end, const struct tapi_message_pack *pack); // NULL: nothing
	void *user;
};

// Its identity is 32 times `letter`. api is NULL where init refused.
struct end *end_new(struct event_base *base, uint8_t letter, tapi_init_fn *init, tapi_done_fn *done,
	const char *conf);
void end_free(struct end *end);
enum tapi_result end_reload(struct end *end, const char *conf);
void end_helo(struct end *end, unsigned index, struct tapi_helo *out); // asserts that there is one
void end_helo_text(struct end *end, const char *text, struct tapi_helo *out);
struct tapi_session *end_connect(struct end *end, const struct tapi_helo *helo);
enum tapi_result end_send(struct end *end, struct tapi_session *session, const char *text);
uint64_t end_turn(struct end *end);
const struct end_heard *end_last(const struct end *end);
// Runs the loop until `end` has heard `n` in all, or 2 s have passed.
bool end_wait(struct event_base *base, const struct end *end, unsigned n);
void end_pump(struct event_base *base); // what is there now

#endif
