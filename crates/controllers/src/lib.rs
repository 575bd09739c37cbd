//! The controllers: node, node lifecycle, service, route, node IPAM.
