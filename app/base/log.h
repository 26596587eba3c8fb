// SPDX-License-Identifier: BSD-3-Clause
// Messages for a person, to standard error: one line each, control characters made visible.
// Start-up and control core only: data lcores never log. On a terminal "sluice: warning: ...";
// into a file with a timestamp; under journald (JOURNAL_STREAM names our standard error) with its
// "<4>" priority instead. The level is the only state, one per program.
#ifndef SLUICE_LOG_H
#define SLUICE_LOG_H

#include <stdarg.h>

enum log_level { // not syslog's LOG_*: those are macros
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE, // the default: startup, death, reload, trouble
	LOG_LEVEL_INFO,   // -v
	LOG_LEVEL_DEBUG,  // -vv
	LOG_LEVEL_MAX
};

// Finds out where standard error goes; `verbose` is how often -v was given.
void log_start(unsigned verbose);
enum log_level log_level_get(void);
void log_level_set(enum log_level level);
const char *log_level_word(enum log_level level); // "error", "warning", ...
int log_level_find(const char *word);             // enum log_level, or -1

// errno is kept.
void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void log_messagev(enum log_level level, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

#define log_error(...)   log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_message(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
