/* formats.h - the function of each format; see export.h for what it is given. */
#ifndef EXPORT_FORMATS_H
#define EXPORT_FORMATS_H

#include "export/export.h"

#define EXPORT_WRITER(name) \
	int name(struct trace_reader *reader, const struct export_options *options, struct export_out *out, struct error *err)

EXPORT_WRITER(export_perfetto);
EXPORT_WRITER(export_chrome);
EXPORT_WRITER(export_kineto);
EXPORT_WRITER(export_speedscope);
EXPORT_WRITER(export_collapsed);
EXPORT_WRITER(export_pprof);
EXPORT_WRITER(export_firefox);

#endif
