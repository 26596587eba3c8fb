// SPDX-License-Identifier: BSD-3-Clause
// How applications are known, as config/recognition.json has it: one table in the program, made
// by recognition_table.py when it is built. All of it is constant; any thread.
#ifndef SLUICE_RECOGNITION_H
#define SLUICE_RECOGNITION_H

// One way in which an application is known. No text is NULL but where it says so.
struct recognition_row {
	const char *app;        // id, as `sluice apps` has it
	const char *how;        // what is looked at, of which message, from which source
	unsigned packet;        // data packet of the flow from which it is known, from 1; 0: any
	const char *confidence; // as events have it
	const char *client;     // real client with which it was seen, or "none: ..."
	const char *capture;    // below the captures' folder; NULL: none has it
	const char *flow;       // of that capture: protocol and both ends; NULL without a capture
	const char *made;       // what the test makes where no capture has it; NULL: a capture has
	const char *defeats;
};

// A name that people ask for, and as what it is known.
struct recognition_name {
	const char *const *names; // ends with NULL
	const char *const *apps;  // ends with NULL; none: it cannot be known
	const char *const *by;    // ends with NULL
	const char *unknown;      // what is not known, and why; may be empty
};

extern const struct recognition_row recognition_rows[];   // by application; `app` NULL ends it
extern const struct recognition_name recognition_names[]; // `names` NULL ends it

#endif
