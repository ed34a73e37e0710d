"""Graph checks, planning and the reconcile step: no gRPC, no bus, no clock of their own."""
