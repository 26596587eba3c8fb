// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of this network namespace: what the kernel tells of each, unasked, and a list of
// how all are. What the list leaves out is not there; only a list that was whole, and after which
// no news were lost, is a reason to say so. Control core only.
#ifndef SLUICE_LINK_WATCH_H
#define SLUICE_LINK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct link_news {
	unsigned ifindex;
	char name[16]; // IF_NAMESIZE
	bool gone;     // or has left this network namespace
	bool up;       // as an administrator wants it
	bool carrier;
	bool listed; // of the list that was asked for last; else unasked
};
typedef void link_news_fn(void *ctx, const struct link_news *news);

struct link_watch {
	int fd; // readable: link_watch_read
	uint32_t self;
	uint32_t sequence; // of the last list
	bool listing;      // it is under way
	bool wanted;       // another one, as soon as one can be had
};

// Hears of every interface from now on. Opened before the sandbox, it goes on working behind it. 0
// or -errno.
int link_watch_open(struct link_watch *watch);
void link_watch_close(struct link_watch *watch);
// Wants a list that begins later than now.
void link_watch_want(struct link_watch *watch);
// Asks for it, if one is wanted and none is under way. True: it begins now, what was listed until
// now no longer counts. To be called again, ten times a second, while one is wanted.
bool link_watch_ask(struct link_watch *watch);
// Takes what has come; does not wait. `whole` is set when the list has ended and can be judged by.
// 0 or -errno; lost news are no error, they want a list.
int link_watch_read(struct link_watch *watch, link_news_fn *report, void *ctx, bool *whole);

#endif
