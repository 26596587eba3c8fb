// SPDX-License-Identifier: BSD-3-Clause
// The law of conversations: docs/threat-model.md, as far as packets can show it.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "conversation_judge.h"
#include "pipeline/vocab/verdict.h"

// A connection that was ended (tcp_closing), or was not complete (embryonic), is forgotten then.
#define FORGOTTEN_NS 15000000000ull
#define UNHEARD_NS   30000000000ull   // of one that was met midway
#define TIMEOUT_NS   7440000000000ull // of one that is established (tcp)

static bool same_ends(const uint8_t *a, const struct frame_view *va, const uint8_t *b,
	const struct frame_view *vb)
{
	unsigned size = va->v6 ? 32 : 8, at = va->v6 ? 8 : 12;

	return va->v6 == vb->v6 && va->proto == vb->proto && va->l3 == vb->l3 &&
	       !memcmp(a + 12, b + 12, va->l3 - 12) &&
	       !memcmp(a + va->l3 + at, b + va->l3 + at, size) &&
	       !memcmp(a + va->l4, b + vb->l4, 4);
}

// Of one connection, in either direction, and from the zones that it has: what comes from the other
// one is of another (parse_key_zones).
bool judge_same_connection(const struct conversation_packet *a, const struct conversation_packet *b)
{
	struct conversation_packet turned;
	struct frame_view va, vb;

	if (!frame_view(a->frame, a->length, &va) || !frame_view(b->frame, b->length, &vb))
		return false;
	if (a->outside == b->outside)
		return same_ends(a->frame, &va, b->frame, &vb);
	turned = *b;
	frame_turn(&turned, &vb);
	return same_ends(a->frame, &va, turned.frame, &vb);
}

static uint8_t tcp_flags(const struct conversation_packet *packet, const struct frame_view *view)
{
	return packet->frame[view->l4 + 13] & (TH_SYN | TH_ACK | TH_RST | TH_FIN);
}

// What the honest packets of a TCP connection have said so far.
struct progress {
	bool syn, answered;
	uint32_t syn_seq, answer_seq;
	bool spoke[2]; // by zone
	bool begun;    // both ends are heard: its handshake, or packets of both without one
};

static void progress(struct progress *at, const struct conversation_packet *packet)
{
	struct frame_view view;

	if (!frame_view(packet->frame, packet->length, &view))
		return;
	const uint8_t *tcp = packet->frame + view.l4;
	uint8_t flags = tcp_flags(packet, &view);

	if (flags == TH_SYN) {
		*at = (struct progress){.syn = true, .syn_seq = get32(tcp + 4)};
	} else if (flags == (TH_SYN | TH_ACK)) {
		at->answered = at->syn && get32(tcp + 8) == at->syn_seq + 1;
		at->answer_seq = get32(tcp + 4);
	} else if (flags & TH_ACK && !(flags & TH_RST)) {
		at->spoke[packet->outside] |= view.end > view.payload;
		at->begun |= at->syn ? at->answered && get32(tcp + 8) == at->answer_seq + 1
				     : at->spoke[0] && at->spoke[1];
	}
}

// Whoever forges from the zone of the end that he imitates may cost a TCP connection that is not
// established its beginning ("A connection that begins", docs/threat-model.md): such a packet came
// while the connection of packet `of` was being set up, or before it, and before `until`; who
// imitates both ends, each from its zone, as long as neither has sent a byte. What is forged from
// the other zone, in the name of others, or later, has no excuse.
static bool is_lost_beginning(const struct judged *judged, unsigned of, unsigned until)
{
	const struct conversation_packet *victim = &judged->plain->packets[of];
	struct progress at = {0};
	struct frame_view view;
	uint64_t last_ns = 0;
	bool forged = false, by[2] = {false};

	if (!frame_view(victim->frame, victim->length, &view) || view.proto != IPPROTO_TCP)
		return false;
	for (unsigned i = 0; i < judged->changed->n; i++) {
		const struct conversation_packet *packet = &judged->changed->packets[i];

		if (judge_same_connection(victim, packet)) {
			if (packet->ts_ns - last_ns >= (at.syn ? TIMEOUT_NS : UNHEARD_NS))
				at = (struct progress){0};
			last_ns = packet->ts_ns;
			forged |= packet->honest < 0 && !at.begun;
			by[packet->outside] |= packet->honest < 0 && !at.spoke[0] && !at.spoke[1];
			if (packet->honest >= 0 && judged->before->left[packet->honest])
				progress(&at, packet);
			else if (packet->honest >= 0)
				at = (struct progress){0}; // it has ended
		}
		if (packet->honest == (int)until)
			break;
	}
	return forged || (by[0] && by[1]);
}

// Who imitates both ends of an exchange of datagrams, each from its own zone, is both ends; and who
// begins it in their place decides who has begun it. What the policy refuses alone counts as his.
static bool is_of_both_ends(const struct judged *judged, unsigned of, unsigned until)
{
	const struct conversation_packet *victim = &judged->plain->packets[of];
	bool by[2] = {false}, first = false, begun = false;

	for (unsigned i = 0; i < judged->changed->n; i++) {
		const struct conversation_packet *packet = &judged->changed->packets[i];

		if (packet->honest == (int)until)
			break;
		if (!judge_same_connection(victim, packet))
			continue;
		bool forged = packet->honest < 0 || judged->before->refused[packet->honest];

		by[packet->outside] |= forged;
		first |= forged && !begun;
		begun = true;
	}
	return first || (by[0] && by[1]);
}

// The last packet of the capture that an ICMP error may be about, or that has the ends of a
// fragment; -1: there is none.
static int about(const struct conversation *plain, unsigned of)
{
	const struct conversation_packet *victim = &plain->packets[of];
	struct frame_view view;
	int last = -1;

	for (unsigned i = 0; i < of; i++) {
		const struct conversation_packet *packet = &plain->packets[i];

		if (!frame_view(packet->frame, packet->length, &view))
			continue;
		unsigned size = view.v6 ? 32 : 8, at = view.v6 ? 8 : 12, header = view.v6 ? 40 : 20;
		const uint8_t *ip = packet->frame + view.l3;
		unsigned quoted = view.l3 + header + 8;

		if (quoted + header + 4 <= victim->length &&
			!memcmp(victim->frame + quoted + at, ip + at, size) &&
			!memcmp(victim->frame + quoted + header, packet->frame + view.l4, 4))
			last = (int)i;
		if (view.l3 + header <= victim->length &&
			!memcmp(victim->frame + view.l3 + at, ip + at, size) &&
			victim->frame[view.l3 + (view.v6 ? 6 : 9)] == ip[view.v6 ? 6 : 9])
			last = (int)i;
	}
	return last;
}

// It acknowledges what is not in the capture. Of a flow such a segment is not forwarded.
static bool acknowledges_nothing(const struct conversation *plain, unsigned of)
{
	const struct conversation_packet *victim = &plain->packets[of];
	struct frame_view view, other;

	if (!frame_view(victim->frame, victim->length, &view) || view.proto != IPPROTO_TCP ||
		view.end != view.payload)
		return false;
	uint32_t ack = get32(victim->frame + view.l4 + 8);

	for (unsigned i = 0; i < of; i++) {
		const struct conversation_packet *packet = &plain->packets[i];

		if (packet->outside == victim->outside || !judge_same_connection(victim, packet))
			continue;
		frame_view(packet->frame, packet->length, &other);
		const uint8_t *tcp = packet->frame + other.l4;
		uint32_t ends = (tcp[13] & TH_SYN ? 1 : 0) + (tcp[13] & TH_FIN ? 1 : 0);

		if (get32(tcp + 4) + (other.end - other.payload) + ends == ack)
			return false;
	}
	return true;
}

// The same from other ports: the entry that he earns in their names is of the server's port.
static bool is_entry_of_both_ends(const struct judged *judged, unsigned of)
{
	const struct conversation_packet *victim = &judged->plain->packets[of];
	struct frame_view view, forged;
	bool by[2] = {false};

	frame_view(victim->frame, victim->length, &view);
	for (unsigned i = 0; i < judged->changed->n; i++) {
		struct conversation_packet packet = judged->changed->packets[i];

		if (packet.honest == (int)of)
			break;
		if (packet.honest >= 0 || !frame_view(packet.frame, packet.length, &forged) ||
			forged.proto != view.proto)
			continue;
		if (packet.outside != victim->outside)
			frame_turn(&packet, &forged);
		// either end's port may be another
		for (unsigned port = 0; port < 2; port++) {
			struct conversation_packet same = packet;

			memcpy(same.frame + forged.l4 + 2 * port,
				victim->frame + view.l4 + 2 * port, 2);
			by[packet.outside] |= same_ends(victim->frame, &view, same.frame, &forged);
		}
	}
	return by[0] && by[1];
}

// Half of the places for requests in parts are for connections whose both ends are heard; for the
// other half those that have not begun wait, if need be for forged ones (docs/state.md,
// `limits.heads`): the segment is sent again.
static bool waits_for_place(const struct judged *judged, unsigned of)
{
	const struct conversation_packet *victim = &judged->plain->packets[of];
	const char *reason = judged->after->reason[of];
	struct progress at = {0};
	struct frame_view view;

	if (!reason || strcmp(reason, drop_reason_word(DROP_UNCLASSIFIED)) != 0)
		return false;
	for (unsigned i = 0; i <= of && !at.begun; i++)
		if (judge_same_connection(victim, &judged->plain->packets[i]))
			progress(&at, &judged->plain->packets[i]);
	for (unsigned i = 0; i < judged->changed->n && !at.begun; i++) {
		const struct conversation_packet *packet = &judged->changed->packets[i];

		if (packet->honest == (int)of)
			break;
		if (packet->honest < 0 && frame_view(packet->frame, packet->length, &view) &&
			view.proto == IPPROTO_TCP && view.end > view.payload)
			return true;
	}
	return false;
}

static bool is_excused(const struct judged *judged, unsigned of)
{
	const struct conversation *plain = judged->plain;
	struct frame_view view;
	int one = (int)of;

	if (!frame_view(plain->packets[of].frame, plain->packets[of].length, &view))
		one = about(plain, of);
	if (one < 0)
		return false;
	frame_view(plain->packets[one].frame, plain->packets[one].length, &view);
	if (view.proto != IPPROTO_TCP)
		return is_of_both_ends(judged, (unsigned)one, of) ||
		       is_entry_of_both_ends(judged, (unsigned)one);
	return is_lost_beginning(judged, (unsigned)one, of) || acknowledges_nothing(plain, of) ||
	       waits_for_place(judged, of);
}

int judge_victim(const struct judged *judged)
{
	for (unsigned i = 0; i < judged->plain->n; i++)
		if (judged->before->left[i] && !judged->after->left[i] && !is_excused(judged, i))
			return (int)i;
	return -1;
}

// All bytes of a refused segment have left, in whatever pieces.
static bool segment_left(const struct sent *sent, const struct conversation_packet *refused,
	const struct frame_view *view)
{
	unsigned length = view->end - view->payload, got = 0;
	uint32_t seq = get32(refused->frame + view->l4 + 4);
	bool have[CONVERSATION_FRAME] = {false};

	for (unsigned i = 0; i < sent->n; i++) {
		struct frame_view of;
		const uint8_t *frame = sent->frames[i].frame;

		if (sent->frames[i].to_outside == refused->outside ||
			!frame_view(frame, sent->frames[i].length, &of) ||
			!same_ends(refused->frame, view, frame, &of))
			continue;
		uint32_t at = get32(frame + of.l4 + 4) - seq;

		for (unsigned k = 0; k < of.end - of.payload; k++, at++)
			if (at < length && !have[at] &&
				frame[of.payload + k] == refused->frame[view->payload + at])
				have[at] = ++got;
	}
	return got == length;
}

// The refused segment, and all of its stream that comes before: its receiver can read it.
static bool stream_left(const struct judged *judged, const struct conversation_packet *refused,
	const struct frame_view *view)
{
	const struct conversation *plain = judged->plain;
	struct frame_view of;

	for (int i = 0; i < refused->honest; i++)
		if (frame_view(plain->packets[i].frame, plain->packets[i].length, &of) &&
			of.end > of.payload &&
			same_ends(refused->frame, view, plain->packets[i].frame, &of) &&
			!segment_left(judged->sent, &plain->packets[i], &of))
			return false;
	return segment_left(judged->sent, refused, view);
}

static bool datagram_left(const struct sent *sent, const struct conversation_packet *packet,
	const struct frame_view *view)
{
	for (unsigned i = 0; i < sent->n; i++) {
		struct frame_view of;

		if (frame_view(sent->frames[i].frame, sent->frames[i].length, &of) &&
			same_ends(packet->frame, view, sent->frames[i].frame, &of) &&
			of.end - of.payload == view->end - view->payload &&
			!memcmp(sent->frames[i].frame + of.payload, packet->frame + view->payload,
				of.end - of.payload))
			return true;
	}
	return false;
}

// Both the refused datagram and the first that answers it have left, which was refused alone, too.
static bool exchange_left(const struct judged *judged, const struct conversation_packet *refused,
	const struct frame_view *view)
{
	const struct conversation *plain = judged->plain;
	struct conversation_packet turned = *refused;
	struct frame_view of;

	if (!datagram_left(judged->sent, refused, view))
		return false;
	frame_turn(&turned, view);
	for (int i = refused->honest + 1; i < (int)plain->n; i++)
		if (frame_view(plain->packets[i].frame, plain->packets[i].length, &of) &&
			same_ends(turned.frame, view, plain->packets[i].frame, &of) &&
			of.end > of.payload)
			return !judged->before->left[i] &&
			       datagram_left(judged->sent, &plain->packets[i], &of);
	return false;
}

static bool was_dropped(const struct conversation *talk, int honest)
{
	for (unsigned i = 0; i < talk->n; i++)
		if (talk->packets[i].honest == honest)
			return true;
	return false;
}

// Whoever waits behind an end that did not reach the other one (a low TTL), or within a handshake,
// is met in midstream: tcp.midstream says what becomes of it. And where datagrams are looked at by
// their number (docs/evasions.md), a pause begins that anew.
static bool is_met_midstream(const struct judged *judged, const struct conversation_packet *refused)
{
	struct progress at = {0};
	bool ended = false;
	uint64_t last_ns = 0;

	for (unsigned i = 0; i < judged->changed->n; i++) {
		const struct conversation_packet *packet = &judged->changed->packets[i];
		struct frame_view view;

		if (!judge_same_connection(refused, packet))
			continue;
		if (packet->ts_ns - last_ns >= FORGOTTEN_NS && (ended || (at.syn && !at.begun)))
			return true;
		frame_view(packet->frame, packet->length, &view);
		if (packet->honest >= 0 && view.proto == IPPROTO_TCP)
			progress(&at, packet);
		ended |= view.proto == IPPROTO_UDP ||
			 (packet->honest < 0 && tcp_flags(packet, &view) & (TH_RST | TH_FIN));
		last_ns = packet->ts_ns;
	}
	return false;
}

// A SYN says where its half begins, and what was refused is not of the stream that follows.
static bool is_out_of_stream(const struct judged *judged, const struct conversation_packet *refused)
{
	struct frame_view view;
	bool syn = false, follows = false;

	frame_view(refused->frame, refused->length, &view);
	const uint32_t seq = get32(refused->frame + view.l4 + 4);

	for (unsigned i = 0; i < judged->changed->n; i++) {
		const struct conversation_packet *packet = &judged->changed->packets[i];

		if (packet->honest == refused->honest)
			break;
		if (packet->outside != refused->outside || !judge_same_connection(refused, packet))
			continue;
		frame_view(packet->frame, packet->length, &view);
		const uint8_t *tcp = packet->frame + view.l4;
		bool begins = packet->honest >= 0 && tcp[13] & TH_SYN;

		syn |= begins;
		follows |= get32(tcp + 4) + begins + (view.end - view.payload) == seq;
	}
	return syn && !follows;
}

// Of a connection whose other end is not in the capture nothing is known but by one side's word. A
// SYN behind what was refused begins another one.
static bool is_answered(const struct judged *judged, const struct conversation_packet *refused)
{
	for (unsigned i = 0; i < judged->plain->n; i++) {
		const struct conversation_packet *packet = &judged->plain->packets[i];
		struct frame_view view;

		if (!judge_same_connection(refused, packet))
			continue;
		frame_view(packet->frame, packet->length, &view);
		if (packet->honest > refused->honest && tcp_flags(packet, &view) == TH_SYN)
			return false;
		if (packet->outside != refused->outside)
			return true;
	}
	return false;
}

int judge_edits(const struct judged *judged)
{
	int first = edits_left_whole(judged->plain, judged->sent);

	if (first < 0)
		return -1;
	const struct conversation_packet *packet = &judged->plain->packets[first];

	return is_answered(judged, packet) && !is_out_of_stream(judged, packet) &&
			       !is_met_midstream(judged, packet)
		       ? first
		       : -1;
}

// What comes behind the first that is refused depends on how that ended.
int judge_enforce(const struct judged *judged)
{
	for (unsigned i = 0; i < judged->plain->n; i++) {
		const struct conversation_packet *packet = &judged->plain->packets[i];
		struct frame_view view;

		if (!judged->before->refused[i] || judged->before->left[i])
			continue;
		if (!frame_view(packet->frame, packet->length, &view) || view.end == view.payload)
			return -1;
		bool left = view.proto == IPPROTO_TCP
				    ? is_answered(judged, packet) &&
					      stream_left(judged, packet, &view) &&
					      !is_out_of_stream(judged, packet)
				    : was_dropped(judged->changed, (int)i) &&
					      exchange_left(judged, packet, &view);
		return left && !is_met_midstream(judged, packet) ? (int)i : -1;
	}
	return -1;
}
