// SPDX-License-Identifier: BSD-3-Clause
// A handshake and what is sealed after it, as another implementation (Python's cryptography and
// hashlib) computed them: identity 1 of tapi_vectors.h begins, 2 answers; ephemeral secrets 00 01
// .. 1f and 20 21 .. 3f, indexes 01020304 and 05060708, stamp WALL_US. Sealed with counter 0: of 1
// the message of type 64 "hello"; of 2 the same, encrypted by the application, crc 0000cafe.
#ifndef TAPI_VECTORS_SECURE_H
#define TAPI_VECTORS_SECURE_H

#define INITIATE_HEX                                                       \
	"00700006010203048f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1a" \
	"d1ba6f3e2138285f6c21bcc8873649f3fbadfd6ec589ed1b9848698d74f548c8" \
	"0846d894c8896c7a2b73c3fd2bcf6602fce7e7077071d94d810062a6086d8c88" \
	"1235fd82f398459f8412acaf67da3447"
#define RESPOND_HEX                                                        \
	"003c00070506070801020304358072d6365880d1aeea329adf9121383851ed21" \
	"a28e3b75e965d0d2cd16625498aaec3d1132b17c01208e3fd07ccb8a"
#define KEY_OF_1_HEX "068d6aea9b768f4dc53209e1c0134a4bdc5f53094037789df18ff332bb62e274"
#define KEY_OF_2_HEX "6d9a99522c2829fd39c9870d4b533c85a3aa5dada24ab2a5108f1de9a2f0a6f1"
#define SEALED_OF_1_HEX                                                    \
	"002a000805060708000000000000000002d2adad0cc9f260874d77fc94163a13" \
	"d790f135ba6cdea66d40"
#define SEALED_OF_2_HEX                                                    \
	"002e0008010203040000000000000000e631169b9ce98a320ef0db77582c3bf5" \
	"1656f6d476486934e5dbd27c30a7"

#endif
