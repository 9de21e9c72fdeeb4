"""Text and binaries in, typed records out; nothing here judges or prints."""
