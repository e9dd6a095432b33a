/* fuzz-config.c - configuration files of any content, trusted and not. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config;
	struct error err = { 0 };
	bool trusted;

	for (trusted = false;; trusted = true) {
		if (config_init(&config) < 0)
			return 0;
		/* what is refused is refused with a sentence and the exit code for wrong settings */
		if (config_load_yaml(&config, "fuzz.yaml", trusted, data, size, &err) < 0 &&
		    (!err.text[0] || err.exit_code != 2))
			abort();
		if (!trusted && config_value(&config, CONFIG_TRACE)->origin != CONFIG_FROM_DEFAULT)
			abort();
		config_release(&config);
		if (trusted)
			return 0;
	}
}
