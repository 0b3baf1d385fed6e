"""Training runs on torch.distributed; torch itself is imported by the ranks, never by a notebook's kernel."""
