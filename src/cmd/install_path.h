/*
 * install_path.h - where the parts of InferScope are that other programs load.
 *
 * Looked for around this executable first, so that a build folder, an
 * installation that was moved and a Python package each find their own:
 *
 *      build folder                     installation                        package
 *      inferscope                       bin/inferscope                      bin/inferscope
 *      libinferscope-rt.so              lib/libinferscope-rt.so             libinferscope-rt.so
 *      python/inferscope/_door/         lib/inferscope/python/...           _door/
 *      share/inferscope/rules.yaml      share/inferscope/rules.yaml         rules.yaml
 *
 * pip puts a second copy of the package's command where the user's PATH leads,
 * bin/inferscope, which finds the package in lib/python3.N/site-packages/inferscope/
 * or, with --target, in inferscope/.
 */
#ifndef CMD_INSTALL_PATH_H
#define CMD_INSTALL_PATH_H

#include <stdbool.h>

/* libinferscope-rt.so; when there is none, what INFERSCOPE_RUNTIME names.  An allocated absolute path, or NULL. */
char *install_path_runtime(void);

/* The folder with the sitecustomize.py that a Python is to find first, if programs can trust it.  An allocated absolute
 * path, or NULL. */
char *install_path_door(void);

/* The rules that come with us.  An allocated path, or NULL. */
char *install_path_rules(void);

/* Programs load a file only when nobody but root and their own user could have written it (include/inferscope.h).  True
 * when they will; else *ret_culprit is the file or folder to blame, allocated. */
bool install_path_trusted(const char *path, char **ret_culprit);

#endif
