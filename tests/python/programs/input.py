"""Reads its standard input: by line, as a whole, from a child that shares it."""

import subprocess
import sys

print("first", repr(input("? ")))
print("second", repr(sys.stdin.readline()))
print("rest", len(sys.stdin.read()), sys.stdin.isatty(), sys.stdin.fileno())
print("nothing left", repr(sys.stdin.read()))
print(subprocess.run([sys.executable, "-c", "print(repr(input()))"], input=b"child\n", capture_output=True, check=True).stdout)
