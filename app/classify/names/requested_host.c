// SPDX-License-Identifier: BSD-3-Clause
// What a flow tells of itself by a name: the host that a client asks for, in clear over TCP, in the
// hello of QUIC and DTLS; whom a server says that it is; the realm, or a maker's attributes, of
// STUN.
#include "classify/names/host_name.h"
#include "classify/classify_job.h"
#include "classify/handshake/hello_halves.h"
#include "classify/stun_message.h"
#include "classify/handshake/tls_certificate.h"
#include "classify/handshake/tls_record.h"

// The client has asked for this name.
static void named(struct job *job, unsigned half, struct text name)
{
	uint16_t app = user_apps_of_host(job->user, name.at, name.length);
	bool shared = app == APP_NONE;

	job->work->named = true;
	job->work->named_app = app;
	if (shared)
		app = user_apps_of_shared_host(job->user, name.at, name.length);
	if (app == APP_NONE)
		return;
	uint8_t confidence = shared ? CONFIDENCE_PARTIAL : CONFIDENCE_DPI;
	const struct probe probe = {
		.bytes = name.at,
		.length = name.length,
		.signature = NO_SIGNATURE,
		.half = (uint8_t)half,
	};
	struct classify_step *step = job_note(job, CLASSIFY_STEP_HOST, &probe, name.length);

	if (step) {
		step->app = app;
		step->answer = CLASSIFY_NO_VERIFIER;
		step->confidence = confidence;
	}
	job_propose(job, app, shared ? SHARED_NAME : NO_SIGNATURE, confidence);
}

// The client asks for this application by ALPN.
static void asked_for(struct job *job, unsigned half, uint16_t app)
{
	const struct probe probe = job_probe(job, half);

	if (app == APP_NONE)
		return;
	job_note_shape(job, &probe, app, VERIFY_DPI, CONFIDENCE_DPI);
	job_propose(job, app, NO_SIGNATURE, CONFIDENCE_DPI);
}

// How a half's own hello stands behind a datagram of it.
static void look_on(uint8_t *host, const struct datagram_hello *hello,
	const struct datagram_asks *asks, enum tls_hello_seen seen)
{
	if (!asks->taken && seen == TLS_HELLO_MORE && *host == HOST_NOT_LOOKED)
		*host = HOST_AWAITED;
	else if (asks->taken && seen == TLS_HELLO_NONE && !hello->quic.version)
		*host = HOST_LOOKED_AT;                       // no server takes it
	else if (asks->taken && !datagram_hello_begun(hello)) // nothing is kept of it
		*host = HOST_LOOKED_AT;
	else if (asks->taken && seen != TLS_HELLO_MORE)
		*host = HOST_UNANSWERED;
	else if (asks->taken)
		*host = hello->named ? HOST_NAMED : HOST_AWAITED;
}

static void count(struct classify_work *work, const struct datagram_hello *hello)
{
	if (!hello)
		return;
	work->quic_tried += hello->quic.n_tries;
	work->quic_opened += hello->quic.n_opened;
}

// The hello that a client sends in datagrams: in this one, or in this one and what is kept of those
// before it; or what its server says to it. False: it is none, or nobody wants to know.
static bool read_datagram(struct classifier *classifier, struct job *job, struct state *state,
	struct datagram_asks *asks)
{
	const struct text datagram = span_text(job->span);
	struct look *look = job->look;
	unsigned half = job->span->half & 1;

	if (!(user_apps_have_hosts(job->user) || has_handshake_datagram(job)) ||
		!datagram_hello_may_be(datagram))
		return false;
	struct datagram_hello *hello = halves_open(classifier, state, half);
	struct datagram_hello *other = halves_kept(classifier, state, !half);
	enum tls_hello_seen seen = datagram_hello_feed(
		classifier->crypto, hello, other, job->flow->serves >> half & 1, datagram, asks);

	count(job->work, hello);
	count(job->work, other);
	job->work->hello_refused |= asks->refused;
	job->work->serves |= (uint8_t)(asks->serves << half);
	if (asks->taken && half == HALF_C2S)
		handshake_meta_datagram(job, seen, asks);
	if (asks->answered) // but for connections that were left, of which nothing may pass
		look->host[!half] = other->quic.n_left ? HOST_UNANSWERED : HOST_LOOKED_AT;
	look_on(&look->host[half], hello, asks, seen);
	if (!halves_settle(classifier, state, half, hello))
		job->work->hello_refused = true;
	return asks->taken && (asks->reported || seen == TLS_HELLO_WHOLE);
}

// A hello has been read to its name, or to its end without one. A flow of datagrams is what its
// last connection is, as far as names are concerned.
static void take_asked(struct job *job, const struct datagram_asks *asks)
{
	job->renamed = asks->settled && job->flow->named;
	if (asks->reported)
		named(job, job->span->half & 1, asks->name);
	asked_for(job, job->span->half & 1, tls_hello_application(&asks->tls));
}

static void look_at_datagram(struct classifier *classifier, struct job *job, struct state *state)
{
	struct datagram_asks asks;

	if (read_datagram(classifier, job, state, &asks))
		take_asked(job, &asks);
}

// Whether another hello on a flow that is classified says more than what it is known as: the packet
// that was opened proves QUIC; a hello of DTLS may be a part of what the flow is (calls).
static bool says_more(const struct job *job, const struct datagram_asks *asks,
	const struct classify_verdict *verdict)
{
	if (job->work->named || job->renamed)
		return true;
	return asks->version && verdict->confidence != CONFIDENCE_CACHE &&
	       verdict->confidence != CONFIDENCE_IP;
}

bool listen_datagram(struct classifier *classifier, struct job *job, struct state *state,
	const struct classify_verdict *verdict)
{
	struct datagram_asks asks;

	handshake_meta_datagram_answer(job);
	if (!read_datagram(classifier, job, state, &asks) || !asks.settled)
		return false;
	take_asked(job, &asks);
	job_propose(
		job, app_find(asks.version ? "quic" : "dtls"), NO_SIGNATURE, CONFIDENCE_VERIFIED);
	return says_more(job, &asks, verdict);
}

// Calls: the realm of a TURN server is a name that is asked for, and attributes may be of one
// application only. Either half tells.
static void look_at_stun(struct job *job)
{
	unsigned half = job->span->half & 1;
	const struct text bytes = job_bytes(job, half);
	struct stun_message message;

	if (job_is_tcp(job) ? !stun_read_stream(bytes, &message) : !stun_read(bytes, &message))
		return;
	const char *word = stun_application(&message);
	struct text realm = message.cookie ? stun_realm(&message) : (struct text){NULL, 0};

	if (realm.length)
		named(job, half, realm);
	if (!word)
		return;
	const struct probe probe = job_probe(job, half);
	job_note_shape(job, &probe, app_find(word), VERIFY_DPI, CONFIDENCE_DPI);
	job_propose(job, app_find(word), NO_SIGNATURE, CONFIDENCE_DPI);
}

// What the server calls itself, where the client asked for nobody.
static void look_at_certificate(struct job *job, unsigned half)
{
	struct look *look = job->look;
	struct host_name name;

	enum host_seen seen =
		tls_certificate_name((struct text){look->at[half], look->length[half]}, &name);

	if (seen != HOST_MORE)
		look->host[0] = HOST_LOOKED_AT;
	if (seen == HOST_FOUND)
		named(job, half, (struct text){name.bytes, name.length});
}

// The client asks for nobody: the server is read. What the client says behind a hello that was not
// seen changes nothing; one that is heard late does.
static bool is_of_server(const struct look *look, unsigned half)
{
	return look->host[0] == HOST_OF_SERVER &&
	       (half == HALF_S2C || look_lacks_begin(look, half));
}

// The name that the client asks for in clear. Only the half that began is asked; picked up
// midstream, either may be the client's.
static void look_at_host(struct job *job)
{
	struct look *look = job->look;
	unsigned half = job->span->half & 1;
	struct host_name name;

	if (!user_apps_have_hosts(job->user) || look->host[0] == HOST_LOOKED_AT)
		return;
	if (is_of_server(look, half)) {
		if (half == HALF_S2C)
			look_at_certificate(job, half);
		return;
	}
	if (half != HALF_C2S && !job->midstream) {
		// Of a flow that is seen from its server's side alone, the server's own name is
		// left.
		if (!look->length[HALF_C2S] && look->at[half][0] == TLS_HANDSHAKE) {
			look->host[0] = HOST_OF_SERVER;
			look_at_certificate(job, half);
		}
		return;
	}
	enum host_seen seen = host_name_find(look->at[half], look->length[half], &name);

	look->host[0] = seen == HOST_MORE                          ? HOST_AWAITED
			: seen == HOST_UNASKED && half == HALF_C2S ? HOST_OF_SERVER
								   : HOST_LOOKED_AT;
	if (seen == HOST_FOUND)
		named(job, half, (struct text){name.bytes, name.length});
	// It settles the flow: not while a name is to come behind it, which says more.
	if (seen != HOST_MORE || half_closed(look, half))
		asked_for(job, half, name.app);
}

void look_at_names(struct classifier *classifier, struct job *job, struct state *state)
{
	if (job_is_tcp(job))
		look_at_host(job);
	else
		look_at_datagram(classifier, job, state);
	look_at_stun(job);
}
