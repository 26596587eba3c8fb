// SPDX-License-Identifier: BSD-3-Clause
// The contract between a transport and the core that hosts it: figures 2 and 3 of "A Transport
// Layer Abstraction for Peer-to-Peer Networks" (2003), in this library "the paper". Rows as TA8 are
// the promises of docs/transports.md, where their tests are, too.
//
// A transport moves messages of at most `mtu` octets between two peers, unreliably and in no
// order, by contract: whoever needs more builds it above. It never blocks, never retries what the
// medium refused, and never looks into a message.
//
// Threads: one. Every function of both tables is called on the thread that runs the core's loop.
//
// Instances: inittransport_NAME makes one, with its own table; all of its state hangs on that. The
// paper's methods have no such argument; ours do, because many cores may live in one process.
//
// Calling back: receive() and session_down() are called from the loop's events, from turn() and
// from stop_server() only, never from inside another method: a caller of send() or connect() finds
// its sessions as they were. A message or a death that is due inside a method waits for turn().
//
// A shared object `libtransportapi_NAME.so` exports inittransport_NAME and donetransport_NAME; one
// that is built in has the same two functions, listed in registry.c. A '-' of a name is '_' there.
#ifndef TRANSPORTAPI_TRANSPORT_H
#define TRANSPORTAPI_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPI_EXPORT __attribute__((visibility("default")))

struct event_base; // libevent's
struct tapi_acl;
struct tapi_budget;
struct tapi_conf;
struct tapi_helo;

#define TAPI_VERSION 1u // of both tables; who was built for another is refused

enum tapi_result {
	TAPI_OK = 0,
	TAPI_DROPPED = -1, // the medium would block, or a rate limit: counted, not kept
	TAPI_ETOOBIG = -2, // more than the mtu
	TAPI_EDOWN = -3,   // the session, or the server, is no more
	TAPI_EADDR = -4,   // the address is malformed, or not one of this transport
	TAPI_EACL = -5,    // the address or peer is denied by configuration
	TAPI_ENOADDR = -6, // there is no (further) address to advertise, or to send to
	TAPI_EUNIDIR = -7, // one way only: nothing can be sent back on this session
	TAPI_ELIMIT = -8,  // a limit of the configuration is reached
	TAPI_ENOMEM = -9,
	TAPI_ESYS = -10,  // the system refused; what, where and why is in the log
	TAPI_ECONF = -11, // the configuration is wrong; the log says where
	TAPI_ESIG = -12,  // a signature or a challenge is wrong
	TAPI_EEXPIRED = -13,
	TAPI_EFORMAT = -14, // malformed octets
};

TAPI_EXPORT const char *tapi_result_name(enum tapi_result result); // "dropped", for people

#define TAPI_PEER_ID_BYTES 32
struct tapi_peer_id { // BLAKE2b-256 of the Ed25519 public key
	uint8_t octets[TAPI_PEER_ID_BYTES];
};

// The paper's TSession. The transport owns it; the core may name it while it holds a reference, and
// without one until session_down() reported its end.
struct tapi_session {
	uint16_t protocol;
	void *internal; // the transport's
	void *user;     // the core's; NULL at startup, and no transport touches it
};

// Where a message came from, as the medium tells; it may lie.
struct tapi_source {
	uint8_t family;      // 4, 6, or 0: the medium has no addresses of its own
	uint8_t address[16]; // IPv4 in the first 4
	uint16_t port;       // host order; 0: none
};

// The paper's MessagePack. All of it is borrowed for the call of receive().
struct tapi_message_pack {
	struct tapi_session *session; // NULL: session-less
	struct tapi_peer_id
		sender; // as the sender says; the core believes it after validation only
	struct tapi_source source;
	const uint8_t *message;
	uint32_t size;
	bool is_encrypted; // carried, never looked at (TA12)
	uint32_t crc;      // CRC-32 (zlib's) of the plain text: the same
};

enum tapi_down {
	TAPI_DOWN_CLOSED, // by the other end
	TAPI_DOWN_STALE,  // nobody used it
	TAPI_DOWN_ERROR,  // the medium failed, or a connect was refused or took too long
	TAPI_DOWN_LIMIT,  // evicted for another
	TAPI_DOWN_DENIED, // a reload denies its address
	TAPI_DOWN_STOPPED,
};

// What the core gives to a transport. Valid from inittransport_NAME to donetransport_NAME.
struct tapi_core_api {
	uint32_t version; // TAPI_VERSION
	const struct tapi_peer_id *my_identity;
	void *core; // first argument of what follows; each transport has its own
	void (*receive)(void *core, const struct tapi_message_pack *pack);
	// The session is gone, with all references to it: neither side names it again.
	void (*session_down)(void *core, struct tapi_session *session, enum tapi_down why);
	struct event_base *base;
	uint64_t (*now_us)(void *core); // monotonic; virtual in tests
	void (*random)(void *core, void *octets, size_t length);
	void (*log)(void *core, int priority, const char *format, ...) // LOG_ERR ... of syslog.h
		__attribute__((format(printf, 3, 4)));
	const struct tapi_conf *const *conf; // what is in force: a reload puts another there
	const struct tapi_acl *const *acl;   // the same; answers are not kept
	struct tapi_budget *budget; // memory and descriptors in all; NULL: none are counted
	// What create_helo() tells is another list now. From anywhere. NULL: nobody asks.
	void (*addresses_changed)(void *core);
};

enum tapi_flags {
	TAPI_BIDIRECTIONAL = 1 << 0, // what comes in can be answered on its session (associate)
	TAPI_STREAM = 1 << 1,
	TAPI_SESSIONLESS = 1 << 2,  // messages come in with no session
	TAPI_SEND_ONLY = 1 << 3,    // as configured: nothing can be received
	TAPI_HIGH_LATENCY = 1 << 4, // minutes, not milliseconds
	TAPI_ORDERED = 1 << 5,
	TAPI_RELAYED = 1 << 6, // wraps another transport (chaos)
};

#define TAPI_TEXT_BYTES    256 // an address as text, with its NUL
#define TAPI_ADDRESS_BYTES 192 // an address on the wire, at most

struct tapi_session_info {
	char remote[TAPI_TEXT_BYTES]; // as text, for people
	struct tapi_source source;    // of the remote end
	unsigned references;
	bool inbound;
	bool up; // false: connecting
	uint64_t opened_us, last_received_us, last_sent_us;
	uint64_t sent_msgs, sent_bytes, received_msgs, received_bytes, dropped_msgs;
};

// Of one instance, since its startup. Every message is in one of them: what send() was given is
// sent, dropped, too_big or down; what the wire brought is received or one of the bad_*.
#define TAPI_TRANSPORT_COUNTERS(X)                                                      \
	X(sent_msgs, "messages that the medium took")                                   \
	X(sent_bytes, "their octets, without framing")                                  \
	X(received_msgs, "messages given to the core")                                  \
	X(received_bytes, "their octets, without framing")                              \
	X(dropped_block, "messages dropped because the medium would block")             \
	X(dropped_rate, "messages dropped by the rate limit of the transport")          \
	X(dropped_down, "messages for a session that was down")                         \
	X(dropped_too_big, "messages beyond the mtu")                                   \
	X(dropped_error, "messages that the system refused for another reason")         \
	X(bad_frame, "datagrams or streams with a wrong length, version or flag")       \
	X(bad_source, "messages whose sender is denied, or has no room here")           \
	X(sessions_opened, "sessions that connect made")                                \
	X(sessions_accepted, "sessions that came in")                                   \
	X(sessions_closed, "sessions that ended, for any reason")                       \
	X(sessions_stale, "of these, timed out")                                        \
	X(sessions_evicted, "of these, ended for another's sake")                       \
	X(sessions_cut, "of these, ended because they held most of a full memory")      \
	X(sessions_refused, "sessions that a limit refused")                            \
	X(fault_dropped, "messages that were taken and lost on purpose (chaos)")        \
	X(fault_doubled, "messages that were sent twice on purpose")                    \
	X(fault_reordered, "messages that later ones overtook on purpose")              \
	X(fault_delayed, "messages that were held back on purpose")                     \
	X(fault_refused, "messages held back, which the medium refused later")          \
	X(stun_sent, "STUN requests sent, those repeated among them")                   \
	X(stun_answers, "answers of STUN servers that were taken")                      \
	X(stun_unanswered, "STUN requests without an answer, repeated or not")          \
	X(stun_bad, "STUN messages dropped: malformed, not asked for, refusing")        \
	X(map_sent, "requests that the router keep a port for us, renewals among them") \
	X(map_granted, "of these, granted")                                             \
	X(map_failed, "of these, refused, or not answered")                             \
	X(nat_changes, "times that an address learnt outside a NAT came or went")       \
	X(nat_denied, "of these, addresses that are denied: not advertised")

struct tapi_transport_stats {
#define X(name, help) uint64_t name;
	TAPI_TRANSPORT_COUNTERS(X)
#undef X
};

// The paper's TransportAPI: three fields and nine methods, and what practice asks for besides.
// Methods marked * may be NULL.
struct tapi_transport_api {
	uint32_t version;  // TAPI_VERSION
	uint16_t protocol; // unique: TRANSPORTS in docs/transports.md
	uint32_t mtu;      // largest message of send(), octets
	uint32_t cost;     // lower is cheaper (TA15)
	uint32_t flags;    // enum tapi_flags
	const char *name;  // "udp"

	// Syntax of the address and the deny list, never reachability (TA6). Only HELOs of this
	// protocol come here.
	enum tapi_result (*verify_helo)(
		struct tapi_transport_api *self, const struct tapi_helo *helo);
	// The index-th address under which we can be reached, unsigned: protocol, mtu and address
	// are filled in (TA5). TAPI_ENOADDR ends the list; who only sends says so at index 0.
	enum tapi_result (*create_helo)(
		struct tapi_transport_api *self, unsigned index, struct tapi_helo *out);
	// Begins a session, with one reference. What is sent before it stands is kept up to one
	// mtu. TAPI_OK promises nothing about the other end.
	enum tapi_result (*connect)(struct tapi_transport_api *self, const struct tapi_helo *helo,
		struct tapi_session **out);
	// The message is the medium's, or dropped and counted, when this returns; never half of it,
	// never blocking (TA10).
	enum tapi_result (*send)(struct tapi_transport_api *self, struct tapi_session *session,
		const void *message, uint32_t size, bool is_encrypted, uint32_t crc);
	// A reference more, for a session that came in by receive() (TA13). TAPI_EUNIDIR: cannot
	// answer.
	enum tapi_result (*associate)(
		struct tapi_transport_api *self, struct tapi_session *session);
	// One less; none held: TAPI_EDOWN. At 0 a session that we connected ends now, without
	// session_down(); one that came in gets stale.
	enum tapi_result (*disconnect)(
		struct tapi_transport_api *self, struct tapi_session *session);
	enum tapi_result (*start_server)(struct tapi_transport_api *self);
	// Ends every session by session_down(). No receive() after it, ports are free, and
	// start_server may follow (TA4).
	enum tapi_result (*stop_server)(struct tapi_transport_api *self);
	// *core->conf and *core->acl changed. Sessions that are still allowed live on (TA17). A key
	// that cannot change while running, or is wrong: TAPI_ECONF, and all stays as it was.
	enum tapi_result (*reload_configuration)(struct tapi_transport_api *self);
	// What is due by time: stale sessions, connects that take too long. Returns when it wants
	// to be called next, UINT64_MAX for never; it may be called at any time. The core calls it
	// soon after connect, associate and disconnect, and after a send() that was not TAPI_OK;
	// after every send() where TAPI_RELAYED is set or the core has no event base.
	// What an event makes due earlier than that needs an event of the transport's own.
	uint64_t (*turn)(struct tapi_transport_api *self, uint64_t now_us);

	// "udp://192.0.2.1:2086" and back; the text is for people and configuration.
	enum tapi_result (*address_to_string)(struct tapi_transport_api *self,
		const struct tapi_helo *helo, char *out, size_t size);
	enum tapi_result (*string_to_address)(struct tapi_transport_api *self, const char *text,
		uint8_t *out, size_t *size); // *size: room, then length
	// Where a HELO's address leads, to hold it against a message's source. * NULL: no addresses
	enum tapi_result (*address_source)(struct tapi_transport_api *self,
		const struct tapi_helo *helo, struct tapi_source *out);
	uint32_t (*send_estimate)(struct tapi_transport_api *self,
		const struct tapi_session *session); // * octets that would not be dropped now
	void (*session_info)(struct tapi_transport_api *self, const struct tapi_session *session,
		struct tapi_session_info *out);
	const struct tapi_transport_stats *(*stats)(struct tapi_transport_api *self);
};

// NULL after saying why in the log (TA1). The core has refused a wrong version before it.
typedef struct tapi_transport_api *tapi_init_fn(const struct tapi_core_api *core);
typedef void tapi_done_fn(struct tapi_transport_api *self); // stops it, frees it

#endif
