"""Many reports -> one audit."""
