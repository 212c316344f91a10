"""Adapters run in environments of their own; they have no examples."""

collect_ignore_glob = ["*_adapter.py"]
