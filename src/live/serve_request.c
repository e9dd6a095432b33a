/*
 * serve_request.c - see serve_http.h: what is answered.
 *
 * First who asks: the name by which the server was called must be its own (a page elsewhere whose name was made to point
 * here has another), and there must be the token, in the address, as a cookie or as "Authorization: Bearer".  Then what:
 * a table of paths, all to be read only.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "live/live_assets.h"
#include "live/serve_http.h"
#include "live/snapshot_json.h"

void serve_make_policy(struct serve_server *s)
{
	snprintf(s->policy, sizeof s->policy,
		 "default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; img-src data:; base-uri 'none'; "
		 "form-action 'none'; frame-ancestors 'none'",
		 live_script_hash, live_style_hash);
}

void serve_common_headers(struct serve_server *s, struct MHD_Response *response, const char *type)
{
	const char *const headers[][2] = {
		{ "Content-Type", type },
		{ "Cache-Control", "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Content-Security-Policy", s->policy },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "X-Frame-Options", "DENY" },
	};

	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		(void)s->lib.add_response_header(response, headers[i][0], headers[i][1]);
}

/* ---- Answers ----------------------------------------------------------------------- */

static enum MHD_Result send_response(struct serve_server *s, struct MHD_Connection *connection, unsigned status,
				     struct MHD_Response *response)
{
	enum MHD_Result result = s->lib.queue_response(connection, status, response);

	s->lib.destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct serve_server *s, struct MHD_Connection *connection, unsigned status, const char *header,
			      const char *value, const char *text)
{
	struct MHD_Response *response =
		s->lib.create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return MHD_NO;
	serve_common_headers(s, response, "text/plain; charset=utf-8");
	(void)s->lib.add_response_header(response, "Connection", "close");
	if (header)
		(void)s->lib.add_response_header(response, header, value);
	return send_response(s, connection, status, response);
}

/* Gives the bytes away. */
static enum MHD_Result send_made(struct serve_server *s, struct MHD_Connection *connection, struct buffer *made, const char *type)
{
	struct MHD_Response *response = s->lib.create_response_from_buffer(made->size, made->data, MHD_RESPMEM_MUST_FREE);

	if (!response) {
		buffer_release(made);
		return MHD_NO;
	}
	serve_common_headers(s, response, type);
	return send_response(s, connection, MHD_HTTP_OK, response);
}

static const char *header_of(struct serve_server *s, struct MHD_Connection *connection, const char *name)
{
	return s->lib.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Whoever has brought the token in the address has a cookie from now on. */
static void give_cookie(struct serve_server *s, struct MHD_Connection *connection, struct MHD_Response *response)
{
	char name[32], cookie[256];

	serve_cookie_name(name, sizeof name, header_of(s, connection, "Host"));
	snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", name, s->setup->token);
	(void)s->lib.add_response_header(response, "Set-Cookie", cookie);
}

static enum MHD_Result send_page(struct serve_server *s, struct MHD_Connection *connection)
{
	struct MHD_Response *response =
		s->lib.create_response_from_buffer(live_page_size, (void *)(uintptr_t)live_page, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return MHD_NO;
	serve_common_headers(s, response, "text/html; charset=utf-8");
	give_cookie(s, connection, response);
	return send_response(s, connection, MHD_HTTP_OK, response);
}

static enum MHD_Result send_snapshot(struct serve_server *s, struct MHD_Connection *connection)
{
	struct buffer made = BUFFER_INIT;

	return live_snapshot_json(&made, s->snapshot, false) == 0 ? send_made(s, connection, &made, "application/json") : MHD_NO;
}

static enum MHD_Result send_history(struct serve_server *s, struct MHD_Connection *connection)
{
	struct buffer made = BUFFER_INIT;

	return serve_history_json(&made, &s->history) == 0 ? send_made(s, connection, &made, "application/json") : MHD_NO;
}

static enum MHD_Result send_metrics(struct serve_server *s, struct MHD_Connection *connection)
{
	struct buffer made = BUFFER_INIT;

	return live_metrics(&made, s->snapshot, &s->totals) == 0 ? send_made(s, connection, &made, LIVE_METRICS_TYPE) : MHD_NO;
}

/* ---- Who asks ----------------------------------------------------------------------- */

/* The address that the client has come to, as it stands in a Host header: an address, unlike a name, is nobody else's. */
static void local_address(struct serve_server *s, struct MHD_Connection *connection, char *out, size_t size)
{
	const union MHD_ConnectionInfo *info = s->lib.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	char text[INET6_ADDRSTRLEN] = "";
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} at = { 0 };
	socklen_t at_size = sizeof at;

	out[0] = '\0';
	if (!info || getsockname(info->connect_fd, &at.any, &at_size) != 0)
		return;
	if (at.any.sa_family == AF_INET && inet_ntop(AF_INET, &at.v4.sin_addr, text, sizeof text))
		snprintf(out, size, "%s", text);
	else if (at.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &at.v6.sin6_addr, text, sizeof text))
		snprintf(out, size, "[%s]", text);
}

/* A browser says when it asks for the sake of another page; then the cookie is not that page's to use. */
static bool is_for_another_page(struct serve_server *s, struct MHD_Connection *connection)
{
	const char *site = header_of(s, connection, "Sec-Fetch-Site");

	return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

static bool has_token(struct serve_server *s, struct MHD_Connection *connection)
{
	const char *given = s->lib.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
	const char *bearer = header_of(s, connection, "Authorization");
	const char *cookies = header_of(s, connection, "Cookie");
	size_t size;

	if (given && serve_token_matches(s->setup->token, given, strlen(given)))
		return true;
	if (bearer && strncasecmp(bearer, "Bearer ", 7) == 0 && serve_token_matches(s->setup->token, bearer + 7, strlen(bearer + 7)))
		return true;
	size = serve_cookie_find(cookies, header_of(s, connection, "Host"), &given);
	return size && !is_for_another_page(s, connection) && serve_token_matches(s->setup->token, given, size);
}

/* ---- What is asked for ---------------------------------------------------------------- */

static const struct path {
	const char *path;
	enum MHD_Result (*send)(struct serve_server *s, struct MHD_Connection *connection);
} paths[] = {
	{ "/", send_page },
	{ "/events", serve_stream },
	{ "/metrics", send_metrics },
	{ "/api", send_snapshot },
	{ "/api/history", send_history },
};

static enum MHD_Result answer(struct serve_server *s, struct MHD_Connection *connection, const char *url)
{
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (strcmp(url, paths[i].path) == 0)
			return paths[i].send(s, connection);
	return refuse(s, connection, MHD_HTTP_NOT_FOUND, NULL, NULL, "There is nothing here.\n");
}

static void mark_as_busy(struct serve_server *s, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = s->lib.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct serve_link *link = info ? info->socket_context : NULL;

	if (link)
		link->waiting_ns = INT64_MAX;
}

enum MHD_Result serve_request(void *server, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **request)
{
	struct serve_server *s = server;
	char local[SERVE_HOST];

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	mark_as_busy(s, connection);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(s, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", "GET, HEAD", "This can only be read.\n");
	local_address(s, connection, local, sizeof local);
	if (!serve_host_is_ours(header_of(s, connection, "Host"), local))
		return refuse(s, connection, MHD_HTTP_FORBIDDEN, NULL, NULL, "This server has another name.\n");
	if (!(s->setup->open_metrics && strcmp(url, "/metrics") == 0) && !has_token(s, connection))
		return refuse(s, connection, MHD_HTTP_UNAUTHORIZED, "WWW-Authenticate", "Bearer",
			      "This needs the token: open the address that inferscope has shown.\n");
	return answer(s, connection, url);
}
