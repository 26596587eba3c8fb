// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder of MSN Messenger share: the state of a flow and of its halves, and
// who is called for what. Inside app/content/msn. By draft-movva-msn-messenger-protocol-00 (MSNP2)
// and the community's descriptions of MSNP8 to MSNP21, MSNFTP, MSNSLP and the peer-to-peer frames.
#ifndef SLUICE_CONTENT_MSN_H
#define SLUICE_CONTENT_MSN_H

#include <assert.h>
#include "content/content.h"
#include "content/stream.h"
#include "content/transfer.h"

#define MSN_LINE_BYTES    4096 // of a command
#define MSN_HEAD_BYTES    4096 // of a payload's head, or of an invitation
#define MSN_PAYLOAD_BYTES (1u << 20)
#define MSN_OWN_BYTES     64
#define MSN_PARTIES_BYTES 1024 // who takes part, separated by commas
#define MSN_SESSIONS      6    // files of a flow at a time; the oldest is forgotten
#define MSN_INVITES       4    // invitations of the older way; the oldest is forgotten
#define MSN_SLPS          4    // MSNSLP messages whose frames are not all here
#define MSN_TTL_S         120
#define MSN_PORT_MIN      1024

#define P2P_HEAD_BYTES 48

// What follows in a half.
enum msn_phase {
	MSN_LINE,
	MSN_HEAD,   // of a payload
	MSN_BODY,   // of what type is to be seen
	MSN_TEXT,   // for people
	MSN_INVITE, // gathered
	MSN_P2P,    // one frame
	MSN_SKIP,   // a payload of no interest
	MSN_BLOCK,  // MSNFTP: its head, then its bytes
	MSN_BYTES,
};

enum msn_mode {
	MSN_NEW,
	MSN_TALK,   // commands; MSNFTP is told by its first one
	MSN_DIRECT, // frames
};

// A frame that is taken: its head, then what it is of.
struct msn_frame {
	uint8_t head[P2P_HEAD_BYTES];
	uint32_t have; // of the head
	uint32_t session, id, length, flags;
	uint64_t at, total; // of the message that it is a part of
	uint32_t gone;      // of its bytes
	uint32_t want;      // of the head: version 2
	uint16_t message;   // ... bytes behind its first part
	uint8_t kind;       // enum msn_frame_kind (p2p.c)
	bool ready;         // the head is read
	bool second;        // ... its first part is: version 2
};

struct msn_half {
	uint8_t *kept;       // the line, and behind it the head; NULL: nothing is
	uint64_t begin64;    // of the command
	uint64_t unit64;     // of the text
	uint32_t left;       // of the payload, frame or block
	uint32_t told;       // bytes of the text's message
	uint16_t line, head; // bytes in `kept`
	uint8_t phase;       // enum msn_phase
	uint8_t sections;    // heads that are still to end
	uint8_t slot;        // of the message's earlier chunks, plus one
	bool at_begin;       // of a line of the head
	bool after_cr;
	bool skip; // up to the end of the line
	bool looked;
	bool unsynced; // no command was read since the flow was joined, or a gap
	bool open;     // a part of a message was told
	bool sends;    // MSNFTP: the file
	bool v2;       // frames of version 2
	bool gapped;   // something was lost, perhaps a frame
	struct msn_frame frame;
};

// A file by the peer-to-peer frames.
struct msn_session {
	struct transfer_label label; // `half`: of this flow, that carries it
	struct content_raw raw;
	uint64_t base; // where its first bytes were, in the file
	uint32_t id;
	uint32_t call; // hash of its Call-ID
	uint32_t item;
	bool used;
	bool announced; // by another flow: its number is there
};

// A file that was offered in the older way.
struct msn_invite {
	struct transfer_label label;
	uint32_t cookie; // hash
	uint32_t item;
	uint8_t half; // whose sender has it
	bool used;
};

// Frames of a message whose text is gathered; `bytes` is a block.
struct msn_slp {
	uint8_t *bytes;
	uint32_t id, total;
	uint32_t next; // where its next frame goes: version 2
	uint8_t half;
};

// What a conversation needs once more than texts are in it.
struct msn_more {
	struct msn_session sessions[MSN_SESSIONS];
	struct msn_invite invites[MSN_INVITES];
	struct msn_slp slps[MSN_SLPS];
	uint8_t next_session, next_invite, next_slp;
};
static_assert(sizeof(struct msn_more) <= 4096, "a block of memory");

#define MSN_CHUNKED    4
#define MSN_TAIL_BYTES 500 // of a message's earlier chunks, before the one at hand
struct msn_chunked {
	uint32_t id; // hash; 0: free
	uint16_t length;
	uint8_t half;
	uint8_t tail[MSN_TAIL_BYTES];
};
struct msn_people {
	struct msn_chunked chunked[MSN_CHUNKED];
	uint16_t length;
	uint8_t next;
	uint8_t parties[MSN_PARTIES_BYTES];
};

struct msn_file {
	struct content_raw raw; // MSNFTP's
	uint64_t size;
};

struct msn_state {
	struct content_stream streams[2];
	struct msn_half halves[2];
	struct msn_file file;
	struct msn_more *more;
	struct msn_people *people;
	uint32_t files;
	uint64_t noted[2];
	uint8_t mode; // enum msn_mode
	bool ftp;
	bool over;
	uint8_t own_length;
	uint8_t own[MSN_OWN_BYTES]; // who is logged in at the client
};
static_assert(sizeof(struct msn_state) <= 1024, "a connection that is idle costs little");

struct msn_turn {
	struct msn_state *state;
	struct msn_half *half;
	struct content_turn *turn;
	uint8_t side;
};

static inline uint64_t msn_at64(const struct msn_turn *to)
{
	return to->state->streams[to->side].at64;
}

// Notes are told once of a half.
void msn_note(const struct msn_turn *to, enum content_note note, uint64_t at64);
// FNV-1a; never 0.
uint32_t msn_hash(struct content_text text);
// False: no memory.
bool msn_need_more(const struct msn_turn *to);
bool msn_need_people(const struct msn_turn *to);

// Commands and their payloads (talk.c).
enum content_fed msn_talk_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
void msn_talk_lose(const struct msn_turn *to, uint64_t length);
void msn_drop_kept(const struct msn_turn *to);

// The text of a payload (chat.c): `length` at most what is left of it.
enum content_fed msn_chat_begin(const struct msn_turn *to);
void msn_chat_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
// What was told of a message is its end.
void msn_chat_close(const struct msn_turn *to);

// A body that is an invitation (invite.c), or MSNSLP (slp.c).
void msn_invite_take(const struct msn_turn *to, struct content_text body);
// `cut`: its end is missing.
void msn_slp_take(const struct msn_turn *to, struct content_text text, bool cut);

// A frame (p2p.c): `left` of the half are its bytes with what stands behind it.
enum content_fed msn_frame_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
void msn_frame_lose(const struct msn_turn *to, uint64_t length);
enum content_fed msn_direct_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
void msn_p2p_over(struct msn_state *state, struct content_turn *turn);

// Sessions (session.c).
struct msn_session *msn_session_of(const struct msn_turn *to, uint32_t id);
// ... whose file this half carries.
struct msn_session *msn_session_carried(const struct msn_turn *to, uint32_t id);
struct msn_session *msn_session_new(
	const struct msn_turn *to, struct msn_session *before, uint32_t id);
struct msn_session *msn_session_by_call(const struct msn_turn *to, uint32_t call);
// Bytes of a session's file; how many were taken.
uint32_t msn_session_put(const struct msn_turn *to, struct msn_session *session, uint64_t at,
	uint64_t total, const uint8_t *bytes, uint32_t length);
// A frame of it has ended in front of `ends64`: the file has, too, where it has all of its bytes.
void msn_session_rest(
	const struct msn_turn *to, struct msn_session *session, uint64_t total, uint64_t ends64);
void msn_session_end(const struct msn_turn *to, struct msn_session *session);
// An offer: the file is told, and what is to come of it has this label. `label` has its user and
// size.
void msn_tell_offer(const struct msn_turn *to, unsigned half, struct content_text name,
	struct content_text alias, struct transfer_label *label, uint32_t *item);

// MSNFTP (msnftp.c). False: the line is none of it.
bool msn_ftp_line(const struct msn_turn *to, struct content_text line);
enum content_fed msn_ftp_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
// How much of it is of no block: behind it blocks cannot be found.
uint64_t msn_ftp_lose(const struct msn_turn *to, uint64_t length);
void msn_ftp_over(struct msn_state *state, struct content_turn *turn);

// Where a connection will be (place.c): the sender of the half listens at each of `addresses`.
struct msn_places {
	uint8_t addresses[4][16];
	unsigned n;
};
void msn_places_add(struct msn_places *places, struct content_text words);
void msn_expect(const struct msn_turn *to, const struct msn_places *places,
	struct content_text port, enum expected_as as, const struct transfer_label *label,
	uint32_t item);

#endif
