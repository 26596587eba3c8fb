// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the pool of per-flow states, shared by classification and decoders (a flow
// has the one, then perhaps the other). A reference is index + 1; 0 is CLASSIFY_NO_STATE.
#ifndef SLUICE_STATES_H
#define SLUICE_STATES_H

#include "classify/classify.h"
#include "classify/handshake/datagram_hello.h"

#ifdef __has_feature // clang; gcc 12 only defines __SANITIZE_ADDRESS__
#if __has_feature(address_sanitizer)
#define CLASSIFY_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CLASSIFY_ASAN
#endif

#ifdef CLASSIFY_ASAN
#include <sanitizer/asan_interface.h>
// A verifier that reads beyond the prefix is caught as it would be beyond a heap block.
#define HIDE(at, length) ASAN_POISON_MEMORY_REGION(at, length)
#define SHOW(at, length) ASAN_UNPOISON_MEMORY_REGION(at, length)
#else
#define HIDE(at, length) ((void)(at), (void)(length))
#define SHOW(at, length) ((void)(at), (void)(length))
#endif

#define PENDING_MAX 8

struct memo_slot {
	uint16_t app;   // APP_NONE: free
	uint8_t halves; // 1 << half of each whose payload has written into it
	struct app_memo memo;
};

static inline bool memo_used(const struct app_memo *memo)
{
	uint32_t any = 0;

	for (unsigned i = 0; i < sizeof(memo->word) / sizeof(memo->word[0]); i++)
		any |= memo->word[i];
	return any;
}

enum host_look {
	HOST_NOT_LOOKED, // not asked yet, or not here yet
	HOST_AWAITED,    // its half begins as one that will tell
	HOST_OF_SERVER,  // the client asks for none: the server's certificate is awaited
	HOST_NAMED,      // of datagrams: it is known, the rest of its hello is on its way
	HOST_UNANSWERED, // of datagrams: the hello is whole, and the server has not taken it yet
	HOST_LOOKED_AT,
};

struct pending {
	uint16_t signature;
	uint8_t half;
};

// What is kept of an undecided flow between two packets, but for the bytes.
struct look {
	struct memo_slot memos[APP_MEMOS];
	struct pending pending[PENDING_MAX]; // verifiers that said MORE
	uint8_t n_pending;
	uint8_t host[2];    // enum host_look, of datagrams by half; of a stream the first
	bool ended[2];      // a gap: nothing can be added to this half's prefix
	uint8_t headless;   // 1 << half whose prefix may lie anywhere in the connection
	uint16_t leans[2];  // what such a half says that the flow is; APP_NONE
	uint16_t alone;     // what one side alone says that it is (VERIFY_ALONE); APP_NONE
	uint8_t alone_half; // which
	uint16_t length[2]; // bytes of prefix
	// Where the prefix ends with what a capture left of a segment, so many octets more of those
	// that follow it stand behind the prefix, which only shapes by lengths are shown.
	uint16_t beyond[2];
	uint8_t cut;          // 1 << half of which that may grow
	uint64_t begin64[2];  // where in its half the prefix begins: behind a gap, if not at 0
	const uint8_t *at[2]; // the prefix: in the state, or in the packet at hand
	const struct edition
		*edition; // that it is classified with, or NULL; not touched once it is retired
	uint32_t edition_number;
	uint32_t beside; // reference of the state with the other half's hello (hello_halves.h)
};

struct state {
	union {
		struct {
			struct look look;
			union {
				uint8_t bytes[2][CLASSIFY_PREFIX_BYTES]; // TCP
				struct datagram_hello hello;             // UDP, while half_asks()
			};
		};
		struct decoder_state decoder;
	};
	uint32_t next; // reference of the next free state
	uint8_t use;   // enum state_use
};

struct state_link {              // beside each state: lists of those in use, by rank
	uint32_t older, younger; // references; 0: none
	uint32_t owner;
	uint8_t rank;
};

enum state_use {
	STATE_FREE,
	STATE_CLASSIFY,
	STATE_DECODE,
	STATE_BESIDE, // of a flow that has another one: nothing but `hello`
};

struct shape {
	const struct app_proto *proto;
	uint16_t app;
};

struct port_entry {
	uint16_t port;
	uint16_t app;
};

struct classifier {
	struct state *states;
	struct state_link *links; // by reference
	uint32_t oldest_of[CLASSIFY_RANKS], youngest_of[CLASSIFY_RANKS];
	uint32_t owner; // who takes the next state, and its rank
	uint8_t rank;
	size_t mapped_bytes;
	unsigned n_states;
	unsigned n_free;
	uint32_t first_free;
	uint64_t n_taken;     // in all
	unsigned n_shapes[2]; // 0 TCP, 1 UDP
	struct shape shapes[2][APPS_MAX];
	unsigned n_ports[2];
	struct port_entry ports[2][8 * APPS_MAX]; // by port; the application of lower id first
	unsigned index;
	uint32_t oldest; // number of the first edition that is not retired
	// States by the number of their edition, modulo; written by the owner only.
	_Atomic uint32_t open[EDITIONS_OPEN_MAX];
	struct quic_crypto *crypto;
	struct mtproto_opener *mtproto;
	uint16_t media, telegram; // applications, by name
	unsigned n_callers;
	struct shape callers[APPS_MAX]; // with media_between
	struct datagram_hello hello;    // of the datagram at hand, until it is known to go on
};

// The application that is known for this port; APP_NONE.
uint16_t port_app(const struct classifier *classifier, uint8_t l4_proto, uint16_t port);

// NULL: the pool is empty. The content is undefined but for `use`.
struct state *state_take(struct classifier *classifier, enum state_use use, uint32_t *ref);
struct state *state_at(struct classifier *classifier, uint32_t ref, enum state_use use);
void state_give(struct classifier *classifier, uint32_t *ref);

// Where a half's prefix begins, before its first bytes are taken. `midstream`: nobody knows what
// was before.
void look_begin(struct look *look, const struct span *span, bool midstream);
static inline bool look_lacks_begin(const struct look *look, unsigned half)
{
	return look->headless >> half & 1;
}
// Appends what continues a half's prefix: into the state, or, without one, as it lies in the
// packet. False: nothing new can be seen.
bool look_grow(struct look *look, struct state *state, const struct span *span);
// The same behind a segment whose end a capture has left out (`beyond`).
bool look_grow_beyond(struct look *look, struct state *state, const struct span *span);
// Nothing more will be added to its prefix.
static inline bool half_closed(const struct look *look, unsigned half)
{
	return look->ended[half] || look->length[half] == CLASSIFY_PREFIX_BYTES;
}
// Nothing more will be seen of it.
static inline bool half_is_over(const struct look *look, unsigned half)
{
	return half_closed(look, half) && !(look->cut >> half & 1);
}
// The hello of a half of a datagram flow goes on.
static inline bool half_asks(const struct look *look, unsigned half)
{
	uint8_t host = look->host[half];

	return host == HOST_AWAITED || host == HOST_NAMED || host == HOST_UNANSWERED;
}
static inline bool hello_goes_on(const struct look *look)
{
	return half_asks(look, 0) || half_asks(look, 1);
}
static inline bool name_awaited(const struct look *look)
{
	return look->host[0] == HOST_AWAITED || look->host[1] == HOST_AWAITED;
}

#endif
