#!/bin/sh
# compile_renamed.sh OBJCOPY RENAMES COMPILER ARGUMENTS...: compiles, then renames symbols of the object (make_entry_tables.cc).
objcopy=$1
renames=$2
shift 2
"$@" || exit
while [ "$1" != -o ]; do shift; done
exec "$objcopy" --redefine-syms="$renames" "$2"
