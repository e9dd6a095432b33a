/*
 * words.h - what the analysis names with identifiers, in words for people.
 *
 * Programs get identifiers ("wait_unresolved"), which never change.  Whatever a
 * person reads has a label in tables and bars, and a phrase in sentences.
 */
#ifndef ANALYZE_WORDS_H
#define ANALYZE_WORDS_H

struct words {
	const char *identifier;
	const char *label;  /* "unexplained waits" */
	const char *phrase; /* "41% of the time is PHRASE" */
	const char *verb;   /* "GPU idle 41% of the time: PHRASE VERB it"; NULL: no finding is called so */
};

/* NULL: it is none of ours, but a word of a user's rule. */
const struct words *words_of(const char *identifier);

/* The label; of a word that is none of ours the word itself. */
const char *words_label(const char *identifier);
const char *words_phrase(const char *identifier);

#endif
