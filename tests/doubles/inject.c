/* CUDA_INJECTION64_PATH: a library that the driver loads and calls once, on the thread that is inside cuInit, before that returns.
   What cannot be loaded, or has no InitializeInjection, is passed over in silence, as "none" is with a real driver. */
#include "machine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "truth.h"

CUresult injection_run(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void) = NULL;
	void *library, *symbol;
	int answer;

	if (!path || !*path)
		return CUDA_SUCCESS;
	library = path[0] == '/' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	symbol = library ? dlsym(library, "InitializeInjection") : NULL;
	if (!symbol) {
		truth("\"what\":\"injection\",\"found\":%s,\"result\":-1", library ? "true" : "false");
		return (CUresult)fault_number(FAULT_injection_fails);
	}
	memcpy(&initialize, &symbol, sizeof(initialize));
	answer = initialize();
	if (fault(FAULT_injection_twice))
		answer = initialize();
	truth("\"what\":\"injection\",\"found\":true,\"result\":%d", answer);
	return CUDA_SUCCESS;
}
