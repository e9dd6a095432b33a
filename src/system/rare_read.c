#include "system/rare_read.h"

#define BEARABLE 10       /* times what is dear: once, to know it better, */
#define GROWTH 2          /* and times what it cost, after the rest for that */
#define REST 10           /* how much rarer a dear one is, for what it costs */
#define REST_MAX_NS 3600000000000 /* so that products fit */
#define SMALL (64u << 20) /* for less the cost is that of asking at all */
#define MOMENT 10         /* parts of the usual time */

/* In proportion to the size. */
static double expected_ns(const struct rare_read *r, uint64_t size)
{
	double then = r->size > SMALL ? (double)r->size : (double)SMALL;
	double now = size > SMALL ? (double)size : (double)SMALL;

	return (double)r->cost_ns * now / then;
}

bool rare_read_bearable(const struct rare_read *r, uint64_t size)
{
	return expected_ns(r, size) <= (double)BEARABLE * (double)r->dear_ns;
}

bool rare_read_due(const struct rare_read *r, int64_t now_ns, uint64_t size)
{
	return now_ns >= r->next_ns && (rare_read_bearable(r, size) || expected_ns(r, size) <= (double)GROWTH * (double)r->cost_ns);
}

bool rare_read_due_at_end(const struct rare_read *r, int64_t now_ns, uint64_t size)
{
	return now_ns >= r->next_ns - r->every_ns + r->every_ns / MOMENT && expected_ns(r, size) < (double)r->dear_ns;
}

void rare_read_took(struct rare_read *r, int64_t now_ns, int64_t cost_ns, uint64_t size)
{
	double rest = (double)cost_ns / (double)r->dear_ns * (double)r->every_ns * REST;

	if (cost_ns < r->dear_ns)
		rest = (double)r->every_ns;
	r->next_ns = now_ns + (rest < (double)REST_MAX_NS ? (int64_t)rest : REST_MAX_NS);
	r->cost_ns = cost_ns;
	r->size = size;
}
