// SPDX-License-Identifier: BSD-3-Clause
// The content of flows: a decoder each (content/content.h), what the policy says of the files and
// messages that it reports, and what the reader of the channel gets of them.
//
// A flow is decoded as deep as the policy in force asks; where it asks nothing this is never
// called. States come from a pool and from one region of memory: where they end, a flow that the
// policy may refuse something of does not go on (content_taken), others do, and their record says
// so.
// The owning data lcore only, but for content_new and content_free.
#ifndef SLUICE_FLOW_CONTENT_H
#define SLUICE_FLOW_CONTENT_H

#include "content/decoders.h"
#include "pipeline/content/channel.h"
#include "pipeline/content/limits.h"
#include "pipeline/content/refused.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/item_id.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/scan/files.h"

#define CONTENT_FLOWS_MAX 65000            // of an lcore
#define CONTENT_NONE      0                // struct flow_cold.content: the flow has no decoder
#define CONTENT_WAITS     (UINT16_MAX - 2) // ... as there was no room, and it has fed nothing
#define CONTENT_DONE      (UINT16_MAX - 1) // ... any more: nothing of it was wanted
#define CONTENT_MISSED    UINT16_MAX       // ... as there was no room, and now it is too late
static_assert(CONTENT_FLOWS_MAX < CONTENT_WAITS, "places and words are told apart");
// The flow has a decoder: `content` of its struct flow_cold is the place of one.
static inline bool content_has_place(uint16_t content)
{
	return content != CONTENT_NONE && content < CONTENT_WAITS;
}

// For each lcore. False: no memory.
bool content_new(struct lcore *lcore, const struct content_limits *limits);
void content_free(struct lcore *lcore);
// A turn of the lcore begins.
void content_turn_begin(struct lcore *lcore);
// NULL: there is none.
struct content_channel *content_channel_of(const struct lcore *lcore);

// First bytes of a flow's halves.
struct content_prefix {
	const uint8_t *bytes[2];
	uint32_t length[2];
};
// The decoder of a flow whose application is final, if the policy asks for what it carries: that of
// its application, or what its first bytes are of. NULL: none.
const struct content_decoder *flow_content_wanted(
	const struct lcore *lcore, uint32_t ref, const struct content_prefix *first);
// Whether anybody may ask for content at all: who classifies keeps first bytes then.
static inline bool content_is_asked(const struct lcore *lcore)
{
	return lcore->asks_content;
}
// Whether datagrams are to be searched for what they name: content ids, and files in lists.
static inline bool content_datagrams_are_asked(const struct lcore *lcore)
{
	return lcore->asks_ids || lcore->asks_content;
}

// While the application of a flow is not known: words of its first request are changed as the rules
// that may apply say. `first`: what came before the span. It takes each span, and nothing that it
// needs is missed where there is no room.
void flow_content_scout(struct lcore *lcore, uint32_t ref, const struct span *span,
	const struct content_prefix *first);
// It has nothing but that.
bool flow_content_scouts(const struct lcore *lcore, uint32_t ref);

// The flow gets its decoder; `prefix` is fed to it. NULL: it begins in the middle. False: no room;
// cold->content is CONTENT_MISSED then, or CONTENT_WAITS where `prefix` has no bytes: the next span
// that is fed tries again.
bool flow_content_begin(struct lcore *lcore, uint32_t ref, const struct content_decoder *decoder,
	const struct content_prefix *prefix, const struct decoder_sink *others);

// The same, for a flow whose application may become another: flow_content_settles() then.
bool flow_content_begin_early(struct lcore *lcore, uint32_t ref,
	const struct content_decoder *decoder, const struct content_prefix *prefix,
	const struct decoder_sink *others);
// The application is final. True: the decoder that was begun early is not the one that is wanted,
// and is gone.
bool flow_content_settles(struct lcore *lcore, uint32_t ref, const struct content_decoder *wanted);

enum content_taken {
	CONTENT_TAKEN,
	CONTENT_LATER,   // the turn's budget is used up: the span comes again
	CONTENT_STARVED, // no room: the span is not taken
	CONTENT_ENDED,   // nothing of the flow is wanted any more; it has no decoder now
	CONTENT_DROPPED, // a datagram whose message is dropped or masked: it does not leave
};
// A span of its stream, in order; one that was not taken, again. `others`: who learns of other
// flows (content/content.h).
enum content_taken flow_content_feed(struct lcore *lcore, uint32_t ref, const struct span *span,
	const struct decoder_sink *others);
// The application that is listened for in flows, whatever they begin as, or APP_NONE; and whether
// it is in this one, of which the policy may ask for messages.
uint16_t flow_content_overheard(const struct lcore *lcore);
bool flow_content_overhears(const struct lcore *lcore, uint32_t ref);
// As far as is known of the flow, messages or requests of it may be changed on their way: in these
// halves (bits).
unsigned flow_content_edits(const struct lcore *lcore, uint32_t ref);
// Offsets of the half begin anew: nothing that was fed of it counts.
void flow_content_anew(struct lcore *lcore, uint32_t ref);
// The flow's entry goes, or nothing of it is asked for any more.
void flow_content_end(struct lcore *lcore, uint32_t ref);

// Content ids that a datagram of the flow names, and files that it lists, are held against the
// policy. True: it is refused by that rule (0: by none, the operator has blocked the id), and the
// flow goes on.
#define CONTENT_IDS_OF_DATAGRAM 80
bool flow_content_datagram(
	struct lcore *lcore, uint32_t ref, const struct span *datagram, uint32_t *rule_uid);
// Of a flow with a decoder here whose bytes are also fed to one that learns of others
// (decodes_for_others): that this one has seen enough.
bool flow_content_others_over(struct lcore *lcore, uint32_t ref, bool over);

// Another lcore has refused a file.
void content_refused_hint(struct lcore *lcore, const struct refused_file *file);

// A verdict about a file of a flow. True: it is one for which its flow is to be refused, by the
// rule that it names; nothing was done about that yet.
bool content_scan_told(struct lcore *lcore, const struct scan_told *told);

// The flow is evicted. True: files of it wait for a verdict, and the policy does not let them pass
// unscanned (busy): its ends are to be reset, as what comes of it again would be of a flow whose
// beginning nobody knows. Counted, and told, whatever the policy.
bool content_scan_leaves(struct lcore *lcore, uint32_t ref);
// What refuses the flow was told with the verdict about its file: no other alert is due.
bool flow_content_is_told(const struct lcore *lcore, uint32_t ref);

// What was found, if it refuses the flow: the rule (RULE_DEFAULT: none, it is the gateway's own)
// and the action. False: nothing.
bool flow_content_refuses(
	const struct lcore *lcore, uint32_t ref, uint32_t *rule, enum action *action);
// Of what refuses it: as its records have it; NULL: there is none.
const struct item_id *flow_content_item(const struct lcore *lcore, uint32_t ref);

#endif
