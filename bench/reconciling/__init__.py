"""What `bench.reconcile` is made of: the contenders, where they run, what is asked of them, and how it is counted."""
