/*
 * runtime_path.h - where libinferscope-rt.so is.
 */
#ifndef CMD_RUNTIME_PATH_H
#define CMD_RUNTIME_PATH_H

/* Beside this executable, else in the lib folder beside its bin folder, else where it was installed.  An allocated
 * absolute path, or NULL. */
char *runtime_path_find(void);

#endif
