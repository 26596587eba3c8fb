// SPDX-License-Identifier: BSD-3-Clause
// Torrents, and what peers say of them, for conversations.
#ifndef BITTORRENT_TALK_H
#define BITTORRENT_TALK_H

#include "lib/content/conversation.h"

#define LEAD                        \
	"\x13"                      \
	"BitTorrent protocol\0\0\0" \
	"\0\0\x10\0\5"
#define PEER       "-XX0001-abcdefghijkl"
#define KEEP_ALIVE "\0\0\0\0"
// Lengths, index and begin of one byte.
#define PIECE(length, index, begin, bytes) "\0\0\0" length "\7\0\0\0" index "\0\0\0" begin bytes
#define UTP_HEADER                         "\x12\x34\0\0\0\1\0\0\0\0\0\0\0\0\0\1\0\0" // behind its first two bytes

// setup.exe, 40 bytes, in pieces of 16
#define ONE                                                                                  \
	"d6:lengthi40e4:name9:setup.exe12:piece lengthi16e6:pieces60:aaaaaaaaaaaaaaaaaaaabb" \
	"bbbbbbbbbbbbbbbbbbcccccccccccccccccccce"
#define ONE_HEX "5d7d7565348183f9ea5a1a797e3ff1184f94c635"
#define ONE_HASH                                                                       \
	"\x5d\x7d\x75\x65\x34\x81\x83\xf9\xea\x5a\x1a\x79\x7e\x3f\xf1\x18\x4f\x94\xc6" \
	"\x35"

// alpha: a.txt (10), empty (0), dir/b.exe (20), in pieces of 16
#define TWO                                                                                    \
	"d5:filesld6:lengthi10e4:pathl5:a.txteed6:lengthi0e4:pathl5:emptyeed6:lengthi20e4:pat" \
	"hl3:dir5:b.exeeee4:name5:alpha12:piece lengthi16e6:pieces40:aaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaae"
#define TWO_HEX "0e1e614eeff26e9f0c3ba534b00a5cc4f5bca5a5"
#define TWO_HASH                                                                       \
	"\x0e\x1e\x61\x4e\xef\xf2\x6e\x9f\x0c\x3b\xa5\x34\xb0\x0a\x5c\xc4\xf5\xbc\xa5" \
	"\xa5"

// beta: a.txt (10), b.exe (20), in pieces of 16384: version 2 alone, and both
#define TREE                                                                                    \
	"9:file treed5:a.txtd0:d6:lengthi10e11:pieces root32:rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrre" \
	"e5:b.exed0:d6:lengthi20e11:pieces root32:sssssssssssssssssssssssssssssssseee"
#define SECOND     "d" TREE "12:meta versioni2e4:name4:beta12:piece lengthi16384ee"
#define SECOND_HEX "38c128860295b8469b642275707512e76e0dd339"
#define SECOND_HASH                                                                    \
	"\x38\xc1\x28\x86\x02\x95\xb8\x46\x9b\x64\x22\x75\x70\x75\x12\xe7\x6e\x0d\xd3" \
	"\x39"
#define HYBRID                                                                                 \
	"d" TREE "5:filesld6:lengthi10e4:pathl5:a.txteed4:attr1:p6:lengthi16374e4:pathl4:.pad" \
	"5:16374eed6:lengthi20e4:pathl5:b.exeeee12:meta versioni2e4:name4:beta12:piece length" \
	"i16384e6:pieces40:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaae"
#define HYBRID_HEX  "c371f813812148ce280ac00a17cf6c3d1a86a54d"
#define HYBRID_HEX2 "469d988c8f2000036a0140d177e0382981d26af1"
#define HYBRID_HASH2                                                                   \
	"\x46\x9d\x98\x8c\x8f\x20\x00\x03\x6a\x01\x40\xd1\x77\xe0\x38\x29\x81\xd2\x6a" \
	"\xf1"

#endif
