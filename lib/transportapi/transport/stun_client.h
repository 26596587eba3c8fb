// SPDX-License-Identifier: BSD-3-Clause
// Who is asked what our datagrams look like, and what is made of the answers (TA28). Embedded in
// the transport whose socket the requests leave by: the mapping of another one would be another.
//
// Servers are addresses, not names: nothing here asks a resolver, which would block the loop.
//
// A transaction is a request and its repetitions, as RFC 8489 6.2.1 has them: after 0.5, 1.5, 3.5,
// 7.5, 15.5 and 31.5 s, given up after 39.5. An answer is taken from the address that was asked and
// with the id of a transaction that is out, 96 octets of chance; an alternate server that it names
// is not. After one the next begins after `refresh_us`, which keeps the mapping open, too; after a
// failure twice as late each time, 15 minutes at most.
//
// An address is agreed on if more than half of the servers of its family said it within the last
// five minutes, or twice `refresh_us` where that is longer. One server that lies, or a NAT that
// gives each destination another mapping, makes no address. Where one server alone is named, its
// word is taken. What is agreed on is a candidate: the transport holds it against the deny list and
// advertises it, and others believe no address before its PONG.
#ifndef TRANSPORTAPI_STUN_CLIENT_H
#define TRANSPORTAPI_STUN_CLIENT_H

#include "transportapi/base/conf.h"
#include "transportapi/transport/inet_own.h"
#include "transportapi/proto/stun.h"

#define TAPI_STUN_SERVERS_MAX 8

// Rows of the section's keys.
#define TAPI_STUN_KEYS                                                                           \
	{"stun", TAPI_CONF_TEXTS, 0, TAPI_STUN_SERVERS_MAX, 0, NULL, true,                       \
		"STUN servers that tell our address outside a NAT, ADDRESS or ADDRESS:PORT, no " \
		"names; more than half of them have to agree"},                                  \
	{                                                                                        \
		"stun_refresh_s", TAPI_CONF_UINT, 5, 3600, 20, NULL, true,                       \
			"how often each is asked, which keeps the mapping of the NAT open"       \
	}

struct tapi_stun_server {
	struct tapi_source address;
	uint8_t id[TAPI_STUN_ID_BYTES];
	unsigned sent;             // requests of the transaction that is out; 0: none is
	uint64_t next_us;          // the next request, or the end of the transaction
	unsigned failures;         // transactions on end
	struct tapi_source mapped; // family 0: it never said, or too long ago
	uint64_t mapped_us;
};

struct tapi_stun {
	const struct tapi_core_api *core;
	struct tapi_transport_stats *stats;
	void (*send)(
		void *context, const struct tapi_source *server, const void *octets, size_t length);
	void *context; // of send
	uint64_t refresh_us;
	unsigned n;
	struct tapi_stun_server at[TAPI_STUN_SERVERS_MAX];
	struct tapi_source agreed[2]; // of IPv4, of IPv6; family 0: none
	bool torn[2];                 // answers differ: said once
};

// The section's keys "stun" and "stun_refresh_s". TAPI_ECONF: no address, or one that is denied.
struct tapi_stun_settings {
	struct tapi_inet_list servers;
	uint64_t refresh_us;
};
TAPI_EXPORT enum tapi_result tapi_stun_settings_read(struct tapi_stun_settings *out,
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys,
	const struct tapi_acl *acl, struct tapi_error *error);
// Asks these from the next turn on, spread by chance over a moment; those that were asked before go
// on as they were.
TAPI_EXPORT void tapi_stun_use(
	struct tapi_stun *stun, const struct tapi_stun_settings *settings, uint64_t now_us);
// The sockets are others: what was learnt of the old ones is forgotten.
TAPI_EXPORT void tapi_stun_forget(struct tapi_stun *stun, uint64_t now_us);
// Sends what is due. *next_us: when it wants to be called next. Whether what is agreed on changed.
TAPI_EXPORT bool tapi_stun_turn(struct tapi_stun *stun, uint64_t now_us, uint64_t *next_us);
// What tapi_stun_is() says yes to. Whether what is agreed on changed.
TAPI_EXPORT bool tapi_stun_take(struct tapi_stun *stun, const struct tapi_source *from,
	const uint8_t *octets, size_t length, uint64_t now_us);

#endif
