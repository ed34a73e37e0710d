"""What the contracts imply but cannot say in proto: the table of artifact kinds."""
