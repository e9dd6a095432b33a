/* Faults on request: DOUBLE_FAULT=name[=number][,name...].  A name that is not in this list ends the program, so that no test passes
   because of a misspelt fault.  The number means what the line says; without one it is the number in the list. */
#ifndef DOUBLES_FAULTS_H
#define DOUBLES_FAULTS_H

#include <stdbool.h>

/* FAULT(name, default number) */
#define FAULTS(FAULT) \
	FAULT(late_completion, 50)      /* cuptiActivityFlushAll returns first, the buffers come so many ms later */ \
	FAULT(never_completion, 1)      /* buffers are kept for ever; a flush does not wait for them */ \
	FAULT(null_crash, 1)            /* a declined buffer is written to, whatever the release */ \
	FAULT(dropped, 10)              /* every so many-th record is dropped and counted */ \
	FAULT(start_at_once, 1)         /* a record has its start when the work begins, so that one that is handed over before its end has it */ \
	FAULT(zero_stamps, 1)           /* every so many-th record of device work has start = end = 0 */ \
	FAULT(end_before_start, 1)      /* every so many-th record of device work has its two times exchanged */ \
	FAULT(start_before_launch, 1)   /* every so many-th record of device work starts 1 ms before it was launched */ \
	FAULT(clock_step, 1000000000)   /* CUPTI's clock jumps by so many ns, half a second after it was first asked */ \
	FAULT(no_timestamp_callback, 27) /* registering one returns this */ \
	FAULT(second_registration, 1)   /* timestamp callback registered k times: so many * (k - 1) kernels are 1e14 ns off */ \
	FAULT(unknown_kind, 20)         /* every so many-th record is followed by eight bytes that name an unknown kind */ \
	FAULT(truncated_record, 1)      /* the last record of a buffer is cut, by half */ \
	FAULT(null_name, 1)             /* every so many-th kernel record has no name */ \
	FAULT(freed_name, 1)            /* kernel names cannot be read any more when their module is unloaded */ \
	FAULT(missing_api, 2)           /* every so many-th API record is not written, and not counted as dropped */ \
	FAULT(correlation_zero, 1)      /* every so many-th record of device work has correlation 0 */ \
	FAULT(reused_event_id, 2)       /* only so many ids are used for CUDA events */ \
	FAULT(no_device_sync, 1)        /* no record of context synchronisation (CUPTI 13.0.0) */ \
	FAULT(subscribe_39, 1)          /* somebody else has the subscriber's place */ \
	FAULT(cupti_error, 15)          /* every CUPTI call that needs the driver returns this */ \
	FAULT(refused_kind, 1)          /* enabling the records of this kind returns 27 */ \
	FAULT(slow_flush, 5000)         /* cuptiActivityFlushAll takes so many ms */ \
	FAULT(exit_callback, 1)         /* buffers that are left are handed over by a destructor of libcupti */ \
	FAULT(dead_worker, 1)           /* CUPTI's thread never runs, as in a forked child: flushing waits for ever */ \
	FAULT(injection_twice, 1)       /* InitializeInjection is called a second time */ \
	FAULT(injection_fails, 999)     /* cuInit returns this when the injected library cannot be loaded */ \
	FAULT(cuinit_error, 100)        /* cuInit returns this */ \
	FAULT(out_of_memory, 1)         /* every so many-th allocation of device memory fails */ \
	FAULT(launch_failed, 1)         /* every so many-th launch returns 719 */ \
	FAULT(nvml_init, 9)             /* nvmlInit returns this */ \
	FAULT(nvml_slow, 50)            /* every question about a device takes so many ms */ \
	FAULT(nvml_all, 15)             /* every question about a device returns this; the following: one question */ \
	FAULT(nvml_memory, 3) \
	FAULT(nvml_utilization, 3) \
	FAULT(nvml_processes, 3) \
	FAULT(nvml_clock, 3) \
	FAULT(nvml_power, 3) \
	FAULT(nvml_energy, 3) \
	FAULT(nvml_temperature, 3)

enum fault {
#define FAULT(name, number) FAULT_##name,
	FAULTS(FAULT)
#undef FAULT
	FAULT_COUNT
};

bool fault(enum fault which);
long long fault_number(enum fault which);     /* 0 when it was not asked for */
bool fault_turn(enum fault which);            /* true at every so many-th call */

#endif
