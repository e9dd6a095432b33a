/*
 * live_assets.h - the live page, built in by web/join.py from web/live/.
 */
#ifndef LIVE_LIVE_ASSETS_H
#define LIVE_LIVE_ASSETS_H

#include <stddef.h>

extern const unsigned char live_page[];
extern const size_t live_page_size;
/* For the Content-Security-Policy: "sha256-..." of exactly the bytes of script and style in it. */
extern const char live_script_hash[], live_style_hash[];

#endif
