/* serve_access.c - see serve_parts.h: who may ask. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "live/serve_parts.h"

#define TOKEN_LEAST 16
#define PORT_DIGITS 5

bool serve_token_is_sound(const char *token)
{
	size_t size = strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

	return token[size] == '\0' && size >= TOKEN_LEAST && size <= SERVE_TOKEN;
}

bool serve_token_matches(const char *token, const char *given, size_t given_size)
{
	size_t size = strlen(token);
	volatile unsigned char differs = given_size != size;

	for (size_t i = 0; i < size; i++)
		differs = (unsigned char)(differs | (token[i] ^ given[i < given_size ? i : 0]));
	return !differs && given_size > 0;
}

/* The name of a Host header, without its port; 0: it is none. */
static size_t name_size(const char *host)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
	size_t size = end ? (size_t)(end - host) + 1 : strcspn(host, ":");
	size_t digits;

	if (host[size] == '\0')
		return size;
	digits = strspn(host + size + 1, "0123456789");
	return host[size] == ':' && digits >= 1 && digits <= PORT_DIGITS && host[size + 1 + digits] == '\0' ? size : 0;
}

bool serve_host_is_ours(const char *host, const char *local)
{
	const char *const names[] = { "localhost", "127.0.0.1", "[::1]", local };
	size_t size = host ? name_size(host) : 0;

	for (size_t i = 0; size && i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == size && strncasecmp(names[i], host, size) == 0)
			return true;
	return false;
}

void serve_cookie_name(char *out, size_t size, const char *host)
{
	size_t name = name_size(host);
	const char *port = name && host[name] == ':' ? host + name + 1 : "80";

	snprintf(out, size, "inferscope-%s", port);
}

size_t serve_cookie_find(const char *cookies, const char *host, const char **ret)
{
	char name[32];
	size_t size;

	serve_cookie_name(name, sizeof name, host);
	size = strlen(name);
	while (cookies) {
		cookies += strspn(cookies, "; ");
		if (strncmp(cookies, name, size) == 0 && cookies[size] == '=') {
			*ret = cookies + size + 1;
			return strcspn(*ret, "; ");
		}
		cookies = strchr(cookies, ';');
	}
	return 0;
}
