// SPDX-License-Identifier: BSD-3-Clause
// Sizes that tables of several planes share.
#ifndef SLUICE_SIZES_H
#define SLUICE_SIZES_H

#define LCORES_MAX 64 // data lcores; dataplane.bypassed has a bit for each

#endif
