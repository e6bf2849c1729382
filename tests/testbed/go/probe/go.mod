module penstock.dev/tests/probe

go 1.24.0
