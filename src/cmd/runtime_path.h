/*
 * runtime_path.h - where libinferscope-rt.so is.
 */
#ifndef CMD_RUNTIME_PATH_H
#define CMD_RUNTIME_PATH_H

#include <stdbool.h>

/* Beside this executable, else in the lib folder beside its bin folder, else where it was installed.  An allocated
 * absolute path, or NULL. */
char *runtime_path_find(void);

/* Programs load it only when nobody but root and their own user could have written it (include/inferscope.h).  True when
 * they will; else *ret_culprit is the file or folder to blame, allocated. */
bool runtime_path_trusted(const char *path, char **ret_culprit);

#endif
