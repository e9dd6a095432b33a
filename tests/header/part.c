/*
 * part.c - one of several objects of a program that include inferscope.h: with -DMAIN the one with main(), else the one
 * called PART.
 */
#include "inferscope.h"

#define TEXT_(part) #part
#define TEXT(part) TEXT_(part)
#define CALL_(part) emit_##part
#define CALL(part) CALL_(part)

void CALL(PART)(void);
void emit_second(void);
void emit_library(void);

/* Twice at one call site, and once by content. */
void CALL(PART)(void)
{
	char copy[] = TEXT(PART);
	int i;

	for (i = 0; i < 2; i++)
		inferscope_mark(TEXT(PART));
	inferscope_mark(copy);
}

#ifdef MAIN
int main(void)
{
	CALL(PART)();
#ifdef SEVERAL
	emit_second();
	emit_library();
#endif
	return inferscope_enabled();
}
#endif
