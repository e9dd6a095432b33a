/* What libcupti says where there is no libcuda: no-driver LIBRARY prints the codes of two calls. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cupti.h"

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *symbol;
	CUptiResult (*get_version)(uint32_t *version), (*enable)(uint32_t kind);
	uint32_t version;
	int first;

	if (!library)
		return 1;
	symbol = dlsym(library, "cuptiGetVersion");
	memcpy(&get_version, &symbol, sizeof(symbol));
	symbol = dlsym(library, "cuptiActivityEnable");
	memcpy(&enable, &symbol, sizeof(symbol));
	first = get_version(&version);
	printf("%d %d\n", first, enable(10));
	return 0;
}
