/*
 * python_path.h - under which Python scripts run.
 */
#ifndef CMD_PYTHON_PATH_H
#define CMD_PYTHON_PATH_H

/* The interpreter of the environment that this command was installed into, else that of the active virtual environment, else
 * "python3", which is looked for on PATH.  Allocated; NULL when out of memory. */
char *python_path(void);

#endif
