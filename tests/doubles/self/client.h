/* A small user of CUPTI for the self tests: linked to nothing of the doubles, it opens what LD_LIBRARY_PATH offers. */
#ifndef DOUBLES_CLIENT_H
#define DOUBLES_CLIENT_H

#include "cupti.h"
#include "cupti_layout.h"

#define CLIENT_RECORDS 65536

#define CLIENT_POINTER(name, parameters) CUresult (*name) parameters;
#define CLIENT_POINTERS(name, parameters) CUresult (*name) parameters; CUresult (*name##_ptsz) parameters;
struct cuda_functions {
	CUDA_PLAIN(CLIENT_POINTER)
	CUDA_STREAMED(CLIENT_POINTERS)
	CUDA_DEFAULTED(CLIENT_POINTER)
};
struct cupti_functions {
	CUPTI_FUNCTIONS(CLIENT_POINTER)
};
extern struct cuda_functions cuda;
extern struct cupti_functions cupti;            /* NULL for what the release does not have */

/* What was handed over: copies of records, and how. */
struct seen {
	uint8_t *records[CLIENT_RECORDS];
	int count, buffers, last_result;
	size_t dropped;
	int requests, foreign_completions;      /* completions on another thread than the test's */
	int request_threads[64], request_thread_count;
};
extern struct seen seen;
extern size_t client_buffer_size;               /* 65536; 0 declines every request */
extern int client_release;                      /* 1209 */

void client_open(const char *release);          /* "12.9"; opens both libraries, does not initialise */
void client_start(const uint32_t *kinds);       /* registers, enables (up to a 0), initialises the driver, makes a context current */
void client_forget(void);
void request(uint8_t **buffer, size_t *size, size_t *max_records);
void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
CUfunction client_kernel(const char *name);
void client_launch(const char *name, CUstream stream);
int client_count(int kind);
uint8_t *client_record(int kind, int nth);      /* NULL when there are not so many */
uint64_t value(const uint8_t *record, size_t offset, size_t width);
#define GET(record, what, field) value(record, AT_##what##_##field, WIDTH_##what##_##field)

#endif
