//! Real systems on loopback to test and demonstrate against.
