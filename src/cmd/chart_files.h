/*
 * chart_files.h - the charts of an analysis as files.
 */
#ifndef CMD_CHART_FILES_H
#define CMD_CHART_FILES_H

#include "chart/chart.h"

/* Writes FOLDER/NAME.svg or .png for each chart; the folder is made if it is missing, the one around it is not.  Each file
 * appears when it is whole, in place of an older one.  Returns an exit code, having said what went wrong. */
int chart_files_write(const char *folder, enum chart_format format, const struct analysis *a);

#endif
