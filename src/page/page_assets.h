/*
 * page_assets.h - the code and the style of the page, built in by web/join.py.
 */
#ifndef PAGE_PAGE_ASSETS_H
#define PAGE_PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char page_script[], page_style[];
extern const size_t page_script_size, page_style_size;
/* For the Content-Security-Policy: "sha256-..." of exactly these bytes. */
extern const char page_script_hash[], page_style_hash[];

#endif
