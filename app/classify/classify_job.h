// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: one call of classify_feed, for the looks that it takes (looks.c:
// signatures and shapes; classify/names/requested_host.c: names). On the stack of a data lcore.
#ifndef SLUICE_CLASSIFY_JOB_H
#define SLUICE_CLASSIFY_JOB_H

#include <netinet/in.h>
#include "classify/classify.h"
#include "classify/states.h"

#define NO_SIGNATURE UINT16_MAX
#define SHARED_NAME  (UINT16_MAX - 1) // none either: a name that clients of others ask for, too
#define OF_NETWORK   (UINT16_MAX - 2) // nor this: its network, where no name can be heard

struct job {
	const struct sigdb *db;
	const struct user_apps *user; // or NULL
	const struct classify_flow *flow;
	const struct span *span;
	struct look *look;
	struct classify_work *work;
	bool midstream;
	bool renamed; // what the flow was named before is over: of datagrams, another connection
	bool shape_waits; // one has seen a part of its proof, and asks for the rest
	bool media;       // the answer at hand is that of media (media.h)
	uint8_t asked;    // whose payload the answer at hand rests on, 1 << half
	// the best answer of this call
	uint8_t halves; // `asked` of it
	uint16_t app;
	uint16_t signature;
	uint8_t confidence;
	// the best carrier among all answers of this call, if one is proven
	uint8_t carrier_confidence;
	uint16_t carrier;
};

static inline bool job_is_tcp(const struct job *job)
{
	return job->flow->l4_proto == IPPROTO_TCP;
}

// The octets of a half that are here: of TCP its prefix, of UDP the datagram at hand.
static inline struct text job_bytes(const struct job *job, unsigned half)
{
	if (!job_is_tcp(job))
		return span_text(job->span);
	return (struct text){job->look->at[half], job->look->length[half]};
}

// A half as verifiers see it: of TCP its prefix, of UDP the datagram at hand.
struct probe job_probe(const struct job *job, unsigned half);
// Takes this answer if it means more than the best of the call so far.
void job_propose(struct job *job, uint16_t app, uint16_t signature, uint8_t confidence);
// What has no mark that a signature could find: media, and Telegram's obfuscated transport, which
// is opened once in a connection, with the octets that make its beginning whole; `kept`: of the
// client's, so many were here before.
void look_at_unmarked(struct classifier *classifier, struct job *job, uint16_t kept,
	const struct classify_verdict *verdict);
// A carrier is proven, and no name can be heard any more that would say more of it, as one side, or
// bytes of it, are missing: the network of its owner is a hint then, CONFIDENCE_PARTIAL
// (unheard.c).
void look_at_unheard(struct job *job, const struct classify_verdict *verdict);
// What one side alone has claimed falls, as the other speaks and does not agree: then the flow is
// what it was before.
void job_hear_other(struct job *job, struct classify_verdict *verdict);
// `app` is a carrier, and the name that is asked for inside is on its way.
bool job_awaits_host(const struct job *job, uint16_t app);
// Nothing better is known at the end: by the responder's port.
void job_guess_port(
	const struct classifier *classifier, struct job *job, struct classify_verdict *verdict);
// For who asks why; NULL: no room. `to`: where the match ended, or the bytes to show from the
// start.
struct classify_step *job_note(
	struct job *job, enum classify_step_kind kind, const struct probe *probe, uint32_t to);
// The same of what no pattern has found: `answer` is enum verify or CLASSIFY_NO_VERIFIER,
// `confidence` what it gives.
void job_note_shape(struct job *job, const struct probe *probe, uint16_t app, uint8_t answer,
	uint8_t confidence);
// Takes a state for the flow, with what the look holds. `edition`: that it is classified with, or
// NULL. False: the pool is empty.
bool job_keep(struct classifier *classifier, const struct job *job, const struct edition *edition,
	uint32_t *ref);
// The flow is classified: its edition of signatures need not wait for it.
void look_leave(struct classifier *classifier, struct look *look);

// Signatures, and shapes, of what has just grown (looks.c). `grown`: the half has; else the
// verifiers that wanted to see more, and shapes by lengths, are asked alone.
void look_at_signatures(struct job *job, struct sigdb_scratch *scratch, bool grown);
void look_at_shapes(const struct classifier *classifier, struct job *job, bool grown);

// Of what has just grown. `state`: the flow's, or NULL if it has none yet.
void look_at_names(struct classifier *classifier, struct job *job, struct state *state);

// The flow's greeting (metadata_look.c): of a stream's prefix that has just grown, or ended; of
// what a client asks for over datagrams; of a server's datagram.
void handshake_meta_stream(struct job *job);
bool has_handshake_datagram(const struct job *job);
void handshake_meta_datagram(
	struct job *job, enum tls_hello_seen seen, const struct datagram_asks *asks);
void handshake_meta_datagram_answer(struct job *job);
// A datagram of a flow that is classified as `verdict` says (classify/names/requested_host.c).
// True: it is what is proposed now.
bool listen_datagram(struct classifier *classifier, struct job *job, struct state *state,
	const struct classify_verdict *verdict);
// The flow is classified: keeps its state, or takes one, while its greeting needs it; else gives it
// back.
void handshake_meta_finish(
	struct classifier *classifier, struct job *job, struct state *state, uint32_t *ref);

#endif
