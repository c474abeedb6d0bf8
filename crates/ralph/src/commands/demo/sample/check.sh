#!/bin/sh
# Verifies what there is so far: every script parses, and every test passes.
set -e
cd "$(dirname "$0")"
for script in *.sh; do
    sh -n "$script"
done
for test in tests/*.sh; do
    if [ -e "$test" ]; then
        sh "$test"
    fi
done
echo "all checks pass"
