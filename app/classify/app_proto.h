// SPDX-License-Identifier: BSD-3-Clause
// An application protocol as one declarative struct, one file each in app/classify/proto/.
// The file defines `const struct app_proto app_proto_NAME`; its NAME is one word in
// app/classify/meson.build, which compiles the file. Those that are data alone are made of entries
// of config/signatures. app_list.py makes the table of both. No constructor, no header to edit.
//
// A Hyperscan hit of a signature (config/signatures/*.json) names the application; where a
// pattern alone can lie, the signature says "verify": true and `verify` is asked. All functions
// here are pure but for `memo`; they run on data lcores: no heap, no lock, no log, no clock.
#ifndef SLUICE_APP_PROTO_H
#define SLUICE_APP_PROTO_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/app_id.h"
#include "pipeline/vocab/content_id.h"
#include "pipeline/vocab/decoder_sink.h"
#include "pipeline/vocab/span.h"
#include "pipeline/vocab/verdict.h"

enum app_category {
	APP_CATEGORY_P2P,
	APP_CATEGORY_IM,
	APP_CATEGORY_WEB,
	APP_CATEGORY_MAIL,
	APP_CATEGORY_FILE,    // FTP and the like
	APP_CATEGORY_NETWORK, // DNS, SSH, SOCKS ...
	APP_CATEGORY_MEDIA,
	APP_CATEGORY_OTHER, // user-defined without a category
};

// Per-flow memory of a verifier or decoder that needs more than one look (uTP: SYN, then STATE).
// Zeroed when a flow's classification begins. Each application has its own in a flow; a flow has
// room for APP_MEMOS applications that write into theirs, later ones find it zero at every look.
struct app_memo {
	uint32_t word[6];
};
#define APP_MEMOS 4

// What a verifier sees. For TCP `bytes` is an in-order prefix and `peer` that of the other half
// (either may be empty; both at most CLASSIFY_PREFIX_BYTES). For `verify`, `bytes` is the half
// that the signature matched in, also when asked again because the other half grew; for a shape
// it is the half that just grew. For UDP `bytes` is the datagram at hand and `peer` is empty (a
// verifier that said MORE sees the next datagram, of either half). Lengths are exact: nothing
// beyond is readable. Ports are host order, of the sender and the receiver of `bytes`.
struct probe {
	const uint8_t *bytes; // never NULL, nor is `peer`: a half may be empty, and is searched
	uint32_t length;
	const uint8_t *peer;
	uint32_t peer_length;
	struct app_memo *memo;
	const struct flow_ends *ends; // for networks that a protocol's owner publishes
	uint16_t sport;
	uint16_t dport;
	uint16_t signature; // index in the signature database, for the evidence
	uint8_t half;       // enum half of `bytes`
	uint8_t l4_proto;
	uint8_t n_data_pkts; // data packets of the flow so far, this one included
	bool midstream;      // TCP picked up without its SYN: offset 0 is not the first byte
	bool one_sided;      // the other end has spoken unseen, or does not answer
	bool from_inside;
	// Of a datagram, its length as its header says: more than `length` where a capture has cut
	// it.
	uint16_t datagram_bytes;
	uint8_t halves; // set by the caller of a verifier: whose payload its answer rests on
};

// Answers of a verifier.
enum verify {
	VERIFY_NO,   // the pattern lied; this signature is not asked again for these bytes
	VERIFY_MORE, // not yet: ask again when this flow's next data packet is here
	// The application, by what one side says (32 bits or more), where the other is not heard:
	// CONFIDENCE_PARTIAL until that one says something. It is asked again as for MORE.
	VERIFY_ALONE,
	VERIFY_PARTIAL, // the application, CONFIDENCE_PARTIAL; better may follow
	VERIFY_DPI,     // the application, CONFIDENCE_DPI: final
	VERIFY_YES,     // the application, CONFIDENCE_VERIFIED: final
};

// A decoder's state of one flow: its memo, and per half the line (or record) that is not complete
// yet. A decoder of a line protocol passes its spans to decoder_lines().
#define APP_LINE_BYTES 2048
struct decoder_state {
	struct app_memo memo;
	uint16_t line_length[2];
	uint8_t line_skip[2]; // inside a line that is too long or has a gap: dropped up to its end
	uint8_t done;         // set by a decoder that has seen enough: it is not called again
	char own[TRANSFER_USER_BYTES]; // who the client is
	struct transfer_label label;   // what is known for the next secondary flow
	uint8_t line[2][APP_LINE_BYTES];
};

// Calls `line` for each line that `span` completes, without its CR LF or LF; `bytes` is valid
// during the call. Lines longer than APP_LINE_BYTES, or with a gap, are left out.
typedef void decoder_line_fn(void *ctx, unsigned half, const uint8_t *bytes, uint32_t length);
void decoder_lines(
	struct decoder_state *state, const struct span *span, decoder_line_fn *line, void *ctx);

// What was overheard of a half so far: zeroed at first, and the application's own.
struct app_overheard {
	uint16_t at : 3;
	uint16_t seen : 3;
	uint16_t pos : 4;
	uint16_t may : 6;
};

#define UNCLOAK_BYTES 12

struct app_proto {
	const char *name;  // id in policies and events: lower case, [a-z0-9-]
	const char *title; // for a person
	const char *group; // policy "group": a family, e.g. "file-sharing", "chat"; NULL: none
	enum app_category category;
	// Other applications ride on it (HTTP, TLS): where one of them is found with at least
	// CONFIDENCE_DPI in the same look, the carrier gives way, however sure it is.
	bool carrier;
	// Its flows may be HTTP/1 over TCP, by signatures. (So may those of hosts.)
	bool speaks_http;
	// What it opens goes on in the same flow (STUN, then DTLS or media): the flow is looked at
	// until its budget ends, and anything else that is found counts more.
	bool opens;
	// Media of which this is all that can be said (RTP): whatever else is known of the flow
	// says more, but for what opened it.
	bool media;
	// Optional: whether media between these ends are of this application, by networks that its
	// owner has: a hint, CONFIDENCE_PARTIAL.
	bool (*media_between)(const struct flow_ends *ends);
	enum verify (*verify)(const struct probe *probe); // NULL if no signature asks for it
	// Optional look at every data packet while undecided, even when no signature hit (shapes,
	// exchanges in binary protocols). Keep it a few compares: it runs for each unknown flow.
	enum verify (*shape_tcp)(const struct probe *probe);
	enum verify (*shape_udp)(const struct probe *probe);
	// Its shape of TCP goes by how long segments are, in which order they come, and whether
	// they look like chance: it is also asked where a capture has cut them, as if what is left
	// were all.
	bool shape_by_lengths;
	// Optional: whether a first flight, or a datagram, may be this application in a disguise
	// that no verifier can see through (MSE/PE). Asked of flows to endpoints that others named:
	// it need not tell this application from other ones that look like chance.
	bool (*disguised)(const struct span *span, uint8_t l4_proto);
	// And whether it is, where a secret of the endpoint that hears it is known. `span` is a
	// datagram, or how a half of a stream begins: UNCLOAK_BYTES of it, if so many are here.
	bool (*uncloaks)(const struct span *span, const struct flow_ends *ends, uint8_t l4_proto,
		const struct endpoint_secret *secret);
	// Optional: whether a half of a TCP connection shows that its ends speak this application,
	// though it began as another one does: who serves this one may ignore such a line. Bytes of
	// the half in order, in pieces. VERIFY_YES: it does, VERIFY_NO: it does not, VERIFY_MORE.
	enum verify (*overhear)(struct app_overheard *overheard, unsigned half,
		const uint8_t *bytes, uint32_t length);
	// Optional, after classification: in-order spans of the flow, until it ends. `state` is
	// zeroed at first and the decoder's own.
	void (*decode)(struct decoder_state *state, const struct span *span,
		const struct flow_ends *ends, const struct decoder_sink *sink);
	// In its place for datagrams, each of which stands for itself: no state is taken for them.
	// False: it has seen enough of this flow, and is not called again.
	bool (*decode_datagram)(const struct span *span, const struct flow_ends *ends,
		const struct decoder_sink *sink);
	// Optional: the content ids that a datagram names, whatever flow it is of; how many there
	// are, of which `ids` has the first `room`. Asked where a list of ids is in force.
	unsigned (*datagram_ids)(const struct span *span, struct content_id *ids, unsigned room);
	// The decoders learn of others alone: what they do is no part of the flow's own story.
	bool decodes_for_others;
	// Names of it in ALPN (RFC 7301; IANA, or its own specification): NULL ends the list.
	const char *alpns[3];
	uint16_t tcp_ports[8]; // well-known ports: CONFIDENCE_PORT at give-up, 0 ends the list
	uint16_t udp_ports[8];
};

// The generated table. Ids are 1..app_count(); 0 is APP_NONE. The table order is the build's.
unsigned app_count(void);
const struct app_proto *app_get(uint16_t app); // NULL for APP_NONE or out of range
static inline bool app_is_carrier(uint16_t app)
{
	const struct app_proto *proto = app_get(app);

	return proto && proto->carrier;
}
uint16_t app_find(const char *name); // APP_NONE if unknown
uint16_t app_find_alpn(const uint8_t *name, uint32_t length);
const char *app_category_word(enum app_category category); // "p2p", "im", "web", ...
int app_category_find(const char *word);                   // enum app_category or -1

#endif
