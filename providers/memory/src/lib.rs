//! A cloud in the process, for tests, the demo and the benchmark.
