/*
 * serve_http.h - the process that serves: libmicrohttpd, loaded, and what its callbacks share.
 *
 * There is one thread.  The library is run from the process's own loop (serve_process.c).
 */
#ifndef LIVE_SERVE_HTTP_H
#define LIVE_SERVE_HTTP_H

#include <microhttpd.h>

#include "live/serve_parts.h"

/* What is used of it: name, result, parameters. */
#define SERVE_FUNCTIONS(F)                                                                                             \
	F(start_daemon, struct MHD_Daemon *,                                                                           \
	  (unsigned, uint16_t, MHD_AcceptPolicyCallback, void *, MHD_AccessHandlerCallback, void *, ...))              \
	F(stop_daemon, void, (struct MHD_Daemon *))                                                                    \
	F(quiesce_daemon, MHD_socket, (struct MHD_Daemon *))                                                           \
	F(run, enum MHD_Result, (struct MHD_Daemon *))                                                                 \
	F(get_timeout, enum MHD_Result, (struct MHD_Daemon *, MHD_UNSIGNED_LONG_LONG *))                               \
	F(get_daemon_info, const union MHD_DaemonInfo *, (struct MHD_Daemon *, enum MHD_DaemonInfoType, ...))          \
	F(get_connection_info, const union MHD_ConnectionInfo *,                                                       \
	  (struct MHD_Connection *, enum MHD_ConnectionInfoType, ...))                                                 \
	F(lookup_connection_value, const char *, (struct MHD_Connection *, enum MHD_ValueKind, const char *))          \
	F(create_response_from_buffer, struct MHD_Response *, (size_t, void *, enum MHD_ResponseMemoryMode))           \
	F(create_response_from_callback, struct MHD_Response *,                                                        \
	  (uint64_t, size_t, MHD_ContentReaderCallback, void *, MHD_ContentReaderFreeCallback))                        \
	F(add_response_header, enum MHD_Result, (struct MHD_Response *, const char *, const char *))                   \
	F(queue_response, enum MHD_Result, (struct MHD_Connection *, unsigned, struct MHD_Response *))                 \
	F(destroy_response, void, (struct MHD_Response *))                                                             \
	F(suspend_connection, void, (struct MHD_Connection *))                                                         \
	F(resume_connection, void, (struct MHD_Connection *))

struct serve_library {
#define FIELD(name, result, parameters) result(*name) parameters;
	SERVE_FUNCTIONS(FIELD)
#undef FIELD
};

#define SERVE_CONNECTIONS 128u
#define SERVE_CLIENTS 100u /* of /events; the rest is for those who ask once */

struct serve_client;

/* A connection, for as long as it is there. */
struct serve_link {
	int fd;
	int64_t waiting_ns; /* since when its client owes us a request; INT64_MAX: it does not */
	struct serve_link *next;
};

struct serve_server {
	struct serve_library lib;
	struct MHD_Daemon *daemon;
	const struct serve_setup *setup;
	struct live_snapshot *snapshot; /* a copy of the newest */
	struct live_totals totals;
	uint32_t version; /* of it */
	bool over;        /* nothing will follow */
	bool lost;        /* since the parent has gone */
	int64_t now_ns;
	struct serve_frames frames;
	struct serve_history history;
	struct serve_client *clients;
	uint32_t client_count;
	struct serve_link *links;
	char policy[512];
};

/* ---- serve_request.c -------------------------------------------------------------------- */

enum MHD_Result serve_request(void *server, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **request);
void serve_make_policy(struct serve_server *s);
/* Headers that every answer has. */
void serve_common_headers(struct serve_server *s, struct MHD_Response *response, const char *type);

/* ---- serve_stream.c --------------------------------------------------------------------- */

enum MHD_Result serve_stream(struct serve_server *s, struct MHD_Connection *connection);
/* Those who wait are sent what is new. */
void serve_stream_wake(struct serve_server *s);
/* Those to whom nothing was said for long are sent a sign of life, which also shows whether they are there. */
void serve_stream_beat(struct serve_server *s);

#endif
