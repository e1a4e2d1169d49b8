"""The commands of the benchmark, which attach to ``adacap``."""
