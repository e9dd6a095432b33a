/* What the environment says to the doubles.  Every variable is called DOUBLE_SOMETHING; README.md lists them. */
#ifndef DOUBLES_SETTINGS_H
#define DOUBLES_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number, decimal or 0x; OTHERWISE when the variable is not set. */
long long setting_number(const char *variable, long long otherwise);

/* A variable of the form "at:by".  False, and nothing stored, when it is not set or not of that form. */
bool setting_pair(const char *variable, long long *ret_first, long long *ret_second);

/* The value of KEY in a variable of the form "key=value,key=value"; a key without a value has the value "".  Cut to SIZE. */
bool setting_item(const char *variable, const char *key, char *ret_value, size_t size);

#endif
