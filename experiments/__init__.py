"""Questions about the libraries, each answered by one command.

`python -m experiments.benchmark_dynamics` and its neighbours print a table and leave it,
with a figure and the numbers, in `experiments/results/`.
"""
