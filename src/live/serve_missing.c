/* serve_missing.c - serve.h where libmicrohttpd was not there when this was built. */
#include <errno.h>

#include "live/serve.h"

int live_serve_start(struct live_serve **ret, const struct live_serve_options *options, struct error *err)
{
	(void)ret;
	(void)options;
	error_set(err, -ENOTSUP, "this inferscope was built without libmicrohttpd, which the page needs");
	if (err)
		err->exit_code = 4;
	return -ENOTSUP;
}

const char *live_serve_url(const struct live_serve *serve)
{
	(void)serve;
	return "";
}

void live_serve_publish(struct live_serve *serve, const struct live_snapshot *snapshot)
{
	(void)serve;
	(void)snapshot;
}

void live_serve_stop(struct live_serve *serve)
{
	(void)serve;
}
