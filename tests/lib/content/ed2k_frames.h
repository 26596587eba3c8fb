// SPDX-License-Identifier: BSD-3-Clause
// Frames of eDonkey as string literals, and ids, for conversations.
#ifndef ED2K_FRAMES_H
#define ED2K_FRAMES_H

#include "lib/content/conversation.h"

// The head of a frame whose length, with its opcode, is below 256.
#define E(length, opcode) "\xe3" length "\0\0\0" opcode
#define M(length, opcode) "\xc5" length "\0\0\0" opcode
#define P(length, opcode) "\xd4" length "\0\0\0" opcode

// Ids of files, as they are and as a transcript has them.
#define H15 "123456789abcdef"
#define A   "0" H15
#define B   "b" H15
#define C   "c" H15
#define D   "d" H15
#define X   "x" H15

#define ID_H(first) "ed2k:" first "313233343536373839616263646566"
#define OF_H(first) ID_H(first) "\n"
#define OF_A        OF_H("30")
#define OF_B        OF_H("62")
#define OF_C        OF_H("63")
#define OF_D        OF_H("64")
#define OF_X        OF_H("78")
#define PROVED_A    ID_H("30") " pieces=1\n" // a file of one part

#endif
