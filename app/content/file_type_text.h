// SPDX-License-Identifier: BSD-3-Clause
// Files that are text, or begin as text: functions for the rows of file_type.c, as those of
// file_type_kind.h.
#ifndef SLUICE_CONTENT_FILE_TYPE_TEXT_H
#define SLUICE_CONTENT_FILE_TYPE_TEXT_H

#include "content/file_type_kind.h"

// Behind "#!"; 'd'; "From "; nothing: HTML, XML, PDF and others behind white space; header fields
// of a message; any text.
file_kind kind_script, kind_torrent, kind_mbox, kind_markup, kind_mail, kind_text;

#endif
