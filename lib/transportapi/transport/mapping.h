// SPDX-License-Identifier: BSD-3-Clause
// A port of the router for a port of ours (TA28): NAT-PMP (RFC 6886) and UPnP IGD, by libnatpmp and
// libminiupnpc. Embedded in the transport that listens: udp, tcp.
//
// Why a program of its own (portmap.c), and not a thread: both libraries wait, UPnP for seconds,
// and this library is single-threaded by contract: whoever embeds it may fork, block signals, or
// count on nothing else running. They also read HTTP and XML of whatever answers on the local
// network; in a process without rights that costs a mapping at worst. And it sees by its end of the
// pipe that we are gone, however we went, and takes the mapping back: nobody has to wait for that.
//
// The pipe is a pair of sockets, lines of text:
//
//   map udp|tcp ADDRESS PORT WANTED SECONDS auto|nat-pmp|upnp      ADDRESS 0.0.0.0: any of ours
//   mapped ADDRESS PORT SECONDS nat-pmp|upnp
//   failed WHY
//
// Asked again at half of the time that was granted. What the router says is a candidate: an address
// that the deny list does not have is advertised, and others believe none before its PONG. A
// failure is said once, and tried again after a minute, then twice as late each time, an hour at
// most; a mapping that stands does so until its time is over. No answer in a minute is a failure,
// and the program is started anew. IPv4 alone, one port of each transport: the first that is bound.
#ifndef TRANSPORTAPI_MAPPING_H
#define TRANSPORTAPI_MAPPING_H

#include "transportapi/base/conf.h"
#include "transportapi/transport/inet_own.h"

struct event;

#define TAPI_MAPPING_LINE_BYTES 256 // of the pipe

// Rows of the section's keys.
#define TAPI_MAPPING_KEYS                                                                     \
	{"port_mapping", TAPI_CONF_CHOICE, 0, 0, 0, "off|auto|nat-pmp|upnp", true,            \
		"ask the router for a port that leads to ours; auto: NAT-PMP, else UPnP"},    \
		{"port_mapping_s", TAPI_CONF_UINT, 60, 86400, 3600, NULL, true,               \
			"for how long; asked again at half of it"},                           \
	{                                                                                     \
		"port_mapper", TAPI_CONF_TEXT, 1, 4095, 0, NULL, true,                        \
			"the program that talks to the router; none: the one of this library" \
	}

struct tapi_mapping_settings {
	char how[8]; // "off" ...
	uint32_t lease_s;
	char program[4096];
};

struct tapi_mapping {
	const struct tapi_core_api *core; // with a base
	struct tapi_transport_stats *stats;
	const char *name;               // "udp"
	void (*changed)(void *context); // `mapped` is another; from events and from turn()
	void *context;
	struct tapi_mapping_settings settings;
	struct tapi_source local;  // what is to be reached; family 0: nothing
	struct tapi_source mapped; // family 0: none
	uint64_t until_us;         // it stands
	uint64_t next_us;          // the next request, or the end of waiting for an answer
	bool asked;                // an answer is owed
	bool reported;             // of the failure
	unsigned failures;         // on end
	int fd;                    // to the program; -1: it does not run
	int pid;                   // that was not waited for yet; 0: none
	struct event *readable, *due;
	size_t n;
	char line[TAPI_MAPPING_LINE_BYTES];
};

TAPI_EXPORT void tapi_mapping_settings_read(struct tapi_mapping_settings *out,
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys);
// core, stats, name, changed, context are filled in; the rest is zero.
TAPI_EXPORT void tapi_mapping_init(struct tapi_mapping *mapping);
// The first of `bound` that is IPv4. What is mapped stays if neither that nor the settings changed.
TAPI_EXPORT void tapi_mapping_use(struct tapi_mapping *mapping,
	const struct tapi_mapping_settings *settings, const struct tapi_inet_list *bound);
// The program takes the mapping back; nothing waits for it, and `changed` is not called.
TAPI_EXPORT void tapi_mapping_stop(struct tapi_mapping *mapping);
// What is due. Its own event calls it; returns when it wants to be called next.
TAPI_EXPORT uint64_t tapi_mapping_turn(struct tapi_mapping *mapping, uint64_t now_us);
// Adds what is mapped to `own`, if it is allowed and not there.
TAPI_EXPORT void tapi_mapping_own(const struct tapi_mapping *mapping, struct tapi_inet_list *own);

#endif
