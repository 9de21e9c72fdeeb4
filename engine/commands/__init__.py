"""One module per sub-command; each holds a click command named `command`."""
