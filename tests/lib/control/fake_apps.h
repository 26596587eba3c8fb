// SPDX-License-Identifier: BSD-3-Clause
// In place of app/classify: bittorrent (1, p2p, file-sharing, has a verifier), edonkey (2, p2p,
// file-sharing), irc (3, im, chat), http (4, web, no group).
#ifndef SLUICE_FAKE_APPS_H
#define SLUICE_FAKE_APPS_H

#include "classify/classify.h"

#endif
