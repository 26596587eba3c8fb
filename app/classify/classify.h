// SPDX-License-Identifier: BSD-3-Clause
// Classification: signatures over the first payload of both directions,
// each hit confirmed by a verifier where a pattern alone can lie; a hard budget; cheap give-up.
//
// Threads: a sigdb is built in the control core, immutable, shared by all lcores. A scratch
// belongs to one lcore and one sigdb (never grown while in use: each snapshot has its own).
// A classifier is private to a data lcore. No function below but *_new and *_free allocates.
//
// Blocks, not Hyperscan streams: verifiers need the bytes in one piece anyway, so the first
// CLASSIFY_PREFIX_BYTES of each half are kept and scanned as a block when they grow. Most flows
// are decided by their first data packet, straight from the packet, and never get a state.
#ifndef SLUICE_CLASSIFY_H
#define SLUICE_CLASSIFY_H

#include <stddef.h>
#include "classify/app_proto.h"
#include "classify/handshake/metadata.h"
#include "classify/media_memo.h"
#include "classify/user_apps.h"

#define CLASSIFY_BUDGET_PKTS  10   // data packets, both directions
#define CLASSIFY_PREFIX_BYTES 2048 // per half: together 4 KiB
#define CLASSIFY_PATTERN_MAX  1024
// From so many bits on a signature is also asked of bytes that may lie anywhere in a connection.
#define CLASSIFY_BITS_ANYWHERE 40

// One signature as loaded from config/signatures/*.json. Where several applications are found with
// the same confidence, the signature of lower rank wins (equal: of lower index), and any signature
// wins over a shape: specific ones stand before those of the protocol that carries them.
struct signature {
	char id[48]; // unique: "bittorrent-handshake"
	uint16_t app;
	uint8_t l4;         // IPPROTO_TCP, IPPROTO_UDP
	uint8_t halves;     // bit 1 << HALF_C2S, 1 << HALF_S2C: where it may match
	uint8_t confidence; // enum confidence when no verifier is asked
	bool verify;
	bool midstream; // also for flows without their first byte
	uint8_t bits;   // so many bits of payload it holds fixed; 0: not said
	uint16_t rank;  // place in the files, read in name order; indices may be others after a
			// reload
	uint16_t min_length;                // shorter prefixes or datagrams are not reported
	char pattern[CLASSIFY_PATTERN_MAX]; // Hyperscan (PCRE subset), on bytes; no UTF-8
	bool caseless;
	bool dotall;
};

// It has been in an earlier set and is in this one for its id and application only: what was
// found by it still has a name. Never compiled, never asked.
static inline bool signature_is_gone(const struct signature *signature)
{
	return !signature->halves;
}

struct sigdb;
struct sigdb_scratch;
struct classifier;

// Compiles (or takes from `cache_dir`, keyed by patterns, flags, CPU, hs_version() and the code
// that compiles; NULL: no cache). -EINVAL with a message that names the signature id, -ENOMEM, else
// 0. Cache trouble is never an error: it is compiled again (and `*from_cache` says so; may be
// NULL).
int sigdb_new(const struct signature *signatures, unsigned n, const char *cache_dir,
	struct sigdb **out, bool *from_cache, char *err, size_t err_len);
// The signatures of `base`, which outlives it, and a policy's own beside them. Those are compiled
// and cached apart: a change of one pattern does not compile the files again, nor the other way
// round. Their indices begin at SIGNATURE_USER_FIRST, and stand before all others of their
// confidence; their ranks say which of them is first.
#define SIGNATURE_USER_FIRST 0x8000u
int sigdb_new_overlay(const struct sigdb *base, const struct signature *own, unsigned n,
	const char *cache_dir, struct sigdb **out, bool *from_cache, char *err, size_t err_len);
// Keeps the cache folder small: removes databases that nobody has used for `days` (0: however old),
// and the oldest beyond SIGDB_CACHE_FILES or SIGDB_CACHE_BYTES; never those of `db`, which count as
// used now, nor any file that is not of this cache. `now_s`: wall clock. Returns how many could not
// be removed, or -errno if the folder cannot be read. Any thread but a data lcore's.
#define SIGDB_CACHE_FILES 64
#define SIGDB_CACHE_BYTES (512u << 20)
int sigdb_cache_prune(const char *dir, const struct sigdb *db, unsigned days, int64_t now_s);
void sigdb_free(struct sigdb *db);
// Signatures of the files (indices 0 ..) and beside them (SIGNATURE_USER_FIRST ..) but for those
// that are gone.
unsigned sigdb_count(const struct sigdb *db);
unsigned sigdb_user_count(const struct sigdb *db);
// NULL if there is none.
const struct signature *sigdb_get(const struct sigdb *db, unsigned index);
// Checks one pattern without building a database; control core only.
int sigdb_check_pattern(const struct signature *signature, char *err, size_t err_len);

int sigdb_scratch_new(const struct sigdb *db, struct sigdb_scratch **out);
void sigdb_scratch_free(struct sigdb_scratch *scratch);

// A database as it is in force, with its scratches. A reload that changes signatures brings the
// next edition; a flow that is being classified ends with the one that it began with, unless that
// is retired before. Made, numbered and freed by the control core.
#define EDITION_SCRATCHES_MAX 64
struct edition {
	const struct sigdb *db; // borrowed
	uint32_t number;        // rising, from 1
	unsigned n_scratch;
	struct sigdb_scratch *scratch[EDITION_SCRATCHES_MAX]; // by the classifier's index; owned
};
// Number 0: it is not in force yet. -ENOMEM.
int edition_new(const struct sigdb *db, unsigned n_scratch, struct edition **out);
void edition_free(struct edition *edition); // before its database; NULL is allowed

// The per-lcore pool of classification states; `n_states` flows can be undecided at once. `index`:
// which scratch of an edition is its own.
struct classifier *classifier_new(unsigned n_states, unsigned index, int socket);
void classifier_free(struct classifier *classifier);
// Flows that may be in the midst of classification with that edition: 0 only if none is. At most
// EDITIONS_OPEN_MAX are told apart, by number. Any core.
#define EDITIONS_OPEN_MAX 8
uint32_t classifier_open(const struct classifier *classifier, uint32_t edition);
// Editions before `oldest` are not touched any more: their flows go on with the one in force.
void classifier_retire(struct classifier *classifier, uint32_t oldest);
// Whose flow is fed from here on: the owner's number of it, and its rank, below CLASSIFY_RANKS. By
// these the pool says who could give up a state for another: where room ends, the caller ends a
// flow. False: no state is free.
#define CLASSIFY_RANKS 4
bool classifier_feeds(struct classifier *classifier, uint32_t owner, unsigned rank);
// The owner of the state that has been in use for longest among those of that rank; false: none is.
bool classifier_oldest(const struct classifier *classifier, unsigned rank, uint32_t *owner);
// The flow with this state has another rank now, or is to be the youngest of its rank.
void classifier_rank(struct classifier *classifier, uint32_t state, unsigned rank);
unsigned classifier_states_free(const struct classifier *classifier);
unsigned classifier_states_max(const struct classifier *classifier);
// How often one was taken since the classifier was made.
uint64_t classifier_states_taken(const struct classifier *classifier);

#define CLASSIFY_NO_STATE 0u

// What the caller knows of the flow; borrowed for the call.
struct classify_flow {
	const struct flow_ends *ends;
	uint8_t l4_proto;
	uint8_t n_data_pkts;  // data packets so far, this one included; saturates at 255
	uint8_t n_small_pkts; // of these, so many do not count against the budget; the same
	bool midstream;
	bool either_began;       // of TCP: no SYN was seen, either half may be the client's
	bool one_sided;          // who sends the span at hand is heard alone (app_proto.h)
	uint16_t datagram_bytes; // as its header says; 0: not said
	bool c2s_from_inside;
	bool named;      // it has given a name before
	uint8_t serves;  // 1 << half of each that has answered a hello (struct classify_work)
	uint32_t second; // any count of seconds, for limits of so many in one
	struct media_memo *media; // the flow's own (media.h); NULL: media are not looked for
};

static inline bool classify_packets_used_up(const struct classify_flow *flow)
{
	return flow->n_data_pkts - flow->n_small_pkts >= CLASSIFY_BUDGET_PKTS ||
	       flow->n_data_pkts == UINT8_MAX;
}

struct classify_verdict {
	uint16_t app;       // APP_NONE while unknown
	uint16_t signature; // index in the sigdb, or UINT16_MAX: a shape, an expectation or a port
	uint16_t carrier;   // what it is carried by, or is itself, as far as payload proves it;
			    // APP_NONE
	uint8_t confidence; // enum confidence
	uint8_t carrier_confidence; // CONFIDENCE_DPI or more, with a carrier
	uint8_t n_data_pkts;        // data packets seen when it was decided
	bool final;                 // true: do not call again (known for good, or given up)
	bool gaveup;                // final because the budget ended; app may then be a port guess
	bool nomem;                 // final because no state was free
};

// What one call found, step by step, for who asks why (`sluicectl explain`).
enum classify_step_kind {
	CLASSIFY_STEP_SIGNATURE, // a hit, and what its verifier said
	CLASSIFY_STEP_SHAPE,     // a shape that said more than NO or MORE
	CLASSIFY_STEP_PORT,      // nothing better: the responder's port
	CLASSIFY_STEP_HOST, // the name asked for is of a an application of the tables; `bytes` is
			    // its end, `looked_at` its length
};
#define CLASSIFY_STEPS_MAX   8
#define CLASSIFY_STEP_BYTES  16
#define CLASSIFY_NO_VERIFIER UINT8_MAX // in `answer`

struct classify_step {
	uint16_t app;
	uint16_t signature;  // index, or UINT16_MAX
	uint16_t looked_at;  // bytes that the verifier or shape was given; or the port
	uint16_t matched_to; // signature: end of its match in them
	uint8_t kind;        // enum classify_step_kind
	uint8_t answer;      // enum verify, or CLASSIFY_NO_VERIFIER
	uint8_t confidence;  // enum confidence that this gives
	uint8_t half;
	uint8_t n_bytes; // in `bytes`: those before matched_to; of a shape, the first
	uint8_t bytes[CLASSIFY_STEP_BYTES];
};

// What one call did, for the caller's counters and evidence. The caller zeroes all but `steps`, of
// which n_steps mean something.
struct classify_work {
	uint32_t scans;
	uint32_t hits;
	uint32_t refused;         // hits that a verifier denied
	uint32_t errors;          // Hyperscan failed at run time: taken as no hit
	uint32_t quic_tried;      // Initial packets that were tried to be opened
	uint32_t quic_opened;     // those that were
	uint32_t mtproto_tried;   // beginnings of TCP connections tried to be opened (mtproto.h)
	uint32_t mtproto_opened;  // those that were Telegram's
	uint32_t mtproto_limited; // that were not tried: as many were in that second as may be
	uint16_t found;           // the best answer of this call alone, or APP_NONE
	uint8_t found_by;         // 1 << half of each whose payload it rests on
	uint16_t named_app;       // the application of that name, or APP_NONE
	uint8_t named;            // the flow gave the name that it asks for
	uint8_t awaits_name;      // it is about to
	uint8_t serves;           // 1 << half of who has shown that it is the other one's server
	uint8_t hello_refused; // a datagram that hides a name, if it means anything to its receiver
	// What the ends say of themselves (metadata.h); NULL: nobody wants to know. The caller
	// keeps the phase between calls; `greeted`: there is something to tell.
	struct handshake_meta *meta;
	uint8_t handshake_meta_phase; // enum handshake_meta_phase
	uint8_t greeted;
	uint8_t handshake_meta_nomem; // no state was to be had for a hello in parts: it is left out
	uint8_t left_out; // nor for bytes of an unknown place in their connection: the same
	uint8_t n_steps;
	struct classify_step steps[CLASSIFY_STEPS_MAX]; // the first ones; later ones are not kept
};

// `user` may be NULL: the policy defines no applications.
//
// Feeds one span (TCP: in order; a datagram: whole). `*state` is CLASSIFY_NO_STATE at first; the
// classifier takes and returns states as it needs (never one before payload was seen), and has
// returned it when the verdict is final. An app once reported at a lower confidence is kept in
// `*verdict` between calls (the caller passes the same struct, zeroed at the start).
void classify_feed(struct classifier *classifier, const struct edition *edition,
	const struct user_apps *user, const struct classify_flow *flow, const struct span *span,
	uint32_t *state, struct classify_verdict *verdict, struct classify_work *work);

// A flow whose verdict is final, while its greeting is pending; and datagrams that may ask for a
// name, for as long as it lives: `*verdict` changes when another hello says something else. Of
// `work`, the greeting, the name and quic_* count.
void classify_listen(struct classifier *classifier, const struct edition *edition,
	const struct user_apps *user, const struct classify_flow *flow, const struct span *span,
	uint32_t *state, struct classify_verdict *verdict, struct classify_work *work);
// Whether a datagram may be of a client that asks for a name, or of the server that it asks: by a
// few octets.
bool classify_may_ask(const uint8_t *bytes, uint32_t length);

// How a half of an undecided TCP flow begins, what was fed last included; NULL: nothing is kept.
const uint8_t *classify_prefix(
	struct classifier *classifier, uint32_t state, unsigned half, uint32_t *length);

// Gives back a flow's state, of classification or of its decoder, if it has one.
void classify_end(struct classifier *classifier, uint32_t *state);
// A datagram flow is to be classified from the start, with this edition. What its state has of
// hellos stays: with the parts that left before, the next one may be whole at the server.
void classify_restart(
	struct classifier *classifier, const struct edition *edition, uint32_t *state);
// A datagram of that half was refused: the name that it made whole is reported with each part of
// its hello that comes again.
void classify_refused(struct classifier *classifier, uint32_t state, unsigned half);

// Decoders: a flow whose application has one keeps being fed after its verdict. `*state` as
// above (a state is taken at the first call, none for datagrams that stand for themselves; without
// one the span is not decoded, -ENOBUFS). DECODER_DONE: nothing more is to be learned of this flow;
// give the state back.
#define DECODER_DONE 1
int decoder_feed(struct classifier *classifier, uint16_t app, const struct flow_ends *ends,
	const struct span *span, uint32_t *state, const struct decoder_sink *sink);
static inline bool app_has_decoder(uint16_t app)
{
	const struct app_proto *proto = app_get(app);
	return proto && (proto->decode || proto->decode_datagram);
}

#endif
