/*
 * gpu_probe.h - is there an NVIDIA driver here, and can CUPTI, by which device work is recorded, be loaded?
 *
 * Looks at files only; CUDA is never initialised.  A library is tried in a
 * process of its own, since loading one runs code of its maker.
 */
#ifndef SYSTEM_GPU_PROBE_H
#define SYSTEM_GPU_PROBE_H

#include <stdbool.h>
#include <stddef.h>

struct gpu_driver {
	bool there;
	char version[64]; /* "535.104.05"; empty where nothing tells */
};
/* root: before all paths, for tests; "" otherwise. */
void gpu_driver_look(struct gpu_driver *ret, const char *root);

/* From the text of /proc/driver/nvidia/version. */
void gpu_driver_version(char *out, size_t size, const char *text);

struct gpu_cupti {
	bool there;
	char library[256]; /* what was loaded */
	char error[256];   /* why nothing could be: the loader's words */
};
/* Where the loader looks, then CUDA_HOME, CUDA_PATH and /usr/local/cuda*. */
void gpu_cupti_try(struct gpu_cupti *ret);

/* Nsight Systems, which records device work by itself: the path of its command, as PATH has it (ret may be NULL).  False: none. */
bool gpu_nsys_find(char *ret, size_t size);

/*
 * A copy of CUPTI that a program would bring along, where the loader does not look: in the packages of the Python environment that the
 * command (as PATH has it) or the variables of an active one belong to, or beside it.  Looks at names of files only, and rather says
 * that there is one: which environment a script will use, nobody can tell before.
 */
bool gpu_cupti_is_beside(const char *command);

/* The path of a command, as PATH has it where there is no slash in it.  False: none that can be executed. */
bool gpu_command_find(const char *command, char *ret, size_t size);

/* The last part of the path of a library that is CUDA's, or works with it; NULL when it is none. */
const char *gpu_library_name(const char *path);

#endif
