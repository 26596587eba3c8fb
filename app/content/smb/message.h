// SPDX-License-Identifier: BSD-3-Clause
// Messages of SMB 2 and 3 ([MS-SMB2] 2.2): what their fixed parts say, and what changes by them.
// Numbers are little endian, offsets count from the message's header.
#ifndef SLUICE_CONTENT_SMB_MESSAGE_H
#define SLUICE_CONTENT_SMB_MESSAGE_H

#include "content/smb/session.h"

#define SMB_HEAD_BYTES  64 // 2.2.1
#define SMB_FIXED_BYTES 80 // of a body, that are read; the longest is CREATE's answer

enum smb_command {
	SMB_TREE_CONNECT = 0x03,
	SMB_CREATE = 0x05,
	SMB_CLOSE = 0x06,
	SMB_READ = 0x08,
	SMB_WRITE = 0x09,
	SMB_SET_INFO = 0x11,
};

struct smb_head {
	uint64_t message; // MessageId
	uint32_t status;  // of an answer
	uint32_t flags;
	uint32_t next; // NextCommand; 0: the last message
	uint32_t tree; // 0: not said
	uint16_t command;
};
struct smb_head smb_head_read(const uint8_t *at);

// The messages of a frame: a related one goes on with what the one before it has.
struct smb_chain {
	uint32_t tree;
	uint32_t open; // number; 0: none
};

// A part of the message that is read behind its fixed part. Length 0: nothing.
enum smb_part_kind {
	SMB_PART_NONE,
	SMB_PART_NAME,  // CREATE's: gathered
	SMB_PART_SHARE, // TREE_CONNECT's: gathered
	SMB_PART_SIZE,  // SET_INFO's, of the file: gathered
	SMB_PART_BLOCK, // of a file: passed on
};
struct smb_part {
	uint32_t at; // offset
	uint32_t length;
	uint8_t kind;         // enum smb_part_kind
	uint32_t open;        // number, of SMB_PART_BLOCK and SMB_PART_SIZE
	uint64_t offset;      // in the file
	bool cut;             // what is gathered is the end of it
	bool directory;       // SMB_PART_NAME
	bool more_than_asked; // SMB_PART_BLOCK
	bool last;            // SMB_PART_BLOCK: less came than was asked for
};

struct smb_turn {
	struct smb_session *session;
	struct content_turn *turn;
	struct smb_chain *chain;
	struct smb_head head;
	uint8_t half; // whose sender sends the message: requests are those of HALF_C2S
	bool again;   // a MessageId that waits was used again
	bool full;    // a table has no room
};

// Bytes of the body that are read before smb_take_fixed; 0: nothing of such a message is.
uint32_t smb_fixed_bytes(unsigned half, const struct smb_head *head);
// False: no memory, and nothing has changed.
bool smb_take_fixed(struct smb_turn *turn, const uint8_t *body, struct smb_part *part);
// The gathered part. False: no memory, and nothing has changed.
bool smb_take_part(
	struct smb_turn *turn, const struct smb_part *part, struct content_text gathered);

#endif
