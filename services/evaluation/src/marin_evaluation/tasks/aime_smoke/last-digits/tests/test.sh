#!/bin/sh
# Reward 1 if /app/answer.txt holds the expected integer, else 0. Leading zeros count as in the competition: 017 is 17.
set -u
expected=$(cat /tests/expected.txt)
got=$(head -c 64 /app/answer.txt 2>/dev/null | tr -d '[:space:]' | sed 's/^0*\([0-9]\)/\1/')
echo "got=${got:-nothing} want=$expected"
if [ "$got" = "$expected" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
