"""The benchmark: tasks × splits × methods, run, stored and reported."""
