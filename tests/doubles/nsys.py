"""A double of Nsight Systems: `nsys profile --output=X ... PROGRAM` and `nsys export --type=sqlite --output=Y REPORT`.

The program says in the file DOUBLE_NSYS_WORK what it launched, a line of JSON each: pid, tid, begin and end of the call and of its kernel, in
nanoseconds since 1970, and a name.  DOUBLE_NSYS_FAULT: no_report, no_export, crash (a damaged database), no_work.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

TABLES = """
    CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INT);
    CREATE TABLE TARGET_INFO_SYSTEM_ENV(globalVid INT, devStateName TEXT, name TEXT, nameEnum INT, value TEXT);
    CREATE TABLE TARGET_INFO_GPU(id INT, name TEXT, cuDevice INT, smCount INT);"""
WORK = """
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT, returnValue INT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT,
        demangledName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);"""
FAULT = os.environ.get("DOUBLE_NSYS_FAULT", "")


def write_report(path, started):
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (started, ))
    db.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'd', 'Hostname', 1, ?)", (os.uname().nodename, ))
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'double of a GPU', 0, 132)")
    db.execute("INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000')")
    if FAULT != "no_work":
        db.executescript(WORK)
        with open(os.environ["DOUBLE_NSYS_WORK"], encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                insert(db, json.loads(line), number, started)
    db.commit()
    db.close()


def insert(db, work, number, started):
    process = 1 << 48 | work["pid"] << 24
    db.execute("INSERT INTO StringIds VALUES (?, ?)", (number + 1, work["name"]))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 1, 0)",
               (work["call"][0] - started, work["call"][1] - started, process | work["tid"], number))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, 8, 1, 1, 128, 1, 1)",
               (work["kernel"][0] - started, work["kernel"][1] - started, number, process, number + 1))


def split(arguments):
    """Options, which all are of the form --key=value, and what follows them."""
    options = {}
    while arguments and arguments[0].startswith("--"):
        key, _, value = arguments.pop(0)[2:].partition("=")
        options[key] = value
    return options, arguments


def main(command, *arguments):
    if command == "--version":
        print("NVIDIA Nsight Systems version 2025.1.1.0 (a double)")
        return 0
    options, rest = split(list(arguments))
    if command == "profile":
        assert options.pop("force-overwrite") == "true" and options.pop("trace") == "cuda", options
        started = time.time_ns()
        subprocess.run(rest, check=False)
        if FAULT != "no_report":
            write_report(options["output"] + ".nsys-rep", started)
        return 7  # its own status is not the program's
    assert command == "export" and options.pop("type") == "sqlite" and len(rest) == 1
    if FAULT == "crash":
        with open(options["output"], "wb") as file:
            file.write(b"SQLite format 3\0" + b"\xff" * 5000)
    elif FAULT != "no_export":
        shutil.copyfile(rest[0], options["output"])
    return 0


sys.exit(main(*sys.argv[1:]))
