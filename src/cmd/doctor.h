/*
 * doctor.h - what `inferscope doctor` looks at.
 *
 * To add something: a function in doctor_checks.c and its row at the end of
 * that file.
 */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

enum doctor_status {
	DOCTOR_OK,      /* there, or as it should be */
	DOCTOR_LIMITED, /* works, but at a cost */
	DOCTOR_MISSING  /* not there */
};

struct doctor_finding {
	enum doctor_status status;
	char detail[256];
	const char *cost; /* what it costs that it is limited or missing, and what to do; NULL when it costs nothing */
};

struct doctor_check {
	const char *name;
	void (*run)(struct doctor_finding *ret);
};
extern const struct doctor_check doctor_checks[]; /* ends in a row without a name */

#endif
