//! What every simulated cloud needs: an HTTP server, faults, latency, a clock, recording and paging.
