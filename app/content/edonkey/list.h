// SPDX-License-Identifier: BSD-3-Clause
// Lists of files, and tags: of each file its id, a client's address, and what tags say of it; of a
// hello, tags alone. One step of the reader at a time.
#ifndef SLUICE_CONTENT_EDONKEY_LIST_H
#define SLUICE_CONTENT_EDONKEY_LIST_H

#include "content/edonkey/session.h"

#define ED2K_ENTRY_BYTES 26 // file, client's id, port, how many tags

// So many entries follow, or tags of a hello.
void ed2k_list_begin(const struct ed2k_turn *to, uint32_t count);
void ed2k_tags_begin(const struct ed2k_turn *to, uint32_t count);
// A field of a list is whole: the next step.
void ed2k_list_arrived(const struct ed2k_turn *to);
// What a tag's name or value was passed over with is over, or its text is whole.
void ed2k_list_passed(const struct ed2k_turn *to);
void ed2k_list_named(const struct ed2k_turn *to, struct content_text name, bool cut);

#endif
