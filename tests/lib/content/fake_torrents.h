// SPDX-License-Identifier: BSD-3-Clause
// Torrents that are learned while a conversation is fed; each feeding begins with none.
#ifndef FAKE_TORRENTS_H
#define FAKE_TORRENTS_H

#include "content/torrents.h"

struct content_torrents fake_torrents(void);
// All are given back by those who held them; then there are none.
void fake_torrents_reset(void);
// Whatever is sent is taken for what the id names: for fuzzing, which finds no digests.
void fake_torrents_believe(bool believe);

#endif
