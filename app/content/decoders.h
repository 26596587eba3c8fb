// SPDX-License-Identifier: BSD-3-Clause
// The content decoders, by application. Constant; any core.
#ifndef SLUICE_CONTENT_DECODERS_H
#define SLUICE_CONTENT_DECODERS_H

#include "content/content.h"

// One line for each: content_<symbol>, defined in its folder.
#define CONTENT_DECODERS(X) \
	X(bittorrent)       \
	X(directconnect)    \
	X(edonkey)          \
	X(fasttrack)        \
	X(ftp)              \
	X(ftp_data)         \
	X(gnutella)         \
	X(http)             \
	X(imap)             \
	X(irc)              \
	X(msn)              \
	X(nfs)              \
	X(nntp)             \
	X(oscar)            \
	X(pop3)             \
	X(smb)              \
	X(smtp)             \
	X(soulseek)         \
	X(teamspeak)        \
	X(tftp)             \
	X(xmpp)             \
	X(yahoo)

#define X(symbol) extern const struct content_decoder content_##symbol;
CONTENT_DECODERS(X)
#undef X

// Not of an application: what may be HTTP, while nobody knows.
extern const struct content_decoder content_http_first;

// Of the application with that name (app/classify); NULL: its content is not decoded.
const struct content_decoder *content_decoder_of(const char *app);
// All of them, from 0 on; NULL: there are no more.
const struct content_decoder *content_decoder_at(unsigned index);

#endif
