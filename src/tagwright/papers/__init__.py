"""The published methods: each file is one recipe that reads like its paper."""
