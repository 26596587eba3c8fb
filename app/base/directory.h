// SPDX-License-Identifier: BSD-3-Clause
// Folders of gateway.json's "paths": made when they are not there, so that a fresh machine needs
// no preparation. Control core.
#ifndef SLUICE_DIRECTORY_H
#define SLUICE_DIRECTORY_H

// Makes the folder `path`, mode 0755, and says so in the log; not its parents. 0 when it is there
// afterwards, else -errno.
int directory_make(const char *path);
// The same for the folder that the file `path` stands in.
int directory_make_for(const char *path);
// What open(2) needs beside its flags when it may be root who opens: O_NOFOLLOW where somebody else
// can put a link, for the folder of `path` is not root's alone; 0 where an operator's link is
// meant.
int directory_follow_flag(const char *path);

#endif
