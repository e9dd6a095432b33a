/* query_findings.c - the table of what the analysis found. */
#include <math.h>

#include "query/query_state.h"

static int64_t finding_count(const struct query *q)
{
	return (int64_t)q->analysis->findings.count;
}

static void finding_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct analysis_finding *f = &q->analysis->findings.list[row];
	const double gains[] = { f->note ? NAN : f->gain_low, f->note ? NAN : f->gain, f->note ? NAN : f->gain_high };
	const double numbers[] = { f->share, f->severity, gains[0], gains[1], gains[2], f->confidence };

	if (column == 0)
		sqlite3_result_int64(context, row);
	else if (column == 1)
		cell_static(context, f->kind);
	else if (column < 8)
		cell_number(context, numbers[column - 2]);
	else if (column == 8)
		cell_static(context, f->where.count ? f->where.text[0] : NULL);
	else
		cell_static(context, column == 9 ? f->action : f->rationale);
}

const struct query_table query_finding_tables[] = {
	{ "findings",
	  "id INTEGER, kind TEXT, share REAL, severity REAL, gain_low REAL, gain REAL, gain_high REAL, confidence REAL, place TEXT, "
	  "action TEXT, rationale TEXT",
	  NEEDS_ANALYSIS, -1, NULL, finding_count, NULL, finding_cell },
	{ 0 },
};
