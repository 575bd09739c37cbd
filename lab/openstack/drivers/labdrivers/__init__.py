"""What stands in for hypervisors, switches and load balancers: the services above them are the real ones."""
