/* DOUBLE_TRUTH=path: what really happened, one JSON object a line, appended with one write each, so that nothing is lost when the process
   is killed and several processes may share the file.  README.md lists the fields. */
#ifndef DOUBLES_TRUTH_H
#define DOUBLES_TRUTH_H

#include <stdbool.h>

struct api_call;
struct op_info;

bool truth_wanted(void);
void truth(const char *format, ...) __attribute__((format(printf, 1, 2)));      /* the fields after "pid", without braces */
void truth_call(const struct api_call *call);
void truth_op(const struct op_info *op);

#endif
